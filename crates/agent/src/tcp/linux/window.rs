//! The congestion window: when it may grow, and its reduction in proportion to what arrives.
//!
//! Source: RFC 6937 (`prr.rs`); RFC 7661 section 4.1 for when it may grow: it was full, or half full in
//! slow start.

use super::{AckSummary, Phase, Sender};
use crate::tcp::congestion::{ConnectionView, ReductionCause};
use crate::tcp::prr::Progress;
use trunkline_units::Time;

impl Sender {
    pub(super) fn reducing(&self) -> bool {
        matches!(self.phase, Phase::Reducing | Phase::Recovery)
    }

    /// The threshold that a reduction can be taken back to.
    pub(super) fn current_ssthresh(&self) -> f64 {
        if self.reducing() {
            self.window.ssthresh
        } else {
            let cwnd = self.cwnd();
            self.window.ssthresh.max(f64::from(cwnd / 2 + cwnd / 4))
        }
    }

    /// Congestion window [full segments].
    pub(super) fn cwnd(&self) -> u32 {
        self.window.cwnd as u32
    }

    pub(super) fn set_threshold(&mut self, cause: ReductionCause) {
        let left = self.control.reduce_window(&self.window, self.window.cwnd, cause);
        self.window.ssthresh = left.trunc().max(2.0);
        self.window.credit = 0;
    }

    pub(super) fn start_reduction(&mut self, cause: ReductionCause) {
        self.high_seq = self.next;
        self.probe_end = None;
        self.prior_cwnd = self.cwnd();
        self.prr.start(self.prior_cwnd);
        self.prr_sent = 0;
        self.set_threshold(cause);
        self.cwr = self.ecn;
    }

    pub(super) fn end_reduction(&mut self) {
        if self.control.steers() {
            return;
        }
        if self.window.ssthresh.is_finite() && (self.phase == Phase::Reducing || self.undo) {
            self.window.cwnd = self.window.ssthresh;
        }
        self.control.on_recovery_end(&mut self.window);
    }

    /// The last step of an acknowledgement.
    pub(super) fn control(&mut self, summary: &AckSummary, now: Time) {
        if self.reducing() {
            self.reduce(summary.delivered, summary.advanced && summary.lost == 0);
        } else if summary.advanced || (self.reordering > super::DUP_THRESH && summary.covers_new) {
            self.grow(summary.delivered, now);
        }
    }

    pub(super) fn reduce(&mut self, delivered: u32, clean: bool) {
        if delivered == 0 || self.control.steers() {
            return;
        }
        let in_flight = self.queue.in_flight();
        let progress = Progress {
            ssthresh: self.window.ssthresh as u32,
            in_flight,
            delivered,
            sent: self.prr_sent,
            clean,
        };
        self.window.cwnd = f64::from(in_flight + self.prr.allows(&progress));
    }

    fn grow(&mut self, acked: u32, now: Time) {
        let slow = self.window.cwnd < self.window.ssthresh;
        let half_full = slow && self.cwnd() < 2 * self.max_outstanding;
        if self.limited || half_full {
            let (una, next) = (self.una, self.next);
            let view = || ConnectionView { now, acked, una, next, ..ConnectionView::default() };
            self.control.on_new_ack(&mut self.window, view);
        }
    }

    /// Something was sent, or the window is full: remembers for a window of data which it was.
    pub(super) fn validate(&mut self, limited: bool) {
        let out = self.queue.len();
        if self.una >= self.limited_until
            || limited
            || (!self.limited && out > self.max_outstanding)
        {
            self.limited = limited;
            self.max_outstanding = out;
            self.limited_until = self.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::config::tests::plain;
    use crate::tcp::linux::Sender;

    /// Linux 6.1, `tcp_cwnd_validate`: a full window is remembered at once; that it was not full only
    /// when the data that were sent then are acknowledged.
    #[test]
    fn tcp_cwnd_validate_remembers_a_full_window_until_its_data_are_acknowledged() {
        for (una, before, limited, after) in [
            (9, false, true, true),   // at once
            (9, true, false, true),   // not before 10 is acknowledged
            (10, true, false, false), // then
            (10, true, true, true),
        ] {
            let mut sender = Sender::new(&plain());
            (sender.una, sender.next, sender.limited_until) = (una, 20, 10);
            (sender.limited, sender.max_outstanding) = (before, 7);
            sender.validate(limited);
            let changes = una >= 10 || limited;
            assert_eq!(sender.limited, after, "{una} {before} {limited}");
            assert_eq!(sender.limited_until, if changes { 20 } else { 10 });
            assert_eq!(sender.max_outstanding, if changes { 0 } else { 7 });
        }
    }
}
