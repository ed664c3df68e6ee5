//! The window: two products of rate and round trip, less while it recovers or measures the round trip.
//!
//! Source: Linux 6.1, `bbr_set_cwnd` and the functions it calls.

use super::{Bbr, BbrMode, FIRST_WINDOW, MIN_WINDOW};
use crate::tcp::congestion::Window;
use crate::tcp::rate_sample::RateSample;

impl Bbr {
    pub(super) fn set_window(&mut self, window: &mut Window, now: &RateSample) {
        let acked = u64::from(now.acked);
        let mut cwnd = window.cwnd as u64;
        if acked > 0 && !self.recover(&mut cwnd, now) {
            let bandwidth = self.bandwidth();
            let mut target = self.product(bandwidth, self.window_gain);
            if self.filled() {
                target += self.aggregation.extra(bandwidth);
            }
            target = self.with_bursts(target);
            if self.filled() {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || now.total < FIRST_WINDOW {
                cwnd += acked;
            }
            cwnd = cwnd.max(MIN_WINDOW);
        }
        cwnd = cwnd.min(window.cap.into());
        if self.mode == BbrMode::ProbeTrip {
            cwnd = cwnd.min(MIN_WINDOW);
        }
        window.cwnd = cwnd as f64;
    }

    /// In the first round of a recovery the sender sends one segment per delivered one; afterwards the
    /// window from before the recovery is restored. True: nothing else changes the window.
    fn recover(&mut self, cwnd: &mut u64, now: &RateSample) -> bool {
        let all = u64::from(now.in_flight) + u64::from(now.acked);
        *cwnd = cwnd.saturating_sub(now.lost.into()).max(1);
        let repairing = now.recovering || now.timed_out;
        if now.recovering && !self.was_recovering {
            self.conserving = true;
            self.next_round = now.total;
            *cwnd = all;
        } else if (self.was_recovering || self.was_timed_out) && !repairing {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.conserving = false;
        }
        (self.was_recovering, self.was_timed_out) = (now.recovering, now.timed_out);
        if self.conserving {
            *cwnd = (*cwnd).max(all);
        }
        self.conserving
    }

    /// Keeps the window for when the recovery, or the short window, is over.
    pub(super) fn save(&mut self, window: &Window) {
        let cwnd = window.cwnd as u64;
        let calm = !self.was_recovering && !self.was_timed_out && self.mode != BbrMode::ProbeTrip;
        self.prior_cwnd = if calm { cwnd } else { self.prior_cwnd.max(cwnd) };
    }
}
