//! Routing and signalling in the run: messages are packets, timers events of the calendar.
//!
//! A message is a packet of its protocol's flow, on the link its node chose; it waits, is lost and
//! is counted like any other. The protocol has it when the packet arrives at the link's far end.
//!
//! A region of a network serves the protocols of all nodes, in the same order as every other region, on its own
//! copy of the tables; it sends the messages of its own nodes. Where and when those of others arrive it hears in
//! one of two ways ([`MessageNews`]).

use crate::counters::DelayStatistics;
use crate::data_plane::PacketNotice;
use crate::histogram::Pool;
use crate::hosts::FlowAgents;
use crate::mpls::Tables;
use crate::network::Network;
use crate::observer::{Event, Observer, PlaceInTime};
use crate::recovery::TimelineEvent;
use crate::route::Fib;
use crate::simulation::Simulation;
use crate::tables::Table;
use std::collections::BTreeMap;
use trunkline_control::ldp::Ldp;
use trunkline_control::ospf::Ospf;
use trunkline_control::rsvp::Rsvp;
use trunkline_control::{
    self as control, ForwardingEntry, LabelBinding, Message, NetworkPlane, OutgoingMessage,
    Protocol, ProtocolNotice, SignalledLink, SignallingRow, ALL_ROUTERS,
};
use trunkline_packet::Packet;
use trunkline_units::{Time, NEVER};

/// Messages and octets of one kind that were sent on a link.
type MessageLoads = BTreeMap<(u32, u32, u8), (u64, u64)>;

/// A message in a capture: flow, number, addresses, protocol, bytes of its header and octets.
type CapturedMessage = (u32, u32, [u32; 2], u8, u16, Vec<u8>);

/// When a region makes a message known to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageNews {
    /// When its last bit leaves a port: it arrives a link's delay later. No link may lose it or hold it back then,
    /// unless it fails, which all regions know.
    OnDeparture,
    /// When it has arrived. The node that receives it takes time to handle it.
    OnArrival,
}

/// A message whose way has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedMessage {
    at: Time,
    place: PlaceInTime,
    packet: Packet,
    /// The protocol that receives it; none: it is lost.
    protocol: Option<u32>,
}

/// Protocols of a run, and their messages under way.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    protocols: Vec<Option<Protocol>>,
    /// Messages by the flow of their protocol and their number.
    messages_under_way: BTreeMap<(u32, u32), Message>,
    /// Messages sent so far, by flow.
    sent: BTreeMap<u32, u32>,
    /// Of a region: how messages are made known.
    news: Option<MessageNews>,
    /// Of a region: the messages whose way has ended in this window, of which the others do not know yet.
    ended: Vec<EndedMessage>,
    /// The delays of the messages of each protocol in the entire network, if they are made known on arrival.
    delays: Vec<DelayStatistics>,
    /// Bytes that had entered each path in other regions when a protocol last read them.
    path_bytes_elsewhere: Vec<u64>,
    rows: Vec<(Time, u32, SignallingRow)>,
    loads: MessageLoads,
    /// Of a traced run.
    captured: Option<Vec<CapturedMessage>>,
    /// Of a traced run: labels of LDP when they are first used.
    labels: Option<Vec<(Time, LabelBinding)>>,
    /// Notices of protocols to the others.
    notices: Vec<ProtocolNotice>,
}

impl ControlPlane {
    /// The protocols of a network; none if it has none.
    pub fn new(
        network: &Network,
        lines: &[crate::recovery::RecoveryLink],
        seed: u64,
    ) -> Option<Box<Self>> {
        let signalling = network.signalling.as_ref()?;
        let line =
            |(line, link): (&crate::recovery::RecoveryLink, &crate::network::Link)| SignalledLink {
                from: line.from,
                to: line.to,
                metric: line.metric,
                rate_bit_s: link.rate_bit_s,
                reverse: line.reverse,
            };
        let lines: Vec<SignalledLink> = lines.iter().zip(&network.links).map(line).collect();
        let nodes = network.nodes.len() as u32;
        let paths = network.paths.len() as u32;
        let ldp = signalling
            .ldp
            .clone()
            .map(|config| Protocol::Ldp(Box::new(Ldp::new(config, nodes, lines.clone(), paths))));
        let ospf = signalling
            .ospf
            .clone()
            .map(|config| Protocol::Ospf(Box::new(Ospf::new(config, nodes, lines.clone(), seed))));
        let rsvp = signalling
            .rsvp
            .clone()
            .map(|config| Protocol::Rsvp(Box::new(Rsvp::new(config, nodes, lines, seed))));
        // Flows of messages know their protocol by its place.
        let mut protocols: Vec<Protocol> = ldp.into_iter().chain(ospf).chain(rsvp).collect();
        protocols.sort_by_key(Protocol::flow);
        Some(Box::new(Self {
            messages_under_way: BTreeMap::new(),
            sent: BTreeMap::new(),
            news: None,
            ended: Vec::new(),
            path_bytes_elsewhere: vec![0; network.paths.len()],
            delays: vec![DelayStatistics::default(); protocols.len()],
            protocols: protocols.into_iter().map(Some).collect(),
            rows: Vec::new(),
            loads: MessageLoads::new(),
            captured: network.run.trace.then(Vec::new),
            labels: network.run.trace.then(Vec::new),
            notices: Vec::new(),
        }))
    }

