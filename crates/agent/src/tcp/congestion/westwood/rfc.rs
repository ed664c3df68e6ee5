//! Westwood+ in real numbers.
//!
//! Source: Grieco and Mascolo 2004: the rate is sampled once a round trip, at least 50 ms apart, and
//! passes two filters of weight 1/8. The round trip is the smoothed one.
//! Differs: counts segments, not bytes, and counts duplicates when their segments are acknowledged.

use super::super::ConnectionView;
use super::{FILTER_WEIGHT, FIRST_RTT, MIN_FILTER_STEP};
use trunkline_units::{Span, Time};

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Westwood {
    rate: Option<(f64, f64)>, // after one filter and after both [segments/ns]
    acked: u32,               // since `since`
    since: Option<Time>,
    rtt: Span,
    min_rtt: Span,
}

impl Westwood {
    pub fn new() -> Self {
        Self { rate: None, acked: 0, since: None, rtt: FIRST_RTT, min_rtt: FIRST_RTT }
    }

    fn filter(&mut self, sample: f64) {
        let weight = f64::from(FILTER_WEIGHT);
        let mean = |old: f64, new: f64| ((weight - 1.0) * old + new) / weight;
        self.rate = Some(match self.rate {
            None => (sample, sample),
            Some((once, twice)) => {
                let once = mean(once, sample);
                (once, mean(twice, once))
            }
        });
    }

    pub fn on_measured_ack(&mut self, view: &ConnectionView) {
        if view.srtt > 0 {
            self.rtt = view.srtt;
            self.min_rtt = self.min_rtt.min(view.srtt);
        }
        // The first acknowledgement starts the clock.
        let Some(since) = self.since else {
            self.since = Some(view.now);
            return;
        };
        let step = view.now - since;
        if self.rtt > 0 && step > self.rtt.max(MIN_FILTER_STEP) {
            self.filter(f64::from(self.acked) / step as f64);
            (self.acked, self.since) = (0, Some(view.now));
        }
        self.acked += view.acked;
    }

    pub fn reduce_window(&self, size: f64) -> f64 {
        match self.rate {
            Some((_, rate)) => (rate * self.min_rtt as f64).max(2.0),
            None => size / 2.0,
        }
    }
}

#[cfg(test)]
mod mascolo2001 {
    use super::*;

    const MS: Span = 1_000_000;

    /// A segment every 1 ms is 1000 a second; with a least round trip of 40 ms a loss leaves 40, whatever
    /// the window.
    #[test]
    fn s2_a_loss_leaves_the_rate_times_the_least_round_trip() {
        let mut westwood = Westwood::new();
        for each in 0..2000 {
            let rtt = if each == 100 { 40 * MS } else { 80 * MS };
            westwood.on_measured_ack(&ConnectionView {
                now: each * MS,
                acked: 1,
                srtt: rtt,
                ..ConnectionView::default()
            });
        }
        let left = westwood.reduce_window(90.0);
        assert!((left - 40.0).abs() < 0.5, "{left}");
    }

    /// Without a sample of the rate a loss halves the window. A segment a second and a least round trip of 20 s,
    /// the first guess (`TCP_WESTWOOD_INIT_RTT`), leave 20; of 1 ms two, the least there is.
    #[test]
    fn s2_a_loss_before_any_sample_halves_the_window() {
        let mut westwood = Westwood::new();
        assert_eq!(westwood.reduce_window(90.0), 45.0);
        westwood.filter(1e-9);
        assert_eq!((westwood.rtt, westwood.min_rtt), (FIRST_RTT, FIRST_RTT));
        let left = westwood.reduce_window(90.0);
        assert!((left - 20.0).abs() < 1e-9, "{left}");
        westwood.min_rtt = MS;
        assert_eq!(westwood.reduce_window(90.0), 2.0);
    }
}
