//! OSPF by hand (RFC 2328): which messages routers send.

mod support;

use support::{chain, Wires, MS};
use trunkline_control::ospf::config::{OspfConfig, SpfDelay};
use trunkline_control::ospf::{Ospf, OspfMessage};
use trunkline_control::Message;

/// Link-state update among the types of packets (appendix A.3.1).
const UPDATE: u8 = 4;

/// Routers 0 - 1 - 2; links: 0 0>1, 1 1>0, 2 1>2, 3 2>1.
struct Routers {
    ospf: Ospf,
    wires: Wires,
}

impl Routers {
    fn new() -> Self {
        let spf = SpfDelay::Backoff { initial_ns: MS, second_ns: MS, maximum_ns: MS };
        let config = OspfConfig {
            flow: 0,
            processing_ns: 0,
            resend_ns: 1_000_000 * MS,
            lsa_interval_ns: 0,
            lsa_arrival_ns: 0,
            te: None,
            hello_ns: None,
            dead_ns: 40_000 * MS,
            spf,
            compute_ns: 0,
            fib_update_ns: vec![0; 3],
            local_delay_ns: 0,
            multipath: false,
            ldp_sync: true,
        };
        let lines = chain(3);
        Self { ospf: Ospf::new(config, 3, lines.clone(), 1), wires: Wires::new(lines) }
    }

    /// A router's LDP session changes; returns what is sent within a second.
    fn change_session(&mut self, node: u32, peer: u32, up: bool) -> Vec<(u32, OspfMessage)> {
        self.ospf.session_changed(node, peer, up, &mut self.wires);
        self.list_sent()
    }

    /// Messages of the next second by their links, which do not arrive.
    fn list_sent(&mut self) -> Vec<(u32, OspfMessage)> {
        self.wires.now += 1000 * MS;
        self.ospf.wake(&mut self.wires);
        let of_ospf = |(link, message)| match message {
            Message::Ospf(message) => (link, message),
            other => unreachable!("only OSPF runs: {other:?}"),
        };
        self.wires.take_messages().into_iter().map(of_ospf).collect()
    }

    /// A message arrives; returns what is sent.
    fn hear(&mut self, (link, message): (u32, OspfMessage)) -> Vec<(u32, OspfMessage)> {
        self.ospf.receive(link, message, &mut self.wires);
        self.list_sent()
    }

    /// Type of the last packet, and sequence number of the first LSA in it if it is an update: behind 24
    /// octets of header and 4 of a count the LSA's are 12 to 15 (appendices A.3.5 and A.4.1).
    fn last_packet(&self) -> (u8, [u8; 4]) {
        let octets = &self.wires.octets.last().expect("one was sent").2;
        (octets[1], octets[40..44].try_into().expect("four octets"))
    }
}

/// Links of messages that are updates.
fn links(messages: &[(u32, OspfMessage)]) -> Vec<u32> {
    assert!(messages.iter().all(|message| matches!(message.1, OspfMessage::Update(_))));
    messages.iter().map(|message| message.0).collect()
}

/// Links of messages that are acknowledgments.
fn acknowledged(messages: &[(u32, OspfMessage)]) -> Vec<u32> {
    let is_acknowledgment = |it: &OspfMessage| matches!(it, OspfMessage::Acknowledgment(_));
    assert!(messages.iter().all(|message| is_acknowledgment(&message.1)));
    messages.iter().map(|message| message.0).collect()
}

/// Router 1 raises the metric of link 2 when its session with router 2 ends, and takes it back when the
/// session is up again: an LSA each time, to both neighbours (RFC 2328 section 12.4: a new instance
/// when the contents change). A session that comes up for the first time, or is where it was, or is
/// with a router that is no neighbour or no longer adjacent, changes no metric in use: no LSA.
#[test]
fn rfc5443_s2_a_router_lsa_goes_out_when_the_metric_changes_and_only_then() {
    let mut routers = Routers::new();
    assert_eq!(links(&routers.change_session(1, 2, true)), [0; 0]);
    assert_eq!(links(&routers.change_session(1, 2, false)), [1, 2]);
    assert_eq!(links(&routers.change_session(1, 2, false)), [0; 0]);
    assert_eq!(links(&routers.change_session(1, 2, true)), [1, 2]);
    assert_eq!(links(&routers.change_session(0, 2, false)), [0; 0]);
    // Router 1 hears nothing more over link 3: an LSA without link 2, to router 0 alone.
    routers.ospf.link_changed(1, 3, true, &mut routers.wires);
    assert_eq!(links(&routers.list_sent()), [1]);
    assert_eq!(links(&routers.change_session(1, 2, false)), [0; 0]);
}

/// An update with an older instance than the own copy is answered by the own copy, and by nothing else
/// (section 13, step 8); one with the same instance by an acknowledgment, and one with a newer by an
/// acknowledgment and by flooding: router 0 has no other neighbour.
#[test]
fn rfc2328_s13_8_who_sends_an_older_instance_is_sent_the_newer() {
    let mut routers = Routers::new();
    let mut originate = |up| {
        let mut sent = routers.change_session(1, 2, up);
        (sent.remove(0), routers.last_packet().1)
    };
    let ((old, _), (new, sequence)) = (originate(false), originate(true));
    assert_eq!((old.0, new.0), (1, 1));
    assert_eq!(acknowledged(&routers.hear(new.clone())), [0]);
    assert_eq!(acknowledged(&routers.hear(new)), [0]);
    assert_eq!(links(&routers.hear(old)), [0]);
    assert_eq!(routers.last_packet(), (UPDATE, sequence));
}
