//! Detection of a policer: after two intervals of losses with one rate of delivery, the pace stays at
//! that rate.
//!
//! Source: Flach et al. 2016; Linux 6.1 (`bbr_lt_bw_sampling`): an interval has 4 to 16 rounds and ends with a
//! loss; a fifth of what was delivered was lost (50/256); two rates agree within an eighth or 4 kbit/s;
//! their mean is used for 48 rounds.

use super::{GAIN_UNIT, RATE_UNIT};
use crate::tcp::rate_sample::RateSample;

const MIN_ROUNDS: u32 = 4;
const LOSS_SHARE: u64 = 50;
const MAX_RATE_DIFFERENCE_SHARE: u64 = 32;
const MAX_RATE_DIFFERENCE_BYTES: u64 = 500;
const MAX_POLICED_ROUNDS: u32 = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct PolicerDetector {
    found: bool,
    timed_out: bool, // since the last sample
    sampling: bool,
    rate: u64,
    rounds: u32,
    interval_start_ms: u64, // [ms]
    delivered: u64,
    lost: u64,
}

impl PolicerDetector {
    /// The rate of the policer, while it is used.
    pub fn rate(&self) -> Option<u64> {
        self.found.then_some(self.rate)
    }

    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// A timeout is a loss that begins an interval.
    pub fn timed_out(&mut self) {
        self.timed_out = true;
    }

    /// An acknowledgement arrived. True: the rate is no longer used.
    pub fn sample(&mut self, now: &RateSample, round: bool, probing: bool, mss: u64) -> bool {
        if self.found {
            if probing && round {
                self.rounds += 1;
                if self.rounds >= MAX_POLICED_ROUNDS {
                    self.forget();
                    return true;
                }
            }
            return false;
        }
        let lost = std::mem::take(&mut self.timed_out) || now.lost > 0;
        if !self.sampling {
            if !lost {
                return false;
            }
            self.begin(now);
            self.sampling = true;
        }
        if now.limited {
            self.forget();
            return false;
        }
        self.rounds += u32::from(round);
        if self.rounds > 4 * MIN_ROUNDS {
            self.forget();
        } else if self.rounds >= MIN_ROUNDS && lost {
            self.finish(now, mss);
        }
        false
    }

    fn begin(&mut self, now: &RateSample) {
        self.interval_start_ms = now.delivered_at / 1_000;
        (self.delivered, self.lost, self.rounds) = (now.total, now.total_lost, 0);
    }

