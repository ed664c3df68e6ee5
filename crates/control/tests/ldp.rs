//! Sessions of LDP by hand (RFC 5036): nodes and links of 1 ms that can lose messages.

mod support;

use std::collections::{BTreeMap, VecDeque};
use support::{both, chain, MS};
use trunkline_control::ldp::{Ldp, LdpConfig, LdpMessage, StreamSegment, KINDS};
use trunkline_control::{
    ForwardingEntry, LabelBinding, Message, NetworkPlane, OutgoingMessage, ProtocolNotice,
    RoutingEvent, SignalledLink, SignallingRow,
};

const KEEPALIVE: u64 = 9_000 * MS;
const HELLO_HOLD: u64 = 3_000 * MS;
const RETRY: u64 = 15_000 * MS;
/// Flags of a TCP segment (RFC 9293 section 3.1).
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// The share of messages that a link loses: by the link, and the payload [B], none of a hello.
type Loss = fn(link: u32, bytes: Option<u32>) -> bool;

/// The links, of which each node has a route to every other.
struct Links {
    now: u64,
    lines: Vec<SignalledLink>,
    routes: BTreeMap<(u32, u32), Vec<u32>>,
    loss: Loss,
    under_way: VecDeque<(u64, u32, LdpMessage)>,
    /// Time, link, kind and payload [B] of what was sent in sessions.
    sent: Vec<(u64, u32, &'static str, u32)>,
    /// Time, link, and octets behind the IP header of all that was sent.
    octets: Vec<(u64, u32, Vec<u8>)>,
    /// Time and node of what arrived with a payload.
    heard: Vec<(u64, u32)>,
    events: Vec<(u64, u32, RoutingEvent)>,
    entries: BTreeMap<u32, ForwardingEntry>,
    sets: BTreeMap<u32, Vec<u32>>,
    installed: u32,
    /// Entries of incoming labels and of classes, by node.
    labels: BTreeMap<(u32, u32), u32>,
    classes: BTreeMap<(u32, u16), u32>,
}

impl NetworkPlane for Links {
    fn now(&self) -> u64 {
        self.now
    }
    fn send(&mut self, link: u32, outgoing: OutgoingMessage) {
        let Message::Ldp(message) = outgoing.message else { unreachable!("only LDP runs") };
        let bytes = if let LdpMessage::Segment(segment) = &message {
            let kind = KINDS[usize::from(outgoing.kind)];
            self.sent.push((self.now, link, kind, segment.bytes));
            Some(segment.bytes)
        } else {
            None
        };
        self.octets.push((self.now, link, outgoing.octets));
        if !(self.loss)(link, bytes) {
            self.under_way.push_back((self.now + MS, link, message));
        }
    }
    fn tunnel(&mut self, _: u32, _: u32, _: OutgoingMessage) {
        unreachable!("LDP has no tunnels")
    }
    fn install(&mut self, entry: ForwardingEntry) -> u32 {
        self.installed += 1;
        self.entries.insert(self.installed, entry);
        self.installed
    }
    fn install_set(&mut self, entries: &[u32]) -> u32 {
        self.installed += 1;
        self.sets.insert(self.installed, entries.to_vec());
        self.installed
    }
    fn withdraw(&mut self, entry: u32) {
        let was = (self.entries.remove(&entry).is_some(), self.sets.remove(&entry).is_some());
        assert!(was.0 != was.1, "an entry is withdrawn once");
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
    fn set_routes(&mut self, _: u32, _: u32, _: &[u32]) {}
    fn routes(&self, node: u32, destination: u32) -> Vec<u32> {
        self.routes.get(&(node, destination)).cloned().unwrap_or_default()
    }
    fn path_bytes(&self, _: u32) -> u64 {
        0
    }
    fn record_routing_event(&mut self, moment: RoutingEvent, node: u32, _: Option<u32>) {
        self.events.push((self.now, node, moment));
    }
    fn notify_protocols(&mut self, _: ProtocolNotice) {}
    fn record_labels(&mut self, _: LabelBinding) {}
    fn record_row(&mut self, _: SignallingRow) {}
}

struct Nodes {
    ldp: Ldp,
    link: Links,
}

fn make_config() -> LdpConfig {
    LdpConfig {
        flow: 0,
        start_ns: 0,
        hello_ns: 1_000 * MS,
        hello_hold_ns: HELLO_HOLD,
        keepalive_ns: KEEPALIVE,
        resend_ns: 1_000 * MS,
        retry_ns: RETRY,
        gtsm: true,
        ordered: false,
        first_fec: 0,
    }
}

/// Routes of the first nodes along a chain of them, behind whose ends all others are.
fn chain_routes(nodes: u32, linked: u32) -> BTreeMap<(u32, u32), Vec<u32>> {
    let ends = (0..linked).flat_map(|node| (0..nodes).map(move |to| (node, to)));
    ends.filter(|(node, to)| node != to)
        .map(|(node, to)| {
            let is_onward = node == 0 || to > node && node + 1 < linked;
            ((node, to), vec![if is_onward { 2 * node } else { 2 * node - 1 }])
        })
        .collect()
}

impl Nodes {
    /// Two nodes with a link: 0 leads from node 0 to node 1, 1 back. Every other node is behind it.
    fn pair(nodes: u32) -> Self {
        Self::new(make_config(), nodes, chain(2), chain_routes(nodes, 2))
    }

