//! Sessions of LDP by hand (RFC 5036): two nodes and a link of 1 ms that can lose messages.

mod support;

use std::collections::VecDeque;
use support::{chain, MS};
use trunkline_control::ldp::{Ldp, LdpConfig, LdpMessage, StreamSegment, KINDS};
use trunkline_control::{
    ForwardingEntry, LabelBinding, Message, NetworkPlane, OutgoingMessage, ProtocolNotice,
    RoutingEvent, SignallingRow,
};

const KEEPALIVE: u64 = 9_000 * MS;

/// What a link loses: a message of a node, by its payload [B].
type Loss = fn(node: u32, bytes: u32) -> bool;

/// The link: 0 leads from node 0 to node 1, 1 back. Every other node is behind it.
struct Link {
    now: u64,
    loss: Loss,
    under_way: VecDeque<(u64, u32, LdpMessage)>,
    /// Time, node, kind and payload [B] of what was sent in sessions.
    sent: Vec<(u64, u32, &'static str, u32)>,
    /// Time and node of what arrived with a payload.
    heard: Vec<(u64, u32)>,
    events: Vec<(u64, u32, RoutingEvent)>,
    installed: u32,
}

impl NetworkPlane for Link {
    fn now(&self) -> u64 {
        self.now
    }
    fn send(&mut self, link: u32, outgoing: OutgoingMessage) {
        let Message::Ldp(message) = outgoing.message else { unreachable!("only LDP runs") };
        let bytes = if let LdpMessage::Segment(segment) = &message {
            let kind = KINDS[usize::from(outgoing.kind)];
            self.sent.push((self.now, link, kind, segment.bytes));
            segment.bytes
        } else {
            0
        };
        if matches!(message, LdpMessage::Hello) || !(self.loss)(link, bytes) {
            self.under_way.push_back((self.now + MS, link, message));
        }
    }
    fn tunnel(&mut self, _: u32, _: u32, _: OutgoingMessage) {
        unreachable!("LDP has no tunnels")
    }
    fn install(&mut self, _: ForwardingEntry) -> u32 {
        self.installed += 1;
        self.installed
    }
    fn install_set(&mut self, _: &[u32]) -> u32 {
        unreachable!("there is one link")
    }
    fn withdraw(&mut self, _: u32) {}
    fn bind_label(&mut self, _: u32, _: u32, _: Option<u32>) {}
    fn bind_class(&mut self, _: u32, _: u16, _: &[u8], _: Option<u32>) {}
    fn set_routes(&mut self, _: u32, _: u32, _: &[u32]) {}
    fn routes(&self, node: u32, destination: u32) -> Vec<u32> {
        if node < 2 && node != destination {
            vec![node]
        } else {
            Vec::new()
        }
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

struct Pair {
    ldp: Ldp,
    link: Link,
}

impl Pair {
    fn new(nodes: u32) -> Self {
        let config = LdpConfig {
            flow: 0,
            start_ns: 0,
            hello_ns: 1_000 * MS,
            hello_hold_ns: 3_000 * MS,
            keepalive_ns: KEEPALIVE,
            resend_ns: 1_000 * MS,
            retry_ns: 15_000 * MS,
            gtsm: true,
            ordered: false,
            first_fec: 0,
        };
        let mut link = Link {
            now: 0,
            loss: |_, _| false,
            under_way: VecDeque::new(),
            sent: Vec::new(),
            heard: Vec::new(),
            events: Vec::new(),
            installed: 0,
        };
        let mut ldp = Ldp::new(config, nodes, chain(2), 0);
        ldp.start(&mut link);
        Self { ldp, link }
    }

    fn run(&mut self, until: u64) {
        loop {
            let arrival = self.link.under_way.front().map_or(u64::MAX, |message| message.0);
            let at = arrival.min(self.ldp.due());
            if at > until {
                self.link.now = until;
                return;
            }
            self.link.now = at;
            if self.ldp.due() <= at {
                self.ldp.wake(&mut self.link);
            } else if let Some((_, line, message)) = self.link.under_way.pop_front() {
                if matches!(&message, LdpMessage::Segment(segment) if segment.bytes > 0) {
                    self.link.heard.push((at, 1 - line));
                }
                self.ldp.receive(line, message, &mut self.link);
            }
        }
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
    let mut pair = Pair::new(60);
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
    let mut pair = Pair::new(2);
    pair.run(10_000 * MS);
    assert_eq!(pair.times(0, RoutingEvent::SessionUp).len(), 1);
    let of = |each: &&(u64, u32)| each.1 == 0;
    let last = pair.link.heard.iter().rev().find(of).expect("node 1 spoke").0;
    assert!(last > 10_000 * MS - KEEPALIVE / 3);
    pair.link.loss = |node, bytes| node == 1 && bytes > 0;
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
    let mut pair = Pair::new(2);
    pair.run(1_000 * MS);
    let [up] = pair.times(0, RoutingEvent::SessionUp)[..] else { panic!("one session") };
    pair.run(up + KEEPALIVE / 3 - MS);
    pair.link.loss = |_, _| true;
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
