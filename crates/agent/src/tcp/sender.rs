//! TCP sender: what every variant shares. Events in, segments out, in which order and when.
//!
//! Source: RFC 5681 (loss recovery), RFC 3042 (limited transmit); how the window moves is in
//! `window.rs`.
//! Differs: after a timeout Tahoe, Reno and NewReno go back to the first unacknowledged segment
//! and send on from there, as ns-2 does. Absent: congestion window validation (RFC 7661).

use super::linux::Linux;
use super::scoreboard::Scoreboard;
use super::{newreno, reno, rto::Rto, sack, tahoe};
use super::{Ack, Segment, TcpConfig, Variant};
use trunkline_units::{fetch, Span, Stream, Time, NEVER};

/// No segment is being timed.
pub(super) const NONE: u32 = u32::MAX;

/// Where the sender stands between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss is being repaired.
    Open,
    /// Duplicate acknowledgements told of a loss; until `recover` is acknowledged.
    FastRecovery,
    /// The timer ran out; until `recover` is acknowledged.
    Timeout,
}

/// Sending end of a TCP connection.
///
/// The two cache lines that every acknowledgement touches come first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender {
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) una: u32,  // first segment not acknowledged (SND.UNA)
    pub(super) next: u32, // next to send; below `max` when going back after a timeout
    pub(super) max: u32,  // one past the highest sent (SND.MAX)
    pub(super) end: u32,  // one past the last to send
    limit: u32,           // one past the last that window and transfer allow
    burst: u32,           // segments the last event lets go at once
    pub(super) dup_acks: u32,
    pub(super) inflation: u32, // segments that left the network during fast recovery
    pub(super) recover: u32,   // `max` at the last loss: RFC 6582's "recover", plus one
    pub(super) timed: u32,     // the segment being timed, or `NONE`
    pub(super) timed_at: Time,
    pub(super) rtx_at: Time,
    release_at: Time,
    overhead: Span,
    pub(super) window: u32,
    pub(super) threshold: u32,
    pub(super) total: u32,
    pub(super) reduced: u32, // `max` at the last reduction of the window
    full_bytes: u16,
    last_bytes: u16,
    pub(super) phase: Phase,
    pub(super) variant: Variant,
    /// The first unacknowledged segment goes next, whatever the window.
    pub(super) resend: bool,
    pub(super) partial_seen: bool,
    pub(super) impatient: bool,
    pub(super) limited_transmit: bool,
    released: bool,
    pub(super) timestamps: bool,
    pub(super) ecn: bool,
    pub(super) cwr: bool,
    pub(super) count_segments: bool,
    by_kernel: bool, // `linux` decides
    pub(super) rto: Rto,
    pub(super) covered: u32, // segments that the last new acknowledgement covered
    pub(super) finished_at: Option<Time>,
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    pub(super) fast_retransmits: u64,
    pub(super) scoreboard: Scoreboard,
    pub(super) linux: Option<Box<Linux>>,
}

