//! Who watches packets: chosen at compile time, so that a run that records none pays nothing.

use trunkline_packet::{Arena, Cause, Packet, PacketId};
use trunkline_units::Time;

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
    /// Records one event of the packet `id`, which only an observer that keeps it looks up.
    fn record(&mut self, now: Time, event: Event, id: PacketId, packets: &Arena);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    #[inline(always)]
    fn record(&mut self, _: Time, _: Event, _: PacketId, _: &Arena) {}
}

/// One line of a packet trace.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
    /// The packet as it was then.
    pub packet: Packet,
}

/// Keeps every event.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Events in the order they happened.
    pub lines: Vec<Line>,
}

impl Observer for Trace {
    fn record(&mut self, at: Time, event: Event, id: PacketId, packets: &Arena) {
        self.lines.push(Line { at, event, packet: packets[id] });
    }
}
