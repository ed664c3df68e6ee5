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
