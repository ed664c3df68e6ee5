//! What an acknowledgement means: whether something is lost, and where recovery stands.
//!
//! Source: RFC 6582 section 3.2, RFC 6675 section 5, RFC 8985 section 7; RFC 5682 sections 2.1 and
//! 3.1 after a timeout; Linux 6.1 (`tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_enter_loss`) for
//! the order, and for counting duplicates without SACK: each is a segment held, no more of them than
//! leave room for what is lost, and more of them than that are a sign of reordering: the number that
//! means a loss rises with them (with SACK, until a timeout).

use super::{News, Phase, Repair, Sender, DUP_THRESH, MOST_REORDERING};
use crate::tcp::congestion::Cause;
use crate::tcp::Ack;
use trunkline_units::Time;

impl Sender {
    /// Moves the phase; says what goes next.
    pub(super) fn alert(
        &mut self,
        prior_una: u32,
        ack: &Ack,
        now: Time,
        news: &mut News,
    ) -> Repair {
        let dubious = !news.advanced || news.held || news.echo || self.phase != Phase::Open;
        if !dubious {
            return Repair::Nothing;
        }
        let duplicate = !news.advanced;
        if self.queue.len() == 0 {
            self.queue.held = 0;
        }
        if news.echo {
            self.prior_ssthresh = 0.0;
        }
        if self.phase == Phase::Open {
            self.again_since = None;
        } else if self.una >= self.high_seq && self.leave(ack) {
            return Repair::Nothing;
        }
        match self.phase {
            Phase::Recovery => {
                if !news.advanced {
                    self.count_duplicate(duplicate, news);
                } else if self.undo_partial(prior_una, ack) {
                    return Repair::Nothing;
                }
                self.find_losses(now, news);
                if self.phase != Phase::Recovery {
                    if self.queue.lost == 0 {
                        return Repair::Nothing;
                    }
                    self.enter_recovery(news.echo);
                }
            }
            Phase::Loss => {
                let repair = self.on_ack_after_timeout(ack, duplicate, news);
                self.find_losses(now, news);
                if self.phase != Phase::Open && !news.lost_again {
                    return repair;
                }
                return self.on_ack_outside_recovery(duplicate, now, news).unwrap_or(repair);
            }
            _ => {
                let found = self.on_ack_outside_recovery(duplicate, now, news);
                return found.unwrap_or(Repair::Nothing);
            }
        }
        Repair::Lost
    }

    /// All that was outstanding when the phase began is acknowledged. True: nothing else follows.
    fn leave(&mut self, ack: &Ack) -> bool {
        match self.phase {
            Phase::Reducing if self.una != self.high_seq => {
                self.end_reduction();
                self.phase = Phase::Open;
            }
            Phase::Recovery => {
                if !self.sack {
                    self.queue.held = 0;
                }
                self.rack.recovered();
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
        news: &mut News,
    ) -> Option<Repair> {
        if !self.sack && news.advanced {
            self.queue.held = 0;
        }
        self.count_duplicate(duplicate, news);
        self.find_losses(now, news);
        self.undo_by_duplicates();
        if self.queue.lost == 0 {
            self.try_to_open(news.echo);
            return None;
        }
        self.enter_recovery(news.echo);
        Some(Repair::Lost)
    }

    /// Without SACK a duplicate is a segment held.
    fn count_duplicate(&mut self, duplicate: bool, news: &mut News) {
        if self.sack || !duplicate {
            return;
        }
        let before = self.queue.held;
        self.queue.held += 1;
        self.limit_duplicates(0);
        news.delivered += self.queue.held.saturating_sub(before);
    }

    /// Keeps room for what is lost. `acked` segments came off the queue.
    pub(super) fn limit_duplicates(&mut self, acked: u32) {
        let out = self.queue.len();
        let holes = self.queue.lost.max(1).min(out);
        if self.queue.held + holes > out {
            self.queue.held = out - holes;
            self.reordering = (out + acked).min(MOST_REORDERING);
            self.reordering_seen = true;
        }
    }

    fn find_losses(&mut self, now: Time, news: &mut News) {
        if self.queue.len() == 0 {
            return;
        }
        if self.sack {
            let again = self.queue.again;
            if self.find_overtaken(now, news) {
                news.set_timer = false;
            }
            news.lost_again |= again > self.queue.again;
            return;
        }
        let told = self.phase < Phase::Recovery && self.queue.held >= self.reordering;
        let partial = self.phase == Phase::Recovery && news.advanced;
        if (told || partial) && !self.queue.head_lost() {
            news.lost += self.queue.lose(self.una);
        }
    }

    pub(super) fn enter_recovery(&mut self, echo: bool) {
        if !self.queue.any_again() {
            self.again_since = None;
        }
        self.prior_ssthresh = 0.0;
        self.init_undo();
        if !self.reducing() {
            if !echo {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.start_reduction(Cause::Loss);
        }
        self.recoveries += 1;
        self.phase = Phase::Recovery;
    }

    fn try_to_open(&mut self, echo: bool) {
        if !self.queue.any_again() {
            self.again_since = None;
        }
        if echo {
            self.prior_ssthresh = 0.0;
            if self.phase < Phase::Reducing {
                self.undo = false;
                self.start_reduction(Cause::Mark);
                self.phase = Phase::Reducing;
            }
        }
        if self.phase != Phase::Reducing {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let left = self.queue.held + self.queue.lost > 0 || self.queue.any_again();
        let phase = if left { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.phase = phase;
            self.high_seq = self.next;
        }
    }

    /// RFC 5682: what comes back first after a timeout tells whether it was needed.
    fn on_ack_after_timeout(&mut self, ack: &Ack, duplicate: bool, news: &News) -> Repair {
        let recovered = self.una >= self.high_seq;
        if news.advanced && self.undo_loss(false, ack) {
            return Repair::Nothing;
        }
        let mut repair = Repair::Lost;
        if self.frto {
            if news.original && self.undo_loss(true, ack) {
                return Repair::Nothing;
            }
            if self.next > self.high_seq {
                if news.held || duplicate {
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high_seq = self.next;
                if self.next < self.end && self.next < self.offer.end(self.una) {
                    repair = Repair::New;
                } else {
                    self.frto = false;
                }
            }
        }
        if repair == Repair::New {
            return repair;
        }
        if recovered {
            self.undo_recovery(ack);
            return Repair::Nothing;
        }
        if !self.sack {
            if self.next > self.high_seq && duplicate {
                self.queue.held += 1;
                self.limit_duplicates(0);
            } else if news.advanced {
                self.queue.held = 0;
            }
        }
        Repair::Lost
    }

    /// The retransmission timer ran out: everything is lost but what was sent lately.
    pub(super) fn enter_loss(&mut self, now: Time) {
        let first = self.phase < Phase::Recovery;
        if !self.sack {
            self.queue.held = 0;
        }
        self.lose_all(now);
        let again = self.phase == Phase::Loss && self.expiries == 0;
        if self.phase <= Phase::Disorder || self.high_seq <= self.una || again {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.cwnd();
            self.set_threshold(Cause::Timeout);
            self.init_undo();
        }
        self.window.cwnd = f64::from(self.queue.in_flight() + 1);
        self.window.credit = 0;
        if self.phase <= Phase::Disorder && self.queue.held >= DUP_THRESH {
            self.reordering = self.reordering.min(DUP_THRESH);
        }
        self.phase = Phase::Loss;
        self.high_seq = self.next;
        self.probe_end = None;
        self.cwr = self.ecn;
        self.frto = first || self.expiries > 0;
    }
}
