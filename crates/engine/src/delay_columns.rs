//! Columns of one-way delays: the same for flows and for paths.

use crate::counters::Delay;
use crate::histogram::Pool;
use crate::tables::Table;

/// Names of the columns of quantiles, and the quantiles.
const QUANTILES: [(&str, f64); 5] = [
    ("delay_p50_ns", 0.50),
    ("delay_p90_ns", 0.90),
    ("delay_p95_ns", 0.95),
    ("delay_p99_ns", 0.99),
    ("delay_p999_ns", 0.999),
];

/// Adds mean, extremes, quantiles and jitter of each delay; -1 and NaN where nothing was measured.
pub fn add(mut table: Table, delays: &[&Delay], pool: &Pool) -> Table {
    let measured = |value: u64, count: u64| if count > 0 { value as i64 } else { -1 };
    table = table
        .floats("delay_mean_ns", delays.iter().map(|d| d.sum as f64 / d.count as f64))
        .ints("delay_min_ns", delays.iter().map(|d| measured(d.min, d.count)))
        .ints("delay_max_ns", delays.iter().map(|d| measured(d.max, d.count)));
    for (name, share) in QUANTILES {
        // A bucket's upper end may exceed the greatest value met.
        let quantile = delays
            .iter()
            .map(|d| d.histogram.quantile(pool, share).map_or(-1, |value| value.min(d.max) as i64));
        table = table.ints(name, quantile);
    }
    let jitter = delays.iter().map(|d| if d.count > 0 { d.jitter } else { f64::NAN });
    table.floats("jitter_ns", jitter)
}
