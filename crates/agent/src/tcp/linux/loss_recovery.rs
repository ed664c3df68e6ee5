//! Loss detection by an acknowledgement, and the phases of recovery.
//!
//! Source: RFC 6582 section 3.2, RFC 6675 section 5, RFC 8985 section 7; RFC 5682 sections 2.1 and
//! 3.1 after a timeout; Linux 6.1 (`tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_enter_loss`) for
//! the order, and for counting duplicates without SACK: each stands for a segment held by the receiver.
//! There are at most as many as leave room for the lost segments; more are a sign of reordering and
//! raise the number of duplicates that means a loss (with SACK, until a timeout).

use super::{AckSummary, Phase, RepairStep, Sender, DUP_THRESH, MAX_REORDERING};
use crate::tcp::congestion::ReductionCause;
use crate::tcp::Ack;
use trunkline_units::Time;

impl Sender {
    /// Moves the phase; returns the segments to send next.
    pub(super) fn update_phase(
        &mut self,
        prior_una: u32,
        ack: &Ack,
        now: Time,
        summary: &mut AckSummary,
    ) -> RepairStep {
        let dubious =
            !summary.advanced || summary.covers_new || summary.echo || self.phase != Phase::Open;
        if !dubious {
            return RepairStep::Nothing;
        }
        let duplicate = !summary.advanced;
        if self.queue.len() == 0 {
            self.queue.sacked_count = 0;
        }
        if summary.echo {
            self.prior_ssthresh = 0.0;
        }
        if self.phase == Phase::Open {
            self.first_resent_at = None;
        } else if self.una >= self.high_seq && self.try_leave_phase(ack) {
            return RepairStep::Nothing;
        }
        match self.phase {
            Phase::Recovery => {
                if !summary.advanced {
                    self.count_duplicate(duplicate, summary);
                } else if self.undo_partial(prior_una, ack) {
                    return RepairStep::Nothing;
                }
                self.find_losses(now, summary);
                if self.phase != Phase::Recovery {
                    if self.queue.lost == 0 {
                        return RepairStep::Nothing;
                    }
                    self.enter_recovery(summary.echo);
                }
            }
            Phase::Loss => {
                let repair = self.on_ack_after_timeout(ack, duplicate, summary);
                self.find_losses(now, summary);
                if self.phase != Phase::Open && !summary.lost_again {
                    return repair;
                }
                return self.on_ack_outside_recovery(duplicate, now, summary).unwrap_or(repair);
            }
            _ => {
                let lost_found = self.on_ack_outside_recovery(duplicate, now, summary);
                return lost_found.unwrap_or(RepairStep::Nothing);
            }
        }
        RepairStep::Lost
    }

