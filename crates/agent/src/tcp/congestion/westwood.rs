//! Westwood+: Reno's growth; a loss leaves what the path delivered in its least round trip.
//!
//! Source: Mascolo et al. 2001, Grieco and Mascolo 2004; Linux 6.1, `net/ipv4/tcp_westwood.c`: the rate is
//! sampled once a round trip, and after 50 ms at least, and passes two filters of weight 1/8.
//! The round trip is the smoothed one.
//! Differs: counts segments, not bytes, and duplicates when what they tell of is acknowledged; the
//! kernel halves for the recovery and takes the rate's window at its end.

use super::{Cause, Congestion, View, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::{Span, Time};

/// Westwood has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WestwoodConfig {}

const LEAST_STEP: Span = 50_000_000;
/// Round trip before a sample.
const FIRST_RTT: Span = 20_000_000_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Westwood {
    rate: Option<(f64, f64)>, // after one filter and after both [segments/ns]
    acked: u32,               // since `since`
    since: Option<Time>,
    rtt: Span,
    least: Span,
}

impl Westwood {
    pub(super) fn new(_config: &WestwoodConfig, _tcp: &TcpConfig) -> Self {
        Self::fresh()
    }

    fn fresh() -> Self {
        Self { rate: None, acked: 0, since: None, rtt: FIRST_RTT, least: FIRST_RTT }
    }

    fn filter(&mut self, sample: f64) {
        let mean = |old: f64, new: f64| (7.0 * old + new) / 8.0;
        self.rate = Some(match self.rate {
            None => (sample, sample),
            Some((once, twice)) => {
                let once = mean(once, sample);
                (once, mean(twice, once))
            }
        });
    }
}

impl Congestion for Westwood {
    fn measured(&mut self, _window: &mut Window, view: &View) {
        if view.srtt > 0 {
            self.rtt = view.srtt;
            self.least = self.least.min(view.srtt);
        }
        // The first acknowledgement starts the clock.
        let Some(since) = self.since else {
            self.since = Some(view.now);
            return;
        };
        let step = view.now - since;
        if self.rtt > 0 && step > self.rtt.max(LEAST_STEP) {
            self.filter(f64::from(self.acked) / step as f64);
            (self.acked, self.since) = (0, Some(view.now));
        }
        self.acked += view.acked;
    }

    fn acknowledged(&mut self, window: &mut Window, view: &View) {
        let left = window.start_slowly(f64::from(view.acked));
        if left > 0.0 {
            window.open(left, window.cwnd);
        }
    }

    fn reduced(&mut self, _window: &Window, size: f64, _cause: Cause) -> f64 {
        match self.rate {
            Some((_, rate)) => (rate * self.least as f64).max(2.0),
            None => size / 2.0,
        }
    }
}

#[cfg(test)]
mod mascolo2001 {
    use super::*;
    use crate::tcp::congestion::Growth;

    const MS: Span = 1_000_000;

    /// A segment every 1 ms is 1000 a second; with a least round trip of 40 ms a loss leaves 40, whatever
    /// the window.
    #[test]
    fn s2_a_loss_leaves_the_rate_times_the_least_round_trip() {
        let mut westwood = Westwood::fresh();
        let mut window =
            Window { cwnd: 90.0, ssthresh: 2.0, cap: 1000, credit: 0, growth: Growth::Segments };
        for each in 0..2000 {
            let rtt = if each == 100 { 40 * MS } else { 80 * MS };
            let view = View { now: each * MS, acked: 1, srtt: rtt, ..View::default() };
            westwood.measured(&mut window, &view);
        }
        let left = westwood.reduced(&window, 90.0, Cause::Loss);
        assert!((left - 40.0).abs() < 0.5, "{left}");
    }
}
