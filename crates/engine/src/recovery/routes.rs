//! Routes that recovery made in a traced run, for who does the same with other routers.

use crate::tables::Table;
use trunkline_units::Time;

/// A route when it is installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteRow {
    pub at: Time,
    /// Protection that restores a path over this link; none = IP routing.
    pub protection: Option<u32>,
    pub node: u32,
    /// Where packets go; none = where the path ends.
    pub destination: Option<u32>,
    /// Out-link; none = no path leads there.
    pub link: Option<u32>,
}

/// Rows in the order of installation.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteLog {
    pub rows: Vec<RouteRow>,
}

impl RouteLog {
    /// The table; -1 is none.
    pub fn table(&self) -> Table {
        let or_none = |value: Option<u32>| value.map_or(-1, i64::from);
        Table::new("routes")
            .ints("time_ns", self.rows.iter().map(|row| row.at as i64))
            .ints("protection", self.rows.iter().map(|row| or_none(row.protection)))
            .ints("node", self.rows.iter().map(|row| i64::from(row.node)))
            .ints("destination", self.rows.iter().map(|row| or_none(row.destination)))
            .ints("link", self.rows.iter().map(|row| or_none(row.link)))
    }
}
