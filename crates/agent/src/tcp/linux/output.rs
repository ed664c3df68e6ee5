//! The order of transmission: first lost segments, then new data, as window, receiver and host allow; and
//! the timer.
//!
//! Source: RFC 6675 section 5 (C), RFC 5681 section 3.2, RFC 6298 section 5, RFC 5682 section 2.1
//! step 2b; Linux 6.1 (`tcp_xmit_retransmit_queue`, `tcp_write_xmit`, `tcp_rearm_rto`).

use super::timer::{fires, ticks, TICK_NS};
use super::{AckSummary, PendingTimer, Phase, RepairStep, Sender};
use crate::tcp::congestion::Window;
use crate::tcp::pacing::rate_of_window;
use crate::tcp::send_pace::SendContext;
use trunkline_units::{Time, NEVER};

impl Sender {
    /// Sends new data; one segment beyond the window as a probe.
    pub(super) fn send_new(&mut self, now: Time, probe: bool) {
        let first = self.next;
        let end = self.sendable();
        while self.next < end {
            if !probe && self.queue.in_flight() >= self.cwnd() {
                break;
            }
            if !probe && self.is_held(now) || self.fills_host(1, now) {
                break;
            }
            let empty = self.queue.len() == 0;
            if self.queue.in_flight() == 0 {
                self.control.on_resume(now - self.sent_at, now);
            }
            self.queue.push(now);
            self.note(self.next, now);
            self.emit(self.next, false);
            self.next += 1;
            if empty || self.pending == PendingTimer::Probe {
                self.rearm(now);
            }
            if probe {
                break;
            }
        }
        let sent = self.next - first;
        let limited = self.queue.in_flight() >= self.cwnd();
        if sent > 0 || limited {
            self.validate(limited);
            if self.application.is_some() {
                self.validate_use(limited, now);
            }
        }
        if sent > 0 {
            if self.reducing() {
                self.prr_sent += sent;
            }
            if !probe {
                self.schedule_probe(now, false);
            }
        }
    }

    /// One past the last segment that is written and fits into the receiver's window.
    pub(super) fn sendable(&self) -> u32 {
        self.end.min(self.offer.end()).min(self.writer.sendable())
    }

    pub(super) fn repair(&mut self, repair: RepairStep, now: Time) {
        if repair == RepairStep::New {
            self.send_new(now, false);
            if self.next > self.high_seq {
                return;
            }
            self.frto = false;
        }
        if repair != RepairStep::Nothing {
            self.send_lost(now);
        }
    }

    pub(super) fn send_lost(&mut self, now: Time) {
        while self.queue.in_flight() < self.cwnd() && self.queue.resent_count < self.queue.lost {
            if self.is_held(now) {
                break;
            }
            let Some(seq) = self.queue.next_lost() else { break };
            if self.fills_host(2, now) {
                break;
            }
            self.send_again(seq, now);
            if self.reducing() {
                self.prr_sent += 1;
            }
            if seq == self.una && self.pending != PendingTimer::Reordering {
                self.set_pending(PendingTimer::Retransmission, self.estimator.rto(), now);
            }
        }
    }

    fn send_again(&mut self, seq: u32, now: Time) {
        self.queue.resend(seq, true, now);
        self.note(seq, now);
        self.first_resent_at = self.first_resent_at.or(Some(now));
        self.undo_again = self.undo_again.max(0) + 1;
        self.emit_again(seq);
    }

    /// Whether more than `times` what may waits in the host. Nothing outstanding, or one segment, is no
    /// reason to wait.
    fn fills_host(&mut self, times: u64, now: Time) -> bool {
        if self.queue.len() < 2 || self.host.is_short(now) {
            return false;
        }
        let srtt = self.estimator.srtt().unwrap_or(0) * 1_000;
        let Window { cwnd, ssthresh, .. } = self.window;
        let rate = match &self.pace {
            Some(pace) => pace.rate(),
            None => rate_of_window(self.mss, cwnd, self.queue.len(), ssthresh, srtt),
        };
        self.host.is_full(times, rate, self.pace.is_some())
    }

    /// Pace or host held the sender back and do so no longer.
    pub(super) fn send_held_back(&mut self, now: Time) {
        if self.queue.lost > self.queue.resent_count {
            self.send_lost(now);
        }
        self.send_and_write(now);
    }

    /// A segment is sent now, and counts as outstanding.
    fn note(&mut self, seq: u32, now: Time) {
        self.sent_at = now;
        if let Some(pace) = self.pace.as_mut() {
            let known = SendContext {
                in_flight: self.queue.in_flight(),
                found_lost: self.queue.found_lost.count(),
            };
            pace.sent(seq, now, &known, (&mut self.control, &mut self.window));
        }
    }

