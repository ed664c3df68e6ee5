//! Undo of a reduction that no loss justified.
//!
//! Source: RFC 5682 section 3.4 leaves the response open; Linux 6.1 restores window and threshold
//! (`tcp_undo_cwnd_reduction`). Evidence is that every segment sent again is accounted for, or a time
//! stamp from before the first segment sent again (RFC 3522, Eifel detection), or F-RTO's; a D-SACK for
//! each segment sent again (RFC 3708) accounts for it.

use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

const MS: Time = 1_000_000;

impl Sender {
    pub(super) fn init_undo(&mut self) {
        let probe = u32::from(self.probe_end.is_some() && self.probe_again);
        let out = i64::from(self.queue.resent_count + probe);
        self.undo = true;
        self.undo_from = self.una;
        self.undo_again = if out == 0 { -1 } else { out };
    }

    /// RFC 2883 section 4: whether the first block reports a segment that arrived twice. It accounts for
    /// one of those sent again since the reduction (`tcp_check_dsack`).
    pub(super) fn take_duplicate(&mut self, ack: &Ack, prior_una: u32) -> bool {
        let [[start, end], second, _] = ack.sack;
        let inside = start >= second[0] && end <= second[1];
        if end == 0 || !(start < ack.ack || inside) {
            return false;
        }
        if self.undo && self.undo_again > 0 && end <= prior_una && end > self.undo_from {
            self.undo_again = (self.undo_again - i64::from(end - start)).max(0);
        }
        // `tcp_dsack_seen` (a657db0350bb): a duplicate without reordering, or of a probe, says nothing about the window.
        if self.reordering_seen && self.probe_end != Some(end) {
            self.rack.widen_window();
        }
        true
    }

    /// Every segment sent again arrived twice: nothing had been lost (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self) {
        if self.phase <= Phase::Disorder && self.undo && self.undo_again == 0 {
            self.rack.undid_by_duplicates();
            self.undo_reduction(false);
        }
    }

    /// Whether the delivered segment was sent before the first retransmission.
    fn delayed(&self, ack: &Ack) -> bool {
        match self.first_resent_at {
            Some(since) => self.timestamps && ack.echo / MS < since / MS,
            None => self.sack || self.una < self.high_seq,
        }
    }

    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo && (self.undo_again == 0 || self.delayed(ack))
    }

    fn undo_reduction(&mut self, forgive: bool) {
        if forgive {
            self.queue.clear_lost();
        }
        if self.prior_ssthresh > 0.0 {
            self.control.undo_reduction(&mut self.window, f64::from(self.prior_cwnd));
            if self.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.prior_ssthresh;
                self.cwr = false;
            }
        }
        self.undo = false;
        self.rack.reset_window();
    }

    /// Without SACK the phase is held until something above it is acknowledged (RFC 6582 section
    /// 4.1: duplicates of needless retransmits are no loss).
    fn holds(&mut self) -> bool {
        if self.una != self.high_seq || self.sack {
            return false;
        }
        if !self.queue.has_resent() {
            self.first_resent_at = None;
        }
        true
    }

    /// All is acknowledged. True: the phase is held.
    pub(super) fn undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(false);
        } else {
            self.rack.recovered();
        }
        if self.holds() {
            return true;
        }
        self.phase = Phase::Open;
        false
    }

    /// A partial acknowledgement in recovery. True: nothing is retransmitted for now.
    pub(super) fn undo_partial(&mut self, prior_una: u32, ack: &Ack) -> bool {
        if !self.undo || !self.delayed(ack) {
            return false;
        }
        self.see_reordering(prior_una, self.queue.high_held());
        if self.queue.resent_count > 0 {
            return true;
        }
        if !self.queue.has_resent() {
            self.first_resent_at = None;
        }
        self.undo_reduction(true);
        self.stay_open();
        false
    }

    /// After a timeout. True: it was needless.
    pub(super) fn undo_loss(&mut self, by_frto: bool, ack: &Ack) -> bool {
        if !by_frto && !self.may_undo(ack) {
            return false;
        }
        self.undo_reduction(true);
        self.expiries = 0;
        if !self.holds() && (by_frto || self.sack) {
            self.phase = Phase::Open;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::TcpConfig;

    fn sender() -> Sender {
        Sender::new(&TcpConfig { linux: true, ..plain() })
    }

    /// `tcp_init_undo`: what is sent again counts, and the last segment that a probe sent again; none is no count.
    #[test]
    fn tcp_init_undo_counts_what_was_sent_again() {
        for (resent, probe_end, probe_again, count) in [
            (0, None, false, -1),
            (0, None, true, -1),
            (0, Some(3), false, -1),
            (0, Some(3), true, 1),
            (2, Some(3), true, 3),
        ] {
            let mut sender = sender();
            (sender.una, sender.probe_end, sender.probe_again) = (7, probe_end, probe_again);
            sender.queue.resent_count = resent;
            sender.init_undo();
            assert_eq!((sender.undo, sender.undo_from, sender.undo_again), (true, 7, count));
        }
    }

    /// `tcp_check_dsack`: below the acknowledgement, or inside the second block. It accounts for one sent again
    /// where it ends above `undo_marker` and not above what was acknowledged before.
    #[test]
    fn tcp_check_dsack_is_below_the_acknowledgement_or_inside_a_block() {
        for (sack, is_duplicate, left) in [
            ([[0, 0], [0, 0]], false, 2),
            ([[8, 9], [0, 0]], true, 1),
            ([[9, 10], [0, 0]], true, 1),
            ([[11, 12], [0, 0]], true, 2), // above what was acknowledged before
            ([[12, 13], [0, 0]], false, 2),
            ([[4, 5], [0, 0]], true, 2), // ends where the reduction began
            ([[5, 6], [0, 0]], true, 1),
            ([[14, 15], [14, 16]], true, 2),
            ([[15, 16], [14, 16]], true, 2),
            ([[13, 15], [14, 16]], false, 2),
            ([[15, 17], [14, 16]], false, 2),
        ] {
            let mut sender = sender();
            (sender.undo, sender.undo_again, sender.undo_from) = (true, 2, 5);
            let ack = Ack { ack: 12, sack: [sack[0], sack[1], [0, 0]], ..Ack::default() };
            assert_eq!(sender.take_duplicate(&ack, 10), is_duplicate, "{sack:?}");
            assert_eq!(sender.undo_again, left, "{sack:?}");
        }
    }
}
