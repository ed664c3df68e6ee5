//! The run: serves events in order and moves packets from agent to agent.
//!
//! Order at one instant: controls (end, warm-up, probes), ends of transmission, arrivals by link,
//! senders' timers by flow, receivers' timers by flow. It follows from the numbering of sources
//! and the calendar's (time, source) order, so it depends on the network alone.

use crate::account::Accounts;
use crate::calendar::{Calendar, Source};
use crate::classful::Next;
use crate::classifier::{Assignment, Classifier, NO_ROW, OWN_COLUMN};
use crate::conditioner::Conditioner;
use crate::counters::{Delay, DropKey, Drops, Totals};
use crate::histogram::Pool;
use crate::link::{Departure, Link, Offer, Port};
use crate::mpls::{Hop, Tables};
use crate::observer::{Event, Observer};
use crate::probe::Sampler;
use crate::recovery::Recovery;
use crate::route::{Fib, LOCAL, UNREACHABLE};
use trunkline_agent::tcp::{Ack, Counters, Receiver, Sender};
use trunkline_agent::udp;
use trunkline_packet::{flag, Arena, Cause, Ecn, Packet, PacketId};
use trunkline_units::{Span, Stream, Time, NEVER};

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The network cannot be run: a parameter out of range.
    Invalid(String),
    /// More events at one instant than allowed: a loop that takes no time.
    Storm {
        /// When.
        at: Time,
        /// Node of the last event.
        node: String,
    },
    /// Packets were lost or made by the engine itself: a bug.
    Conservation(String),
    /// The caller asked to stop.
    Interrupted,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(why) => write!(out, "invalid network: {why}"),
            Self::Storm { at, node } => write!(
                out,
                "endless events at one instant ({} s) at node {node}: a loop that takes no time",
                *at as f64 / 1e9
            ),
            Self::Conservation(what) => write!(out, "packets not conserved: {what}"),
            Self::Interrupted => write!(out, "interrupted"),
        }
    }
}

impl std::error::Error for Failure {}

/// The agents of a flow, by index into their arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Agents {
    /// Sender and receiver have the same index.
    Tcp(u32),
    /// Source; the sink has no state.
    Udp(u32),
}

/// Parts of a port that most ports lack.
#[derive(Debug)]
pub(crate) struct NearEnd {
    /// Tells the drop precedences of a FIFO apart.
    pub classifier: Option<Classifier>,
    pub conditioner: Option<Conditioner>,
    pub accounts: Option<Accounts>,
}

/// What a flow's packets carry, and who handles them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlan {
    pub agents: Agents,
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
    /// Bytes of an acknowledgement, or of a datagram's headers.
    pub overhead: u16,
    pub start: Time,
    pub stop: Time,
    /// Index of the flow's random stream.
    pub stream: u32,
}

/// First source numbers of each kind, in the order they are served at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    pub recovery: Source,
    pub probes: Source,
    pub transmitters: Source,
    pub arrivals: Source,
    pub senders: Source,
    pub receivers: Source,
}

pub(crate) const END: Source = 0;
pub(crate) const WARM_UP: Source = 1;

/// A network being run.
#[derive(Debug)]
pub struct Simulation<O> {
    pub(crate) now: Time,
    pub(crate) calendar: Calendar,
    pub(crate) sources: Sources,
    pub(crate) links: Vec<Link>,
    /// Capacity of each link [bit/s].
    pub(crate) capacity: Vec<u64>,
    /// What else is done at the near end of each link, where anything is.
    pub(crate) near_ends: Vec<Option<Box<NearEnd>>>,
    /// Node at the near end of each link.
    pub(crate) link_from: Vec<u32>,
    pub(crate) tables: Tables,
    pub(crate) fib: Fib,
    pub(crate) arena: Arena,
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) datagrams: Vec<udp::Source>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) totals: Vec<Totals>,
    pub(crate) delays: Vec<Delay>,
    pub(crate) pool: Pool,
    pub(crate) drops: Drops,
    pub(crate) sampler: Sampler,
    pub(crate) recovery: Recovery,
    pub(crate) observer: O,
    pub(crate) at_warm_up: Baseline,
    pub(crate) events: u64,
    pub(crate) events_per_instant: u64,
    pub(crate) node_names: Vec<String>,
}

