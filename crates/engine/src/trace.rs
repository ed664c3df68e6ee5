//! The packet trace as a table: one row for each event of each packet.

use crate::handshakes::SYN_NUMBER;
use crate::observer::{Event, Trace, TraceLine};
use crate::partition::on_threads;
use crate::tables::Table;
use trunkline_packet::{flag, Packet};
use trunkline_units::Time;

/// Names of the events in the packets table, by number.
pub const EVENTS: [&str; 6] = ["sent", "queued", "arrived", "delivered", "dropped", "copied"];

/// Does not apply.
const NOT_APPLICABLE: i64 = -1;

/// Number of an event, and its link, node and cause.
fn event_place(event: &Event) -> (i64, i64, i64, i64) {
    match *event {
        Event::Sent { node } => (0, NOT_APPLICABLE, node.into(), NOT_APPLICABLE),
        Event::Queued { link } => (1, link.into(), NOT_APPLICABLE, NOT_APPLICABLE),
        Event::Arrived { link } => (2, link.into(), NOT_APPLICABLE, NOT_APPLICABLE),
        Event::Delivered { node } => (3, NOT_APPLICABLE, node.into(), NOT_APPLICABLE),
        Event::Dropped { cause, link, node } => {
            (4, link.map_or(NOT_APPLICABLE, i64::from), node.into(), cause as i64)
        }
        Event::Copied { node } => (5, NOT_APPLICABLE, node.into(), NOT_APPLICABLE),
    }
}

/// An entry of the label stack as the 32 bits on the wire, counted from the top.
fn label_entry(line: &TraceLine, number: usize) -> i64 {
    let depth = usize::from(line.packet.labels.depth());
    if number >= depth {
        return NOT_APPLICABLE; // as most packets have it
    }
    let label = line.packet.labels.iter().nth(number);
    label.map_or(NOT_APPLICABLE, |entry| entry.wire(number + 1 == depth).into())
}

/// A SACK block, its start in the upper 32 bits.
fn sack_block(line: &TraceLine, number: usize) -> i64 {
    match line.sack[number] {
        [0, 0] => NOT_APPLICABLE,
        [start, end] => i64::from(start) << 32 | i64::from(end),
    }
}

/// From joining a queue to the first bit sent, where that was before the end of the run.
fn queue_wait(line: &TraceLine, end: Time) -> i64 {
    line.wait.filter(|wait| line.at + wait <= end).map_or(NOT_APPLICABLE, |wait| wait as i64)
}

/// Number of a segment. A SYN and its answer precede the first: -1 (RFC 9293 section 3.4).
fn segment_number(packet: &Packet) -> i64 {
    let opens = if packet.is_reverse() { packet.ack == 0 } else { packet.seq == SYN_NUMBER };
    match packet.flags & flag::BARE != 0 && opens {
        true => NOT_APPLICABLE,
        false => packet.seq.into(),
    }
}

/// A column to be filled.
type TraceColumn<'a> = Box<dyn Fn() -> Vec<i64> + Sync + 'a>;

fn column<'a, I: Iterator<Item = i64>>(values: impl Fn() -> I + Sync + 'a) -> TraceColumn<'a> {
    Box::new(move || values().collect())
}

/// The table of a run that ended at `end`: -1 where a column does not apply. It is filled on as many
/// threads as the run had regions.
pub(crate) fn table(trace: &Trace, end: Time, threads: usize) -> Table {
    let lines = || trace.lines.iter();
    let flagged = |flags: u8, bit: u8| i64::from(flags & bit != 0);
    let packets = || lines().map(|line| &line.packet);
    let columns: Vec<(&'static str, TraceColumn<'_>)> = vec![
        ("time_ns", column(|| lines().map(|line| line.at as i64))),
        ("event", column(|| lines().map(|line| event_place(&line.event).0))),
        ("packet", column(|| lines().map(|line| line.number as i64))),
        ("flow", column(|| packets().map(|packet| i64::from(packet.flow)))),
        ("reverse", column(|| packets().map(|packet| i64::from(packet.is_reverse())))),
        ("seq", column(|| packets().map(segment_number))),
        ("ack", column(|| packets().map(|packet| i64::from(packet.ack)))),
        ("retransmission", column(|| packets().map(|it| flagged(it.flags, flag::RETRANSMISSION)))),
        ("link", column(|| lines().map(|line| event_place(&line.event).1))),
        ("node", column(|| lines().map(|line| event_place(&line.event).2))),
        ("cause", column(|| lines().map(|line| event_place(&line.event).3))),
        (
            "class",
            column(|| lines().map(|line| line.place.map_or(NOT_APPLICABLE, |it| it.0.into()))),
        ),
        (
            "precedence",
            column(|| lines().map(|line| line.place.map_or(NOT_APPLICABLE, |it| it.1.into()))),
        ),
        ("wait_ns", column(|| lines().map(|line| queue_wait(line, end)))),
        ("ip_bytes", column(|| packets().map(|packet| i64::from(packet.ip_bytes)))),
        ("dscp", column(|| packets().map(|packet| i64::from(packet.dscp)))),
        ("ecn", column(|| packets().map(|packet| packet.ecn() as i64))),
        ("colour", column(|| packets().map(|packet| packet.colour() as i64))),
        ("ttl", column(|| packets().map(|packet| i64::from(packet.ttl)))),
        ("ece", column(|| packets().map(|packet| flagged(packet.flags, flag::ECE)))),
        ("cwr", column(|| packets().map(|packet| flagged(packet.flags, flag::CWR)))),
        (
            "echo_ns",
            column(|| {
                packets().map(|it| if it.is_reverse() { it.echo as i64 } else { NOT_APPLICABLE })
            }),
        ),
        ("stack_1", column(|| lines().map(|line| label_entry(line, 0)))),
        ("stack_2", column(|| lines().map(|line| label_entry(line, 1)))),
        ("stack_3", column(|| lines().map(|line| label_entry(line, 2)))),
        ("stack_4", column(|| lines().map(|line| label_entry(line, 3)))),
        ("sack_1", column(|| lines().map(|line| sack_block(line, 0)))),
        ("sack_2", column(|| lines().map(|line| sack_block(line, 1)))),
        ("sack_3", column(|| lines().map(|line| sack_block(line, 2)))),
    ];
    let filled = on_threads(threads, &columns, |(name, fill)| (*name, fill()));
    filled.into_iter().fold(Table::new("packets"), |table, (name, values)| table.ints(name, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_packet::Cause;

    /// Each event has its number in [`EVENTS`], and the place that it is at: a link or a node, both for a packet
    /// that a port dropped; -1 is where a column does not apply.
    #[test]
    fn an_event_has_its_own_place() {
        let cause = Cause::QueueFull;
        let (full, other) = (cause as i64, Cause::NoRoute);
        for (event, name, place) in [
            (Event::Sent { node: 7 }, "sent", [-1, 7, -1]),
            (Event::Queued { link: 8 }, "queued", [8, -1, -1]),
            (Event::Arrived { link: 8 }, "arrived", [8, -1, -1]),
            (Event::Delivered { node: 7 }, "delivered", [-1, 7, -1]),
            (Event::Dropped { cause, link: Some(8), node: 7 }, "dropped", [8, 7, full]),
            (
                Event::Dropped { cause: other, link: None, node: 7 },
                "dropped",
                [-1, 7, other as i64],
            ),
            (Event::Copied { node: 7 }, "copied", [-1, 7, -1]),
        ] {
            let (number, link, node, cause) = event_place(&event);
            assert_eq!((EVENTS[number as usize], [link, node, cause]), (name, place));
        }
    }
}
