//! Runs, and their results by table and column.

use super::{Interval, Lab};
use trunkline_engine::observer::{Event, TraceLine};
use trunkline_engine::{Column, RunError, Table};
use trunkline_packet::{Cause, Packet};

/// The tables of a run. Getting one means that the run's own checks (conservation, exact Little's
/// law) passed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub tables: Vec<Table>,
    /// Every packet's events, where asked for.
    pub lines: Vec<TraceLine>,
}

impl Lab {
    /// Runs with a seed.
    pub fn run(&self, seed: u64) -> Outcome {
        self.try_run(seed).expect("the run ends and its checks pass")
    }

    /// Runs with a seed; failures are returned.
    pub fn try_run(&self, seed: u64) -> Result<Outcome, RunError> {
        let tables = trunkline_engine::run(&self.network, seed, &|| false)?;
        Ok(Outcome { tables, lines: vec![] })
    }

    /// Runs with a seed and keeps every packet's events.
    pub fn trace(&self, seed: u64) -> Outcome {
        let (tables, lines) =
            trunkline_engine::run_traced(&self.network, seed).expect("the run ends");
        Outcome { tables, lines }
    }
}

/// Independent replications with seeds `1..=runs`, each reduced to `N` numbers.
pub fn replicate<const N: usize>(
    lab: &Lab,
    runs: u64,
    measure: impl Fn(&Outcome) -> [f64; N],
) -> [Interval; N] {
    let values: Vec<[f64; N]> = (1..=runs).map(|seed| measure(&lab.run(seed))).collect();
    std::array::from_fn(|index| {
        Interval::of(&values.iter().map(|row| row[index]).collect::<Vec<_>>())
    })
}

impl Outcome {
    pub fn table(&self, name: &str) -> &Table {
        self.tables.iter().find(|table| table.name == name).expect("every run has this table")
    }

    /// Every value of every table, bit by bit; columns named in `except` are left out.
    pub fn bits(&self, except: &[&str]) -> Vec<(&'static str, &'static str, Vec<u8>)> {
        let columns = self.tables.iter().flat_map(|table| {
            table.columns.iter().map(|(name, column)| (table.name, *name, column.bytes().1))
        });
        columns.filter(|(_, name, _)| !except.contains(name)).collect()
    }

    fn value(&self, table: &str, row: usize, column: &str) -> f64 {
        let table = self.table(table);
        let found = table.columns.iter().find(|(name, _)| *name == column);
        match found.expect("the table has this column") {
            (_, Column::I64(values)) => values[row] as f64,
            (_, Column::F64(values)) => values[row],
        }
    }

    /// A number about a flow.
    pub fn flow(&self, flow: usize, column: &str) -> f64 {
        self.value("flows", flow, column)
    }

    /// A number about a path.
    pub fn path(&self, path: usize, column: &str) -> f64 {
        self.value("paths", path, column)
    }

    /// A number about a class of a link's port.
    pub fn class(&self, link: u32, class: u16, column: &str) -> f64 {
        let ports = self.table("ports");
        let row = ports
            .int("link")
            .iter()
            .zip(ports.int("class"))
            .position(|(&l, &c)| l == i64::from(link) && c == i64::from(class));
        self.value("ports", row.expect("every class has a row"), column)
    }

    /// A number about the only class of a link's port.
    pub fn port(&self, link: u32, column: &str) -> f64 {
        self.class(link, 0, column)
    }

    /// A number about the whole run.
    pub fn summary(&self, column: &str) -> f64 {
        self.value("summary", 0, column)
    }

    /// Packets lost for a cause.
    pub fn drops(&self, cause: Cause) -> i64 {
        let drops = self.table("drops");
        let rows = drops.int("cause").iter().zip(drops.int("packets"));
        rows.filter(|(&row, _)| row == cause as i64).map(|(_, packets)| packets).sum()
    }

    /// Samples of a probe: time [ns] and value.
    pub fn series(&self, probe: usize) -> Vec<(u64, f64)> {
        let series = self.table("series");
        let samples = series.int("time_ns").iter().zip(series.float("value"));
        let mine = series.int("probe").iter().zip(samples);
        mine.filter(|(&row, _)| row == probe as i64)
            .map(|(_, (&time, &value))| (time as u64, value))
            .collect()
    }

    /// Times at which a kind of event befell packets of a flow, data or acknowledgements.
    pub fn events(
        &self,
        flow: usize,
        reverse: bool,
        kind: impl Fn(Event) -> bool,
    ) -> Vec<(u64, Packet)> {
        let mine = self.lines.iter().filter(|line| {
            line.packet.flow as usize == flow
                && line.packet.is_reverse() == reverse
                && kind(line.event)
        });
        mine.map(|line| (line.at, line.packet)).collect()
    }

    /// Data packets of a flow as they entered the network.
    pub fn sent(&self, flow: usize) -> Vec<(u64, Packet)> {
        self.events(flow, false, |event| matches!(event, Event::Sent { .. }))
    }

    /// Data packets of a flow as they reached its sink.
    pub fn delivered(&self, flow: usize) -> Vec<(u64, Packet)> {
        self.events(flow, false, |event| matches!(event, Event::Delivered { .. }))
    }

    /// Data packets of a flow as they came off a link.
    pub fn arrived(&self, flow: usize, link: u32) -> Vec<(u64, Packet)> {
        self.events(flow, false, |event| event == Event::Arrived { link })
    }

    /// Data packets of a flow that were lost.
    pub fn lost(&self, flow: usize) -> Vec<(u64, Packet)> {
        self.events(flow, false, |event| matches!(event, Event::Dropped { .. }))
    }
}
