//! The data plane: nodes, their links and tables, and the packets in them. `forwarding.rs` moves packets,
//! `transmission.rs` sends them from ports with classes.
//!
//! It knows no agent, no protocol and no failure. It returns a packet that is at its destination, and
//! leaves notices of what else the layers above must know.

use crate::clock::Clock;
use crate::event_free_hops::EventFreeHops;
use crate::measurements::Measurements;
use crate::mpls::Tables;
use crate::observer::Observer;
use crate::partition::Region;
use crate::ports::Ports;
use crate::processing::Processor;
use crate::reordering::LatePackets;
use crate::route::Fib;
use crate::static_routes::StaticRoutes;
use std::ops::{Deref, DerefMut};
use trunkline_packet::{Arena, Packet, PacketId};
use trunkline_units::Span;

/// The next step of a packet at a node.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// It went on, waits, or was lost.
    Forwarded,
    /// Its node is its destination: the caller delivers it.
    Deliver { node: u32, id: PacketId },
}

/// An event of a packet that its sender must know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PacketNotice {
    /// It was lost. The arena has it no more.
    Lost(Packet),
    /// A segment, which its sender counts, no longer waits in its own host.
    LeftHost(Packet),
    /// There is another one like it, of one of many connections of its flow.
    Copied(Packet),
    /// A message of this protocol has arrived.
    Message(u32, PacketId),
    /// A message has arrived at a node of another region.
    MessageElsewhere(Packet),
}

/// Tables by which nodes forward packets.
#[derive(Debug)]
pub(crate) struct ForwardingTables {
    pub mpls: Tables,
    pub fib: Fib,
    pub static_routes: Option<StaticRoutes>,
}

/// Functions at which packets wait between a wire and their next port.
#[derive(Debug)]
pub(crate) struct NodeStages {
    pub processors: Vec<Processor>,
    pub late_packets: Vec<LatePackets>,
}

impl NodeStages {
    /// Number of their event sources: processors, then wires that reorder.
    pub fn sources(&self) -> u32 {
        (self.processors.len() + self.late_packets.len()) as u32
    }

    /// Packets inside.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        let processed = self.processors.iter().flat_map(Processor::packets);
        processed.chain(self.late_packets.iter().flat_map(LatePackets::packets))
    }
}

/// Nodes and links with the packets in them.
#[derive(Debug)]
pub(crate) struct DataPlane<O: ?Sized> {
    pub clock: Clock,
    pub ports: Ports,
    pub tables: ForwardingTables,
    pub arena: Arena,
    pub stages: NodeStages,
    pub event_free: EventFreeHops,
    pub region: Region,
    pub measured: Measurements,
    /// Not yet seen by the layers above.
    pub notices: Vec<PacketNotice>,
    /// Whether every lost packet is noticed, not only those of connections and of counted segments.
    pub notices_all_losses: bool,
    /// Whether links may: in a network that outgrows the caches.
    pub carries_headers: bool,
    pub observer: O,
}

/// A data plane, whatever its observer: functions that record nothing are methods of this, and are
/// compiled once.
pub(crate) type AnyDataPlane = DataPlane<dyn Send>;

impl<O: Observer> Deref for DataPlane<O> {
    type Target = AnyDataPlane;

    #[inline(always)]
    fn deref(&self) -> &AnyDataPlane {
        self
    }
}

impl<O: Observer> DerefMut for DataPlane<O> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut AnyDataPlane {
        self
    }
}

impl AnyDataPlane {
    /// Packets in the network, those between two regions included.
    pub fn packets_in_network(&self) -> u64 {
        self.arena.live() as u64 + self.region.packets_crossing()
    }

    /// Brings a link's queues up to now, at which no arrival has been served yet.
    pub fn drain_link(&mut self, index: usize) {
        self.ports.drain_link(index, &mut self.clock);
    }

    /// Length of the measured part of the run so far.
    pub fn measured_time(&self) -> Span {
        self.clock.now - self.measured.at_warm_up.at
    }
}
