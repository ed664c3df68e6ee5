//! Measures of transfers: times and slowdowns by bins of size, and of every one where configured.

use crate::histogram::{Histogram, Pool};
use crate::tables::Table;
use trunkline_agent::workload::Viewing;
use trunkline_units::{Span, Time};

/// Quantiles of completion times, and of slowdowns.
/// Quantiles that have columns.
const QUANTILES: [f64; 4] = [0.50, 0.90, 0.95, 0.99];
const TIME_COLUMNS: [&str; 4] = ["fct_p50_ns", "fct_p90_ns", "fct_p95_ns", "fct_p99_ns"];
const SLOWDOWN_COLUMNS: [&str; 4] =
    ["slowdown_p50_milli", "slowdown_p90_milli", "slowdown_p95_milli", "slowdown_p99_milli"];

/// Kind of a row, by its number in the raw tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// All transfers.
    All,
    /// Those of a range of sizes.
    Bin,
    /// Pages.
    Page,
}

/// Transfers or pages of one row.
#[derive(Clone, Debug)]
pub struct TransferBin {
    kind: RowKind,
    /// Largest size [B].
    upper: u64,
    started: u64,
    finished: u64,
    bytes: u64,
    objects: u64,
    sum: u128,
    min: Span,
    max: Span,
    times: Histogram,
    /// Those of which the least time is known.
    with_slowdown: u64,
    slowdown_sum: f64,
    slowdown_max: u64,
    slowdowns: Histogram,
}

impl TransferBin {
    fn new(kind: RowKind, upper: u64) -> Self {
        Self {
            kind,
            upper,
            started: 0,
            finished: 0,
            bytes: 0,
            objects: 0,
            sum: 0,
            min: Span::MAX,
            max: 0,
            times: Histogram::default(),
            with_slowdown: 0,
            slowdown_sum: 0.0,
            slowdown_max: 0,
            slowdowns: Histogram::default(),
        }
    }

    fn finish(&mut self, bytes: u64, objects: u64, time: Span, pool: &mut Pool) {
        self.finished += 1;
        self.bytes += bytes;
        self.objects += objects;
        self.sum += u128::from(time);
        self.min = self.min.min(time);
        self.max = self.max.max(time);
        self.times.add(pool, time);
    }

    fn add_slowdown(&mut self, slowdown: f64, pool: &mut Pool) {
        let milli = (1000.0 * slowdown + 0.5) as u64;
        self.with_slowdown += 1;
        self.slowdown_sum += slowdown;
        self.slowdown_max = self.slowdown_max.max(milli);
        self.slowdowns.add(pool, milli);
    }

    /// Adds the counts of another region, in the same pool; the slowdowns are those of one of the two.
    fn join(&mut self, more: &Self, pool: &mut Pool) {
        self.started += more.started;
        self.finished += more.finished;
        self.bytes += more.bytes;
        self.objects += more.objects;
        self.sum += more.sum;
        self.min = self.min.min(more.min);
        self.max = self.max.max(more.max);
        self.times.merge(&more.times, pool);
        self.with_slowdown += more.with_slowdown;
        self.slowdown_sum += more.slowdown_sum;
        self.slowdown_max = self.slowdown_max.max(more.slowdown_max);
        self.slowdowns.merge(&more.slowdowns, pool);
    }

    fn restart(&mut self, pool: &mut Pool) {
        self.times.clear(pool);
        self.slowdowns.clear(pool);
        let (times, slowdowns) =
            (std::mem::take(&mut self.times), std::mem::take(&mut self.slowdowns));
        *self = Self { times, slowdowns, ..Self::new(self.kind, self.upper) };
    }
}

/// One transfer that was recorded.
#[derive(Clone, Copy, Debug)]
struct TransferRow {
    bytes: u64,
    start: Time,
    finish: Option<Time>,
    floor: Span,
}

/// Measures of one flow's transfers.
#[derive(Clone, Debug)]
pub struct TransferMeasures {
    /// All of them, then by size, then pages if there are any.
    bins: Vec<TransferBin>,
    record: bool,
    rows: Vec<TransferRow>,
    /// Numbers and ends of recorded transfers whose rows another region has.
    finished_elsewhere: Vec<(u32, Time)>,
}

