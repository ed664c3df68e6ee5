//! The least round trip, and the probe for it: half of what the path holds for 200 ms.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.4.

use super::cycle::{AckPhase, MIN_WINDOW};
use super::{Bbr3, Mode};
use crate::tcp::congestion::Window;
use crate::tcp::rate_sample::RateSample;
use trunkline_units::{Span, Time};

/// Section 2.16 [us].
const PROBE_INTERVAL: Span = 5_000_000;
const PROBE_DURATION: Span = 200_000;
const FILTER_LENGTH: Span = 10_000_000;

#[derive(Clone, Debug, Default)]
pub(super) struct LeastTrip {
    pub least: Option<Span>, // [us]
    least_at: Time,          // [us]
    recent: Option<Span>,    // BBR.probe_rtt_min_delay
    recent_at: Time,
    probe_end: Option<Time>,
    round_done: bool,
}

impl LeastTrip {
    pub fn start(&mut self, rtt: Option<Span>, now: Time) {
        (self.least, self.least_at) = (rtt, now);
        (self.recent, self.recent_at) = (rtt, now);
    }

    /// UpdateMinRTT. True: it has not been seen for too long.
    fn update(&mut self, rtt: Option<Span>, now: Time) -> bool {
        let expired = now > self.recent_at + PROBE_INTERVAL;
        if let Some(rtt) = rtt {
            if expired || self.recent.is_none_or(|recent| rtt < recent) {
                (self.recent, self.recent_at) = (Some(rtt), now);
            }
        }
        let below = self.recent.is_some_and(|recent| self.least.is_none_or(|least| recent < least));
        if below || now > self.least_at + FILTER_LENGTH {
            (self.least, self.least_at) = (self.recent, self.recent_at);
        }
        expired
    }
}

impl Bbr3 {
    /// UpdateMinRTT, CheckProbeRTT. True: the rate is held low for now.
    pub(super) fn update_trip(&mut self, window: &mut Window, now: &RateSample) -> bool {
        let at = now.now / 1_000;
        let expired = self.trip.update(now.rtt, at);
        if expired && self.mode != Mode::ProbeTrip && !self.idle_restart {
            self.save_window(window.cwnd);
            self.mode = Mode::ProbeTrip;
            self.trip.probe_end = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        self.idle_restart &= now.acked == 0;
        if self.mode != Mode::ProbeTrip {
            return false;
        }
        match self.trip.probe_end {
            None if f64::from(now.in_flight) <= self.probe_window() => {
                self.trip.probe_end = Some(at + PROBE_DURATION);
                self.trip.round_done = false;
                self.start_round();
            }
            Some(_) => {
                self.trip.round_done |= self.rounds.starts;
                if self.trip.round_done {
                    self.check_trip_probed(window, at);
                }
            }
            None => {}
        }
        true
    }

    /// CheckProbeRTTDone, ExitProbeRTT.
    pub(super) fn check_trip_probed(&mut self, window: &mut Window, at: Time) {
        if self.trip.probe_end.is_none_or(|end| at <= end) {
            return;
        }
        self.trip.recent_at = at;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.reset_short_term();
        if self.full.reached {
            self.start_down(at);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_window(&self) -> f64 {
        let (_, gain) = Mode::ProbeTrip.gains();
        self.product(self.rate, gain).max(MIN_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5.3.4.3: the least round trip of the last 5 s becomes the least when that has not been seen for 10 s.
    /// 10 ms were seen at 0, 30 ms at 6 s, when those of the last 5 s had expired.
    #[test]
    fn s5_3_4_3_the_least_round_trip_counts_for_ten_seconds() {
        for (now, least) in [(10_000_000, 10_000), (10_000_001, 30_000)] {
            let mut trip = LeastTrip::default();
            trip.start(Some(10_000), 0);
            assert!(!trip.update(Some(30_000), 5_000_000));
            assert_eq!(trip.recent, Some(10_000));
            assert!(trip.update(Some(30_000), 6_000_000));
            assert_eq!((trip.recent, trip.least), (Some(30_000), Some(10_000)));
            assert!(!trip.update(Some(50_000), now));
            assert_eq!(trip.least, Some(least), "{now}");
            assert!(!trip.update(Some(9_000), now + 1));
            assert_eq!(trip.least, Some(9_000));
        }
    }
}
