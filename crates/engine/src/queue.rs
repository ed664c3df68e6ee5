//! Common parts of the only queue of a FIFO and the queue of a class: admission, the meaning of a
//! verdict for a packet, and counters.

use trunkline_packet::{Cause, PacketId};
use trunkline_port::aqm::{ActiveQueueManagement, Aqm, Arrival, HeadPacket, QueueBacklog, Verdict};
use trunkline_units::{RandomStream, Span, Time};

/// How much a queue may hold.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimit {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Whether the packet in service counts.
    pub counts_in_service: bool,
}

/// Counters of one queue since the warm-up; those that every packet changes are first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct QueueCounters {
    /// Packets let in.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Sum of the times from joining to first bit sent [ns]. Waits of a FIFO are counted in advance:
    /// those of a few million packets at a slow link do not fit 64 bits.
    pub wait: i128,
    /// Longest such time [ns].
    pub wait_max: Span,
    /// Maximum number of packets waiting at once.
    pub waiting_max: u32,
    /// Packets of a class that are in the sum of times; a FIFO's sum has all those let in.
    pub started: u64,
    /// Packets refused.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets let in but dropped from the queue.
    pub discarded_packets: u64,
    /// Their bytes.
    pub discarded_bytes: u64,
    /// Sum of the times they waited [ns].
    pub discarded_wait: i128,
    /// Packets let in but lost with the link before they were sent.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
}

/// Counters of a FIFO's queue that each packet changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FifoCounts {
    /// Packets let in.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Sum of the times from joining to first bit sent, less what has overflowed [ns].
    pub wait: Span,
    /// Longest such time [ns].
    pub wait_max: Span,
}

impl FifoCounts {
    /// A packet was let in and waits so long; whether the sum of waits has overflowed.
    #[inline(always)]
    #[must_use]
    pub fn enter(&mut self, bytes: u32, wait: Span) -> bool {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.wait_max = self.wait_max.max(wait);
        let (sum, overflows) = self.wait.overflowing_add(wait);
        self.wait = sum;
        overflows
    }
}

impl QueueCounters {
    /// A packet was let in.
    #[inline(always)]
    pub fn enter(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// A packet was refused.
    #[cold]
    pub fn refuse(&mut self, bytes: u32) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(bytes);
    }

    /// A packet's time in the queue.
    #[inline(always)]
    pub fn wait(&mut self, wait: Span) {
        self.wait += i128::from(wait);
        self.wait_max = self.wait_max.max(wait);
    }

    /// A packet that had waited was dropped.
    #[cold]
    pub fn discard(&mut self, bytes: u32, wait: Span) {
        self.discarded_packets += 1;
        self.discarded_bytes += u64::from(bytes);
        self.discarded_wait += i128::from(wait);
    }

    /// A packet was lost with the link.
    pub fn lose(&mut self, bytes: u32) {
        self.lost_packets += 1;
        self.lost_bytes += u64::from(bytes);
    }

    /// Packets and bytes that were let in and will never be sent.
    #[must_use]
    pub fn never_sent(&self) -> (u64, u64) {
        (self.lost_packets + self.discarded_packets, self.lost_bytes + self.discarded_bytes)
    }

    /// Packets dropped, on arrival or later.
    #[must_use]
    pub fn all_dropped(&self) -> u64 {
        self.dropped_packets + self.discarded_packets
    }
}

/// Size and marks of a packet in a port or on a wire, in one word.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeAndMarks(u32);

const CAN_MARK: u32 = 1 << 23;

impl SizeAndMarks {
    /// Bytes on the wire (below 2^23), drop precedence (below 2^7), and whether a congestion signal marks it.
    #[inline(always)]
    #[must_use]
    pub fn new(bytes: u32, precedence: u8, can_mark: bool) -> Self {
        Self(bytes | (u32::from(can_mark) * CAN_MARK) | (u32::from(precedence) << 24))
    }

    /// Bytes on the wire.
    #[inline(always)]
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.0 & (CAN_MARK - 1)
    }

    /// Drop precedence.
    #[inline(always)]
    #[must_use]
    pub fn precedence(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Whether a congestion signal marks it.
    #[inline(always)]
    #[must_use]
    pub fn can_mark(self) -> bool {
        self.0 & CAN_MARK != 0
    }
}