    /// Number of its event sources.
    pub fn sources(&self) -> u32 {
        self.protocols.len() as u32
    }

    /// Keeps a message that is sent; returns its number among those of its protocol.
    fn store_message(&mut self, flow: u32, message: Message) -> u32 {
        let next = self.sent.entry(flow).or_default();
        let number = *next;
        *next = next.wrapping_add(1);
        self.messages_under_way.insert((flow, number), message);
        number
    }

    fn take_message(&mut self, packet: &Packet) -> Option<Message> {
        self.messages_under_way.remove(&(packet.flow, packet.seq))
    }

    /// Every region serves all protocols; it makes known the messages of its nodes.
    pub fn restrict_to_region(&mut self, news: MessageNews) {
        self.news = Some(news);
    }

    /// The messages whose way has ended in this window.
    pub fn take_ended_messages(&mut self) -> Vec<EndedMessage> {
        std::mem::take(&mut self.ended)
    }

    /// Enters the bytes that have entered each path `from` a region on, of all regions one after the other; `own` is
    /// this one.
    pub fn enter_path_bytes(&mut self, from: usize, own: usize, bytes: &[u64]) {
        for (sum, more) in self.path_bytes_elsewhere.iter_mut().zip(bytes) {
            let before = if from == 0 { 0 } else { *sum };
            *sum = before + if from == own { 0 } else { *more };
        }
    }

    /// The delays of the messages of each protocol, by flow, where regions have measured them together.
    pub fn joined_delays(&mut self) -> impl Iterator<Item = (u32, DelayStatistics)> + '_ {
        let is_joint = self.news == Some(MessageNews::OnArrival);
        let delays = self.delays.drain(..).filter(move |_| is_joint);
        self.protocols.iter().flatten().map(Protocol::flow).zip(delays)
    }

    /// Counters start here.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.loads.clear();
        self.delays.iter_mut().for_each(|delays| delays.restart(pool));
    }

    /// Checks the rules of each protocol.
    pub fn check(&self) -> Result<(), String> {
        self.protocols.iter().flatten().try_for_each(Protocol::check)
    }
}

/// The tables of signalling; empty without it.
pub(crate) fn control_tables(control: Option<&ControlPlane>) -> [Table; 4] {
    let rows = || control.into_iter().flat_map(|control| &control.rows);
    let or_none = |value: Option<u64>| value.map_or(-1, |value| value as i64);
    let signalling = Table::new("signalling")
        .ints("time_ns", rows().map(|row| row.0 as i64))
        .ints("event", rows().map(|row| row.2.event.into()))
        .ints("session", rows().map(|row| row.2.session.into()))
        .ints("process", rows().map(|row| or_none(row.2.process.map(u64::from))))
        .ints("lsp", rows().map(|row| row.2.lsp.into()))
        .ints("node", rows().map(|row| row.2.node.into()))
        .ints("link", rows().map(|row| or_none(row.2.link.map(u64::from))))
        .ints("bandwidth_bit_s", rows().map(|row| row.2.bandwidth as i64))
        .ints("value", rows().map(|row| or_none(row.2.value)));
    let loads = || control.into_iter().flat_map(|control| &control.loads);
    let control_table = Table::new("control")
        .ints("link", loads().map(|(key, _)| key.0.into()))
        .ints("flow", loads().map(|(key, _)| key.1.into()))
        .ints("kind", loads().map(|(key, _)| key.2.into()))
        .ints("messages", loads().map(|(_, sum)| sum.0 as i64))
        .ints("bytes", loads().map(|(_, sum)| sum.1 as i64));
    let captured = || control.into_iter().flat_map(|control| control.captured.iter().flatten());
    let words = |octets: &[u8]| {
        let word = |part: &[u8]| part.iter().fold(0, |sum, octet| sum << 8 | i64::from(*octet));
        octets.chunks(4).map(word).collect::<Vec<i64>>()
    };
    let octets = captured().flat_map(|message| {
        let [from, to] = message.2.map(|node| if node == ALL_ROUTERS { -1 } else { node.into() });
        let (protocol, header, bytes) =
            (message.3.into(), message.4.into(), message.5.len() as i64);
        let fixed = [message.0.into(), message.1.into(), from, to, protocol, header, bytes];
        fixed.into_iter().chain(words(&message.5))
    });
    let messages = Table::new("messages").ints("word", octets.collect::<Vec<_>>());
    let labels = || control.into_iter().flat_map(|control| control.labels.iter().flatten());
    let hop =
        |row: &LabelBinding| row.hop.map_or([-1; 2], |(link, label)| [link.into(), label.into()]);
    let labels = Table::new("labels")
        .ints("time_ns", labels().map(|(at, _)| *at as i64))
        .ints("node", labels().map(|(_, row)| row.node.into()))
        .ints("fec", labels().map(|(_, row)| row.fec.into()))
        .ints("label", labels().map(|(_, row)| row.label.into()))
        .ints("link", labels().map(|(_, row)| hop(row)[0]))
        .ints("out_label", labels().map(|(_, row)| hop(row)[1]));
    [signalling, control_table, messages, labels]
}

