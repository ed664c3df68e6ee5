//! Changes of the sender's window: acknowledgements, losses, congestion marks, timeouts.
//!
//! Source: RFC 5681 section 3, RFC 6298 section 5 (timer), RFC 3168 section 6.1.2 (ECN).
//! Differs: Tahoe, Reno and NewReno follow ns-2 2.35, since the documents of 1999 to 2003 measured that:
//! the window grows once per acknowledgement whatever it covers; a loss halves the window, not the
//! flight size of RFC 5681 (4), at every timeout anew. SACK halves the flight size, of which at most a
//! window counts, as the held segments beyond it have left the network; a second timeout of the same
//! segment reduces nothing.

use super::{Phase, Sender, NONE, OVER};
use crate::tcp::congestion::{ConnectionView, ReductionCause};
use crate::tcp::{Ack, Variant};
use trunkline_units::{Time, NEVER};

impl Sender {
    /// Takes a new acknowledgement into account: RTT, timer, end of the transfer. Returns the segments that
    /// it covers.
    #[inline]
    pub(super) fn accept(&mut self, ack: &Ack, now: Time) -> u32 {
        if self.timestamps {
            self.rto.sample_echoed(ack.echo, now);
        } else if self.covers_timed_segment(ack) {
            self.timed = NONE;
            self.rto.sample_timed(self.timed_at, now);
        }
        // RFC 3465 section 2.3: after a timeout an acknowledgement may cover segments that had arrived
        // before.
        let covered = if self.phase == Phase::Timeout { 1 } else { ack.ack - self.una };
        self.slide(ack.ack);
        self.dup_acks = 0;
        self.rearm(now);
        covered
    }

    /// Moves the window's left edge.
    #[inline]
    pub(super) fn slide(&mut self, ack: u32) {
        self.una = ack;
        self.next = self.next.max(ack);
    }

    /// RFC 6298 (5.2), (5.3). A window held shut by ECN waits for the timer too.
    #[inline]
    pub(super) fn rearm(&mut self, now: Time) {
        if self.una == self.sizes.total && !self.pass_write() {
            (self.timed, self.timed_at) = (OVER, now);
            self.rtx_at = NEVER;
        } else if self.una < self.max || self.window.cwnd < 1.0 {
            self.rtx_at = now + self.rto.current();
        } else {
            self.rtx_at = NEVER;
        }
    }

    /// Opens the window by a new acknowledgement of so many segments, as the control decides. One that carries ECN-Echo
    /// opens nothing (RFC 3168 section 6.1.2).
    #[inline]
    pub(super) fn grow(&mut self, ack: &Ack, covered: u32, now: Time) {
        if ack.ece && self.ecn {
            return;
        }
        let view =
            ConnectionView { echo: ack.ece, acked: covered, now, ..ConnectionView::default() };
        let (una, next, srtt) = (self.una, self.max, &self.rto);
        self.control.on_new_ack(&mut self.window, || ConnectionView {
            una,
            next,
            srtt: srtt.srtt().unwrap_or(0.0) as u64,
            ..view
        });
    }

    /// Whether an acknowledgement covers the segment whose round trip is being timed.
    #[inline]
    fn covers_timed_segment(&self, ack: &Ack) -> bool {
        self.timed < ack.ack
    }

    /// Passes an acknowledgement to the control before anything changes.
    #[cold]
    pub(super) fn measure(&mut self, ack: &Ack, now: Time) {
        if ack.ack == self.una {
            return;
        }
        let rtt = if self.timestamps {
            Some(now.saturating_sub(ack.echo))
        } else {
            self.covers_timed_segment(ack).then(|| now - self.timed_at)
        };
        let view = ConnectionView {
            now,
            acked: ack.ack - self.una,
            una: ack.ack,
            next: self.max,
            rtt,
            srtt: self.rto.srtt().unwrap_or(0.0) as u64,
            echo: ack.ece && self.ecn,
        };
        self.control.on_measured_ack(&mut self.window, &view);
    }