impl Sender {
    /// A sender that has sent nothing and waits for [`Sender::start`].
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let bytes = |payload: u32| (payload + config.header_bytes).min(u32::from(u16::MAX)) as u16;
        let cap = f64::from(config.window_packets);
        Self {
            cwnd: config.initial_window.min(cap),
            ssthresh: config.initial_ssthresh.unwrap_or(cap).min(cap),
            una: 0,
            next: 0,
            max: 0,
            end: config.segments(),
            limit: 0,
            burst: 0,
            dup_acks: 0,
            inflation: 0,
            recover: 0,
            reduced: 0,
            timed: NONE,
            timed_at: 0,
            rtx_at: NEVER,
            release_at: NEVER,
            rto: Rto::new(
                config.rto_initial_ns,
                config.rto_min_ns,
                config.rto_max_ns,
                config.tick_ns,
            ),
            phase: Phase::Open,
            variant: config.variant,
            resend: false,
            impatient: config.new_reno_impatient,
            partial_seen: false,
            limited_transmit: config.limited_transmit,
            released: false,
            timestamps: config.timestamps,
            ecn: config.ecn,
            cwr: false,
            count_segments: config.count_segments,
            covered: 0,
            window: config.window_packets,
            threshold: config.dup_acks,
            full_bytes: bytes(config.mss_bytes),
            last_bytes: bytes(config.last_payload()),
            total: config.segments(),
            overhead: config.send_overhead_ns,
            finished_at: None,
            retransmissions: 0,
            timeouts: 0,
            fast_retransmits: 0,
            scoreboard: Scoreboard::default(),
            by_kernel: config.linux,
            linux: config.linux.then(|| Box::new(Linux::new(config))),
        }
    }

    /// Opens the window. The first burst is not held back: the flow's own start may be random.
    pub fn start(&mut self, now: Time) {
        if self.by_kernel {
            return self.follow(|linux| linux.start(now));
        }
        if self.total == 0 {
            self.finished_at = Some(now);
        }
        self.limit = self.window_end();
        self.burst = u32::MAX;
        self.released = true;
    }

    /// No new data after this; what was sent is still made good.
    pub fn stop(&mut self, _now: Time) {
        if self.by_kernel {
            return self.follow(Linux::stop);
        }
        self.end = self.max;
        self.limit = self.limit.min(self.end);
    }

    /// An acknowledgement arrived. Poll [`Sender::next_segment`] after it.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, random: &mut Stream) {
        if ack.ack < self.una || ack.ack > self.max {
            return; // older than one seen before (RFC 9293 section 3.10.7.4), or for nothing sent
        }
        if self.by_kernel {
            return self.on_ack_of_kernel(ack, now);
        }
        if ack.ece && self.ecn {
            self.on_ecn_echo(ack.ack, now);
        }
        match self.variant {
            Variant::Sack => sack::on_ack(self, ack, now),
            _ if ack.ack > self.una => match self.variant {
                Variant::Reno => reno::on_new_ack(self, ack, now),
                Variant::NewReno => newreno::on_new_ack(self, ack, now),
                _ => tahoe::on_new_ack(self, ack, now),
            },
            // Nothing outstanding: not a duplicate (RFC 5681 section 2).
            _ if self.max == self.una => {}
            _ => {
                self.dup_acks += 1;
                match self.variant {
                    Variant::Reno => reno::on_dup_ack(self, now),
                    Variant::NewReno => newreno::on_dup_ack(self, now),
                    _ => tahoe::on_dup_ack(self, now),
                }
            }
        }
        self.allow(now, random);
    }

    /// The instant [`Sender::timer`] named may have come. Poll [`Sender::next_segment`] after it.
    pub fn on_timer(&mut self, now: Time, random: &mut Stream) {
        if self.by_kernel {
            if now >= self.rtx_at {
                self.follow(|linux| linux.on_timer(now));
            }
            return;
        }
        if now >= self.rtx_at {
            self.on_timeout(now);
            self.allow(now, random);
        }
        if now >= self.release_at {
            self.release_at = NEVER;
            self.released = true;
            self.burst = u32::MAX;
        }
    }

    /// The next segment to send now, if any.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.resend {
            if self.by_kernel {
                return self.next_of_kernel();
            }
            self.resend = false;
            if self.variant == Variant::Sack {
                self.scoreboard.on_resend(self.una);
            }
            return Some(self.emit(self.una, now));
        }
        if self.overhead == 0 || self.released {
            if let Some(seq) = self.choose() {
                self.burst -= 1;
                if seq == self.next {
                    self.next += 1;
                }
                return Some(self.emit(seq, now));
            }
            self.released = false;
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn on_ack_of_kernel(&mut self, ack: &Ack, now: Time) {
        self.follow(|linux| linux.on_ack(ack, now));
    }

    /// Lets the kernel's sender act, and shows what it shows.
    #[cold]
    #[inline(never)]
    fn follow(&mut self, act: impl FnOnce(&mut Linux)) {
        let Some(linux) = &mut self.linux else { return };
        act(linux);
        (self.una, self.max) = (linux.una(), linux.next());
        (self.cwnd, self.ssthresh) = (linux.cwnd(), linux.ssthresh());
        self.rtx_at = linux.timer();
        self.finished_at = linux.finished_at();
        self.resend = true;
    }

    #[cold]
    #[inline(never)]
    fn next_of_kernel(&mut self) -> Option<Segment> {
        let linux = self.linux.as_mut()?;
        let Some((seq, retransmission)) = linux.pop() else {
            self.resend = false;
            return None;
        };
        let cwr = !retransmission && linux.take_cwr();
        let push = linux.pushes(seq);
        Some(Segment { seq, ip_bytes: self.ip_bytes(seq), retransmission, cwr, push })
    }

    #[inline]
    fn ip_bytes(&self, seq: u32) -> u16 {
        if seq + 1 == self.total {
            self.last_bytes
        } else {
            self.full_bytes
        }
    }

    #[inline]
    fn choose(&mut self) -> Option<u32> {
        if self.burst == 0 {
            return None;
        }
        if self.variant == Variant::Sack {
            return sack::choose(self, true);
        }
        (self.next < self.limit).then_some(self.next)
    }

    #[inline]
    fn emit(&mut self, seq: u32, now: Time) -> Segment {
        let fresh = seq >= self.max;
        if fresh {
            self.max = seq + 1;
            if !self.timestamps && self.timed == NONE {
                self.timed = seq;
                self.timed_at = now;
            }
        } else {
            self.retransmissions += 1;
        }
        if self.rtx_at == NEVER {
            self.rtx_at = now + self.rto.current();
        }
        let ip_bytes = self.ip_bytes(seq);
        // RFC 3168 section 6.1.2: on the first new data after the reduction.
        let cwr = fresh && std::mem::take(&mut self.cwr);
        Segment { seq, ip_bytes, retransmission: !fresh, cwr, push: false }
    }

    /// Works out what the event allows to be sent and, with a send overhead, when.
    #[inline]
    fn allow(&mut self, now: Time, random: &mut Stream) {
        self.limit = self.window_end();
        self.burst = u32::MAX;
        if self.dup_acks > 0 && self.variant != Variant::Sack {
            self.limit_burst();
        }
        if self.overhead > 0 && !self.released && self.release_at == NEVER {
            let ready = match self.variant {
                Variant::Sack => sack::choose(self, false).is_some(),
                _ => self.burst > 0 && self.next < self.limit,
            };
            if ready {
                self.release_at = now + random.below(self.overhead);
            }
        }
    }

    #[inline]
    fn window_end(&self) -> u32 {
        let window = (self.cwnd as u32).saturating_add(self.inflation).min(self.window);
        self.una.saturating_add(window).min(self.end)
    }

    /// How much may follow a duplicate acknowledgement.
    fn limit_burst(&mut self) {
        if self.dup_acks >= self.threshold {
            // ns-2's NewReno lets two segments go per duplicate or partial acknowledgement.
            if self.variant == Variant::NewReno {
                self.burst = 2;
            }
        } else if self.limited_transmit {
            // RFC 3042 section 2: one new segment each, cwnd plus two outstanding at most.
            let window = (self.cwnd as u32).saturating_add(self.dup_acks).min(self.window);
            self.limit = self.una.saturating_add(window).min(self.end);
        } else if self.variant != Variant::Tahoe {
            self.burst = 0;
        }
    }

    /// Asks the processor to fetch the two lines that every acknowledgement touches.
    #[inline(always)]
    pub fn fetch(&self) {
        fetch::ahead(&self.cwnd);
        fetch::ahead(&self.window);
    }

    /// The earliest instant at which [`Sender::on_timer`] has something to do, or [`NEVER`].
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        self.rtx_at.min(self.release_at)
    }
}