    /// Whether the pace holds the next segment back; if so, until then.
    fn is_held(&mut self, now: Time) -> bool {
        let Some(pace) = self.pace.as_ref() else { return false };
        let at = pace.next_at();
        self.pace_at = if at > now { at } else { NEVER };
        at > now
    }

    pub(super) fn emit_again(&mut self, seq: u32) {
        self.retransmissions += 1;
        self.emit(seq, true);
    }

    /// Gives a segment to the host.
    fn emit(&mut self, seq: u32, again: bool) {
        self.host.enter();
        self.out.push_back((seq, again));
    }

    pub(super) fn set_pending(&mut self, pending: PendingTimer, after: u64, now: Time) {
        self.pending = pending;
        self.timer = fires(now, after);
    }

    /// Ticks until the timeout of the first outstanding segment, as if it ran since it was sent.
    pub(super) fn until_timeout(&self, now: Time) -> u64 {
        let sent = self.queue.head_sent_at().unwrap_or(now);
        let due = sent + self.estimator.rto() * TICK_NS;
        ticks(due.saturating_sub(now).div_euclid(1_000)).max(1)
    }

    /// RFC 6298 (5.1) to (5.3).
    pub(super) fn rearm(&mut self, now: Time) {
        if self.queue.len() == 0 {
            self.pending = PendingTimer::Nothing;
            self.timer = NEVER;
            return;
        }
        let after = match self.pending {
            PendingTimer::Reordering | PendingTimer::Probe => self.until_timeout(now),
            _ => self.estimator.rto(),
        };
        self.set_pending(PendingTimer::Retransmission, after, now);
    }

    pub(super) fn set_timer(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// The timer ran out.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.pace_at {
            self.pace_at = NEVER;
            self.send_held_back(now);
        }
        if now < self.timer {
            return;
        }
        self.timer = NEVER;
        match self.pending {
            PendingTimer::Retransmission => {
                self.pending = PendingTimer::Nothing;
                self.on_timeout(now);
            }
            PendingTimer::Reordering => self.on_reordering_timer(now),
            PendingTimer::Probe => self.send_probe(now),
            PendingTimer::Nothing => {}
        }
    }

    /// RFC 6298 (5.4) to (5.6). The first segment is sent whatever the window.
    fn on_timeout(&mut self, now: Time) {
        if self.queue.len() == 0 {
            return;
        }
        self.enter_loss(now);
        self.expiries += 1;
        self.timeouts += 1;
        self.send_again(self.una, now);
        self.estimator.back_off();
        self.set_pending(PendingTimer::Retransmission, self.estimator.rto(), now);
    }

    fn on_reordering_timer(&mut self, now: Time) {
        let before = self.queue.in_flight();
        let mut summary = AckSummary::default();
        self.lose_overtaken(now, &mut summary);
        if self.queue.in_flight() != before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(false);
                self.reduce(1, false);
            }
            self.send_lost(now);
        }
        if self.pending != PendingTimer::Retransmission {
            self.rearm(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::config::tests::plain;
    use crate::tcp::linux::Sender;

    /// Linux 6.1, `tcp_ack`, `tcp_data_snd_check`: all that the host takes goes before the application writes.
    /// Of 90 segments written (three writes: 43, 87 and 89 are marked) 44 went, and 3 may go. A window of 4380 B
    /// in 1 ms, doubled in slow start, is 8.76 MB/s, 8554 B in 2^-10 s: two of 2740 B do not fill the host, 43
    /// segments are unsent when the application writes 90 beyond 47. In 10 ms two fill it: 90 beyond 46.
    #[test]
    fn tcp_data_snd_check_the_application_writes_when_the_host_takes_no_more() {
        for (round_trip_us, sent, marked, unmarked) in
            [(1_000, 47, 136, 135), (10_000, 46, 135, 136)]
        {
            let mut sender = Sender::new(&plain());
            sender.writer.write(0, 0, 1 << 20);
            (sender.una, sender.next, sender.window.cwnd) = (44, 44, 3.0);
            sender.estimator.sample(round_trip_us, 44, 44);
            sender.offer.update(44, 1 << 20);
            sender.send_and_write(0);
            assert_eq!(sender.next, sent, "{round_trip_us}");
            assert!(sender.writer.marks(133) && sender.writer.marks(marked), "{round_trip_us}");
            assert!(!sender.writer.marks(unmarked), "{round_trip_us}");
        }
    }
}