/// Counters as they stood when the warm-up ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub at: Time,
    pub totals: Vec<Totals>,
    pub tcp: Vec<Counters>,
    pub goodput: Vec<u64>,
    /// Packets and bytes in each class of each port.
    pub in_port: Vec<Vec<(u64, u64)>>,
    /// Waits by class of each port that were not counted alike by then (see `results::debts`).
    pub debts: Vec<Vec<i128>>,
    pub events: u64,
    pub live: u64,
}

impl<O: Observer> Simulation<O> {
    /// Runs to the end. `interrupted` is asked now and then.
    ///
    /// # Errors
    /// A storm, an interruption, or a breach of conservation.
    pub fn run(&mut self, interrupted: &dyn Fn() -> bool) -> Result<(), Failure> {
        let mut at_once = 0;
        while let Some((at, source)) = self.calendar.pop() {
            if at == self.now {
                at_once += 1;
                if at_once > self.events_per_instant {
                    return Err(self.storm(source));
                }
            } else {
                at_once = 1;
                self.now = at;
            }
            self.events += 1;
            if self.events & 0xf_ffff == 0 && interrupted() {
                return Err(Failure::Interrupted);
            }
            let Sources { recovery, probes, transmitters, arrivals, senders, receivers } =
                self.sources;
            if source >= arrivals && source < senders {
                self.arrive((source - arrivals) as usize);
            } else if source >= receivers {
                self.wake_receiver(source - receivers);
            } else if source >= senders {
                self.wake_sender(source - senders);
            } else if source >= transmitters {
                self.finish_transmission((source - transmitters) as usize);
            } else if source >= probes {
                self.sample(source - probes);
            } else if source >= recovery {
                self.recover(source - recovery);
            } else if source == WARM_UP {
                self.end_warm_up();
            } else {
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn storm(&self, source: Source) -> Failure {
        let Sources { transmitters, arrivals, senders, receivers, .. } = self.sources;
        let node = if source >= receivers {
            self.flows[(source - receivers) as usize].dst
        } else if source >= senders {
            self.flows[(source - senders) as usize].src
        } else if source >= arrivals {
            self.links[(source - arrivals) as usize].to
        } else if source >= transmitters {
            self.link_from[(source - transmitters) as usize]
        } else {
            0
        };
        Failure::Storm { at: self.now, node: self.node_names[node as usize].clone() }
    }

    /// The packet at the head of a wire reaches the far end.
    #[inline(always)]
    fn arrive(&mut self, index: usize) {
        let link = &mut self.links[index];
        link.drain(self.now);
        let Some(departure) = link.wire.pop() else { return };
        if let Some(next) = link.wire.front() {
            // It is looked at when this link's next event comes, in about one transmission time.
            self.arena.prefetch(next.packet);
            let due = next.at + link.delay;
            self.calendar.schedule(self.sources.arrivals + index as u32, due);
        }
        let (to, id) = (link.to, departure.packet);
        if let Some(far_end) = &mut link.far_end {
            let lost = far_end.loss > 0.0 && far_end.random.uniform() < far_end.loss;
            let cause = if lost {
                Some(Cause::Corrupted)
            } else {
                let packet = &mut self.arena[id];
                far_end.conditioner.as_mut().and_then(|part| part.condition(self.now, packet))
            };
            if let Some(cause) = cause {
                let place = Assignment { class: 0, precedence: departure.precedence() };
                return self.lose(id, cause, Some(index as u32), to, place);
            }
        }
        self.observer.record(self.now, Event::Arrived { link: index as u32 }, id, &self.arena);
        self.receive(to, id);
    }

    /// A packet from a link is at `node`.
    #[inline(always)]
    fn receive(&mut self, node: u32, id: PacketId) {
        let packet = &mut self.arena[id];
        let mut counted = false;
        let mut column = OWN_COLUMN;
        while !packet.labels.is_empty() {
            match self.tables.switch(node, packet, counted) {
                Ok(Hop::Link(link, row)) => return self.output(link, row, column, id),
                Ok(Hop::Again(done, by)) => (counted, column) = (done, by),
                Ok(Hop::Bridge(bridge)) => return self.send_both(bridge, node, id),
                Err(cause) => return self.lose_at(id, cause, node),
            }
        }
        let next = self.fib.next(node, packet.dst);
        if next == LOCAL {
            return self.deliver(node, id);
        }
        if !counted {
            // RFC 1812 section 5.3.1: a router that would make the TTL zero discards the packet.
            if packet.ttl <= 1 {
                return self.lose_at(id, Cause::TtlExpired, node);
            }
            packet.ttl -= 1;
        }
        self.route(node, id, next, column);
    }

    /// Sends an unlabelled packet on from `node`: into a path if its class is bound to one here,
    /// else to the next hop.
    #[inline(always)]
    fn route(&mut self, node: u32, id: PacketId, next: u32, column: u8) {
        let packet = &mut self.arena[id];
        if packet.fec != 0 {
            if let Some(nhlfe) = self.tables.ftn(node, packet.fec, packet.dscp) {
                let dscp = if column == OWN_COLUMN { packet.dscp } else { column };
                match self.tables.enter(nhlfe, packet, dscp) {
                    Ok(Hop::Link(link, row)) => return self.output(link, row, OWN_COLUMN, id),
                    Ok(Hop::Again(..)) => {}
                    Ok(Hop::Bridge(bridge)) => return self.send_both(bridge, node, id),
                    Err(cause) => return self.lose_at(id, cause, node),
                }
            }
        }
        if next == UNREACHABLE {
            return self.lose_at(id, Cause::NoRoute, node);
        }
        self.output(next, NO_ROW, column, id);
    }

    /// The head of a 1+1 path: the packet goes out on one leg, a copy of it on the other.
    #[cold]
    fn send_both(&mut self, bridge: u32, node: u32, id: PacketId) {
        let original = self.arena[id];
        let totals = &mut self.totals[original.flow as usize];
        if original.is_reverse() {
            totals.acks_copied += 1;
        } else {
            totals.copied_packets += 1;
        }
        let sack = self.arena.sack(id);
        let copy = self.arena.insert(original);
        self.arena.set_sack(copy, sack);
        for (leg, id) in [id, copy].into_iter().enumerate() {
            match self.tables.enter_leg(bridge, leg, &mut self.arena[id]) {
                Ok((link, row)) => self.output(link, row, OWN_COLUMN, id),
                Err(cause) => self.lose_at(id, cause, node),
            }
        }
    }

    /// A fresh packet leaves its agent at `node`.
    #[inline]
    fn send(&mut self, node: u32, packet: Packet) {
        let id = self.arena.insert(packet);
        self.observer.record(self.now, Event::Sent { node }, id, &self.arena);
        self.originate(node, id);
    }

    #[inline]
    fn originate(&mut self, node: u32, id: PacketId) {
        let next = self.fib.next(node, self.arena[id].dst);
        if next == LOCAL {
            return self.deliver(node, id);
        }
        self.route(node, id, next, OWN_COLUMN);
    }

    /// Offers a packet to the port of a link, to be classified there by a row and a column.
    #[inline(always)]
    fn output(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let packet = &mut self.arena[id];
        let link = &mut self.links[index as usize];
        let mut near_end = self.near_ends[index as usize].as_deref_mut();
        let mut place = Assignment::default();
        if let Some(near_end) = &mut near_end {
            if let Some(conditioner) = &mut near_end.conditioner {
                if let Some(cause) = conditioner.condition(self.now, packet) {
                    let node = self.link_from[index as usize];
                    return self.lose(id, cause, Some(index), node, place);
                }
            }
            if let Some(classifier) = &near_end.classifier {
                place = classifier.assign_as(packet, row, column);
            }
        }
        let size = packet.labelled_bytes();
        if size > link.mtu {
            return self.lose_before_port(id, index);
        }
        let bytes = size + link.header;
        let capable = packet.ecn() != Ecn::NotCapable;
        let classful = matches!(link.port, Port::Classful(_));
        let offer = if let Port::Classful(port) = &mut link.port {
            place = port.classifier.assign_as(packet, row, column);
            port.offer(self.now, id, bytes, place, capable)
        } else {
            let offer = link.offer_fifo(self.now, id, bytes, place.precedence, capable);
            if let (Offer::Queued { .. }, 1) = (offer, link.wire.len()) {
                let due = link.wire.get(link.wire.head()).at + link.delay;
                self.calendar.schedule(self.sources.arrivals + index, due);
            }
            offer
        };
        if let Some(accounts) = near_end.and_then(|near_end| near_end.accounts.as_mut()) {
            accounts.add(packet, place, bytes, offer);
        }
        match offer {
            Offer::Queued { mark } => {
                if mark {
                    packet.set_ecn(Ecn::Ce);
                }
                self.observer.record(self.now, Event::Queued { link: index }, id, &self.arena);
                if classful {
                    self.start_transmission(index as usize);
                }
            }
            Offer::Dropped(cause) => {
                let node = self.link_from[index as usize];
                self.lose(id, cause, Some(index), node, place);
            }
        }
    }

    /// Lets a classful port that is at rest take its next packet.
    #[inline(always)]
    fn start_transmission(&mut self, index: usize) {
        let link = &mut self.links[index];
        let Port::Classful(port) = &mut link.port else { return };
        if port.in_service.is_some() {
            return;
        }
        let source = self.sources.transmitters + index as u32;
        match port.start_next(self.now) {
            Next::Send(bytes) => {
                self.calendar.schedule(source, self.now + link.serializer.span(bytes));
            }
            Next::Wait(until) => self.calendar.schedule(source, until),
            Next::Rest => self.calendar.cancel(source),
        }
    }

    /// The last bit of a classful port's packet has left, or a shaped class may send now.
    fn finish_transmission(&mut self, index: usize) {
        let link = &mut self.links[index];
        let Port::Classful(port) = &mut link.port else { return };
        if let Some(sent) = port.finish(self.now) {
            link.wire.push(Departure::new(self.now, sent.packet, sent.bytes, sent.precedence));
            if link.wire.len() == 1 {
                let source = self.sources.arrivals + index as u32;
                self.calendar.schedule(source, self.now + link.delay);
            }
        }
        self.start_transmission(index);
    }

    /// A packet that is too big for a link, or for which any is: the link is down.
    #[cold]
    fn lose_before_port(&mut self, id: PacketId, link: u32) {
        let node = self.link_from[link as usize];
        let cause = self.recovery.cause_at(link);
        self.lose(id, cause, Some(link), node, Assignment::default());
    }

    #[cold]
    fn lose_at(&mut self, id: PacketId, cause: Cause, node: u32) {
        self.lose(id, cause, None, node, Assignment::default());
    }

    /// A packet ends its way before its destination.
    #[cold]
    pub(crate) fn lose(
        &mut self,
        id: PacketId,
        cause: Cause,
        link: Option<u32>,
        node: u32,
        place: Assignment,
    ) {
        let packet = &self.arena[id];
        self.observer.record(self.now, Event::Dropped { cause, link, node }, id, &self.arena);
        let totals = &mut self.totals[packet.flow as usize];
        if packet.is_reverse() {
            totals.acks_dropped += 1;
        } else {
            totals.dropped_packets += 1;
        }
        let key = DropKey {
            flow: packet.flow,
            reverse: packet.is_reverse(),
            link: link.unwrap_or(u32::MAX),
            node,
            class: place.class,
            precedence: place.precedence,
            cause,
        };
        let count = self.drops.entry(key).or_default();
        count.0 += 1;
        count.1 += u64::from(packet.ip_bytes);
        self.arena.remove(id);
    }

    /// A packet has reached the node it was for.
    #[inline(always)]
    fn deliver(&mut self, node: u32, id: PacketId) {
        let packet = &self.arena[id];
        self.observer.record(self.now, Event::Delivered { node }, id, &self.arena);
        if packet.is_reverse() {
            self.deliver_ack(id);
        } else {
            self.deliver_data(id);
        }
    }

    #[inline(always)]
    fn deliver_data(&mut self, id: PacketId) {
        let now = self.now;
        let packet = &self.arena[id];
        let flow = packet.flow;
        let plan = self.flows[flow as usize];
        let totals = &mut self.totals[flow as usize];
        totals.delivered_packets += 1;
        totals.delivered_bytes += u64::from(packet.ip_bytes);
        self.delays[flow as usize].measure(packet, now, &mut self.pool);
        if !self.sampler.watched.is_empty() {
            let delay = now - packet.sent_at;
            self.watch(flow, delay);
        }
        let packet = &self.arena[id];
        let totals = &mut self.totals[flow as usize];
        let Agents::Tcp(agent) = plan.agents else {
            totals.datagram_bytes += u64::from(packet.ip_bytes.saturating_sub(plan.overhead));
            self.arena.remove(id);
            return;
        };
        let receiver = &mut self.receivers[agent as usize];
        let marked = packet.ecn() == Ecn::Ce;
        let reduced = packet.flags & flag::CWR != 0;
        let reply =
            receiver.on_segment(packet.seq, packet.ip_bytes, packet.sent_at, marked, reduced, now);
        if reply {
            // The segment's slot carries the acknowledgement back.
            let acknowledgement = self.acknowledgement(flow, &plan, agent);
            self.arena[id] = acknowledgement;
            self.send_ack(plan.dst, id, agent);
        } else {
            self.arena.remove(id);
        }
        let timer = self.receivers[agent as usize].timer();
        let source = self.sources.receivers + flow;
        if timer < self.calendar.due(source) {
            self.calendar.schedule(source, timer);
        }
    }

    #[inline]
    fn acknowledgement(&mut self, flow: u32, plan: &FlowPlan, agent: u32) -> Packet {
        let totals = &mut self.totals[flow as usize];
        let number = totals.acks_sent;
        totals.acks_sent += 1;
        let fields = self.receivers[agent as usize].ack(self.now);
        let mut ack = Packet::new(flow, plan.src_column, number as u32, plan.overhead, self.now);
        ack.ack = fields.ack;
        ack.echo = fields.echo;
        ack.flags = flag::REVERSE | if fields.ece { flag::ECE } else { 0 };
        ack.fec = plan.fec_reverse;
        ack.dscp = plan.dscp;
        ack.ttl = plan.ttl;
        ack
    }

    #[inline]
    fn send_ack(&mut self, node: u32, id: PacketId, agent: u32) {
        if self.arena.keeps_sack() {
            let blocks = self.receivers[agent as usize].sack_blocks();
            self.arena.set_sack(id, blocks);
        }
        self.observer.record(self.now, Event::Sent { node }, id, &self.arena);
        self.originate(node, id);
    }

    #[inline(always)]
    fn deliver_ack(&mut self, id: PacketId) {
        let packet = &self.arena[id];
        let flow = packet.flow;
        let ack = Ack {
            ack: packet.ack,
            echo: packet.echo,
            ece: packet.flags & flag::ECE != 0,
            sack: self.arena.sack(id),
        };
        self.arena.remove(id);
        self.totals[flow as usize].acks_delivered += 1;
        let plan = self.flows[flow as usize];
        let Agents::Tcp(agent) = plan.agents else { return };
        let random = &mut self.streams[plan.stream as usize];
        self.senders[agent as usize].on_ack(&ack, self.now, random);
        self.pump(flow, &plan, agent);
    }

    /// Sends what a TCP sender may send now, and sees to its timer.
    #[inline(always)]
    fn pump(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if self.now >= plan.stop {
            self.senders[agent as usize].stop(self.now);
        }
        while let Some(segment) = self.senders[agent as usize].next_segment(self.now) {
            let mut packet =
                Packet::new(flow, plan.dst_column, segment.seq, segment.ip_bytes, self.now);
            packet.fec = plan.fec;
            packet.dscp = plan.dscp;
            packet.ttl = plan.ttl;
            // RFC 3168 section 6.1.5: a retransmitted segment is not ECN-capable.
            packet.set_ecn(if segment.retransmission { Ecn::NotCapable } else { plan.ecn });
            packet.flags = if segment.retransmission { flag::RETRANSMISSION } else { 0 }
                | if segment.cwr { flag::CWR } else { 0 };
            let totals = &mut self.totals[flow as usize];
            totals.sent_packets += 1;
            totals.sent_bytes += u64::from(segment.ip_bytes);
            self.send(plan.src, packet);
        }
        let timer = self.senders[agent as usize].timer();
        let source = self.sources.senders + flow;
        if timer < self.calendar.due(source) {
            self.calendar.schedule(source, timer);
        }
    }

    fn wake_sender(&mut self, flow: u32) {
        let plan = self.flows[flow as usize];
        match plan.agents {
            Agents::Tcp(agent) => {
                let sender = &mut self.senders[agent as usize];
                let random = &mut self.streams[plan.stream as usize];
                if self.now == plan.start {
                    sender.start(self.now);
                } else if sender.timer() <= self.now {
                    sender.on_timer(self.now, random);
                }
                // A timer that was put off since is armed again for its new time.
                self.pump(flow, &plan, agent);
            }
            Agents::Udp(agent) => self.send_datagram(flow, &plan, agent),
        }
    }

    fn send_datagram(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if self.now >= plan.stop {
            return;
        }
        let random = &mut self.streams[plan.stream as usize];
        let source = &mut self.datagrams[agent as usize];
        let bytes = source.take(self.now, random);
        let next = source.next_at();
        let totals = &mut self.totals[flow as usize];
        let number = totals.sent_packets;
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(bytes);
        let mut packet = Packet::new(flow, plan.dst_column, number as u32, bytes, self.now);
        packet.fec = plan.fec;
        packet.dscp = plan.dscp;
        packet.ttl = plan.ttl;
        if next != NEVER {
            self.calendar.schedule(self.sources.senders + flow, next);
        }
        self.send(plan.src, packet);
    }

    fn wake_receiver(&mut self, flow: u32) {
        let plan = self.flows[flow as usize];
        let Agents::Tcp(agent) = plan.agents else { return };
        let receiver = &mut self.receivers[agent as usize];
        if receiver.timer() <= self.now && receiver.on_timer(self.now) {
            let packet = self.acknowledgement(flow, &plan, agent);
            let id = self.arena.insert(packet);
            self.send_ack(plan.dst, id, agent);
        }
        let timer = self.receivers[agent as usize].timer();
        if timer != NEVER {
            self.calendar.schedule(self.sources.receivers + flow, timer);
        }
    }

    /// Length of the measured part of the run so far.
    #[must_use]
    pub fn measured(&self) -> Span {
        self.now - self.at_warm_up.at
    }
}