/// A network as a protocol sees it: the run without the protocols.
struct SimulatedPlane<'a, O> {
    simulation: &'a mut Simulation<O>,
    flow: u32,
    now: Time,
}

impl<O: Observer> NetworkPlane for SimulatedPlane<'_, O> {
    fn now(&self) -> Time {
        self.now
    }

    fn send(&mut self, link: u32, message: OutgoingMessage) {
        self.simulation.send_message(self.flow, link, None, message);
    }

    fn tunnel(&mut self, entry: u32, link: u32, message: OutgoingMessage) {
        self.simulation.send_message(self.flow, link, Some(entry), message);
    }

    fn install(&mut self, entry: ForwardingEntry) -> u32 {
        self.simulation.hosts.plane.tables.mpls.add_entry(entry)
    }

    fn install_set(&mut self, entries: &[u32]) -> u32 {
        self.simulation.hosts.plane.tables.mpls.add_set(entries)
    }

    fn withdraw(&mut self, entry: u32) {
        self.simulation.hosts.plane.tables.mpls.free_entry(entry);
    }

    fn bind_label(&mut self, node: u32, label: u32, entry: Option<u32>) {
        self.simulation.hosts.plane.tables.mpls.bind_label(node, label, entry);
    }

    fn bind_class(&mut self, node: u32, fec: u16, dscps: &[u8], entry: Option<u32>) {
        self.simulation.hosts.plane.tables.mpls.bind_class(node, fec, dscps, entry);
    }

    fn set_routes(&mut self, node: u32, destination: u32, links: &[u32]) {
        let chosen = self
            .simulation
            .hosts
            .plane
            .tables
            .static_routes
            .as_mut()
            .map(|all| all.find(node, destination, links));
        let used = chosen.as_deref().unwrap_or(links);
        Fib::set(&mut self.simulation.hosts.plane.tables.fib, node, destination, used);
        let (at, link) = (self.simulation.hosts.plane.clock.now, used.first().copied());
        // Labels of segments follow the IGP (RFC 8402 section 3.1).
        let to = |link: &u32| (*link, self.simulation.hosts.plane.ports.links[*link as usize].to);
        let routes: Vec<(u32, u32)> = links.iter().map(to).collect();
        self.simulation.hosts.plane.tables.mpls.follow(node, destination, &routes);
        self.simulation.recovery.route(at, node, destination, link);
        self.notify_protocols(ProtocolNotice::Routes { node });
    }

    fn routes(&self, node: u32, destination: u32) -> Vec<u32> {
        let fib = &self.simulation.hosts.plane.tables.fib;
        fib.links(fib.next(node, destination))
    }

    fn path_bytes(&self, path: u32) -> u64 {
        let here = Tables::bytes_of(&self.simulation.hosts.plane.tables.mpls, path);
        let control = self.simulation.control.as_ref();
        here + control.map_or(0, |control| control.path_bytes_elsewhere[path as usize])
    }

    fn record_routing_event(
        &mut self,
        moment: control::RoutingEvent,
        node: u32,
        link: Option<u32>,
    ) {
        let moment = match moment {
            control::RoutingEvent::Originated => TimelineEvent::Originated,
            control::RoutingEvent::Learnt => TimelineEvent::Learnt,
            control::RoutingEvent::Offered => TimelineEvent::Offered,
            control::RoutingEvent::Computed => TimelineEvent::Computed,
            control::RoutingEvent::Rerouted => TimelineEvent::Rerouted,
            control::RoutingEvent::SessionUp => TimelineEvent::SessionUp,
            control::RoutingEvent::SessionDown => TimelineEvent::SessionDown,
            control::RoutingEvent::Relabelled => TimelineEvent::Relabelled,
        };
        self.simulation.recovery.mark(self.simulation.hosts.plane.clock.now, moment, node, link);
    }

    fn notify_protocols(&mut self, notice: ProtocolNotice) {
        if let Some(control) = &mut self.simulation.control {
            if control.notices.last() != Some(&notice) {
                control.notices.push(notice);
            }
        }
    }

    fn record_labels(&mut self, row: LabelBinding) {
        let at = self.simulation.hosts.plane.clock.now;
        if let Some(labels) =
            self.simulation.control.as_mut().and_then(|control| control.labels.as_mut())
        {
            labels.push((at, row));
        }
    }

    fn record_row(&mut self, row: SignallingRow) {
        let (at, flow) = (self.simulation.hosts.plane.clock.now, self.flow);
        if let Some(control) = &mut self.simulation.control {
            control.rows.push((at, flow, row));
        }
    }
}

