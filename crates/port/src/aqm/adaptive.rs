//! Adaptive RED: the maximum probability follows the average queue.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED: an algorithm for increasing the robustness of
//! RED's active queue management", 2001, Fig. 1; Linux 6.1 `include/net/red.h`, which has the same
//! steps in fixed point. Every half second: above the middle fifth of the band max_p grows by 0.01 or
//! a quarter of itself, whichever is less, while at most 0.5; below it max_p shrinks by a tenth, while
//! at least 0.01.
//! Differs: the half seconds count from time 0. Absent: their choice of thresholds and weight.

use trunkline_units::{Span, Time, SECOND};

/// Time between two updates.
const INTERVAL: Span = SECOND / 2;
/// Largest step up, and smallest max_p that still shrinks.
const MIN_MAX_P: f64 = 0.01;
/// Largest max_p that still grows.
const MAX_MAX_P: f64 = 0.5;

/// The clock of the updates.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdaptiveClock {
    next: Time,
}

impl AdaptiveClock {
    pub(super) fn new() -> Self {
        Self { next: INTERVAL }
    }

    /// The next update that is due by `now`.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        let at = self.next;
        (at <= now).then(|| {
            self.next += INTERVAL;
            at
        })
    }

    /// Skips the updates due by `now`, which would change nothing.
    pub(super) fn skip(&mut self, now: Time) {
        if self.next <= now {
            self.next += ((now - self.next) / INTERVAL + 1) * INTERVAL;
        }
    }
}

/// The new max_p at an average between the thresholds `min` and `max`; none = no change.
pub(super) fn step(max_p: f64, average: f64, min: f64, max: f64) -> Option<f64> {
    let fifth = (max - min) / 5.0;
    if average > min + 3.0 * fifth && max_p <= MAX_MAX_P {
        Some(max_p + MIN_MAX_P.min(max_p / 4.0))
    } else if average < min + 2.0 * fifth && max_p >= MIN_MAX_P {
        Some(max_p * 0.9)
    } else {
        None
    }
}

/// The same in units of 2^-32, as Linux.
pub(super) fn step_linux(max_p: u32, average: u64, min: u64, max: u64) -> Option<u32> {
    const PERCENT: u32 = 42_949_673;
    let fifth = (max - min) / 5;
    if average > min + 3 * fifth && max_p <= 50 * PERCENT {
        Some(max_p + PERCENT.min(max_p / 4))
    } else if average < min + 2 * fifth && max_p >= PERCENT {
        Some(max_p / 10 * 9)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::super::{Red, RedConfig, Spacing, Unit};
    use super::*;

    mod floyd2001 {
        use super::*;

        /// Fig. 1, thresholds 5 and 15: the target is 9 to 11. alpha = min(0.01, max_p / 4), beta 0.9.
        #[test]
        fn fig1_max_p_rises_by_alpha_and_falls_by_beta() {
            let close = |max_p: Option<f64>, to: f64| (max_p.unwrap() - to).abs() < 1e-15;
            assert!(close(step(0.1, 11.5, 5.0, 15.0), 0.11));
            assert!(close(step(0.02, 11.5, 5.0, 15.0), 0.025));
            assert!(close(step(0.1, 8.5, 5.0, 15.0), 0.09));
            // On the bounds of the target nothing moves; up to 0.5 it rises, from 0.01 on it falls.
            for average in [9.0, 10.0, 11.0] {
                assert_eq!(step(0.1, average, 5.0, 15.0), None);
            }
            assert!(close(step(0.5, 14.0, 5.0, 15.0), 0.51));
            assert!(close(step(0.01, 6.0, 5.0, 15.0), 0.009));
            assert_eq!(step(0.51, 14.0, 5.0, 15.0), None);
            assert_eq!(step(0.0099, 6.0, 5.0, 15.0), None);
        }

        /// Section 4: whatever max_p starts from, the average settles in the target. Overload of 1.1:
        /// 1 of 11 packets must be dropped, and uniform spacing drops 2p/(1+p): p = 1/21 at
        /// the average. So max_p settles between 1/21 / 0.6 = 0.079 and 1/21 / 0.4 = 0.119.
        #[test]
        fn s4_the_average_settles_within_the_target_from_any_max_p() {
            for max_p in [0.02, 0.09, 0.4] {
                let config = RedConfig {
                    min_th: 10.0,
                    max_th: 60.0,
                    max_p,
                    w_q: 0.002,
                    gentle: true,
                    unit: Unit::Packets,
                    mean_packet_bytes: 1000,
                    spacing: Spacing::Uniform,
                    adaptive: true,
                };
                let result = overload(Red::new(&config, 8_000_000).unwrap(), 1.1, &[0], 400_000);
                assert!((30.0..=40.0).contains(&result.average), "{max_p}: {}", result.average);
            }
        }

        /// Half seconds, also over a long silence.
        #[test]
        fn s4_1_updates_come_every_half_second() {
            let mut clock = AdaptiveClock::new();
            assert_eq!(clock.due(499_999_999), None);
            assert_eq!(clock.due(1_200_000_000), Some(500_000_000));
            assert_eq!(clock.due(1_200_000_000), Some(1_000_000_000));
            assert_eq!(clock.due(1_200_000_000), None);
            clock.skip(9_700_000_000);
            assert_eq!(clock.due(20_000_000_000), Some(10_000_000_000));
        }
    }

    /// `include/net/red.h` in units of 2^-32: 2 % = 85,899,346, a quarter of it 21,474,836; a tenth
    /// less than 85,899,346 is 8,589,934 * 9.
    #[test]
    fn sch_red_steps_are_the_same_in_fixed_point() {
        assert_eq!(step_linux(85_899_346, 90, 0, 100), Some(85_899_346 + 21_474_836));
        assert_eq!(step_linux(429_496_730, 90, 0, 100), Some(429_496_730 + 42_949_673));
        assert_eq!(step_linux(85_899_346, 10, 0, 100), Some(77_309_406));
        assert_eq!(step_linux(85_899_346, 50, 0, 100), None);
        // Thresholds of 1000 and 2000: the target is 1400 to 1600. 50 % and 1 % are the last to move.
        for average in [1400, 1500, 1600] {
            assert_eq!(step_linux(85_899_346, average, 1000, 2000), None);
        }
        let (most, least) = (50 * 42_949_673, 42_949_673);
        assert_eq!(step_linux(most, 1601, 1000, 2000), Some(most + least));
        assert_eq!(step_linux(most + 1, 1601, 1000, 2000), None);
        assert_eq!(step_linux(least, 1399, 1000, 2000), Some(4_294_967 * 9));
        assert_eq!(step_linux(least - 1, 1399, 1000, 2000), None);
    }
}
