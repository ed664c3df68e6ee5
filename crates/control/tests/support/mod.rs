//! A network of nodes and links without queues, where messages take the links' transmission time
//! and delay, and labels are followed.

#![allow(dead_code)]

use std::collections::BTreeMap;
use trunkline_control::rsvp::config::{ClassTypes, Hop, RsvpConfig, Session};
use trunkline_control::rsvp::{Rsvp, EVENTS, KINDS};
use trunkline_control::{
    ForwardingEntry, Message, NetworkPlane, OutgoingMessage, ProtocolNotice, RoutingEvent,
    SignalledLink, SignallingRow,
};

pub const MS: u64 = 1_000_000;

/// A message under way: the link that it is on, and that it is heard on.
struct Packet {
    link: u32,
    heard: u32,
    label: Option<u32>,
    bytes: usize,
    message: Message,
}

/// Links that carry what they are given, one packet after the other.
pub struct Wires {
    pub now: u64,
    pub lines: Vec<SignalledLink>,
    delay: u64,
    free: Vec<u64>,
    pub dead: Vec<bool>,
    arrivals: BTreeMap<(u64, u64), Packet>,
    number: u64,
    pub sent: Vec<(u64, u32, &'static str, usize)>,
    pub octets: Vec<(u64, &'static str, Vec<u8>)>,
    pub rows: Vec<(u64, &'static str, SignallingRow)>,
    /// Forwarding entries that are there.
    pub entries: BTreeMap<u32, ForwardingEntry>,
    installed: u32,
    /// Incoming labels of nodes.
    pub labels: BTreeMap<(u32, u32), u32>,
    /// Entries of the forwarding equivalence classes of nodes.
    pub classes: BTreeMap<(u32, u16), u32>,
    /// Bytes that have entered every path.
    pub path_bytes: u64,
    /// Routes as routers take them into use: time, node, destination, links.
    pub routes: Vec<(u64, u32, u32, Vec<u32>)>,
    pub routing_events: Vec<(u64, RoutingEvent, u32, Option<u32>)>,
    pub notices: Vec<ProtocolNotice>,
}

impl Wires {
    /// All up and empty, 4 ms long.
    pub fn new(lines: Vec<SignalledLink>) -> Self {
        Self {
            now: 0,
            delay: 4 * MS,
            free: vec![0; lines.len()],
            dead: vec![false; lines.len()],
            arrivals: BTreeMap::new(),
            sent: Vec::new(),
            rows: Vec::new(),
            octets: Vec::new(),
            number: 0,
            entries: BTreeMap::new(),
            installed: 0,
            labels: BTreeMap::new(),
            classes: BTreeMap::new(),
            path_bytes: 0,
            routes: Vec::new(),
            routing_events: Vec::new(),
            notices: Vec::new(),
            lines,
        }
    }

    /// Takes all messages off the links before they arrive, in the order in which they would.
    pub fn take_messages(&mut self) -> Vec<(u32, Message)> {
        let packets = std::mem::take(&mut self.arrivals).into_values();
        packets.map(|packet| (packet.link, packet.message)).collect()
    }

    /// When the next message arrives.
    pub fn due(&self) -> u64 {
        self.arrivals.keys().next().map_or(u64::MAX, |key| key.0)
    }

    /// Takes the message that arrives next, with its link.
    pub fn take_message(&mut self) -> Option<(u32, Message)> {
        self.arrivals.pop_first().map(|(_, packet)| (packet.link, packet.message))
    }

    fn put(&mut self, packet: Packet) {
        let Packet { link, label, bytes, .. } = packet;
        let line = self.lines[link as usize];
        let took = (bytes + label.map_or(0, |_| 4)) as u64 * 8_000_000_000 / line.rate_bit_s;
        let free = &mut self.free[link as usize];
        *free = (*free).max(self.now) + took;
        if !self.dead[link as usize] {
            self.number += 1;
            let at = (*free + self.delay, self.number);
            self.arrivals.insert(at, packet);
        }
    }

    fn record(&mut self, link: u32, outgoing: &OutgoingMessage) -> usize {
        let bytes = usize::from(outgoing.header_bytes) + outgoing.octets.len();
        let kind = KINDS[usize::from(outgoing.kind)];
        self.sent.push((self.now, link, kind, bytes));
        self.octets.push((self.now, kind, outgoing.octets.clone()));
        bytes
    }
}

impl NetworkPlane for Wires {
    fn now(&self) -> u64 {
        self.now
    }
    fn send(&mut self, link: u32, outgoing: OutgoingMessage) {
        let bytes = self.record(link, &outgoing);
        self.put(Packet { link, heard: link, label: None, bytes, message: outgoing.message });
    }
    fn tunnel(&mut self, entry: u32, heard: u32, outgoing: OutgoingMessage) {
        let by = self.entries[&entry];
        let link = by.link.expect("a path begins with a link");
        let bytes = self.record(link, &outgoing);
        self.put(Packet { link, heard, label: by.push, bytes, message: outgoing.message });
    }
    fn install(&mut self, entry: ForwardingEntry) -> u32 {
        self.installed += 1;
        self.entries.insert(self.installed, entry);
        self.installed
    }
    fn install_set(&mut self, _: &[u32]) -> u32 {
        unreachable!("RSVP-TE binds one entry")
    }
    fn routes(&self, _: u32, _: u32) -> Vec<u32> {
        Vec::new()
    }
    fn withdraw(&mut self, entry: u32) {
        self.entries.remove(&entry).expect("an entry is withdrawn once");
    }
    fn bind_label(&mut self, node: u32, label: u32, entry: Option<u32>) {
        let _ = match entry {
            Some(entry) => self.labels.insert((node, label), entry),
            None => self.labels.remove(&(node, label)),
        };
    }
    fn bind_class(&mut self, node: u32, fec: u16, _: &[u8], entry: Option<u32>) {
        let _ = match entry {
            Some(entry) => self.classes.insert((node, fec), entry),
            None => self.classes.remove(&(node, fec)),
        };
    }
    fn set_routes(&mut self, node: u32, destination: u32, links: &[u32]) {
        self.routes.push((self.now, node, destination, links.to_vec()));
    }
    fn record_labels(&mut self, _: trunkline_control::LabelBinding) {}
    fn record_routing_event(&mut self, event: RoutingEvent, node: u32, link: Option<u32>) {
        self.routing_events.push((self.now, event, node, link));
    }
    fn notify_protocols(&mut self, notice: ProtocolNotice) {
        self.notices.push(notice);
    }
    fn path_bytes(&self, _: u32) -> u64 {
        self.path_bytes
    }
    fn record_row(&mut self, row: SignallingRow) {
        self.rows.push((self.now, EVENTS[usize::from(row.event)], row));
    }
}

/// A chain 0 - 1 - ... of links of 10 Mbit/s and 4 ms; link 2i goes up, 2i + 1 back.
pub fn chain(nodes: u32) -> Vec<SignalledLink> {
    both((0..nodes - 1).map(|node| (node, node + 1, 1)))
}

/// Links of 10 Mbit/s between pairs of nodes, with a metric: 2i leads from the first of pair i, 2i + 1
/// back.
pub fn both(pairs: impl IntoIterator<Item = (u32, u32, u64)>) -> Vec<SignalledLink> {
    let lines = |(index, (from, to, metric)): (u32, (u32, u32, u64))| {
        let line = |from, to, reverse| SignalledLink {
            from,
            to,
            metric,
            rate_bit_s: 10_000_000,
            reverse: Some(reverse),
        };
        [line(from, to, 2 * index + 1), line(to, from, 2 * index)]
    };
    (0..).zip(pairs).flat_map(lines).collect()
}

/// A path along the whole chain.
pub fn session(name: &str, nodes: u32, bandwidth: u64) -> Session {
    let hop = Hop { label: None, entry: None };
    Session {
        name: name.into(),
        path: 0,
        bandwidth_bit_s: bandwidth,
        setup: 7,
        hold: 7,
        class_type: 0,
        start_ns: Some(0),
        dynamic: false,
        route: (0..nodes - 1).map(|node| 2 * node).collect(),
        computed: false,
        constraints: None,
        hops: vec![hop; nodes as usize],
        classes: Vec::new(),
        pipe: false,
        diffserv: [None, None],
        protection: None,
        around: Vec::new(),
        auto_bandwidth: None,
    }
}

pub fn config(links: usize, sessions: Vec<Session>) -> RsvpConfig {
    RsvpConfig {
        flow: 0,
        refresh_ns: 30_000 * MS,
        multiplier: 3,
        processing_ns: 0,
        resend_ns: None,
        resend_increment: 1.0,
        resend_limit: 3,
        summary: false,
        hello_ns: None,
        retry_ns: 1_000_000 * MS,
        attempts: 1,
        flooding_ns: Some(0),
        flooding_threshold: 0.0,
        make_before_break: true,
        cleanup_ns: 1000 * MS,
        soft_ns: None,
        reoptimise_ns: None,
        discard: false,
        reservable: vec![10_000_000; links],
        class_types: ClassTypes::default(),
        attributes: Vec::new(),
        sessions,
        orders: Vec::new(),
        requests: Vec::new(),
    }
}

pub struct Network {
    pub rsvp: Rsvp,
    pub wires: Wires,
}

impl Network {
    pub fn new(nodes: u32, lines: Vec<SignalledLink>, config: RsvpConfig) -> Self {
        let wires = Wires::new(lines.clone());
        let mut network = Self { rsvp: Rsvp::new(config, nodes, lines, 1), wires };
        network.rsvp.start(&mut network.wires);
        network
    }

    pub fn run(&mut self, until: u64) {
        loop {
            let arrival = self.wires.arrivals.keys().next().map_or(u64::MAX, |key| key.0);
            let at = arrival.min(self.rsvp.due());
            if at > until {
                self.wires.now = until;
                return self.rsvp.check().expect("reservations belong to states");
            }
            self.wires.now = at;
            if self.rsvp.due() <= at {
                self.rsvp.wake(&mut self.wires);
            } else if let Some((_, packet)) = self.wires.arrivals.pop_first() {
                self.arrive(packet);
            }
        }
    }

    /// The node's entry forwards a packet with a label; other packets are handled.
    fn arrive(&mut self, packet: Packet) {
        let Packet { link, heard, label, .. } = packet;
        let node = self.wires.lines[link as usize].to;
        if let Some(label) = label {
            // Without an entry for its label a packet is lost.
            let Some(entry) = self.wires.labels.get(&(node, label)) else { return };
            let entry = self.wires.entries[entry];
            let next = entry.link.expect("a label on top leads on");
            return self.wires.put(Packet { link: next, label: entry.push, ..packet });
        }
        assert_eq!(node, self.wires.lines[heard as usize].to, "a label came off too early");
        let Message::Rsvp(message) = packet.message else { unreachable!("only RSVP-TE runs") };
        self.rsvp.receive(heard, message, &mut self.wires);
    }

    pub fn events(&self, name: &str) -> Vec<u64> {
        self.wires.rows.iter().filter(|row| row.1 == name).map(|row| row.0).collect()
    }

    pub fn sent(&self, kind: &str) -> Vec<(u64, usize)> {
        let of = |message: &&(u64, u32, &'static str, usize)| message.2 == kind;
        self.wires.sent.iter().filter(of).map(|message| (message.0, message.3)).collect()
    }
}

/// A square 0 - 1 - 3 and 0 - 2 - 3, the second longer. Links: 0 0>1, 2 1>3, 4 0>2, 6 2>3; odd ones
/// lead back.
pub fn square() -> Vec<SignalledLink> {
    both([(0, 1, 1), (1, 3, 1), (0, 2, 2), (2, 3, 2)])
}

/// A path from 0 to 3 over 1 that may be computed anew.
pub fn dynamic(name: &str, bandwidth: u64, start_ns: u64) -> Session {
    let mut new_session = session(name, 3, bandwidth);
    (new_session.dynamic, new_session.route, new_session.start_ns) =
        (true, vec![0, 2], Some(start_ns));
    new_session
}

pub fn rows(network: &Network, name: &str, session: u32) -> Vec<u64> {
    let of = |row: &&(u64, &'static str, SignallingRow)| row.1 == name && row.2.session == session;
    network.wires.rows.iter().filter(of).map(|row| row.0).collect()
}
