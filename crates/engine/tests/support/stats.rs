//! Intervals.

/// Quantile 1 - 0.0005 of Student's t by degrees of freedom: two-sided alpha = 0.001.
/// Source: any table of the distribution; the last is the normal quantile's neighbourhood.
const T_0_9995: [(usize, f64); 8] = [
    (7, 5.408),
    (9, 4.781),
    (11, 4.437),
    (15, 4.073),
    (19, 3.883),
    (23, 3.768),
    (29, 3.659),
    (39, 3.558),
];

/// Normal quantile 1 - 0.0005.
pub const Z_0_9995: f64 = 3.291;

/// Mean of independent replications with its 99.9 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub mean: f64,
    /// Half its width.
    pub half: f64,
    /// Standard error of the mean.
    pub error: f64,
}

impl Interval {
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        let freedom = values.len() - 1;
        let (_, t) =
            T_0_9995.iter().rfind(|(known, _)| *known <= freedom).expect("8 values or more");
        Self { mean, half: t * error, error }
    }

    /// Asserts that theory lies within the interval, and that the interval is narrow enough, as a
    /// share of theory, to distinguish a wrong formula from a right one.
    #[track_caller]
    pub fn assert_theory(&self, theory: f64, narrow: f64) {
        let Self { mean, half, .. } = self;
        assert!((mean - theory).abs() <= *half, "{mean} +- {half} excludes {theory}");
        assert!(*half <= narrow * theory.abs(), "+- {half} is wide for {theory} (mean {mean})");
    }

    /// Whether this mean and another differ by no more than chance at alpha = 0.001 (Welch; both
    /// of as many replications).
    #[track_caller]
    pub fn assert_like(&self, other: &Self, narrow: f64) {
        let half = (self.half.powi(2) + other.half.powi(2)).sqrt();
        let gap = (self.mean - other.mean).abs();
        assert!(gap <= half, "{self:?} and {other:?} differ by {gap}, more than {half}");
        assert!(half <= narrow * other.mean.abs(), "+- {half} is wide for {}", other.mean);
    }
}

/// Counts that `n` coins of probability `p` show, but for a chance of 0.001.
pub fn binomial_interval(n: f64, p: f64) -> std::ops::RangeInclusive<f64> {
    let half = Z_0_9995 * (n * p * (1.0 - p)).sqrt() + 1.0;
    n * p - half..=n * p + half
}

/// Jain's index of fairness: (sum x)^2 / (n sum x^2); 1 = all alike.
/// Source: Jain, Chiu & Hawe, DEC-TR-301, 1984.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}
