//! When routes are computed after a change: back-off by doubling, or the algorithm of RFC 8405.
//!
//! Source: RFC 8405 section 3 (states QUIET, `SHORT_WAIT`, `LONG_WAIT`; the ends of the timers are
//! stored and compared at each change). The back-off is that of routers' `spf throttle`: the first
//! change waits `initial`, then computations are `second`, twice, four times `second` ... apart, at most
//! `maximum`, and a change waits `initial` at least; after twice `maximum` without a change the next one
//! counts as the first again.

use super::config::SpfDelay;
use trunkline_units::Time;

/// The delay of one node's computations.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpfThrottle {
    /// Time of the last or next computation of routes.
    last: Option<Time>,
    /// Back-off: interval to the next computation.
    interval: Time,
    /// When the last change was.
    changed: Option<Time>,
    /// RFC 8405: when the first change after the quiet time was.
    busy_since: Time,
}

impl SpfThrottle {
    /// A change at `now`: schedules the computation of routes, unless one is due.
    pub fn change(&mut self, now: Time, delay: SpfDelay) -> Option<Time> {
        let before = self.changed.replace(now);
        let waits = self.last.is_some_and(|last| last > now);
        let at = match delay {
            SpfDelay::Backoff { initial_ns, second_ns, maximum_ns } => {
                let quiet = before.is_none_or(|before| now - before > 2 * maximum_ns);
                match self.last {
                    _ if waits => return None,
                    Some(last) if !quiet => {
                        let at = (last + self.interval).max(now + initial_ns);
                        self.interval = (2 * self.interval).min(maximum_ns);
                        at
                    }
                    _ => {
                        self.interval = second_ns;
                        now + initial_ns
                    }
                }
            }
            SpfDelay::Rfc8405 { initial_ns, short_ns, long_ns, learn_ns, hold_down_ns } => {
                if before.is_none_or(|before| now >= before + hold_down_ns) {
                    self.busy_since = now;
                    if waits {
                        return None;
                    }
                    now + initial_ns
                } else if waits {
                    return None;
                } else if now < self.busy_since + learn_ns {
                    now + short_ns
                } else {
                    now + long_ns
                }
            }
        };
        self.last = Some(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    /// Computations that follow from changes at these times [ms].
    fn computed(delay: SpfDelay, changes: impl IntoIterator<Item = Time>) -> Vec<Time> {
        let mut throttle = SpfThrottle::default();
        changes
            .into_iter()
            .filter_map(|at| throttle.change(at * MS, delay))
            .map(|at| at / MS)
            .collect()
    }

    /// A change every 5 ms: 10, then 100, 200, 400 and 500 ms (the maximum) apart.
    #[test]
    fn back_off_doubles_up_to_the_maximum() {
        let delay =
            SpfDelay::Backoff { initial_ns: 10 * MS, second_ns: 100 * MS, maximum_ns: 500 * MS };
        assert_eq!(computed(delay, (0..250).map(|k| 5 * k)), [10, 110, 310, 710, 1210, 1710]);
        // A change at the time of a computation comes after it.
        assert_eq!(computed(delay, [0, 10]), [10, 110]);
        // Changes at 0 and 300: 110 is over, so the second waits the initial delay alone. One more
        // than 1,000 ms later is a first again: the next but one is 100 ms behind it, not 400.
        assert_eq!(computed(delay, [0, 300, 1301, 1312]), [10, 310, 1311, 1411]);
        // After 700 ms, and after 1,000 to the end, it is none: the next but one is 400 ms behind it.
        assert_eq!(computed(delay, [0, 300, 1000, 1012]), [10, 310, 1010, 1410]);
        assert_eq!(computed(delay, [0, 300, 1300, 1312]), [10, 310, 1310, 1710]);
    }

    /// Section 3: 50 ms from quiet; 200 ms while the failure is learnt (500 ms from the first
    /// change); then 5 s; quiet again 10 s after the last change.
    #[test]
    fn rfc8405_s3_initial_short_and_long_delays() {
        let delay = SpfDelay::Rfc8405 {
            initial_ns: 50 * MS,
            short_ns: 200 * MS,
            long_ns: 5000 * MS,
            learn_ns: 500 * MS,
            hold_down_ns: 10_000 * MS,
        };
        // 0 -> 50; 100 -> 300 (120 waits with it); 310 -> 510; 520 is past 500: 5520.
        assert_eq!(computed(delay, [0, 100, 120, 310, 520, 10_520]), [50, 300, 510, 5520, 10_570]);
    }
}
