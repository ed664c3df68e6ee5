//! TCP receiver: cumulative and selective acknowledgements, delayed acknowledgements, ECN echo.
//!
//! Source: RFC 5681 section 4.2 (when to acknowledge), RFC 2018 section 4 (SACK blocks), RFC 3168
//! section 6.1.3 (ECN-Echo), RFC 8257 section 3.2 (ECN-Echo of each change, for `dctcp`), RFC 7323 section 4.3 (which time stamp is echoed), RFC 2883 section 4 (D-SACK, with Linux's stack and `rack`).
//! Differs: a delayed acknowledgement is due a fixed time after the first segment it covers, where
//! BSD waits for the next beat of a common timer. Absent: reneging.

use super::application::WriteEnds;
use super::congestion::prague::FIRST_COUNT;
use super::linux::ack_compression::AckCompression;
use super::linux::delayed_ack::DelayedAckTimer;
use super::linux::receive_buffer::ReceiveBuffer;
use super::{AckFields, TcpConfig, Variant};
use crate::seq_set::SeqSet;
use trunkline_packet::arena::{AckDetails, SackBlocks};
use trunkline_units::{Span, Time, NEVER};

/// Blocks remembered: more than three fit no acknowledgement, but a block may be swallowed.
const MAX_BLOCKS: usize = 8;
/// Blocks that Linux stores (`TCP_NUM_SACKS`). Four fit into 40 B of options, three with a time stamp.
const MAX_BLOCKS_LINUX: u8 = 4;

/// The state that only Linux's receiver has.
#[derive(Clone, Debug)]
struct LinuxReceiver {
    buffer: ReceiveBuffer,
    answer: DelayedAckTimer,
    compression: AckCompression,
    duplicate: Option<u32>, // arrived twice just now
    window: u32,            // of the last acknowledgement [B]
}

/// Segments received above a gap, made by the first gap: most connections have none.
#[derive(Clone, Debug, Default)]
struct ReceivedAhead {
    above: SeqSet,                  // segments received above the next one expected
    recent: [[u32; 2]; MAX_BLOCKS], // their blocks, the one changed last first
    recent_len: u8,
}

/// Receiving end of a TCP connection. The cache line that every segment touches comes first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    next: u32,               // the next segment expected
    high: u32,               // one past the highest segment received; with `linux` the buffer's
    last_ack: u32,           // cumulative acknowledgement sent last
    unacked: u32,            // in-order segments since then
    ack_every_segments: u32, // acknowledge at once from this many on
    quick: u32,              // segments still to be acknowledged one by one
    timer: Time,
    timeout: Span,
    echo: Time,
    linux: Option<Box<LinuxReceiver>>,
    ece: bool,
    ecn: bool,
    exact: bool, // ECN-Echo reports whether the segment acknowledged was marked
    sack: bool,
    connects: bool,
    reports_duplicates: bool,
    count: Option<u8>, // of marks, modulo 8, which are sent in its place
    earlier_ack: Option<AckFields>,
    ahead: Option<Box<ReceivedAhead>>,
    size: u64,
    writes: Option<Box<WriteEnds>>, // of the application, where they are known
    mss: u32,
    duplicate: Option<(u32, u32)>, // arrived twice, and `next` then
    keeps: u8,                     // blocks, at most
    max_blocks: u8,                // of them in one acknowledgement
}

impl ReceivedAhead {
    /// Puts a block first and drops those it swallowed (RFC 2018 section 4); keeps `most` of them.
    fn report(&mut self, block: [u32; 2], most: usize) {
        let mut kept_blocks = 0;
        let mut recent = [[0; 2]; MAX_BLOCKS];
        recent[0] = block;
        for old in &self.recent[..usize::from(self.recent_len)] {
            if (old[0] < block[0] || old[1] > block[1]) && kept_blocks + 1 < most {
                kept_blocks += 1;
                recent[kept_blocks] = *old;
            }
        }
        self.recent = recent;
        self.recent_len = kept_blocks as u8 + 1;
    }

