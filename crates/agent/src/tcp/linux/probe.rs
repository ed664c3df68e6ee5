//! Tail loss probes: after two round trips without an acknowledgement, one more segment is sent.
//!
//! Source: RFC 8985 section 7 (with SACK only, and not while a loss is being repaired). The probe is
//! new data if there is any, or the last segment again; if the latter had been lost, the window is
//! halved when its acknowledgement arrives. Absent: D-SACK, which would report that both arrived.

use super::timer::ticks;
use super::{AckSummary, PendingTimer, Phase, Sender};
use crate::tcp::congestion::ReductionCause;
use trunkline_units::Time;

const LEAST_US: u64 = 2_000;

impl Sender {
    /// Sets the timer for a probe, if one may be sent. `rearming`: the timeout would run from now.
    pub(super) fn schedule_probe(&mut self, now: Time, rearming: bool) -> bool {
        let calm = matches!(self.phase, Phase::Open | Phase::Reducing);
        if !self.sack || !calm || self.queue.len() == 0 {
            return false;
        }
        let after = match self.estimator.srtt() {
            // The acknowledgement of a single segment may be delayed.
            Some(srtt) if self.queue.len() == 1 => ticks(2 * srtt + self.estimator.min_variance()),
            Some(srtt) => ticks(2 * srtt + LEAST_US),
            None => self.estimator.rto(),
        };
        let timeout = if rearming { self.estimator.rto() } else { self.until_timeout(now) };
        self.set_pending(PendingTimer::Probe, after.min(timeout), now);
        true
    }

    pub(super) fn send_probe(&mut self, now: Time) {
        if self.probe_end.is_none() {
            self.probe_again = false;
            let before = self.next;
            self.send_new(now, true);
            if self.next == before && self.queue.len() > 0 {
                self.probe_again = true;
                self.queue.resend(self.next - 1, false, now);
                self.emit_again(self.next - 1);
            }
            self.probe_end = Some(self.next);
            self.pending = PendingTimer::Nothing; // the timeout runs from now
        }
        self.rearm(now);
    }

    /// RFC 8985 section 7.4.
    pub(super) fn on_probe_answered(&mut self, ack: u32, summary: &AckSummary) {
        let Some(end) = self.probe_end.filter(|end| ack >= *end) else { return };
        // Probe and original arrived (RFC 8985 section 7.4.2).
        if !self.probe_again || summary.duplicate {
            self.probe_end = None;
        } else if ack > end {
            self.start_reduction(ReductionCause::Loss);
            self.phase = Phase::Reducing;
            self.end_reduction();
            self.stay_open();
        } else if !summary.advanced && !summary.covers_new {
            self.probe_end = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::timer::fires;
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::TcpConfig;

    fn sender(segments: u32, samples: &[u64]) -> Sender {
        let mut sender = Sender::new(&TcpConfig { linux: true, ..plain() });
        (0..segments).for_each(|_| sender.queue.push(0));
        sender.next = segments;
        samples.iter().for_each(|rtt| sender.estimator.sample(*rtt, 0, 100));
        sender
    }

    /// `tcp_schedule_loss_probe`: two smoothed round trips and 2 ms, or the least timeout of 200 ms more where one
    /// segment is out; the retransmission timeout at most. 20 and 500 ms smooth to 80; four deviations are 40 + 480 -
    /// 10 = 510 ms, a timeout of 590 ms. 101 ms: 204 ms are 51 ticks.
    #[test]
    fn tcp_schedule_loss_probe_after_two_round_trips() {
        for (segments, samples, ms) in [
            (2, &[101_000][..], 204),
            (1, &[101_000], 101 + 202), // 303: the timeout, which four deviations of 202 make
            (2, &[20_000, 500_000], 162),
            (1, &[20_000, 500_000], 360),
        ] {
            let mut sender = sender(segments, samples);
            assert!(sender.schedule_probe(0, true));
            assert_eq!(sender.timer(), fires(0, ticks(ms * 1_000)), "{segments} {samples:?}");
        }
    }

    /// `tcp_process_tlp_ack`. Of new data, or with a D-SACK: the episode is over. What lies behind the probe is
    /// acknowledged: the probe repaired a loss, and the window is reduced. A pure duplicate: both arrived.
    #[test]
    fn tcp_process_tlp_ack_by_what_the_acknowledgement_says() {
        let plain = AckSummary::default();
        let advanced = AckSummary { advanced: true, ..plain };
        for (again, ack, summary, is_over, is_reduced) in [
            (true, 4, advanced, false, false),
            (false, 5, advanced, true, false),
            (true, 5, AckSummary { duplicate: true, ..advanced }, true, false),
            (true, 5, advanced, false, false),
            (true, 5, AckSummary { covers_new: true, ..plain }, false, false),
            (true, 5, plain, true, false),
            (true, 6, advanced, true, true),
        ] {
            let mut sender = sender(6, &[100_000]);
            (sender.probe_end, sender.probe_again) = (Some(5), again);
            sender.on_probe_answered(ack, &summary);
            assert_eq!(sender.probe_end.is_none(), is_over, "{again} {ack} {summary:?}");
            assert_eq!(sender.window.ssthresh < 10.0, is_reduced, "{again} {ack} {summary:?}");
        }
    }
}