impl TransferMeasures {
    /// No measurements yet.
    pub fn new(uppers: &[u64], record: bool, pages: bool) -> Self {
        let mut bins = vec![TransferBin::new(RowKind::All, u64::MAX)];
        let sizes = uppers.iter().copied().chain([u64::MAX]);
        bins.extend(sizes.map(|upper| TransferBin::new(RowKind::Bin, upper)));
        if pages {
            bins.push(TransferBin::new(RowKind::Page, u64::MAX));
        }
        Self { bins, record, rows: Vec::new(), finished_elsewhere: Vec::new() }
    }

    fn of_size(&self, bytes: u64) -> usize {
        let fits = |bin: &TransferBin| bin.kind == RowKind::Bin && bytes <= bin.upper;
        self.bins.iter().position(fits).unwrap_or(0)
    }

    /// A transfer starts; the number it is recorded by.
    pub fn start(&mut self, bytes: u64, now: Time, floor: Span) -> u32 {
        let bin = self.of_size(bytes);
        self.bins[0].started += 1;
        self.bins[bin].started += 1;
        if self.record {
            self.rows.push(TransferRow { bytes, start: now, finish: None, floor });
        }
        self.rows.len() as u32
    }

    /// Its last byte has arrived, `time` after its start.
    pub fn finish(&mut self, bytes: u64, time: Span, floor: Span, pool: &mut Pool) {
        let bin = self.of_size(bytes);
        for bin in [0, bin] {
            self.bins[bin].finish(bytes, 1, time, pool);
            if floor > 0 {
                self.bins[bin].add_slowdown(time as f64 / floor as f64, pool);
            }
        }
    }

    /// A recorded transfer, by its number, has ended.
    pub fn record_end(&mut self, number: u32, at: Time) {
        let Some(index) = (number as usize).checked_sub(1) else { return };
        match self.rows.get_mut(index) {
            Some(row) => row.finish = Some(at),
            None => self.finished_elsewhere.push((number, at)),
        }
    }

    /// Adds the measures of another region, whose histograms come behind `blocks` blocks of the pool.
    pub fn join(&mut self, more: &mut Self, blocks: usize, pool: &mut Pool) {
        for (own, more) in self.bins.iter_mut().zip(&mut more.bins) {
            more.times.moved(blocks);
            more.slowdowns.moved(blocks);
            own.join(more, pool);
        }
        if self.rows.is_empty() {
            std::mem::swap(&mut self.rows, &mut more.rows);
        }
        self.finished_elsewhere.append(&mut more.finished_elsewhere);
        if !self.rows.is_empty() {
            for (number, at) in std::mem::take(&mut self.finished_elsewhere) {
                self.record_end(number, at);
            }
        }
    }

    /// A page is requested.
    pub fn start_page(&mut self) {
        self.bins
            .iter_mut()
            .filter(|bin| bin.kind == RowKind::Page)
            .for_each(|bin| bin.started += 1);
    }

    /// A page is complete.
    pub fn finish_page(&mut self, bytes: u64, objects: u64, time: Span, pool: &mut Pool) {
        let pages = self.bins.iter_mut().filter(|bin| bin.kind == RowKind::Page);
        pages.for_each(|bin| bin.finish(bytes, objects, time, pool));
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.bins.iter_mut().for_each(|bin| bin.restart(pool));
        self.rows.clear();
        self.finished_elsewhere.clear();
    }
}

/// The tables of all flows, each with its number.
pub fn tables(all: &[(u32, &TransferMeasures)], pool: &Pool) -> Vec<Table> {
    vec![transfer_table(all), completion_table(all, pool), completion_histogram_table(all, pool)]
}

/// Playback of viewers since they began, each with its flow, in the order of flows.
pub fn viewing_table(rows: &[(u32, Viewing)]) -> Table {
    let column = |field: fn(&Viewing) -> i64| rows.iter().map(move |(_, viewing)| field(viewing));
    let mut numbers: Vec<i64> = Vec::with_capacity(rows.len());
    for (index, (flow, _)) in rows.iter().enumerate() {
        let same = index > 0 && rows[index - 1].0 == *flow;
        numbers.push(if same { numbers[index - 1] + 1 } else { 0 });
    }
    Table::new("videos")
        .ints("flow", rows.iter().map(|(flow, _)| i64::from(*flow)))
        .ints("player", numbers)
        .ints("began_ns", column(|viewing| viewing.began.map_or(-1, |at| at as i64)))
        .ints("start_up_ns", column(|viewing| viewing.start_up.map_or(-1, |span| span as i64)))
        .ints("stalls", column(|viewing| viewing.stalls as i64))
        .ints("stalled_ns", column(|viewing| viewing.stalled as i64))
        .ints("chunks", column(|viewing| viewing.chunks as i64))
        .ints("rates_bit_s", column(|viewing| viewing.rates as i64))
        .ints("switches", column(|viewing| viewing.switches as i64))
}