impl<O: Observer> Simulation<O> {
    /// Starts the protocols.
    pub(crate) fn arm_control(&mut self) {
        for index in 0..self.control.as_ref().map_or(0, |control| control.sources()) {
            self.with_protocol(index, |protocol, plane| protocol.start(plane));
        }
    }

    /// Serves the timers of a protocol.
    #[cold]
    pub(crate) fn wake_control(&mut self, index: u32) {
        // Every region serves these: they count once.
        self.hosts.plane.clock.events -= u64::from(!self.hosts.plane.region.is_first());
        self.with_protocol(index, |protocol, plane| protocol.wake(plane));
    }

    /// A node notices a change of a link it is at.
    pub(crate) fn report_link_change(&mut self, node: u32, link: u32, down: bool) {
        for index in 0..self.control.as_ref().map_or(0, |control| control.sources()) {
            self.with_protocol(index, |protocol, plane| {
                protocol.link_changed(node, link, down, plane)
            });
        }
    }

    /// Both ends of a link drain it, or use it again.
    pub(crate) fn report_drain(&mut self, link: u32, is_drained: bool) {
        for index in 0..self.control.as_ref().map_or(0, |control| control.sources()) {
            self.with_protocol(index, |protocol, plane| {
                protocol.drain_link(link, is_drained, plane)
            });
        }
    }

    /// Delivers a notice of a protocol, or of `rerouting`, to all protocols.
    pub(crate) fn broadcast_notice(&mut self, notice: &ProtocolNotice) {
        for index in 0..self.control.as_ref().map_or(0, |control| control.sources()) {
            self.with_protocol(index, |protocol, plane| protocol.on_notice(notice, plane));
        }
    }

