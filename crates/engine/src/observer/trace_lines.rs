//! A packet trace: every event of every packet, recorded by its region and put in one order at the end.

use super::{Event, EventOrder, Observer, PlaceInTime};
use crate::tables::Table;
use trunkline_packet::arena::SackBlocks;
use trunkline_packet::{Arena, Cause, Packet, PacketId};
use trunkline_units::{Span, Time};

/// One line of a packet trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceLine {
    /// When.
    pub at: Time,
    /// Its place among the lines of that instant.
    place_in_time: PlaceInTime,
    /// Kind of event.
    pub event: Event,
    /// Number of the packet: packets and copies are counted from 0 in the order of their making.
    pub number: u64,
    /// Class and drop precedence, where it was at a port.
    pub place: Option<(u16, u8)>,
    /// Of a queued packet: from joining the queue to the first bit sent; none if it was not sent [ns].
    pub wait: Option<Span>,
    /// The packet at that time.
    pub packet: Packet,
    /// SACK blocks of an acknowledgement.
    pub sack: SackBlocks,
}

/// Bits of a number that count the packets of one region; those above are the region's.
const REGION_NUMBER_BITS: u32 = 56;
/// The packet in a slot was queued last in another region.
const QUEUED_IN_OTHER_REGION: usize = usize::MAX;

/// Keeps every event.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Events in the order they happened.
    pub lines: Vec<TraceLine>,
    /// Number of the packet in each slot of the arena.
    numbers: Vec<u64>,
    /// Index of the line by which the packet in each slot was queued last.
    queued: Vec<usize>,
    /// Number of the next packet.
    next: u64,
    order: EventOrder,
}

impl Trace {
    /// The packet stored in a slot of the arena has this number.
    fn set_packet_number(&mut self, id: PacketId, number: u64) {
        let slot = id as usize;
        if slot >= self.numbers.len() {
            self.numbers.resize(slot + 1, 0);
            self.queued.resize(slot + 1, QUEUED_IN_OTHER_REGION);
        }
        self.numbers[slot] = number;
        self.queued[slot] = QUEUED_IN_OTHER_REGION;
    }

    /// Counts packets through all regions, in the order in which they were made.
    fn renumber_packets(&mut self, regions: usize) {
        let mut numbers: Vec<Vec<u64>> = vec![Vec::new(); regions];
        let mut packets_before = 0;
        for line in &mut self.lines {
            let counter = &mut numbers[(line.number >> REGION_NUMBER_BITS) as usize];
            if matches!(line.event, Event::Sent { .. } | Event::Copied { .. }) {
                counter.push(packets_before);
                packets_before += 1;
            }
            line.number = counter[(line.number & ((1 << REGION_NUMBER_BITS) - 1)) as usize];
        }
    }

    /// A packet that a failure took out of its queue has not been sent: it has no wait.
    fn forget_waits(&mut self) {
        let lost = |line: &TraceLine| {
            matches!(line.event, Event::Dropped { cause: Cause::FailedQueued, .. })
        };
        if !self.lines.iter().any(lost) {
            return;
        }
        let mut queued = vec![QUEUED_IN_OTHER_REGION; self.lines.len()];
        for index in 0..self.lines.len() {
            let line = &self.lines[index];
            let last = &mut queued[line.number as usize];
            if let Event::Queued { .. } = line.event {
                *last = index;
            } else if lost(line) {
                self.lines[*last].wait = None;
            }
        }
    }
}

impl Observer for Trace {
    const ACTIVE: bool = true;

    fn event_order(&self) -> Option<&EventOrder> {
        Some(&self.order)
    }

    fn event_order_mut(&mut self) -> Option<&mut EventOrder> {
        Some(&mut self.order)
    }

    fn record(&mut self, at: Time, event: Event, id: PacketId, packets: &Arena) {
        let slot = id as usize;
        match event {
            Event::Sent { .. } | Event::Copied { .. } => {
                self.set_packet_number(id, self.next);
                self.next += 1;
            }
            Event::Queued { .. } => self.queued[slot] = self.lines.len(),
            _ => {}
        }
        let (number, packet) = (self.numbers[slot], packets[id]);
        // A slot keeps the blocks of whoever used it before; only acknowledgements write them.
        let sack =
            if packet.is_reverse() { packets.details(id).sack } else { SackBlocks::default() };
        let place_in_time = self.order.place();
        let (place, wait) = (None, None);
        self.lines.push(TraceLine { at, place_in_time, event, number, place, wait, packet, sack });
    }

    fn set_port_class(&mut self, class: u16, precedence: u8) {
        if let Some(line) = self.lines.last_mut() {
            line.place = Some((class, precedence));
        }
    }

    fn on_transmission_start(&mut self, id: PacketId, at: Time) {
        let line = &mut self.lines[self.queued[id as usize]];
        line.wait = Some(at - line.at);
    }

    fn watch_region(&mut self, number: u8) {
        self.next = u64::from(number) << REGION_NUMBER_BITS;
    }

    fn packet_name(&self, id: PacketId) -> u64 {
        self.numbers[id as usize]
    }

    fn on_crossing(&mut self, id: PacketId, known_as: u64) {
        self.set_packet_number(id, known_as);
    }

    fn join(parts: Vec<Self>) -> Self {
        let regions = parts.len();
        let mut parts = parts.into_iter();
        let mut merged = parts.next().unwrap_or_default();
        if regions > 1 {
            parts.for_each(|part| merged.lines.extend(part.lines));
            // Each part is in order: this merges them.
            merged.lines.sort_by_key(|line| (line.at, line.place_in_time));
            merged.renumber_packets(regions);
        }
        merged.forget_waits();
        merged
    }

    fn table(&self, end: Time, threads: usize) -> Option<Table> {
        Some(crate::trace::table(self, end, threads))
    }
}
