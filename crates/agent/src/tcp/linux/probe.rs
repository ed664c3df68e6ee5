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
