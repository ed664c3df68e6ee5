//! The average queue of the RED family, aged over idle periods.
//!
//! Source: Floyd & Jacobson (1993), section 4 and Fig. 2: avg <- (1 - w_q) avg + w_q q at each
//! arrival, where q is the queue it finds; over an idle period, as if m = idle / s packets of the
//! mean size had found the queue empty, s being the time to send one.
//! As ns-2: m is rounded down, and the arrival that ends the idle period counts as one more. A packet
//! that is dropped on an idle link does not end the period: the average continues to age.

use trunkline_units::{math, Time, SECOND};

/// An exponentially weighted average of a queue length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Average {
    value: f64,
    w_q: f64,
    idle_since: Option<Time>,
}

/// How long an idle link would need for a packet of the mean size.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleAgeing {
    rate_bit_s: u64,
    mean_packet_bytes: u32,
}

impl IdleAgeing {
    pub(super) fn new(rate_bit_s: u64, mean_packet_bytes: u32) -> Self {
        Self { rate_bit_s, mean_packet_bytes }
    }

    /// Packets of the mean size that fit in `span` ns, rounded down.
    fn packets(self, span: u64) -> u64 {
        let work = u128::from(span) * u128::from(self.rate_bit_s);
        (work / (u128::from(self.mean_packet_bytes) * 8 * u128::from(SECOND))) as u64
    }
}

impl Average {
    /// An average of 0 on a link idle since time 0.
    pub(super) fn new(w_q: f64) -> Self {
        Self { value: 0.0, w_q, idle_since: Some(0) }
    }

    #[inline]
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// The queue is idle from `at` on.
    #[inline]
    pub(super) fn idle(&mut self, at: Time) {
        self.idle_since = Some(at);
    }

    /// A packet got in: the queue is idle no more.
    #[inline]
    pub(super) fn busy(&mut self) {
        self.idle_since = None;
    }

    /// Its value at `now` if nothing arrives.
    pub(super) fn at(&self, now: Time, ageing: IdleAgeing) -> f64 {
        let missed = self.idle_since.map_or(0, |since| ageing.packets(now.saturating_sub(since)));
        self.value * math::pow(1.0 - self.w_q, missed as f64)
    }

    /// An arrival finds `queue` before it.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, queue: f64, ageing: IdleAgeing) -> f64 {
        if let Some(since) = &mut self.idle_since {
            let missed = ageing.packets(now.saturating_sub(*since));
            *since = now;
            self.value *= math::pow(1.0 - self.w_q, missed as f64);
        }
        self.value = (1.0 - self.w_q) * self.value + self.w_q * queue;
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod fj93 {
        use super::*;

        /// Burst of L packets on an empty queue, none leaving: the averages of queues 0..L-1,
        /// avg = L - 1 - (1 - w)(1 - (1 - w)^(L-1)) / w. For w = 0.25, L = 6:
        /// 5 - 0.75 (1 - 0.75^5) / 0.25 = 5 - 3 * 0.7626953125 = 2.7119140625.
        #[test]
        fn s4_average_after_a_burst_is_that_of_the_closed_form() {
            let mut average = Average::new(0.25);
            let ageing = IdleAgeing::new(8_000_000, 1000);
            average.idle_since = None;
            for queue in 0..6 {
                average.sample(0, f64::from(queue), ageing);
            }
            assert!((average.value() - 2.711_914_062_5).abs() < 1e-12, "{}", average.value());
        }

        /// 1000 B at 8 Mbit/s take 1 ms; idle for 10.7 ms: m = 10, and the arrival itself counts
        /// one: avg = 20 * 0.998^11 = 19.5643...
        #[test]
        fn fig2_average_of_an_idle_queue_ages_by_idle_time_over_s() {
            let mut average = Average { value: 20.0, w_q: 0.002, idle_since: Some(5_000_000) };
            average.sample(15_700_000, 0.0, IdleAgeing::new(8_000_000, 1000));
            let expected = 20.0 * 0.998_f64.powi(11);
            assert!((average.value() - expected).abs() < 1e-12, "{}", average.value());
        }

        /// Between arrivals: 10.7 ms idle are m = 10 packets of 1 ms, 20 * 0.998^10, and the queue that is
        /// not idle does not age. Looking changes nothing: at 16.0 ms it is 20 * 0.998^11.
        #[test]
        fn fig2_the_average_between_arrivals_has_aged_by_idle_time_over_s() {
            let idle = Average { value: 20.0, w_q: 0.002, idle_since: Some(5_000_000) };
            let ageing = IdleAgeing::new(8_000_000, 1000);
            for (now, packets) in [(5_000_000, 0), (15_700_000, 10), (16_000_000, 11)] {
                let expected = 20.0 * 0.998_f64.powi(packets);
                assert!((idle.at(now, ageing) - expected).abs() < 1e-12, "{now}");
            }
            let busy = Average { idle_since: None, ..idle };
            assert_eq!(busy.at(15_700_000, ageing), 20.0);
        }

        /// The idle period ends with the packet that gets in; the average does not age after that.
        #[test]
        fn fig2_idle_time_counts_once() {
            let mut average = Average { value: 8.0, w_q: 0.5, idle_since: Some(0) };
            let ageing = IdleAgeing::new(8_000_000, 1000);
            assert_eq!(average.sample(1_000_000, 0.0, ageing), 2.0); // m = 1: 8 / 2 / 2
            average.busy();
            assert_eq!(average.sample(9_000_000, 0.0, ageing), 1.0);
        }

        /// An arrival that is dropped leaves the link idle: 1 ms and 3 ms age as m = 1 and m = 3, and
        /// each arrival counts one: 64 / 2^2 = 16, 16 / 2^4 = 1.
        #[test]
        fn fig2_idle_time_continues_after_a_dropped_arrival() {
            let mut average = Average { value: 64.0, w_q: 0.5, idle_since: Some(0) };
            let ageing = IdleAgeing::new(8_000_000, 1000);
            assert_eq!(average.sample(1_000_000, 0.0, ageing), 16.0);
            assert_eq!(average.sample(4_000_000, 0.0, ageing), 1.0);
        }
    }
}