impl From<SizeAndMarks> for u32 {
    fn from(size: SizeAndMarks) -> Self {
        size.0
    }
}

impl From<u32> for SizeAndMarks {
    fn from(word: u32) -> Self {
        Self(word)
    }
}

/// A packet waiting in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitingPacket {
    /// When it joined.
    pub joined_at: Time,
    /// The packet.
    pub packet: PacketId,
    /// Its bytes on the wire, its drop precedence, and whether a congestion signal marks it.
    pub size: SizeAndMarks,
}

impl WaitingPacket {
    /// Its bytes on the wire.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.size.bytes()
    }

    /// Its drop precedence.
    #[inline(always)]
    #[must_use]
    pub fn precedence(&self) -> u8 {
        self.size.precedence()
    }
}

/// Decision about a packet at either end of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDecision {
    /// Queued, or sent; `true`: it also bears a congestion signal to be marked.
    Queued {
        /// Mark it CE.
        mark: bool,
    },
    /// Refused, or dropped.
    Dropped(Cause),
}

impl QueueDecision {
    /// RFC 3168 section 5: marks ECN-capable packets, drops all others.
    #[inline(always)]
    pub fn from_verdict(verdict: Verdict, can_mark: bool) -> Self {
        match verdict {
            Verdict::Pass => Self::Queued { mark: false },
            Verdict::Mark => Self::Queued { mark: can_mark },
            Verdict::Signal(_) if can_mark => Self::Queued { mark: true },
            Verdict::Signal(cause) | Verdict::Refuse(cause) => Self::Dropped(cause),
        }
    }
}

/// An AQM and the stream it draws from.
#[derive(Clone, Debug)]
struct AqmWithStream {
    aqm: Aqm,
    random: RandomStream,
}

/// Limit and AQM of a queue.
#[derive(Clone, Debug)]
pub struct QueueGate {
    limit: QueueLimit,
    /// None for drop-tail, which never judges.
    judge: Option<Box<AqmWithStream>>,
}

impl QueueGate {
    /// The gate of an empty queue.
    #[must_use]
    pub fn new(limit: QueueLimit, aqm: Aqm, random: RandomStream) -> Self {
        let judge =
            (!matches!(aqm, Aqm::DropTail(_))).then(|| Box::new(AqmWithStream { aqm, random }));
        Self { limit, judge }
    }

