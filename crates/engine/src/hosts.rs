//! The hosts: the agents of all flows, on the data plane that carries their packets. `delivery.rs` serves
//! them.
//!
//! They know no protocol of routers and no failure.

use crate::adaptive::AdaptiveFlow;
use crate::calendar::Source;
use crate::data_plane::{DataPlane, NextStep, PacketNotice};
use crate::echo::EchoSender;
use crate::handshakes::Handshakes;
use crate::observer::{Event, Observer};
use crate::transfers::Workloads;
use trunkline_agent::tcp::{Receiver, Sender};
use trunkline_agent::udp;
use trunkline_packet::{flag, Ecn, Packet, PacketId};
use trunkline_units::{RandomStream, Span, Time};

/// The agents of a flow, by index into their arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowAgents {
    /// Sender and receiver have the same index.
    Tcp(u32),
    /// Source; the sink has no state.
    Udp(u32),
    /// Datagrams at a rate that heeds congestion: both ends have state.
    Adaptive(u32),
    /// Connections that come and go: index of the workload.
    Transfers(u32),
    /// Messages of this protocol.
    Control(u32),
}

/// Header values of a flow's packets, and the agents that handle them.
// A cache line: each packet reads it at its source and at its sink.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct FlowPlan {
    pub agents: FlowAgents,
    pub src: u32,
    pub dst: u32,
    /// Columns of the routing table.
    pub src_column: u32,
    pub dst_column: u32,
    pub fec: u16,
    pub fec_reverse: u16,
    pub dscp: u8,
    pub ttl: u8,
    pub ecn: Ecn,
    /// Retransmissions and acknowledgements are ECN-capable too (RFC 8257 section 6).
    pub all_capable: bool,
    /// Bytes of an acknowledgement, or of a datagram's headers.
    pub header_bytes: u16,
    pub stop: Time,
    /// Of one of many connections: its number, which packets carry.
    pub connection: u32,
    /// Flags that all its packets bear.
    pub mark: u8,
    /// Delay from which a datagram is more than delivered: late to its call, or, from 0, a request
    /// to answer; else never.
    pub late_from: Span,
    /// Sources of the timers of sender and receiver.
    pub wakes: [Source; 2],
}

impl FlowPlan {
    /// Whether its connections open by a handshake.
    #[inline(always)]
    pub fn connects(&self) -> bool {
        self.mark & flag::SETUP != 0
    }

    /// A packet from the flow's source to its destination.
    #[inline(always)]
    pub fn data_packet(&self, flow: u32, number: u32, bytes: u16, now: Time) -> Packet {
        let mut packet = Packet::new(flow, self.dst_column, number, bytes, now);
        (packet.fec, packet.dscp, packet.ttl) = (self.fec, self.dscp, self.ttl);
        packet
    }

    /// A packet back: an acknowledgement, a report or a reply.
    #[inline(always)]
    pub fn reverse_packet(&self, flow: u32, number: u32, bytes: u16, now: Time) -> Packet {
        let mut packet = Packet::new(flow, self.src_column, number, bytes, now);
        packet.flags = flag::REVERSE;
        (packet.fec, packet.dscp, packet.ttl) = (self.fec_reverse, self.dscp, self.ttl);
        packet
    }
}

/// All agents, and the network between them.
#[derive(Debug)]
pub(crate) struct Hosts<O> {
    pub flows: Vec<FlowPlan>,
    /// When each flow starts.
    pub starts: Vec<Time>,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    pub handshakes: Handshakes,
    pub datagrams: Vec<udp::Source>,
    pub adaptive_flows: Vec<AdaptiveFlow>,
    /// By flow.
    pub streams: Vec<RandomStream>,
    pub workloads: Workloads,
    pub echoes: Vec<EchoSender>,
    pub plane: DataPlane<O>,
}

impl<O: Observer> Hosts<O> {
    /// The packet at the head of a wire reaches the far end.
    #[inline(always)]
    pub fn arrive(&mut self, link: usize) {
        let step = self.plane.arrive(link);
        self.take_step(step);
    }

    /// A stage is done with packets, or late packets of a wire arrive.
    #[cold]
    pub fn end_stage(&mut self, stage: u32) {
        while let Some(step) = self.plane.release_from_stage(stage) {
            self.take_step(step);
            self.settle_notices();
        }
    }

    #[inline(always)]
    fn take_step(&mut self, step: NextStep) {
        if let NextStep::Deliver { node, id } = step {
            self.deliver(node, id);
        }
    }

    /// A fresh packet leaves its agent at `node`.
    #[inline(always)]
    pub fn send(&mut self, node: u32, packet: Packet) {
        let id = self.plane.arena.insert(packet);
        self.send_stored(node, id);
    }

    /// The same of a packet that the arena has.
    #[inline(always)]
    pub fn send_stored(&mut self, node: u32, id: PacketId) {
        let now = self.plane.clock.now;
        self.plane.observer.record(now, Event::Sent { node }, id, &self.plane.arena);
        self.plane.originate(node, id);
        if !self.plane.notices.is_empty() {
            self.settle_notices();
        }
    }

    /// Takes the notices of agents' packets; those of messages stay.
    #[cold]
    #[inline(never)]
    pub fn settle_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.plane.notices);
        notices.retain(|notice| match notice {
            PacketNotice::Copied(packet) => {
                self.count_inside(packet, 1);
                false
            }
            PacketNotice::LeftHost(packet) => {
                self.leave_host_queue(packet);
                false
            }
            PacketNotice::Lost(packet) => {
                if packet.is_in_host_queue() {
                    self.leave_host_queue(packet);
                }
                self.count_inside(packet, -1);
                matches!(self.flows[packet.flow as usize].agents, FlowAgents::Control(_))
            }
            PacketNotice::Message(..) | PacketNotice::MessageElsewhere(_) => true,
        });
        self.plane.notices = notices;
    }
}