    fn new(
        config: LdpConfig,
        nodes: u32,
        lines: Vec<SignalledLink>,
        routes: BTreeMap<(u32, u32), Vec<u32>>,
    ) -> Self {
        let mut link = Links {
            now: 0,
            lines: lines.clone(),
            routes,
            loss: |_, _| false,
            under_way: VecDeque::new(),
            sent: Vec::new(),
            octets: Vec::new(),
            heard: Vec::new(),
            events: Vec::new(),
            entries: BTreeMap::new(),
            sets: BTreeMap::new(),
            installed: 0,
            labels: BTreeMap::new(),
            classes: BTreeMap::new(),
        };
        let mut ldp = Ldp::new(config, nodes, lines, 7);
        ldp.start(&mut link);
        Self { ldp, link }
    }

    fn run(&mut self, until: u64) {
        loop {
            let arrival = self.link.under_way.front().map_or(u64::MAX, |message| message.0);
            let at = arrival.min(self.ldp.due());
            if at > until {
                self.link.now = until;
                return self.ldp.check().expect("labels in use are advertised");
            }
            self.link.now = at;
            if self.ldp.due() <= at {
                self.ldp.wake(&mut self.link);
            } else if let Some((_, line, message)) = self.link.under_way.pop_front() {
                if matches!(&message, LdpMessage::Segment(segment) if segment.bytes > 0) {
                    self.link.heard.push((at, self.link.lines[line as usize].to));
                }
                self.ldp.receive(line, message, &mut self.link);
            }
        }
    }

    /// Times at which messages of a kind were sent on a link.
    fn sent(&self, link: u32, kind: &str) -> Vec<u64> {
        let of = |each: &&(u64, u32, &str, u32)| (each.1, each.2) == (link, kind);
        self.link.sent.iter().filter(of).map(|each| each.0).collect()
    }

    /// Where a node sends packets of a class, or with a label.
    fn entry(&self, entry: Option<&u32>) -> Option<(Option<u32>, bool, Option<u32>)> {
        let entry = self.link.entries.get(entry?)?;
        assert_eq!(entry.path, 7);
        Some((entry.link, entry.pop, entry.push))
    }

    /// Octets of the TCP segments of a link that bear a flag and no other of those given, by time.
    fn segments(&self, link: u32, flag: u8, others: u8) -> Vec<(u64, &[u8])> {
        let is_tcp = |octets: &[u8]| octets[..2] != octets[2..4];
        let of = |each: &&(u64, u32, Vec<u8>)| {
            let octets = &each.2;
            each.1 == link && is_tcp(octets) && octets[13] & (flag | others) == flag
        };
        self.link.octets.iter().filter(of).map(|each| (each.0, &each.2[..])).collect()
    }

