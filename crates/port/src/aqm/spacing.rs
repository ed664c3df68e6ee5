//! How a RED family spreads its early signals: the convention sets the mean gap, hence the loss
//! rate at a given average, hence the queue a load settles at.
//!
//! | convention | gap in packets at a constant p | mean gap |
//! |---|---|---|
//! | `uniform` | uniform on 1..=1/p - 1 | 1 / (2p) |
//! | `ns2` | uniform on 1/p..=2/p - 1 | about 3 / (2p) |
//! | `ns2-diffserv` | as `uniform` while p does not rise | 1 / (2p) |
//! | `geometric` | geometric | 1 / p |
//!
//! Sources: Floyd & Jacobson, IEEE/ACM Trans. Networking 1(4), 1993 ("FJ93"), Fig. 2 and section 7
//! (both methods); ns-2.35 `queue/red.cc` with its default `wait_` and `diffserv/dsredq.cc`.

use serde::{Deserialize, Serialize};
use trunkline_units::RandomStream;

/// A drop-spacing convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// FJ93 Fig. 2 (method 2): the counter of packets since the last signal is raised before
    /// p / (1 - count p) is computed.
    Uniform,
    /// ns-2's RED (`wait_` true): none within 1/p packets of the last signal, then
    /// p / (2 - count p). The first packet after the average enters the band, and one that finds
    /// fewer than two packets queued, is never signalled.
    Ns2,
    /// ns-2's DiffServ module: `uniform` without a guard. Where p has risen so that
    /// count p > 1, the probability is negative and the queue falls silent until the average
    /// leaves the band.
    Ns2Diffserv,
    /// FJ93 section 7, method 1: an independent coin for each packet.
    Geometric,
}

/// Decides which packets of the band are signalled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacer {
    spacing: Spacing,
    /// Packets since the last signal (in byte mode, of the mean size); below 0 out of the band.
    count: f64,
}

const OUT_OF_BAND: f64 = -1.0;

impl Spacer {
    pub(super) fn new(spacing: Spacing) -> Self {
        Self { spacing, count: OUT_OF_BAND }
    }

    /// The average left the band downward.
    #[inline]
    pub(super) fn below(&mut self) {
        self.count = OUT_OF_BAND;
    }

    /// A packet was refused above the band.
    #[inline]
    pub(super) fn above(&mut self) {
        self.count = 0.0;
    }