    /// Takes the notices of packets: those of agents, then those of messages.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle_notices(&mut self) {
        self.hosts.settle_notices();
        for notice in std::mem::take(&mut self.hosts.plane.notices) {
            match notice {
                PacketNotice::Message(protocol, id) => {
                    let packet = self.hosts.plane.arena[id];
                    self.hosts.plane.arena.remove(id);
                    self.end_message(packet, Some(protocol));
                }
                PacketNotice::MessageElsewhere(packet) => self.end_message_elsewhere(&packet),
                PacketNotice::Lost(packet) => self.end_message(packet, None),
                PacketNotice::LeftHost(_) | PacketNotice::Copied(_) => {}
            }
        }
    }

    /// A message has arrived at the far end of its link, or is lost.
    fn end_message(&mut self, packet: Packet, protocol: Option<u32>) {
        let plane = &self.hosts.plane;
        let (at, place) = (plane.clock.now, plane.observer.place_in_time());
        let Some(control) = &mut self.control else { return };
        if control.news == Some(MessageNews::OnArrival)
            || control.news.is_some() && protocol.is_none()
        {
            return control.ended.push(EndedMessage { at, place, packet, protocol });
        }
        self.deliver_message(&packet, protocol, at);
    }

    /// A message has arrived at a node of another region, which counts it; its delay is that of all messages.
    fn end_message_elsewhere(&mut self, packet: &Packet) {
        let FlowAgents::Control(protocol) = self.hosts.flows[packet.flow as usize].agents else {
            return;
        };
        let (now, measured) = (self.hosts.plane.clock.now, &mut self.hosts.plane.measured);
        let delays = &mut measured.deliveries[packet.flow as usize].delays;
        delays.measure(packet, now, &mut measured.pool);
        self.deliver_message(packet, Some(protocol), now);
    }

    fn deliver_message(&mut self, packet: &Packet, protocol: Option<u32>, at: Time) {
        let message = self.control.as_mut().and_then(|control| control.take_message(packet));
        if let (Some(index), Some(message)) = (protocol, message) {
            let link = packet.echo as u32;
            self.with_protocol_at(index, at, |protocol, plane| {
                protocol.receive(link, message, plane);
            });
        }
    }

    /// Takes the messages whose way has ended in any region in a window.
    pub(crate) fn take_ended_messages(&mut self, ended: &mut Vec<EndedMessage>) {
        ended.sort_by_key(|message| (message.at, message.place));
        for EndedMessage { at, packet, protocol, .. } in ended.drain(..) {
            let measured = &mut self.hosts.plane.measured;
            if let (Some(control), Some(protocol)) = (&mut self.control, protocol) {
                let delays = &mut control.delays[protocol as usize];
                delays.measure(&packet, at, &mut measured.pool);
                if at < measured.at_warm_up.at {
                    delays.restart(&mut measured.pool);
                }
            }
            self.deliver_message(&packet, protocol, at);
        }
    }

    fn with_protocol(
        &mut self,
        index: u32,
        act: impl FnOnce(&mut Protocol, &mut dyn NetworkPlane),
    ) {
        self.with_protocol_at(index, self.hosts.plane.clock.now, act);
    }

    fn with_protocol_at(
        &mut self,
        index: u32,
        now: Time,
        act: impl FnOnce(&mut Protocol, &mut dyn NetworkPlane),
    ) {
        let Some(control) = &mut self.control else { return };
        let Some(mut protocol) = control.protocols[index as usize].take() else { return };
        let flow = protocol.flow();
        act(&mut protocol, &mut SimulatedPlane { simulation: self, flow, now });
        let due = protocol.due();
        if let Some(control) = &mut self.control {
            control.protocols[index as usize] = Some(protocol);
        }
        let source = self.hosts.plane.clock.sources.control + index;
        if due == NEVER {
            self.hosts.plane.clock.cancel(source);
        } else if due != self.hosts.plane.clock.due(source) {
            self.hosts.plane.clock.schedule(source, due.max(self.hosts.plane.clock.now));
        }
        let notices = self.control.as_mut().map(|control| std::mem::take(&mut control.notices));
        for notice in notices.into_iter().flatten() {
            self.broadcast_notice(&notice);
        }
    }

    /// Sends a message to the far end of a link: over it, or by an entry into a path.
    fn send_message(&mut self, flow: u32, link: u32, entry: Option<u32>, message: OutgoingMessage) {
        let first = entry.map_or(Some(link), |entry| self.hosts.plane.tables.mpls.link_of(entry));
        let Some(first) = first else { return };
        let bytes = message.header_bytes + message.octets.len() as u16;
        let Some(control) = &mut self.control else { return };
        let number = control.store_message(flow, message.message);
        let load = control.loads.entry((first, flow, message.kind)).or_default();
        load.0 += 1;
        load.1 += u64::from(bytes);
        if let Some(captured) = &mut control.captured {
            let octets = message.octets;
            captured.push((
                flow,
                number,
                message.ends,
                message.protocol,
                message.header_bytes,
                octets,
            ));
        }
        let node = self.hosts.plane.ports.from[first as usize];
        self.hosts.plane.observer.on_region_step();
        if !self.hosts.plane.region.owns(node) {
            return;
        }
        let totals = &mut self.hosts.plane.measured.totals[flow as usize];
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(bytes);
        let plan = &self.hosts.flows[flow as usize];
        let plane = &mut self.hosts.plane;
        // Every node is an end with signalling: its column is its index.
        let to = plane.ports.links[link as usize].to;
        let mut packet = Packet::new(flow, to, number, bytes, plane.clock.now);
        packet.echo = u64::from(link);
        (packet.dscp, packet.ttl) = (plan.dscp, plan.ttl);
        packet.set_message();
        let id = plane.arena.insert(packet);
        plane.observer.record(plane.clock.now, Event::Sent { node }, id, &plane.arena);
        match entry {
            Some(entry) => plane.output_labelled(node, entry, id),
            None => plane.output_message(link, id),
        }
        self.settle_notices();
    }
}
