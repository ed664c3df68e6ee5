//! The packet trace as a table: one row for each event of each packet.

use crate::observer::{Event, Trace};
use crate::tables::Table;
use trunkline_packet::flag;

/// Names of the events in the packets table, by number.
pub const EVENTS: [&str; 5] = ["sent", "queued", "arrived", "delivered", "dropped"];

/// The table: -1 where a column does not apply.
pub(crate) fn table(trace: &Trace) -> Table {
    let lines = || trace.lines.iter();
    let place = |event: &Event| -> (i64, i64, i64, i64) {
        let none = -1;
        match *event {
            Event::Sent { node } => (0, none, node.into(), none),
            Event::Queued { link } => (1, link.into(), none, none),
            Event::Arrived { link } => (2, link.into(), none, none),
            Event::Delivered { node } => (3, none, node.into(), none),
            Event::Dropped { cause, link, node } => {
                (4, link.map_or(none, i64::from), node.into(), cause as i64)
            }
        }
    };
    let again = |flags: u8| i64::from(flags & flag::RETRANSMISSION != 0);
    let label = |line: &crate::observer::Line| {
        line.packet.labels.top().map_or(-1, |entry| i64::from(entry.label()))
    };
    Table::new("packets")
        .ints("time_ns", lines().map(|line| line.at as i64))
        .ints("event", lines().map(|line| place(&line.event).0))
        .ints("flow", lines().map(|line| i64::from(line.packet.flow)))
        .ints("reverse", lines().map(|line| i64::from(line.packet.is_reverse())))
        .ints("seq", lines().map(|line| i64::from(line.packet.seq)))
        .ints("ack", lines().map(|line| i64::from(line.packet.ack)))
        .ints("retransmission", lines().map(|line| again(line.packet.flags)))
        .ints("link", lines().map(|line| place(&line.event).1))
        .ints("node", lines().map(|line| place(&line.event).2))
        .ints("cause", lines().map(|line| place(&line.event).3))
        .ints("ip_bytes", lines().map(|line| i64::from(line.packet.ip_bytes)))
        .ints("labels", lines().map(|line| i64::from(line.packet.labels.depth())))
        .ints("label", lines().map(label))
}