    fn forget_below(&mut self, next: u32) {
        let mut kept_blocks = 0;
        for index in 0..usize::from(self.recent_len) {
            let block = self.recent[index];
            if block[0] > next {
                self.recent[kept_blocks] = block;
                kept_blocks += 1;
            }
        }
        self.recent[kept_blocks..].fill([0; 2]);
        self.recent_len = kept_blocks as u8;
    }
}

impl Receiver {
    /// A receiver that has received nothing.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let (every, timeout, quick) = config
            .delayed_ack
            .map_or((1, 0, 0), |delayed| (delayed.every.max(1), delayed.timeout_ns, delayed.quick));
        Self {
            next: 0,
            high: if config.linux { u32::MAX } else { 0 },
            last_ack: 0,
            unacked: 0,
            ack_every_segments: every,
            quick,
            linux: config.linux.then(|| {
                Box::new(LinuxReceiver {
                    buffer: ReceiveBuffer::new(config),
                    answer: DelayedAckTimer::new(timeout),
                    compression: AckCompression::new(),
                    duplicate: None,
                    window: 0,
                })
            }),
            timer: NEVER,
            timeout,
            echo: 0,
            ece: false,
            ecn: config.ecn,
            exact: config.congestion.needs_exact_echo(),
            count: config.congestion.counts_marks().then_some(FIRST_COUNT),
            earlier_ack: None,
            sack: config.uses_sack(),
            keeps: if config.linux { MAX_BLOCKS_LINUX } else { MAX_BLOCKS as u8 },
            max_blocks: if config.linux && !config.timestamps { MAX_BLOCKS_LINUX } else { 3 },
            ahead: None,
            mss: config.mss_bytes,
            size: config.size_bytes.unwrap_or(u64::MAX),
            connects: config.connect,
            reports_duplicates: config.variant == Variant::Rack,
            duplicate: None,
            writes: None,
        }
    }

    /// The sending application writes so many bytes.
    pub fn expect_write(&mut self, bytes: u64) {
        let (mss, next) = (self.mss, self.next);
        let writes = self.writes.get_or_insert_with(|| Box::new(WriteEnds::new(mss)));
        writes.forget_below(next);
        writes.add(bytes);
    }

    /// A segment arrived, pushed, congestion experienced or window reduced as marked. True:
    /// acknowledge now.
    #[inline]
    pub fn on_segment(
        &mut self,
        seq: u32,
        push: bool,
        sent_at: Time,
        ce: bool,
        cwr: bool,
        now: Time,
    ) -> bool {
        if self.ecn {
            self.note_marks(ce, cwr, now);
        }
        // RFC 7323 section 4.3 (2): the echo is of the segment that will move the acknowledgement,
        // so a delayed one reports the oldest segment it covers. Linux rejects first what lies wholly
        // before the window (section 5.3 R2, `tcp_sequence`).
        if seq <= self.last_ack && (seq + 1 >= self.last_ack || self.linux.is_none()) {
            self.echo = sent_at;
        }
        if seq == self.next && self.high <= seq {
            self.next = seq + 1;
            self.high = seq + 1;
            return self.acknowledge_in_order(now);
        }
        self.on_other_segment(seq, push, sent_at, now)
    }

    /// Not the expected segment with nothing waiting behind it; with Linux's buffer, any.
    #[inline(never)]
    fn on_other_segment(&mut self, seq: u32, push: bool, sent_at: Time, now: Time) -> bool {
        if let Some(mut linux) = self.linux.take() {
            let at_once = self.on_segment_of_linux(&mut linux, seq, push, sent_at, now);
            self.linux = Some(linux);
            return at_once;
        }
        if self.reports_duplicates {
            let again = seq < self.next || self.holds(seq);
            self.duplicate = again.then_some((seq, self.next));
        }
        self.on_disorder(seq);
        true
    }

    /// RFC 3168 section 6.1.3: a mark is echoed until the window was reduced. RFC 8257 section 3.2: each
    /// change is echoed, and waiting segments are acknowledged with the state before it. RFC 9768
    /// section 3.2.1: marks are counted.
    fn note_marks(&mut self, ce: bool, cwr: bool, now: Time) {
        if let Some(count) = self.count.as_mut() {
            *count = (*count + u8::from(ce)) & 7;
            return;
        }
        let before = self.ece && (self.exact || !cwr);
        let changed = if self.exact { ce != before } else { ce && !before };
        if self.exact && changed && self.unacked > 0 {
            self.earlier_ack = Some(self.ack(now));
        }
        if let Some(linux) = self.linux.as_mut() {
            match self.exact {
                true if changed => linux.answer.acknowledge_at_once(),
                false if changed => linux.answer.on_first_mark(),
                _ => {}
            }
            if cwr {
                linux.answer.acknowledge_at_once();
            }
        }
        self.ece = if self.exact { ce } else { before || ce };
    }

    /// An acknowledgement to send before the one for the segment that arrived.
    #[inline]
    pub fn take_earlier_ack(&mut self) -> Option<AckFields> {
        // The flag lies in the line that every segment touches.
        self.exact.then(|| self.earlier_ack.take()).flatten()
    }

    #[inline]
    fn acknowledge_in_order(&mut self, now: Time) -> bool {
        self.unacked += 1;
        if self.unacked >= self.ack_every_segments {
            return true;
        }
        if self.quick > 0 {
            self.quick -= 1;
            return true;
        }
        if self.timer == NEVER {
            self.timer = now + self.timeout;
        }
        false
    }

    /// As `on_segment`, with the buffer and the timers of Linux.
    fn on_segment_of_linux(
        &mut self,
        linux: &mut LinuxReceiver,
        seq: u32,
        push: bool,
        sent_at: Time,
        now: Time,
    ) -> bool {
        let LinuxReceiver { buffer, answer, compression, duplicate, .. } = linux;
        self.high = buffer.high;
        let expected = seq == self.next;
        let again = seq < self.next || self.holds(seq);
        if again && self.sack {
            *duplicate = Some(seq);
        } else if !compression.holds() {
            *duplicate = None;
        }
        if seq < self.next {
            answer.on_duplicate();
        } else if expected {
            answer.on_expected_segment(sent_at, now);
        }
        if (expected || (self.sack && seq > self.next)) && buffer.grow(self.count_blocks()) {
            answer.on_window_growth();
        }
        let at_once = if expected && self.high <= seq {
            (self.next, self.high) = (seq + 1, seq + 1);
            self.unacked += 1;
            self.unacked >= self.ack_every_segments
                || (!(self.connects && self.closes()) && (answer.is_quick() || push))
        } else {
            let before = self.next - self.unacked;
            self.on_disorder(seq);
            match expected {
                true => buffer.held -= self.next - seq - 1,
                false => buffer.held += u32::from(!again),
            }
            let many = self.next - before > 1;
            let filled = expected && self.count_blocks() == 0;
            let due = if many || filled || !self.sack || answer.is_quick() {
                None
            } else {
                compression.on_gap(self.next, now)
            };
            self.timer = self.timer.min(due.unwrap_or(NEVER));
            if expected && due.is_none() {
                buffer.unread = self.next - seq;
            }
            due.is_none()
        };
        if expected {
            buffer.time(seq + 1, now);
            buffer.read(seq + 1, now);
        }
        if at_once {
            answer.on_ack_sent();
            compression.on_ack_sent();
        } else if self.timer == NEVER {
            self.timer = answer.due(now);
        }
        (buffer.high, self.high) = (self.high, u32::MAX);
        at_once
    }

    /// A segment that leaves, fills or repeats a gap: acknowledged at once (RFC 5681 section 4.2).
    fn on_disorder(&mut self, seq: u32) {
        if seq < self.next {
            return;
        }
        let ahead = self.ahead.get_or_insert_with(Default::default);
        if seq == self.next {
            let next = ahead.above.next_absent(seq + 1, self.high);
            for filled in seq + 1..next {
                ahead.above.remove(filled);
            }
            self.next = next;
            ahead.forget_below(next);
            return;
        }
        ahead.above.reserve(self.next, seq + 1);
        ahead.above.insert(seq);
        self.high = self.high.max(seq + 1);
        if self.sack {
            let start = ahead.above.run_start(seq, self.next + 1);
            let end = ahead.above.next_absent(seq + 1, self.high);
            ahead.report([start, end], usize::from(self.keeps));
        }
    }

    /// Whether a segment above a gap has arrived.
    fn holds(&self, seq: u32) -> bool {
        seq < self.high && self.ahead.as_ref().is_some_and(|ahead| ahead.above.contains(seq))
    }

    /// Blocks of segments above a gap.
    fn count_blocks(&self) -> u8 {
        self.ahead.as_ref().map_or(0, |ahead| ahead.recent_len)
    }

    /// Its connection is open; the round trip, if one was timed [ns].
    pub fn establish(&mut self, rtt: Option<Span>) {
        if let Some(linux) = self.linux.as_mut() {
            linux.answer.open(rtt.map(|rtt| rtt / 1_000));
            if let Some(rtt) = rtt {
                linux.compression.open(rtt);
            }
        }
    }

    /// Whether any segment has arrived.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.next > 0 || self.ahead.is_some()
    }

    /// Marks counted, modulo 8, where they are (ACE, RFC 9768 section 3.2.1).
    #[must_use]
    pub fn marks(&self) -> Option<u8> {
        self.count
    }

    /// Whether all data of a finite transfer have arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.size != u64::MAX && self.goodput_bytes() >= self.size
    }

    /// Whether the FIN that answers the last segment is its acknowledgement too. Linux: `tcp_fin` leaves
    /// the mode of quick acknowledgements, but FIN makes a segment that is the largest so far larger than
    /// that, which is answered at once (`__tcp_ack_snd_check`).
    fn closes(&self) -> bool {
        let mss = u64::from(self.mss);
        self.is_complete() && self.size > mss && self.size % mss != 0
    }

    /// When a delayed acknowledgement falls due; [`NEVER`] if none is held back.
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// The timer may have fallen due. True: acknowledge now.
    pub fn on_timer(&mut self, now: Time) -> bool {
        let due = now >= self.timer;
        if let Some(linux) = self.linux.as_mut().filter(|_| due) {
            if !linux.compression.holds() {
                linux.answer.on_timeout();
            }
            linux.compression.on_ack_sent();
        }
        due
    }

    /// Fields of the acknowledgement about to be sent; no acknowledgement is delayed after it.
    #[inline]
    pub fn ack(&mut self, _now: Time) -> AckFields {
        self.last_ack = self.next;
        self.unacked = 0;
        if let Some(linux) = self.linux.as_mut() {
            let blocks = self.ahead.as_ref().map_or(0, |ahead| ahead.recent_len);
            let short;
            (linux.window, short) = linux.buffer.offer(self.next, blocks);
            linux.answer.on_offer(linux.window / self.mss.max(1));
            if short {
                linux.answer.on_shortage();
            }
        }
        self.timer = NEVER;
        AckFields { ack: self.next, echo: self.echo, ece: self.ece }
    }

    /// SACK blocks for the acknowledgement: first the block of the last arrival, then
    /// those reported most recently (RFC 2018 section 4). All `[0, 0)` without SACK.
    #[inline]
    #[must_use]
    pub fn sack_blocks(&self) -> SackBlocks {
        let [first, second, third] = match &self.ahead {
            Some(ahead) => [ahead.recent[0], ahead.recent[1], ahead.recent[2]],
            None => SackBlocks::default(),
        };
        if let Some(linux) = &self.linux {
            if let Some(seq) = linux.duplicate {
                return [[seq, seq + 1], first, second]; // RFC 2883 section 4
            }
        }
        // RFC 2883 section 4: of the segment that is answered, if that came twice.
        match self.duplicate {
            Some((seq, next)) if next == self.next => [[seq, seq + 1], first, second],
            _ => [first, second, third],
        }
    }

    /// Content of the acknowledgement besides its number.
    #[inline]
    #[must_use]
    pub fn details(&self) -> AckDetails {
        let window = self.linux.as_ref().map_or(0, |linux| linux.window);
        AckDetails { sack: self.sack_blocks(), window }
    }

    /// Bytes that blocks add to an acknowledgement: two NOPs, kind and length, and 8 a block (RFC 2018
    /// section 3). A fourth block, which Linux sends without time stamps, counts; earlier
    /// acknowledgements have reported its segments. The RFC stack's `ack_bytes` is the full size of an
    /// acknowledgement, as in ns-2.
    #[inline]
    #[must_use]
    pub fn option_bytes(&self) -> u16 {
        let Some(linux) = &self.linux else { return 0 };
        let blocks = self.count_blocks() + u8::from(linux.duplicate.is_some());
        match blocks.min(self.max_blocks) {
            0 => 0,
            blocks => 4 + 8 * u16::from(blocks),
        }
    }

    /// Application bytes delivered in order, each once [B].
    #[must_use]
    pub fn goodput_bytes(&self) -> u64 {
        match &self.writes {
            Some(writes) => writes.bytes_below(self.next),
            None => (u64::from(self.next) * u64::from(self.mss)).min(self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::{DelayedAck, Variant};

    /// RFC 9293 section 3.10.7.4: any segment shows that the connection is open, also one above a gap.
    #[test]
    fn has_heard_with_the_first_segment_in_order_or_above_a_gap() {
        let variants = [Variant::Reno, Variant::NewReno, Variant::Sack];
        for (seq, linux, variant) in [0, 1]
            .into_iter()
            .flat_map(|seq| [false, true].map(|linux| (seq, linux)))
            .flat_map(|(seq, linux)| variants.map(|variant| (seq, linux, variant)))
        {
            let mut receiver = Receiver::new(&TcpConfig { linux, variant, ..plain() });
            assert!(!receiver.has_heard());
            receiver.on_segment(seq, false, 0, false, false, 0);
            assert!(receiver.has_heard(), "{seq} {linux} {variant:?}");
        }
    }

    /// Linux 6.1: the first segments are answered at once. Not so the last one that is not full, where FIN answers it
    /// (`tcp_fin`): of two segments and a byte the third; of whole segments, or of half of one, none.
    #[test]
    fn tcp_fin_answers_the_last_segment_that_is_not_full() {
        for (size, connect, at_once) in [
            (2 * 1460 + 1, true, [true, true, false]),
            (2 * 1460 + 1, false, [true; 3]),
            (3 * 1460, true, [true; 3]),
            (3 * 1460 + 1, true, [true; 3]),
        ] {
            let delayed_ack = Some(DelayedAck { timeout_ns: 40_000_000, every: 2, quick: 0 });
            let config = TcpConfig { linux: true, connect, delayed_ack, ..plain() };
            let mut receiver = Receiver::new(&TcpConfig { size_bytes: Some(size), ..config });
            let seen = [0, 1, 2].map(|seq| {
                let at_once = receiver.on_segment(seq, false, 0, false, false, 1_000_000);
                if at_once {
                    receiver.ack(1_000_000);
                }
                at_once
            });
            assert_eq!(seen, at_once, "{size} {connect}");
            assert_eq!(receiver.is_complete(), size <= 3 * 1460, "{size}");
        }
        let delayed_ack = Some(DelayedAck { timeout_ns: 40_000_000, every: 2, quick: 0 });
        let config = TcpConfig { linux: true, connect: true, delayed_ack, ..plain() };
        let mut receiver = Receiver::new(&TcpConfig { size_bytes: Some(700), ..config });
        assert!(
            receiver.on_segment(0, false, 0, false, false, 1_000_000),
            "one that was never larger"
        );
    }
}
