//! The rows of the timeline table: events of failures and recovery with their times.

use crate::tables::Table;
use trunkline_units::Time;

/// Kinds of moment, in the order of [`TIMELINE_EVENT_NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TimelineEvent {
    /// A link went down.
    Failed,
    /// A node noticed.
    Detected,
    /// The repairing node got to know.
    Notified,
    /// The hold-off time was over with the failure still there.
    HeldOff,
    /// Traffic takes the alternative.
    Switched,
    /// There is no path to restore to.
    NoPath,
    /// A link came up.
    Repaired,
    /// A node noticed that it is up.
    RepairDetected,
    /// The repairing node got to know.
    RepairNotified,
    /// Traffic takes the working path again.
    Reverted,
    /// A router installed routes that differ from those before.
    Rerouted,
    /// A router originated a router-LSA.
    Originated,
    /// A router got to know a newer LSA.
    Learnt,
    /// A router computed its routes.
    Computed,
    /// An LDP session came up at a node.
    SessionUp,
    /// An LDP session ended at a node.
    SessionDown,
    /// A node put other labels of LDP into use.
    Relabelled,
    /// A router originated an LSA of traffic engineering.
    Offered,
    /// Traffic begins to leave a link that will be taken out of service.
    Drained,
}

/// Names of the events in the timeline table, by number.
pub const TIMELINE_EVENT_NAMES: [&str; 19] = [
    "failed",
    "detected",
    "notified",
    "held-off",
    "switched",
    "no-path",
    "repaired",
    "repair-detected",
    "repair-notified",
    "reverted",
    "rerouted",
    "lsa-originated",
    "lsa-learnt",
    "spf",
    "ldp-session-up",
    "ldp-session-down",
    "ldp-labels",
    "te-lsa-originated",
    "drained",
];

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimelineRow {
    pub at: Time,
    pub moment: TimelineEvent,
    pub protection: Option<u32>,
    pub link: Option<u32>,
    pub node: Option<u32>,
}

/// Rows in the order they happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub rows: Vec<TimelineRow>,
}

impl Timeline {
    /// The table; `paths` is the path of each protection.
    pub fn table(&self, paths: &[u32]) -> Table {
        let or_none = |value: Option<u32>| value.map_or(-1, i64::from);
        let path = |row: &TimelineRow| or_none(row.protection.map(|index| paths[index as usize]));
        Table::new("timeline")
            .ints("time_ns", self.rows.iter().map(|row| row.at as i64))
            .ints("event", self.rows.iter().map(|row| row.moment as i64))
            .ints("protection", self.rows.iter().map(|row| or_none(row.protection)))
            .ints("path", self.rows.iter().map(path))
            .ints("link", self.rows.iter().map(|row| or_none(row.link)))
            .ints("node", self.rows.iter().map(|row| or_none(row.node)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_last_moment_stand_at_their_own_index() {
        assert_eq!(TIMELINE_EVENT_NAMES[TimelineEvent::Failed as usize], "failed");
        assert_eq!(TIMELINE_EVENT_NAMES[TimelineEvent::NoPath as usize], "no-path");
        assert_eq!(TIMELINE_EVENT_NAMES[TimelineEvent::Rerouted as usize], "rerouted");
        assert_eq!(TIMELINE_EVENT_NAMES[TimelineEvent::Computed as usize], "spf");
        assert_eq!(TIMELINE_EVENT_NAMES[TimelineEvent::Relabelled as usize], "ldp-labels");
        assert_eq!(TIMELINE_EVENT_NAMES.len(), TimelineEvent::Drained as usize + 1);
    }
}