    /// Times at which connections are opened, by SYNs without ACK, and their ports.
    fn openings(&self, link: u32) -> Vec<(u64, u16)> {
        let port = |octets: &[u8]| u16::from_be_bytes([octets[0], octets[1]]);
        let sent = self.segments(link, SYN, ACK).into_iter();
        sent.map(|(at, octets)| (at, port(octets))).collect()
    }

    /// Status codes of the notifications on a link: behind 20 octets of TCP, 10 of the PDU, 8 of the
    /// message and 4 of the TLV (RFC 5036 sections 3.1 and 3.5.1).
    fn statuses(&self, link: u32) -> Vec<(u64, u32)> {
        let status =
            |octets: &[u8]| u32::from_be_bytes([octets[42], octets[43], octets[44], octets[45]]);
        let sent = self.segments(link, FIN, 0).into_iter().filter(|(_, octets)| octets.len() > 20);
        sent.map(|(at, octets)| (at, status(octets))).collect()
    }

    /// A node's routes to another change.
    fn set_route(&mut self, node: u32, to: u32, links: &[u32]) {
        self.link.routes.insert((node, to), links.to_vec());
        self.ldp.routes_changed(node, &mut self.link);
    }

    /// When an event happened at a node.
    fn times(&self, node: u32, event: RoutingEvent) -> Vec<u64> {
        let of = |each: &&(u64, u32, RoutingEvent)| (each.1, each.2) == (node, event);
        self.link.events.iter().filter(of).map(|each| each.0).collect()
    }
}

/// A mapping of a label has 28 octets, the header of a PDU 10: 51 of 60 mappings take 1,438 of the 1,460
/// octets of a segment, and another one would not fit; the other 9 take 262.
#[test]
fn rfc5036_s3_1_a_pdu_has_as_many_mappings_as_fit_a_segment() {
    let mut pair = Nodes::pair(60);
    pair.run(500 * MS);
    for node in 0..2 {
        let of = |each: &&(u64, u32, &str, u32)| (each.1, each.2) == (node, "label-mapping");
        let bytes: Vec<u32> = pair.link.sent.iter().filter(of).map(|each| each.3).collect();
        assert_eq!(bytes, [1_438, 262], "node {node}");
    }
}

/// From 10 s on the link loses what node 1 says, but not its acknowledgements: it has been silent for
/// `KeepAlive` Time of 9 s when node 0 closes the session. Node 1 heard node 0 until then.
#[test]
fn rfc5036_s2_5_6_an_acknowledgement_is_no_message_and_keeps_no_session_alive() {
    let mut pair = Nodes::pair(2);
    pair.run(10_000 * MS);
    assert_eq!(pair.times(0, RoutingEvent::SessionUp).len(), 1);
    let of = |each: &&(u64, u32)| each.1 == 0;
    let last = pair.link.heard.iter().rev().find(of).expect("node 1 spoke").0;
    assert!(last > 10_000 * MS - KEEPALIVE / 3);
    pair.link.loss = |link, bytes| link == 1 && bytes.is_some_and(|bytes| bytes > 0);
    pair.run(last + KEEPALIVE - 1);
    assert!(pair.times(0, RoutingEvent::SessionDown).is_empty());
    pair.run(last + KEEPALIVE + 2 * MS);
    assert_eq!(pair.times(0, RoutingEvent::SessionDown), [last + KEEPALIVE]);
    assert_eq!(pair.times(1, RoutingEvent::SessionDown), [last + KEEPALIVE + MS]);
}

/// A session ends just before its `KeepAlive` is due, and the first segment of its connection arrives
/// once more, late: node 0, the passive one, says nothing on it before the Initialization of node 1.
#[test]
fn rfc5036_s2_5_4_no_keepalive_is_sent_before_an_initialization() {
    let mut pair = Nodes::pair(2);
    pair.run(1_000 * MS);
    let [up] = pair.times(0, RoutingEvent::SessionUp)[..] else { panic!("one session") };
    pair.run(up + KEEPALIVE / 3 - MS);
    pair.link.loss = |_, bytes| bytes.is_some();
    let first = StreamSegment { port: 49_152, from_active: true, ..StreamSegment::default() };
    let reset = StreamSegment { rst: true, ..first.clone() };
    let opening = StreamSegment { syn: true, ..first };
    for segment in [reset, opening] {
        pair.ldp.receive(1, LdpMessage::Segment(segment), &mut pair.link);
    }
    assert_eq!(pair.times(0, RoutingEvent::SessionDown), [up + KEEPALIVE / 3 - MS]);
    let sent = pair.link.sent.len();
    assert_eq!(pair.link.sent[sent - 1], (up + KEEPALIVE / 3 - MS, 0, "tcp", 0));
    pair.run(up + KEEPALIVE / 3 + MS);
    let data = pair.link.sent[sent..].iter().filter(|each| each.1 == 0 && each.3 > 0);
    assert_eq!(data.count(), 0);
}

/// Section 2.5.2: the node with the higher address, 10.0.0.2, opens the connection. Section 2.5.4: it sends
/// its Initialization, the other answers with its own and a `KeepAlive`, and a `KeepAlive` makes each
/// operational; then come addresses and mappings, one hop of 1 ms after the other.
#[test]
fn rfc5036_s2_5_4_a_session_is_opened_by_the_higher_address_and_initialized_in_turns() {
    let mut pair = Nodes::pair(2);
    pair.run(500 * MS);
    let of = |link| -> Vec<(u64, &str)> {
        let own = pair.link.sent.iter().filter(|each| each.1 == link);
        own.filter(|each| each.3 > 0).map(|each| (each.0 / MS, each.2)).collect()
    };
    let up = |at| [(at, "address"), (at, "label-mapping")];
    assert_eq!(pair.sent(1, "tcp")[0], MS);
    assert_eq!(of(1), [[(3, "initialization"), (5, "keepalive")], up(5)].concat());
    assert_eq!(of(0), [[(4, "initialization"), (4, "keepalive")], up(6)].concat());
    assert_eq!(pair.times(1, RoutingEvent::SessionUp), [5 * MS]);
    assert_eq!(pair.times(0, RoutingEvent::SessionUp), [6 * MS]);
}

/// Node 0 hears no hello of node 1, which hears it and opens a session: node 0 refuses it with "Session
/// Rejected/No Hello" (section 3.9: 0x10 with the E bit). Section 2.5.3: the next attempt comes 15 s later,
/// then after twice as long, up to 2 minutes. Each is refused 4 ms after its SYN: SYN, its answer,
/// Initialization, Notification. With hellos the session comes up, and the waits begin anew.
#[test]
fn rfc5036_s2_5_3_a_session_that_is_refused_is_tried_again_after_15_s_doubled_up_to_2_min() {
    let mut pair = Nodes::pair(2);
    pair.link.loss = |link, bytes| link == 1 && bytes.is_none();
    let waits = [15, 30, 60, 120, 120].map(|wait| wait * 1_000 * MS + 4 * MS);
    let mut expected = vec![(MS, 49_152)];
    for (wait, port) in waits.into_iter().zip(49_153..) {
        let last = expected[expected.len() - 1].0;
        expected.push((last + wait, port));
    }
    let last = expected[expected.len() - 1].0;
    pair.run(last + 10 * MS);
    assert_eq!(pair.openings(1), expected);
    let refusals: Vec<(u64, u32)> =
        expected.iter().map(|(at, _)| (at + 3 * MS, 0x8000_0010)).collect();
    assert_eq!(pair.statuses(0), refusals);
    assert!(pair.times(1, RoutingEvent::SessionUp).is_empty());
    pair.link.loss = |_, _| false;
    pair.run(last + 130_000 * MS);
    assert_eq!(pair.times(1, RoutingEvent::SessionUp), [last + 120_000 * MS + 8 * MS]);
    let reset = StreamSegment { port: 49_158, rst: true, ..StreamSegment::default() };
    pair.ldp.receive(0, LdpMessage::Segment(reset), &mut pair.link);
    pair.run(last + 150_000 * MS);
    assert_eq!(
        pair.openings(1)[6..],
        [(last + 120_004 * MS, 49_158), (last + 145_000 * MS, 49_159)]
    );
}

/// RFC 6335 section 6: dynamic ports are 49152 to 65535. Each connection has the next one, and behind the
/// last they begin anew.
#[test]
fn rfc6335_s6_ports_of_connections_are_dynamic_and_come_round() {
    let config = LdpConfig { retry_ns: MS, ..make_config() };
    let mut pair = Nodes::new(config, 2, chain(2), chain_routes(2, 2));
    pair.link.loss = |_, bytes| bytes.is_some();
    let mut ports = Vec::new();
    while ports.len() < 16_500 {
        pair.run(pair.link.now + 8 * MS);
        let port = pair.openings(1)[0].1;
        pair.link.octets.clear();
        pair.link.sent.clear();
        ports.push(port);
        let reset = StreamSegment { port, rst: true, ..StreamSegment::default() };
        pair.ldp.receive(0, LdpMessage::Segment(reset), &mut pair.link);
    }
    assert_eq!(
        (ports[0], ports.iter().min(), ports.iter().max()),
        (49_152, Some(&49_152), Some(&65_534))
    );
    let follows = |pair: &[u16]| pair[1] == pair[0] + 1 || pair == [65_534, 49_152];
    assert!(ports.windows(2).all(follows));
}

/// Section 2.5.5: hellos each second hold the neighbour for 3 s, and one that comes at the last instant
/// counts. The last one before the loss arrives at 2.001 s; that of 5 s arrives at 5.001 s.
#[test]
fn rfc5036_s2_5_5_a_hello_at_the_end_of_the_hold_time_keeps_the_session() {
    for (lost_until, ends) in [(4_500, None), (9_000, Some(5_001 * MS + 1))] {
        let mut pair = Nodes::pair(2);
        pair.run(2_500 * MS);
        pair.link.loss = |link, bytes| link == 1 && bytes.is_none();
        pair.run(lost_until * MS);
        pair.link.loss = |_, _| false;
        pair.run(9_500 * MS);
        let ended: Vec<u64> = ends.into_iter().collect();
        assert_eq!(pair.times(0, RoutingEvent::SessionDown), ended);
        // Section 3.9: Hold Timer Expired is 9 with the E bit. The peer has it 1 ms later.
        let notified: Vec<(u64, u32)> = ended.iter().map(|at| (*at, 0x8000_0009)).collect();
        assert_eq!(pair.statuses(0), notified);
        let peer: Vec<u64> = ended.iter().map(|at| at + MS).collect();
        assert_eq!(pair.times(1, RoutingEvent::SessionDown), peer);
    }
}

/// Section 2.5.6: a node sees to it that its peer hears something within `KeepAlive` Time of 9 s: here
/// each third of it, from the last PDU on. Node 0 withdraws a label at 4 s, so that the next
/// `KeepAlive` is due 3 s after that; node 1 releases it 1 ms later.
#[test]
fn rfc5036_s2_5_6_a_keepalive_follows_a_third_of_its_time_after_the_last_pdu() {
    let mut pair = Nodes::pair(3);
    pair.run(4_000 * MS);
    pair.set_route(0, 2, &[]);
    assert_eq!(pair.sent(0, "label-withdraw"), [4_000 * MS]);
    pair.run(11_000 * MS);
    assert_eq!(pair.sent(0, "keepalive")[1..], [3_006, 7_000, 10_000].map(|at| at * MS));
    assert_eq!(pair.sent(1, "keepalive")[1..], [3_005, 7_001, 10_001].map(|at| at * MS));
}

/// RFC 6720 section 2.2: the peer discards what has not the TTL of a neighbour. From 1 s on the route of node 0
/// to node 1 leads elsewhere: nothing it sends would count, so that node 1 ends the session when it has
/// heard nothing for 9 s ("`KeepAlive` Timer Expired", 0x14 with the E bit). Without the check it stays.
#[test]
fn rfc6720_s2_2_a_session_needs_a_direct_route_if_the_ttl_is_checked() {
    for gtsm in [true, false] {
        let config = LdpConfig { gtsm, ..make_config() };
        let mut pair = Nodes::new(config, 2, chain(2), chain_routes(2, 2));
        pair.run(1_000 * MS);
        pair.set_route(0, 1, &[]);
        pair.run(12_000 * MS);
        let ended: Vec<(u64, u32)> =
            Some((9_007 * MS, 0x8000_0014)).filter(|_| gtsm).into_iter().collect();
        assert_eq!(pair.statuses(1), ended, "{gtsm}");
        assert_eq!(pair.times(1, RoutingEvent::SessionDown).len(), ended.len(), "{gtsm}");
        assert_eq!(pair.sent(0, "keepalive").len(), if gtsm { 1 } else { 4 });
    }
}

/// RFC 9293 section 3.5.2: a segment without a connection is answered by a reset on its ports, but for a reset;
/// here a FIN, which ends its connection, is not answered either.
#[test]
fn rfc9293_s3_5_2_a_segment_without_a_connection_is_reset() {
    let mut pair = Nodes::pair(2);
    let alien = StreamSegment { port: 50_000, from_active: true, ..StreamSegment::default() };
    let ends = [
        StreamSegment { rst: true, ..alien.clone() },
        StreamSegment { fin: true, ..alien.clone() },
    ];
    for segment in ends {
        pair.ldp.receive(1, LdpMessage::Segment(segment), &mut pair.link);
    }
    assert!(pair.link.octets.is_empty());
    pair.ldp.receive(1, LdpMessage::Segment(alien), &mut pair.link);
    let [(0, octets)] = &pair.segments(0, RST, FIN | SYN | ACK)[..] else { panic!("one reset") };
    assert_eq!(octets[..4], [646u16.to_be_bytes(), 50_000u16.to_be_bytes()].concat());
}

/// RFC 5036 section 2.7: a node sends packets of a FEC with the label that the next hop of its route has
/// advertised, pops with implicit null (RFC 3032 section 2.1), and swaps its own label for it. Section
/// 2.6.1: with independent control a node advertises a label for each route; with ordered control (2.6.1.2)
/// when its next hop has. Node 1 has no session with node 2 before 5 s.
#[test]
fn rfc5036_s2_6_1_a_label_is_advertised_at_once_or_after_that_of_the_next_hop() {
    for ordered in [false, true] {
        let config = LdpConfig { ordered, ..make_config() };
        let mut nodes = Nodes::new(config, 3, chain(3), chain_routes(3, 3));
        nodes.link.loss = |link, bytes| link > 1 && bytes.is_some();
        nodes.run(5_000 * MS);
        let known = nodes.entry(nodes.link.classes.get(&(0, 2)));
        let by_label = Some((Some(0), false, Some(300_001)));
        assert_eq!(known, by_label.filter(|_| !ordered));
        assert_eq!(nodes.entry(nodes.link.classes.get(&(0, 1))), Some((Some(0), false, None)));
        nodes.link.loss = |_, _| false;
        nodes.run(20_000 * MS);
        assert_eq!(nodes.entry(nodes.link.classes.get(&(0, 2))), by_label);
        assert_eq!(
            nodes.entry(nodes.link.classes.get(&(2, 0))),
            Some((Some(3), false, Some(300_000)))
        );
        let at_label =
            |nodes: &Nodes, node, label| nodes.entry(nodes.link.labels.get(&(node, label)));
        assert_eq!(at_label(&nodes, 1, 300_001), Some((Some(2), true, None)));
        assert_eq!(at_label(&nodes, 1, 300_000), Some((Some(1), true, None)));
        assert_eq!(at_label(&nodes, 0, 300_001), Some((Some(0), true, Some(300_001))));
        // Sections 3.5.10 and 3.5.11: a route that ends withdraws the label, and the peer releases it.
        nodes.set_route(1, 2, &[]);
        nodes.run(20_500 * MS);
        assert_eq!(nodes.sent(1, "label-withdraw"), [20_000 * MS]);
        assert_eq!(nodes.sent(0, "label-release"), [20_001 * MS]);
        assert_eq!(nodes.entry(nodes.link.classes.get(&(0, 2))), None);
        assert_eq!(at_label(&nodes, 1, 300_001), None);
        nodes.set_route(1, 2, &[2]);
        nodes.run(21_000 * MS);
        assert_eq!(nodes.entry(nodes.link.classes.get(&(0, 2))), by_label);
        // A session that ends takes all its labels along.
        nodes.ldp.link_changed(0, 1, true, &mut nodes.link);
        assert_eq!(nodes.link.classes.keys().filter(|(node, _)| *node == 0).count(), 0);
    }
}

/// Two links between nodes 0 and 1, over which they have one session (section 2.5.1: one of each pair of
/// label spaces). Packets take both links. When node 0 loses the first the session goes on over the second,
/// and with the first again a hello goes out on it at once.
#[test]
fn rfc5036_s2_5_1_a_session_of_two_links_lasts_while_one_of_them_does() {
    let lines = both([(0, 1, 1), (0, 1, 1)]);
    let routes = BTreeMap::from([((0, 1), vec![0, 2]), ((1, 0), vec![1, 3])]);
    let mut pair = Nodes::new(make_config(), 2, lines, routes);
    pair.run(1_500 * MS);
    assert_eq!(pair.times(0, RoutingEvent::SessionUp).len(), 1);
    let set = &pair.link.sets[&pair.link.classes[&(0, 1)]];
    let parts: Vec<_> = set.iter().map(|part| pair.entry(Some(part))).collect();
    assert_eq!(parts, [Some((Some(0), false, None)), Some((Some(2), false, None))]);
    assert_eq!((pair.sent(0, "address").len(), pair.sent(2, "address").len()), (1, 0));
    pair.ldp.link_changed(0, 1, true, &mut pair.link);
    pair.set_route(0, 1, &[2]);
    assert_eq!(pair.entry(pair.link.classes.get(&(0, 1))), Some((Some(2), false, None)));
    assert_eq!(pair.link.sets.len(), 2, "those of node 1 alone are left");
    pair.run(3_500 * MS);
    assert!(pair.times(0, RoutingEvent::SessionDown).is_empty());
    assert_eq!((pair.sent(0, "keepalive").len(), pair.sent(2, "keepalive").len()), (1, 1));
    let hellos = |pair: &Nodes| -> Vec<u64> {
        let of = |each: &&(u64, u32, Vec<u8>)| each.1 == 0 && each.2[..2] == each.2[2..4];
        pair.link.octets.iter().filter(of).map(|each| each.0 / MS).collect()
    };
    assert_eq!(hellos(&pair), [0, 1_000]);
    pair.ldp.link_changed(0, 1, false, &mut pair.link);
    pair.run(5_000 * MS);
    assert_eq!(hellos(&pair), [0, 1_000, 3_500, 4_500]);
}

/// Section 3.4.1 and 3.5.2: hold and `KeepAlive` times are whole seconds, here the next ones above; 0xffff is
/// no time but infinity.
#[test]
fn rfc5036_s3_5_2_times_are_whole_seconds_below_infinity() {
    for (span, seconds) in [(2_000 * MS, 2), (2_000 * MS + 1, 3), (70_000_000 * MS, 0xfffe)] {
        let config = LdpConfig { hello_hold_ns: span, keepalive_ns: span, ..make_config() };
        let mut pair = Nodes::new(config, 2, chain(2), chain_routes(2, 2));
        pair.run(10 * MS);
        // Behind UDP 8, PDU 10, message 8 and TLV 4; behind TCP 20, 10, 8, 4 and the version 2.
        let hello = &pair.link.octets.iter().find(|each| each.1 == 1).expect("a hello").2;
        assert_eq!(hello[30..32], u16::to_be_bytes(seconds));
        let [(_, opening), ..] = pair.segments(1, 8, 0)[..] else { panic!("an initialization") };
        assert_eq!(opening[44..46], u16::to_be_bytes(seconds));
    }
}