fn transfer_table(all: &[(u32, &TransferMeasures)]) -> Table {
    let rows = || {
        all.iter().flat_map(|(flow, measures)| measures.rows.iter().map(move |row| (*flow, row)))
    };
    Table::new("transfers")
        .ints("flow", rows().map(|(flow, _)| i64::from(flow)))
        .ints("size_bytes", rows().map(|(_, row)| row.bytes as i64))
        .ints("start_ns", rows().map(|(_, row)| row.start as i64))
        .ints("finish_ns", rows().map(|(_, row)| row.finish.map_or(-1, |at| at as i64)))
        .ints("floor_ns", rows().map(|(_, row)| row.floor as i64))
}

fn completion_table(all: &[(u32, &TransferMeasures)], pool: &Pool) -> Table {
    let bins = || {
        all.iter().flat_map(|(flow, measures)| measures.bins.iter().map(move |bin| (*flow, bin)))
    };
    let any = |value: u64, bin: &TransferBin| if bin.finished > 0 { value as i64 } else { -1 };
    let mut table = Table::new("completions")
        .ints("flow", bins().map(|(flow, _)| i64::from(flow)))
        .ints("kind", bins().map(|(_, bin)| bin.kind as i64))
        .ints("upper_bytes", bins().map(|(_, bin)| i64::try_from(bin.upper).unwrap_or(-1)))
        .ints("started", bins().map(|(_, bin)| bin.started as i64))
        .ints("finished", bins().map(|(_, bin)| bin.finished as i64))
        .ints("finished_bytes", bins().map(|(_, bin)| bin.bytes as i64))
        .ints("objects", bins().map(|(_, bin)| bin.objects as i64))
        .floats("fct_mean_ns", bins().map(|(_, bin)| bin.sum as f64 / bin.finished as f64))
        .ints("fct_min_ns", bins().map(|(_, bin)| any(bin.min, bin)))
        .ints("fct_max_ns", bins().map(|(_, bin)| any(bin.max, bin)));
    // A bucket's upper end may exceed the greatest value met.
    let times = bins().map(|(_, bin)| {
        let times = bin.times.quantiles(pool, QUANTILES).unwrap_or_default();
        times.map(|at| any(at.min(bin.max), bin))
    });
    let times: Vec<_> = times.collect();
    for (place, name) in TIME_COLUMNS.into_iter().enumerate() {
        table = table.ints(name, times.iter().map(|times| times[place]));
    }
    let slow = |bin: &TransferBin| bin.slowdown_sum / bin.with_slowdown as f64;
    table = table
        .ints("slowdowns", bins().map(|(_, bin)| bin.with_slowdown as i64))
        .floats("slowdown_mean", bins().map(|(_, bin)| slow(bin)));
    let slowdowns = bins().map(|(_, bin)| {
        let slowdowns = bin.slowdowns.quantiles(pool, QUANTILES);
        slowdowns.map_or([-1; 4], |all| all.map(|milli| milli.min(bin.slowdown_max) as i64))
    });
    let slowdowns: Vec<_> = slowdowns.collect();
    for (place, name) in SLOWDOWN_COLUMNS.into_iter().enumerate() {
        table = table.ints(name, slowdowns.iter().map(|slowdowns| slowdowns[place]));
    }
    table
}

/// Completion times as histograms: buckets that hold one.
fn completion_histogram_table(all: &[(u32, &TransferMeasures)], pool: &Pool) -> Table {
    let mut rows: Vec<[i64; 5]> = Vec::new();
    for (flow, measures) in all {
        for bin in &measures.bins {
            let upper_bytes = i64::try_from(bin.upper).unwrap_or(-1);
            let filled = bin.times.buckets(pool).filter(|(_, count)| *count > 0);
            rows.extend(filled.map(|(upper, count)| {
                [i64::from(*flow), bin.kind as i64, upper_bytes, upper as i64, i64::from(count)]
            }));
        }
    }
    let column = |index: usize| rows.iter().map(move |row| row[index]);
    Table::new("completion_times")
        .ints("flow", column(0))
        .ints("kind", column(1))
        .ints("upper_bytes", column(2))
        .ints("upper_ns", column(3))
        .ints("count", column(4))
}
