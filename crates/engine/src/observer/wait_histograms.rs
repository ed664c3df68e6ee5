//! Histograms of the waits at every port, by class: the delay that a link adds for each class.

use super::{Event, EventOrder, Observer};
use crate::histogram::{Histogram, Pool};
use crate::tables::Table;
use trunkline_packet::{Arena, PacketId};
use trunkline_units::Time;

/// Where and when a packet joined the queue that it is in.
#[derive(Clone, Copy, Debug, Default)]
struct JoinedQueue {
    link: u32,
    class: u16,
    at: Time,
}

/// Waits of the packets that joined a queue after the warm-up.
#[derive(Clone, Debug, Default)]
pub struct WaitHistograms {
    warm_up: Time,
    /// By slot of the arena.
    joined: Vec<JoinedQueue>,
    /// The packet of the event recorded last, if that was queued.
    last_queued: Option<PacketId>,
    /// By link, then by class.
    by_port: Vec<Vec<Histogram>>,
    pool: Pool,
    order: EventOrder,
}

impl Observer for WaitHistograms {
    const ACTIVE: bool = true;

    fn event_order(&self) -> Option<&EventOrder> {
        Some(&self.order)
    }

    fn event_order_mut(&mut self) -> Option<&mut EventOrder> {
        Some(&mut self.order)
    }

    fn on_start(&mut self, warm_up: Time) {
        self.warm_up = warm_up;
    }

    fn record(&mut self, at: Time, event: Event, id: PacketId, _: &Arena) {
        self.last_queued = None;
        if let Event::Queued { link } = event {
            let slot = id as usize;
            if slot >= self.joined.len() {
                self.joined.resize(slot + 1, JoinedQueue::default());
            }
            self.joined[slot] = JoinedQueue { link, class: 0, at };
            self.last_queued = Some(id);
        }
    }

    fn set_port_class(&mut self, class: u16, _: u8) {
        if let Some(id) = self.last_queued {
            self.joined[id as usize].class = class;
        }
    }

    fn on_transmission_start(&mut self, id: PacketId, at: Time) {
        let JoinedQueue { link, class, at: joined_at } = self.joined[id as usize];
        if joined_at < self.warm_up {
            return;
        }
        let (link, class) = (link as usize, usize::from(class));
        if link >= self.by_port.len() {
            self.by_port.resize(link + 1, Vec::new());
        }
        let classes = &mut self.by_port[link];
        if class >= classes.len() {
            classes.resize(class + 1, Histogram::default());
        }
        classes[class].add(&mut self.pool, at - joined_at);
    }

    /// A link's port is in one region, so each histogram comes from one part.
    fn join(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut merged = parts.next().unwrap_or_default();
        for part in parts {
            let blocks_before = merged.pool.append(part.pool);
            if merged.by_port.len() < part.by_port.len() {
                merged.by_port.resize(part.by_port.len(), Vec::new());
            }
            for (link, mut classes) in part.by_port.into_iter().enumerate() {
                if !classes.is_empty() {
                    classes.iter_mut().for_each(|each| each.moved(blocks_before));
                    merged.by_port[link] = classes;
                }
            }
        }
        merged
    }

    fn table(&self, _: Time, _: usize) -> Option<Table> {
        let mut rows = Vec::new();
        for (link, classes) in self.by_port.iter().enumerate() {
            for (class, histogram) in classes.iter().enumerate() {
                let filled = histogram.buckets(&self.pool).filter(|(_, packets)| *packets > 0);
                rows.extend(filled.map(|(upper, packets)| (link, class, upper, packets)));
            }
        }
        Some(
            Table::new("waits")
                .ints("link", rows.iter().map(|row| row.0 as i64))
                .ints("class", rows.iter().map(|row| row.1 as i64))
                .ints("upper_ns", rows.iter().map(|row| row.2 as i64))
                .ints("packets", rows.iter().map(|row| i64::from(row.3))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins the queue of a link in a class at a time, and leaves it for the link at another.
    fn wait(waits: &mut WaitHistograms, id: PacketId, (link, class): (u32, u16), times: [Time; 2]) {
        waits.record(times[0], Event::Queued { link }, id, &Arena::new(false));
        waits.set_port_class(class, 1);
        waits.on_transmission_start(id, times[1]);
    }

    fn rows(waits: &WaitHistograms) -> Vec<[i64; 4]> {
        let table = waits.table(0, 1).expect("a table");
        let columns = ["link", "class", "upper_ns", "packets"].map(|name| table.int(name));
        (0..columns[0].len()).map(|row| columns.map(|column| column[row])).collect()
    }

    /// Waits up to 127 ns are counted to the nanosecond, and 1,000 = 111 1101000b in a bucket that ends at 1,007.
    #[test]
    fn packets_that_join_a_queue_from_the_warm_up_on_are_counted_by_link_and_class() {
        let [mut first, mut second] = [WaitHistograms::default(), WaitHistograms::default()];
        first.on_start(100);
        wait(&mut first, 4, (2, 1), [99, 105]);
        wait(&mut first, 4, (2, 1), [100, 105]);
        wait(&mut first, 0, (2, 1), [100, 1_100]);
        wait(&mut first, 7, (0, 0), [200, 207]);
        // A class that another event names is not that of the packet queued before.
        first.record(300, Event::Queued { link: 2 }, 9, &Arena::new(false));
        first.record(300, Event::Arrived { link: 2 }, 4, &Arena::new(false));
        first.set_port_class(3, 0);
        first.on_transmission_start(9, 300);
        let of_first = [[0, 0, 7, 1], [2, 0, 0, 1], [2, 1, 5, 1], [2, 1, 1_007, 1]];
        assert_eq!(rows(&first), of_first);
        for waited in [3, 3, 1_000, 40] {
            wait(&mut second, 1, (5, 2), [10, 10 + waited]);
            wait(&mut second, 2, (1, 0), [10, 10 + waited]);
        }
        let of_link = |link, class| {
            [(3, 2), (40, 1), (1_007, 1)].map(|(upper, count)| [link, class, upper, count])
        };
        let expected = [&of_first[..1], &of_link(1, 0), &of_first[1..], &of_link(5, 2)].concat();
        for parts in [[first.clone(), second.clone()], [second, first]] {
            assert_eq!(rows(&WaitHistograms::join(parts.into())), expected);
        }
    }
}
