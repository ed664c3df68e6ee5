//! Columns of delays: the same for flows, paths and echo flows.

use crate::counters::DelayStatistics;
use crate::histogram::Pool;
use crate::tables::Table;

/// Quantiles that have columns.
const QUANTILES: [f64; 5] = [0.50, 0.90, 0.95, 0.99, 0.999];

/// Kind of delays, which the names of their columns show.
#[derive(Clone, Copy, Debug)]
pub enum DelayKind {
    /// One way, of a flow's data or a path's.
    OneWay,
    /// There and back.
    RoundTrip,
    /// One way, of replies.
    Back,
}

/// Mean, least, greatest, the quantiles, jitter, and how many differences that is over.
type ColumnNames = [&'static str; 10];

impl DelayKind {
    fn names(self) -> ColumnNames {
        match self {
            Self::OneWay => [
                "delay_mean_ns",
                "delay_min_ns",
                "delay_max_ns",
                "delay_p50_ns",
                "delay_p90_ns",
                "delay_p95_ns",
                "delay_p99_ns",
                "delay_p999_ns",
                "jitter_ns",
                "delays_compared",
            ],
            Self::RoundTrip => [
                "rtt_mean_ns",
                "rtt_min_ns",
                "rtt_max_ns",
                "rtt_p50_ns",
                "rtt_p90_ns",
                "rtt_p95_ns",
                "rtt_p99_ns",
                "rtt_p999_ns",
                "rtt_jitter_ns",
                "rtt_compared",
            ],
            Self::Back => [
                "back_mean_ns",
                "back_min_ns",
                "back_max_ns",
                "back_p50_ns",
                "back_p90_ns",
                "back_p95_ns",
                "back_p99_ns",
                "back_p999_ns",
                "back_jitter_ns",
                "back_compared",
            ],
        }
    }
}

/// Adds mean, extremes, quantiles and jitter of each one-way delay.
pub fn add_delay_columns(table: Table, delays: &[&DelayStatistics], pool: &Pool) -> Table {
    add_columns_of(table, DelayKind::OneWay, delays, pool)
}

/// Adds mean, extremes, quantiles and jitter of each delay; -1 and NaN where no delay was measured.
pub fn add_columns_of(
    mut table: Table,
    of: DelayKind,
    delays: &[&DelayStatistics],
    pool: &Pool,
) -> Table {
    let measured = |value: u64, count: u64| if count > 0 { value as i64 } else { -1 };
    let [mean, least, greatest, quantiles @ .., jitter, compared] = of.names();
    table = table
        .floats(mean, delays.iter().map(|d| d.sum as f64 / d.count as f64))
        .ints(least, delays.iter().map(|d| measured(d.min, d.count)))
        .ints(greatest, delays.iter().map(|d| measured(d.max, d.count)));
    // A bucket's upper end may exceed the greatest value met.
    let values = delays.iter().map(|d| {
        let values = d.histogram.quantiles(pool, QUANTILES);
        values.map_or([-1; 5], |values| values.map(|value| value.min(d.max) as i64))
    });
    let values: Vec<_> = values.collect();
    for (place, name) in quantiles.into_iter().enumerate() {
        table = table.ints(name, values.iter().map(|values| values[place]));
    }
    let values = delays.iter().map(|d| if d.compared() > 0 { d.jitter } else { f64::NAN });
    table.floats(jitter, values).ints(compared, delays.iter().map(|d| d.compared() as i64))
}