    /// Everything that was outstanding when the phase began is acknowledged. True: nothing else follows.
    fn try_leave_phase(&mut self, ack: &Ack) -> bool {
        match self.phase {
            Phase::Reducing if self.una != self.high_seq => {
                self.end_reduction();
                self.phase = Phase::Open;
            }
            Phase::Recovery => {
                if !self.sack {
                    self.queue.sacked_count = 0;
                }
                if self.undo_recovery(ack) {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    fn on_ack_outside_recovery(
        &mut self,
        duplicate: bool,
        now: Time,
        summary: &mut AckSummary,
    ) -> Option<RepairStep> {
        if !self.sack && summary.advanced {
            self.queue.sacked_count = 0;
        }
        self.count_duplicate(duplicate, summary);
        self.find_losses(now, summary);
        self.undo_by_duplicates();
        if self.queue.lost == 0 {
            self.try_return_to_open(summary.echo);
            return None;
        }
        self.enter_recovery(summary.echo);
        Some(RepairStep::Lost)
    }

    /// Without SACK a duplicate is a segment held.
    fn count_duplicate(&mut self, duplicate: bool, summary: &mut AckSummary) {
        if self.sack || !duplicate {
            return;
        }
        let before = self.queue.sacked_count;
        self.queue.sacked_count += 1;
        self.limit_duplicates(0);
        summary.delivered += self.queue.sacked_count.saturating_sub(before);
    }

    /// Limits the duplicates so that the lost segments have room. `acked` segments left the queue.
    pub(super) fn limit_duplicates(&mut self, acked: u32) {
        let out = self.queue.len();
        let holes = self.queue.lost.max(1).min(out);
        if self.queue.sacked_count + holes > out {
            self.queue.sacked_count = out - holes;
            self.reordering = (out + acked).min(MAX_REORDERING);
            self.reordering_seen = true;
        }
    }

    fn find_losses(&mut self, now: Time, summary: &mut AckSummary) {
        if self.queue.len() == 0 {
            return;
        }
        if self.sack {
            let again = self.queue.resent_count;
            if self.find_overtaken(now, summary) {
                summary.set_timer = false;
            }
            summary.lost_again |= again > self.queue.resent_count;
            return;
        }
        let by_duplicates =
            self.phase < Phase::Recovery && self.queue.sacked_count >= self.reordering;
        let partial = self.phase == Phase::Recovery && summary.advanced;
        if (by_duplicates || partial) && !self.queue.head_lost() {
            summary.lost += self.queue.lose(self.una);
        }
    }

    pub(super) fn enter_recovery(&mut self, echo: bool) {
        if !self.queue.has_resent() {
            self.first_resent_at = None;
        }
        self.prior_ssthresh = 0.0;
        self.init_undo();
        if !self.reducing() {
            if !echo {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.start_reduction(ReductionCause::Loss);
        }
        self.control.on_recovery_start(&mut self.window);
        self.recoveries += 1;
        self.phase = Phase::Recovery;
    }

    fn try_return_to_open(&mut self, echo: bool) {
        if !self.queue.has_resent() {
            self.first_resent_at = None;
        }
        if echo {
            self.prior_ssthresh = 0.0;
            if self.phase < Phase::Reducing {
                self.undo = false;
                self.start_reduction(ReductionCause::Mark);
                self.phase = Phase::Reducing;
            }
        }
        if self.phase != Phase::Reducing {
            self.stay_open();
        }
    }

    pub(super) fn stay_open(&mut self) {
        let left = self.queue.sacked_count + self.queue.lost > 0 || self.queue.has_resent();
        let phase = if left { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.phase = phase;
            self.high_seq = self.next;
        }
    }

    /// RFC 5682: the first acknowledgement after a timeout shows whether the timeout was spurious.
    fn on_ack_after_timeout(
        &mut self,
        ack: &Ack,
        duplicate: bool,
        summary: &AckSummary,
    ) -> RepairStep {
        let recovered = self.una >= self.high_seq;
        if summary.advanced && self.undo_loss(false, ack) {
            return RepairStep::Nothing;
        }
        let mut repair = RepairStep::Lost;
        if self.frto {
            if summary.original && self.undo_loss(true, ack) {
                return RepairStep::Nothing;
            }
            if self.next > self.high_seq {
                if summary.covers_new || duplicate {
                    self.frto = false;
                }
            } else if summary.advanced && !recovered {
                self.high_seq = self.next;
                if self.next < self.sendable() {
                    repair = RepairStep::New;
                } else {
                    self.frto = false;
                }
            }
        }
        if repair == RepairStep::New {
            return repair;
        }
        if recovered {
            self.undo_recovery(ack);
            return RepairStep::Nothing;
        }
        if !self.sack {
            if self.next > self.high_seq && duplicate {
                self.queue.sacked_count += 1;
                self.limit_duplicates(0);
            } else if summary.advanced {
                self.queue.sacked_count = 0;
            }
        }
        RepairStep::Lost
    }

    /// The retransmission timer ran out: every segment is lost, except those sent lately.
    pub(super) fn enter_loss(&mut self, now: Time) {
        let first = self.phase < Phase::Recovery;
        if !self.sack {
            self.queue.sacked_count = 0;
        }
        self.lose_all(now);
        let again = self.phase == Phase::Loss && self.expiries == 0;
        if self.phase <= Phase::Disorder || self.high_seq <= self.una || again {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.cwnd();
            self.set_threshold(ReductionCause::Timeout);
            self.init_undo();
        }
        self.window.cwnd = f64::from(self.queue.in_flight() + 1);
        self.window.credit = 0;
        if self.phase <= Phase::Disorder && self.queue.sacked_count >= DUP_THRESH {
            self.reordering = self.reordering.min(DUP_THRESH);
        }
        self.phase = Phase::Loss;
        self.high_seq = self.next;
        self.probe_end = None;
        self.cwr = self.ecn;
        self.frto = first || self.expiries > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::TcpConfig;

    fn sender(segments: u32) -> Sender {
        let mut sender = Sender::new(&TcpConfig { linux: true, ..plain() });
        (0..segments).for_each(|_| sender.queue.push(0));
        sender.next = segments;
        sender
    }

    /// `tcp_enter_loss`: "Timeout in disordered state after receiving substantial DUPACKs suggests that the degree of
    /// reordering is over-estimated": with three held it is three again, not so in recovery.
    #[test]
    fn tcp_enter_loss_three_held_in_disorder_end_the_reordering() {
        for (held, phase, reordering) in
            [(3, Phase::Disorder, 3), (2, Phase::Disorder, 9), (3, Phase::Recovery, 9)]
        {
            let mut sender = sender(6);
            let mut removed = sender.begin_removal(&Ack::default(), 0);
            sender.queue.mark_sacked(3, 3 + held, 6, &mut removed);
            (sender.phase, sender.reordering, sender.high_seq) = (phase, 9, 6);
            sender.enter_loss(1_000_000_000);
            assert_eq!(sender.reordering, reordering, "{held} {phase:?}");
        }
    }

    /// `tcp_limit_reno_sacked` and `tcp_check_reno_reordering`: as many as leave room for a lost one; that more came
    /// says that so many segments, those acknowledged now too, are reordered, 300 at most (`tcp_max_reordering`).
    #[test]
    fn tcp_limit_reno_sacked_leaves_room_for_what_is_lost() {
        for (out, counted, acked, left, reordering) in
            [(10, 9, 0, 9, 3), (10, 10, 0, 9, 10), (10, 12, 5, 9, 15), (400, 400, 0, 399, 300)]
        {
            let mut sender = sender(out);
            sender.queue.sacked_count = counted;
            sender.limit_duplicates(acked);
            let seen = (sender.queue.sacked_count, sender.reordering, sender.reordering_seen);
            assert_eq!(seen, (left, reordering, counted > left), "{out} {counted}");
        }
    }
}