    fn finish(&mut self, now: &RateSample, mss: u64) {
        let (lost, delivered) = (now.total_lost - self.lost, now.total - self.delivered);
        let elapsed = now.delivered_at / 1_000 - self.interval_start_ms;
        if delivered == 0 || lost * GAIN_UNIT < LOSS_SHARE * delivered || elapsed < 1 {
            return;
        }
        let rate = delivered * RATE_UNIT / (elapsed * 1_000);
        let difference = rate.abs_diff(self.rate);
        let bytes = (u128::from(difference * mss) * 990_000) >> 24;
        let agree = difference * GAIN_UNIT <= MAX_RATE_DIFFERENCE_SHARE * self.rate
            || bytes <= u128::from(MAX_RATE_DIFFERENCE_BYTES);
        if self.rate > 0 && agree {
            (self.rate, self.found, self.rounds) = ((rate + self.rate) / 2, true, 0);
        } else {
            self.rate = rate;
            self.begin(now);
        }
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    /// An interval of four rounds of 100 ms with `delivered` and `lost` segments in each.
    fn interval(policer: &mut PolicerDetector, now: &mut RateSample, delivered: u64, lost: u32) {
        for _ in 0..4 {
            now.total += delivered;
            now.total_lost += u64::from(lost);
            now.delivered_at += 100_000;
            now.lost = lost;
            policer.sample(now, true, true, 1000);
        }
    }

    /// 100 a round with 25 lost (a fifth is 19.5) are 1000 a second, twice: used for 48 rounds. With 10
    /// lost, or 150 the second time, there is no policer.
    #[test]
    fn bbr_lt_bw_sampling_two_equal_intervals_of_losses_are_a_policer() {
        for (second, lost, found) in [(100, 25, true), (100, 10, false), (150, 40, false)] {
            let (mut policer, mut now) =
                (PolicerDetector::default(), RateSample { lost: 1, ..RateSample::default() });
            policer.sample(&now, false, true, 1000);
            interval(&mut policer, &mut now, 100, lost);
            interval(&mut policer, &mut now, second, lost);
            let rate = found.then_some(RATE_UNIT / 1000);
            assert_eq!(policer.rate(), rate, "{second} {lost}");
            if found {
                let ended = (0..48).map(|_| policer.sample(&now, true, true, 1000));
                assert_eq!(ended.filter(|ended| *ended).count(), 1);
                assert_eq!(policer.rate(), None);
            }
        }
    }

    /// `bbr_lt_bw_interval_done` and `bbr_lt_loss_thresh` 50 of 256: with 256 delivered 50 lost are enough. Two
    /// rates agree where they differ by an eighth at most, or by 4000 bit/s (`bbr_lt_bw_diff`), 500 B/s.
    #[test]
    fn bbr_lt_bw_interval_done_at_its_thresholds() {
        let now = RateSample { total: 256, delivered_at: 400_000, ..RateSample::default() };
        for (total_lost, is_rate) in [(49, false), (50, true)] {
            let mut policer = PolicerDetector::default();
            policer.finish(&RateSample { total_lost, ..now }, 1000);
            assert_eq!(policer.rate, if is_rate { 256 * RATE_UNIT / 400_000 } else { 0 });
        }
        let rate = 256 * RATE_UNIT / 400_000;
        for (before, agrees) in
            [(rate * 8 / 9 + 1, true), (rate * 8 / 9 - 9, false), (rate * 8 / 7, true)]
        {
            let mut policer = PolicerDetector { rate: before, ..PolicerDetector::default() };
            policer.finish(&RateSample { total_lost: 60, ..now }, 1_000_000);
            assert_eq!(policer.found, agrees, "{before} {rate}");
            assert_eq!(policer.rate, if agrees { (rate + before) / 2 } else { rate });
        }
    }

    /// `bbr_lt_bw_sampling`: an interval ends with a loss after 4 rounds and up to 16; after 17 it is forgotten.
    #[test]
    fn bbr_lt_bw_sampling_an_interval_has_four_to_sixteen_rounds() {
        for (rounds, known) in [(3, false), (4, true), (12, true), (16, true), (17, false)] {
            let mut policer = PolicerDetector::default();
            let mut now = RateSample { lost: 1, ..RateSample::default() };
            policer.sample(&now, false, true, 1000);
            for round in 1..=rounds {
                now.total += 100;
                now.total_lost += 50;
                now.delivered_at += 100_000;
                now.lost = u32::from(round == rounds);
                policer.sample(&now, true, true, 1000);
            }
            assert_eq!(policer.rate > 0, known, "{rounds}");
        }
    }

    /// `bbr_lt_bw_interval_done`: "Interval too short?" at less than 1 ms. 256 in 400 ms are 10737 of 2^-24 a
    /// microsecond; of 1 B each 8487 less are 8487 * 990000 / 2^24 = 500.8 B/s less, 8497 are 501.4 (4000 bit/s).
    #[test]
    fn bbr_lt_bw_interval_done_at_a_millisecond_and_500_bytes() {
        for (delivered_at, known) in [(999, false), (1_000, true)] {
            let mut policer = PolicerDetector::default();
            let now = RateSample { total: 256, total_lost: 60, delivered_at, ..Default::default() };
            policer.finish(&now, 1000);
            assert_eq!(policer.rate > 0, known, "{delivered_at}");
        }
        let now =
            RateSample { total: 256, total_lost: 60, delivered_at: 400_000, ..Default::default() };
        for (less, agrees) in [(8487, true), (8497, false)] {
            let mut policer = PolicerDetector { rate: 10_737 - less, ..Default::default() };
            policer.finish(&now, 1);
            assert_eq!(policer.found, agrees, "{less}");
        }
    }
}