    /// Threshold and window that a reduction of `size` segments leaves.
    fn reduced(&mut self, size: f64, cause: ReductionCause) -> (f64, f64) {
        let left = self.control.reduce_window(&self.window, size, cause);
        (self.control.threshold(left), left.max(1.0))
    }

    /// Whether a fast retransmit is allowed: all that was outstanding at the last loss is
    /// acknowledged and one segment more (RFC 6582 section 3.2 step 2, the careful form).
    pub(super) fn past_recovery(&self) -> bool {
        self.una > self.recover || self.recover == 0
    }

    /// Reduces the window for a loss, unless an ECN-Echo did so for the same window of data
    /// (RFC 3168 section 6.1.2), and marks the point up to which this counts. True: reduced now.
    pub(super) fn reduce(&mut self, size: f64) -> bool {
        if self.control.steers() {
            self.control.reduce_window(&self.window, size, ReductionCause::Loss);
            self.mark_reduced();
            return false;
        }
        let size = self.used_window(size);
        let by_ecn = self.ecn && self.una < self.reduced && self.phase == Phase::Open;
        if !by_ecn {
            (self.window.ssthresh, self.window.cwnd) = self.reduced(size, ReductionCause::Loss);
        }
        self.mark_reduced();
        !by_ecn
    }

    fn mark_reduced(&mut self) {
        self.reduced = self.max;
        self.cwr = self.ecn;
    }

    /// Duplicate acknowledgements showed a loss: Karn's rule, timer, count.
    pub(super) fn on_loss(&mut self, now: Time) {
        self.fast_retransmits += 1;
        self.recover = self.max;
        self.timed = NONE;
        self.rtx_at = now + self.rto.current();
    }

    /// RFC 3168 section 6.1.2: as a loss, but at most once per window of data. At a window of one
    /// segment nothing is sent until the timer runs out.
    pub(super) fn on_ecn_echo(&mut self, ack: u32, now: Time) {
        if (ack <= self.reduced && self.reduced > 0) || self.control.steers() {
            return;
        }
        let cwnd;
        (self.window.ssthresh, cwnd) = self.reduced(self.window.cwnd, ReductionCause::Mark);
        if self.window.cwnd <= 1.0 {
            self.window.cwnd = 0.5;
            self.rtx_at = now + self.rto.current();
        } else {
            self.window.cwnd = cwnd;
        }
        self.mark_reduced();
    }

    /// RFC 6298 (5.4) to (5.7), RFC 5681 section 3.1.
    #[cold]
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.rtx_at = NEVER;
        if self.una == self.max {
            self.window.cwnd = self.window.cwnd.max(1.0); // ECN closed the window, nothing is lost
            return;
        }
        if !matches!(self.variant, Variant::Sack | Variant::Rack) {
            self.window.ssthresh = self.reduced(self.window.cwnd, ReductionCause::Timeout).0;
            self.next = self.una;
        } else {
            let before = match (&self.scoreboard, &self.rack) {
                (Some(scoreboard), _) => scoreboard.timed_out_at(),
                (_, rack) => rack.as_ref().and_then(|rack| rack.timed_out_at()),
            };
            // RFC 5681 section 3.1: held when the timer resends the same segment.
            if before != Some(self.una) {
                let flight = f64::from(self.max - self.una).min(self.window.cwnd);
                self.window.ssthresh = self.reduced(flight, ReductionCause::Timeout).0;
            }
            match (self.scoreboard.as_mut(), self.rack.as_mut()) {
                (Some(scoreboard), _) => scoreboard.on_timeout(self.una, self.max),
                (_, Some(rack)) => rack.on_timeout(self.una, now),
                _ => {}
            }
        }
        self.phase = Phase::Timeout;
        self.window.cwnd = 1.0;
        self.recover = self.max;
        self.dup_acks = 0;
        self.inflation = 0;
        self.partial_seen = false;
        self.resend = false;
        self.timed = NONE;
        self.mark_reduced();
        self.rto.back_off();
        self.rtx_at = now + self.rto.current();
    }
}