    /// Whether the packet in service counts.
    #[inline(always)]
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        self.limit.counts_in_service
    }

    /// Capacity in packets where only the number of packets is limited and there is no AQM.
    #[must_use]
    pub fn capacity(&self) -> Option<u32> {
        let limit = &self.limit;
        let packets = limit.packets.saturating_add(u32::from(!limit.counts_in_service));
        (self.judge.is_none() && limit.bytes == u64::MAX && packets > 0).then_some(packets)
    }

    /// Whether its AQM judges packets at the head of the queue.
    #[must_use]
    pub fn judges_heads(&self) -> bool {
        self.judge.as_ref().is_some_and(|judge| judge.aqm.judges_heads())
    }

    /// Whether an AQM watches the queue.
    #[inline(always)]
    #[must_use]
    pub fn has_aqm(&self) -> bool {
        self.judge.is_some()
    }

    /// Whether the content of the queue is within the limit.
    #[must_use]
    pub fn is_within(&self, held: QueueBacklog) -> bool {
        held.packets <= self.limit.packets && held.bytes <= self.limit.bytes
    }

    /// Judges an arrival; `idle` is whether no packet is before it.
    #[inline(always)]
    pub fn admit(&mut self, arrival: &Arrival, idle: bool, can_mark: bool) -> QueueDecision {
        let mut offer = QueueDecision::Queued { mark: false };
        if let Some(judge) = &mut self.judge {
            offer = QueueDecision::from_verdict(
                judge.aqm.on_arrival(arrival, &mut judge.random),
                can_mark,
            );
        }
        match offer {
            QueueDecision::Queued { .. }
                if !self.has_room(arrival.backlog, arrival.bytes, idle) =>
            {
                QueueDecision::Dropped(Cause::QueueFull)
            }
            _ => offer,
        }
    }

    /// Whether a packet of `bytes` fits in addition to `backlog`; `idle` is whether no packet is before
    /// it.
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self, backlog: QueueBacklog, bytes: u32, idle: bool) -> bool {
        // A limit that counts only waiting packets never holds back one that is sent at once.
        let at_once = idle && !self.limit.counts_in_service;
        let room = backlog.packets < self.limit.packets
            && backlog.bytes + u64::from(bytes) <= self.limit.bytes;
        room || at_once
    }

    /// Judges the packet at the head.
    #[inline]
    pub fn release(&mut self, head: &HeadPacket) -> QueueDecision {
        match &mut self.judge {
            Some(judge) => QueueDecision::from_verdict(
                judge.aqm.on_head(head, &mut judge.random),
                head.can_mark,
            ),
            None => QueueDecision::Queued { mark: false },
        }
    }

    /// A packet that was let in has been stored.
    #[inline(always)]
    pub fn on_enqueue(&mut self, bytes: u32, precedence: u8) {
        if let Some(judge) = &mut self.judge {
            judge.aqm.on_enqueue(bytes, precedence);
        }
    }

    /// A packet left the queue; `left` is the remaining content.
    #[inline(always)]
    pub fn on_departure(&mut self, at: Time, bytes: u32, precedence: u8, left: QueueBacklog) {
        if let Some(judge) = &mut self.judge {
            judge.aqm.on_departure(at, bytes, precedence, left);
        }
    }

    /// A packet of the queue was dropped to make room.
    pub fn on_overflow(&mut self, at: Time) {
        if let Some(judge) = &mut self.judge {
            judge.aqm.on_overflow(at);
        }
    }

    /// The queue is empty and its last packet has been sent.
    #[inline(always)]
    pub fn on_idle(&mut self, at: Time) {
        if let Some(judge) = &mut self.judge {
            judge.aqm.on_idle(at);
        }
    }

    /// Average that the AQM keeps, or that of one precedence.
    #[must_use]
    pub fn average(&self, precedence: Option<u8>) -> Option<f64> {
        let aqm = &self.judge.as_ref()?.aqm;
        precedence.map_or_else(|| aqm.average(), |precedence| aqm.average_of(precedence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_port::aqm::{AqmConfig, Arithmetic, CodelConfig, DropTailConfig};

    /// A gate without an AQM, or with CoDel, which judges heads and drops none that arrives.
    fn gate(packets: u32, bytes: u64, counts_in_service: bool, has_codel: bool) -> QueueGate {
        let config = match has_codel {
            false => AqmConfig::DropTail(DropTailConfig {}),
            true => AqmConfig::Codel(CODEL),
        };
        let aqm = Aqm::new(&config, 8_000_000).expect("an AQM");
        let limit = QueueLimit { packets, bytes, counts_in_service };
        QueueGate::new(limit, aqm, RandomStream::new(1, "queue", "aqm"))
    }

    const CODEL: CodelConfig = CodelConfig {
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        mtu_bytes: 1500,
        ce_threshold_ns: None,
        arithmetic: Arithmetic::Exact,
    };

    #[test]
    fn each_counter_adds_up_its_own_events_alone() {
        let mut counters = QueueCounters::default();
        [100, 20, 3].into_iter().for_each(|bytes| counters.enter(bytes));
        [4000, 500, 60].into_iter().for_each(|bytes| counters.refuse(bytes));
        [7, 9, 2].into_iter().for_each(|wait| counters.wait(wait));
        counters.discard(700, 11);
        counters.discard(80, 5);
        [1000, 200, 30].into_iter().for_each(|bytes| counters.lose(bytes));
        assert_eq!((counters.packets, counters.bytes), (3, 123));
        assert_eq!((counters.dropped_packets, counters.dropped_bytes), (3, 4560));
        assert_eq!((counters.wait, counters.wait_max), (18, 9));
        assert_eq!((counters.discarded_packets, counters.discarded_bytes), (2, 780));
        assert_eq!(counters.discarded_wait, 16);
        assert_eq!((counters.lost_packets, counters.lost_bytes), (3, 1230));
        assert_eq!(counters.never_sent(), (5, 2010));
        assert_eq!(counters.all_dropped(), 5);
    }

    #[test]
    fn size_precedence_and_mark_share_a_word_and_change_no_other() {
        for bytes in [0, 1, 1500, 65_535, (1 << 23) - 1] {
            for precedence in [0, 1, 2, 255] {
                for can_mark in [false, true] {
                    let size = SizeAndMarks::new(bytes, precedence, can_mark);
                    assert_eq!(
                        (size.bytes(), size.precedence(), size.can_mark()),
                        (bytes, precedence, can_mark)
                    );
                    let waiting = WaitingPacket { joined_at: 0, packet: 0, size };
                    assert_eq!((waiting.bytes(), waiting.precedence()), (bytes, precedence));
                }
            }
        }
    }

    /// RFC 3168 section 5: what an AQM would drop is marked where the packet is capable, and dropped else. A
    /// mark alone is no reason to drop, and what has to be dropped is.
    #[test]
    fn rfc3168_s5_a_signal_marks_the_capable_and_drops_the_others() {
        let queued = |mark| QueueDecision::Queued { mark };
        let dropped = QueueDecision::Dropped(Cause::Early);
        for (verdict, capable, other) in [
            (Verdict::Pass, queued(false), queued(false)),
            (Verdict::Mark, queued(true), queued(false)),
            (Verdict::Signal(Cause::Early), queued(true), dropped),
            (Verdict::Refuse(Cause::Early), dropped, dropped),
        ] {
            assert_eq!(QueueDecision::from_verdict(verdict, true), capable, "{verdict:?}");
            assert_eq!(QueueDecision::from_verdict(verdict, false), other, "{verdict:?}");
        }
    }

    /// Three packets and 1000 B: the packet must fit both. One that is sent at once needs no place where those
    /// in service do not count.
    #[test]
    fn a_packet_needs_room_for_itself_and_for_its_bytes() {
        for (packets, bytes, size, fits) in [
            (0, 0, 1000, true),
            (0, 0, 1001, false),
            (2, 400, 600, true),
            (2, 401, 600, false),
            (3, 400, 1, false),
            (3, 400, 601, false),
        ] {
            let backlog = QueueBacklog { packets, bytes };
            for counts_in_service in [false, true] {
                let mut gate = gate(3, 1000, counts_in_service, false);
                let case = (packets, bytes, size, counts_in_service);
                assert_eq!(gate.counts_in_service(), counts_in_service);
                assert_eq!(gate.has_room(backlog, size, false), fits, "{case:?}");
                let at_once = fits || !counts_in_service;
                assert_eq!(gate.has_room(backlog, size, true), at_once, "{case:?}");
                let arrival = Arrival { now: 0, bytes: size, precedence: 0, backlog };
                let expected = match fits {
                    true => QueueDecision::Queued { mark: false },
                    false => QueueDecision::Dropped(Cause::QueueFull),
                };
                assert_eq!(gate.admit(&arrival, false, true), expected, "{case:?}");
            }
            let held = QueueBacklog { packets, bytes: bytes + u64::from(size) };
            let is_within = bytes + u64::from(size) <= 1000;
            assert_eq!(gate(3, 1000, true, false).is_within(held), is_within);
            assert!(!gate(2, 1000, true, false).is_within(QueueBacklog { packets: 3, bytes: 0 }));
        }
    }

    /// A port is plain where only a number of packets that is not 0 limits it: that of those waiting, and the
    /// one that is sent, if that does not count.
    #[test]
    fn a_gate_has_a_capacity_where_packets_alone_limit_it() {
        for (packets, bytes, counts_in_service, has_codel, capacity) in [
            (5, u64::MAX, true, false, Some(5)),
            (5, u64::MAX, false, false, Some(6)),
            (1, u64::MAX, true, false, Some(1)),
            (0, u64::MAX, false, false, Some(1)),
            (0, u64::MAX, true, false, None),
            (5, u64::MAX - 1, true, false, None),
            (5, u64::MAX, true, true, None),
        ] {
            let gate = gate(packets, bytes, counts_in_service, has_codel);
            assert_eq!(gate.capacity(), capacity, "{packets} {bytes} {counts_in_service}");
            assert_eq!((gate.has_aqm(), gate.judges_heads()), (has_codel, has_codel));
        }
    }
}