    /// Whether to signal an arrival in the band.
    ///
    /// `p` is the curve's probability, `size` the packet's size over the mean (1 in packet mode),
    /// `waiting` the packets that it finds queued.
    #[inline]
    pub(super) fn signals(
        &mut self,
        p: f64,
        size: f64,
        waiting: u32,
        random: &mut RandomStream,
    ) -> bool {
        let entering = self.count < 0.0;
        let signal = match self.spacing {
            Spacing::Geometric => random.uniform() < p * size,
            Spacing::Uniform => {
                self.count = if entering { 0.0 } else { self.count + size };
                // Multiplied out: a p that rose since the last signal makes no negative quotient.
                random.uniform() * (1.0 - self.count * p) < p * size
            }
            Spacing::Ns2Diffserv => {
                self.count = if entering { 0.0 } else { self.count + size };
                let room = 1.0 - self.count * p;
                room > 0.0 && random.uniform() * room < p * size
            }
            Spacing::Ns2 => {
                if waiting < 2 {
                    self.count = OUT_OF_BAND;
                    return false;
                }
                if entering {
                    self.count = size;
                    return false;
                }
                self.count += size;
                let progress = self.count * p;
                progress >= 1.0 && random.uniform() * (2.0 - progress) < p * size
            }
        };
        if signal {
            self.count = 0.0;
        }
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps between `signals` signals at a constant `p`, the first one left out.
    fn gaps(spacing: Spacing, p: f64, signals: usize) -> Vec<usize> {
        let mut spacer = Spacer::new(spacing);
        let mut random = RandomStream::new(5, "test", "red");
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() <= signals {
            gap += 1;
            if spacer.signals(p, 1.0, 10, &mut random) {
                gaps.push(gap);
                gap = 0;
            }
        }
        gaps.split_off(1)
    }

    /// Pearson's statistic of `gaps` against a uniform distribution on `low..=high`.
    fn chi_square(gaps: &[usize], low: usize, high: usize) -> f64 {
        let cells = high - low + 1;
        let mut counts = vec![0.0; cells];
        for &gap in gaps {
            assert!((low..=high).contains(&gap), "a gap of {gap}");
            counts[gap - low] += 1.0;
        }
        let expected = gaps.len() as f64 / cells as f64;
        counts.iter().map(|count| (count - expected) * (count - expected) / expected).sum()
    }

    fn mean(gaps: &[usize]) -> f64 {
        gaps.iter().sum::<usize>() as f64 / gaps.len() as f64
    }

    mod fj93 {
        use super::*;

        /// p = 0.02: after a signal count is 1, 2, ..., and p / (1 - count p) is 1 at count 49.
        /// So 49 equal cells; the 0.999 quantile of chi-square with 48 degrees is 84.0.
        /// Mean (1 + 49) / 2 = 25 = 1 / (2p).
        #[test]
        fn fig2_gap_between_early_signals_is_uniform_on_1_to_49() {
            let gaps = gaps(Spacing::Uniform, 0.02, 49_000);
            let statistic = chi_square(&gaps, 1, 49);
            assert!(statistic < 84.0, "{statistic}");
            assert!((mean(&gaps) - 25.0).abs() < 4.0 * 14.14 / 221.0, "{}", mean(&gaps));
        }

        /// Geometric with p = 0.02: mean 50, and P(gap > 100) = 0.98^100 = 0.13262.
        #[test]
        fn s7_method_1_gaps_are_geometric() {
            let gaps = gaps(Spacing::Geometric, 0.02, 40_000);
            assert!((mean(&gaps) - 50.0).abs() < 4.0 * 49.5 / 200.0, "{}", mean(&gaps));
            let long = gaps.iter().filter(|&&gap| gap > 100).count() as f64 / 40_000.0;
            assert!((long - 0.13262).abs() < 4.0 * 0.0017, "{long}");
        }
    }

    mod ns2 {
        use super::*;

        /// p = 1/64 (exact in binary): none while count p < 1, then p / (2 - count p), which is 1
        /// at count 127: 64 equal cells, 64..=127. The 0.999 quantile of chi-square with 63
        /// degrees is 103.4. Mean 95.5 = 3 / (2p) - 1/2.
        #[test]
        fn red_gap_is_uniform_on_one_to_two_times_1_over_p() {
            let gaps = gaps(Spacing::Ns2, 1.0 / 64.0, 64_000);
            let statistic = chi_square(&gaps, 64, 127);
            assert!(statistic < 103.4, "{statistic}");
            assert!((mean(&gaps) - 95.5).abs() < 4.0 * 18.5 / 253.0, "{}", mean(&gaps));
        }

        #[test]
        fn red_never_signals_the_first_packet_of_the_band_nor_at_a_short_queue() {
            let mut random = RandomStream::new(1, "test", "red");
            let mut spacer = Spacer::new(Spacing::Ns2);
            assert!(!spacer.signals(1.0, 1.0, 10, &mut random), "entering");
            assert!(!spacer.signals(1.0, 1.0, 1, &mut random), "one packet queued");
            assert!(!spacer.signals(1.0, 1.0, 10, &mut random), "entering again");
            assert!(spacer.signals(1.0, 1.0, 2, &mut random), "two queued, count 2: certain");
        }

        /// count 30 at p = 0.01 without a signal, then p = 0.05: count p = 1.55 > 1.
        #[test]
        fn diffserv_falls_silent_where_p_has_risen_and_uniform_does_not() {
            for (spacing, silent) in [(Spacing::Ns2Diffserv, true), (Spacing::Uniform, false)] {
                let mut spacer = Spacer { spacing, count: 30.0 };
                let mut random = RandomStream::new(1, "test", "red");
                assert_eq!(!spacer.signals(0.05, 1.0, 10, &mut random), silent, "{spacing:?}");
            }
        }
    }

    /// FJ93 fig. 2: the count is -1 below the band, 0 after a forced drop. p = 1 is certain for each packet of
    /// `uniform` in the band but for the first after the band was left, which `ns2` spares.
    #[test]
    fn the_count_starts_again_below_the_band_and_above_it() {
        let mut random = RandomStream::new(1, "test", "red");
        for spacing in [Spacing::Uniform, Spacing::Ns2, Spacing::Ns2Diffserv] {
            let mut spacer = Spacer { spacing, count: 7.0 };
            spacer.below();
            spacer.signals(0.001, 2.0, 10, &mut random);
            let first = if spacing == Spacing::Ns2 { 2.0 } else { 0.0 };
            assert_eq!(spacer.count, first, "{spacing:?}");
            let mut spacer = Spacer { spacing, count: 7.0 };
            spacer.above();
            assert_eq!(spacer.count, 0.0);
        }
    }

    /// Packets of 3 and 1 times the mean, in turn (mean 2 in bytes of the unit): a packet is
    /// signalled in proportion to its size, so the large get 3/4 of the signals.
    #[test]
    fn in_byte_mode_signals_are_in_proportion_to_size() {
        for spacing in [Spacing::Geometric, Spacing::Uniform, Spacing::Ns2, Spacing::Ns2Diffserv] {
            let mut spacer = Spacer::new(spacing);
            let mut random = RandomStream::new(3, "test", "red");
            let (mut large, mut all) = (0.0, 0.0);
            for _ in 0..400_000 {
                for size in [3.0, 1.0] {
                    if spacer.signals(0.01, size, 10, &mut random) {
                        all += 1.0;
                        large += if size > 1.0 { 1.0 } else { 0.0 };
                    }
                }
            }
            assert!((large / all - 0.75_f64).abs() < 0.015, "{spacing:?}: {}", large / all);
        }
    }
}
