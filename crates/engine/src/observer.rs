//! Who watches packets: chosen at compile time, so that a run that records none pays nothing.

use trunkline_packet::arena::SackBlocks;
use trunkline_packet::{Arena, Cause, Packet, PacketId};
use trunkline_units::{Span, Time};

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its source handed it to the network at this node.
    Sent {
        /// Node.
        node: u32,
    },
    /// A link's port took it in.
    Queued {
        /// Link.
        link: u32,
    },
    /// It arrived at the far end of a link.
    Arrived {
        /// Link.
        link: u32,
    },
    /// It reached the agent it was for.
    Delivered {
        /// Node.
        node: u32,
    },
    /// The head of a 1+1 path made it, a copy of the packet it had just received.
    Copied {
        /// Node.
        node: u32,
    },
    /// It was lost.
    Dropped {
        /// Why.
        cause: Cause,
        /// Link, or none where a node lost it.
        link: Option<u32>,
        /// Node.
        node: u32,
    },
}

/// Watches packets.
pub trait Observer {
    /// Whether it looks at anything: what is worked out for it alone is left out where it does not.
    const ACTIVE: bool;

    /// Records one event of the packet `id`, which only an observer that keeps it looks up.
    fn record(&mut self, now: Time, event: Event, id: PacketId, packets: &Arena);

    /// The event recorded last was at a port, in this class and at this drop precedence.
    fn at_port(&mut self, class: u16, precedence: u8);

    /// The first bit of `id` leaves the queue it is in at this time, unless the link fails before.
    fn starts(&mut self, id: PacketId, at: Time);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    const ACTIVE: bool = false;

    #[inline(always)]
    fn record(&mut self, _: Time, _: Event, _: PacketId, _: &Arena) {}

    #[inline(always)]
    fn at_port(&mut self, _: u16, _: u8) {}

    #[inline(always)]
    fn starts(&mut self, _: PacketId, _: Time) {}
}

/// One line of a packet trace.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
    /// Number of the packet: packets and copies are counted from 0 as they are made.
    pub number: u64,
    /// Class and drop precedence, where it was at a port.
    pub place: Option<(u16, u8)>,
    /// Of a queued packet: from joining the queue to the first bit sent; none if that did not
    /// come [ns].
    pub wait: Option<Span>,
    /// The packet as it was then.
    pub packet: Packet,
    /// SACK blocks of an acknowledgement.
    pub sack: SackBlocks,
}

/// Keeps every event.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Events in the order they happened.
    pub lines: Vec<Line>,
    /// Number of the packet in each slot of the arena.
    numbers: Vec<u64>,
    /// Index of the line by which the packet in each slot was queued last.
    queued: Vec<usize>,
    made: u64,
}

impl Trace {
    /// Gives the packet that came into a slot of the arena the next number.
    fn count(&mut self, id: PacketId) {
        let slot = id as usize;
        if slot >= self.numbers.len() {
            self.numbers.resize(slot + 1, 0);
            self.queued.resize(slot + 1, 0);
        }
        self.numbers[slot] = self.made;
        self.made += 1;
    }
}

impl Observer for Trace {
    const ACTIVE: bool = true;

    fn record(&mut self, at: Time, event: Event, id: PacketId, packets: &Arena) {
        let slot = id as usize;
        match event {
            Event::Sent { .. } | Event::Copied { .. } => self.count(id),
            Event::Queued { .. } => self.queued[slot] = self.lines.len(),
            Event::Dropped { cause: Cause::FailedQueued, .. } => {
                self.lines[self.queued[slot]].wait = None;
            }
            _ => {}
        }
        let (number, packet) = (self.numbers[slot], packets[id]);
        // A slot keeps the blocks of whoever used it before; only acknowledgements write them.
        let sack = if packet.is_reverse() { packets.sack(id) } else { SackBlocks::default() };
        self.lines.push(Line { at, event, number, place: None, wait: None, packet, sack });
    }

    fn at_port(&mut self, class: u16, precedence: u8) {
        if let Some(line) = self.lines.last_mut() {
            line.place = Some((class, precedence));
        }
    }

    fn starts(&mut self, id: PacketId, at: Time) {
        let line = &mut self.lines[self.queued[id as usize]];
        line.wait = Some(at - line.at);
    }
}
