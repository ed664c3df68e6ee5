//! OSPF by hand (RFC 2328): which messages routers send.

mod support;

use std::sync::Arc;
use support::{both, chain, Wires, MS};
use trunkline_control::ospf::config::{LinkTe, OspfConfig, SpfDelay};
use trunkline_control::ospf::{Ospf, OspfMessage};
use trunkline_control::{LinkNews, Message, ProtocolNotice, RoutingEvent, SignalledLink};

/// Types of packets (appendix A.3.1).
const HELLO: u8 = 1;
const UPDATE: u8 = 4;
const ACKNOWLEDGMENT: u8 = 5;
const SECOND: u64 = 1000 * MS;

/// Routers 0 - 1 - 2; links: 0 0>1, 1 1>0, 2 1>2, 3 2>1.
struct Routers {
    ospf: Ospf,
    wires: Wires,
}

fn make_config() -> OspfConfig {
    OspfConfig {
        flow: 0,
        processing_ns: 0,
        resend_ns: 1_000_000 * MS,
        lsa_interval_ns: 0,
        lsa_arrival_ns: 0,
        te: None,
        hello_ns: None,
        dead_ns: 40_000 * MS,
        spf: SpfDelay::Backoff { initial_ns: MS, second_ns: MS, maximum_ns: MS },
        compute_ns: 0,
        fib_update_ns: vec![0; 10],
        local_delay_ns: 0,
        multipath: false,
        ldp_sync: true,
    }
}

/// A packet that was sent: when, on which link, its type and its octets.
type Sent = (u64, u32, u8, Vec<u8>);

impl Routers {
    fn new() -> Self {
        Self::with(make_config(), 3, chain(3))
    }

    fn with(config: OspfConfig, nodes: u32, lines: Vec<SignalledLink>) -> Self {
        let mut wires = Wires::new(lines.clone());
        let mut ospf = Ospf::new(config, nodes, lines, 1);
        ospf.start(&mut wires);
        Self { ospf, wires }
    }

    /// Serves timers, and messages as they arrive if they do, until a time.
    fn run(&mut self, until: u64, messages_arrive: bool) {
        loop {
            let arrival = if messages_arrive { self.wires.due() } else { u64::MAX };
            let at = arrival.min(self.ospf.due());
            if at > until {
                self.wires.now = until;
                return;
            }
            self.wires.now = at;
            if self.ospf.due() <= at {
                self.ospf.wake(&mut self.wires);
            } else if let Some((link, Message::Ospf(message))) = self.wires.take_message() {
                self.ospf.receive(link, message, &mut self.wires);
            }
        }
    }

    /// Packets sent since the last call.
    fn take_sent(&mut self) -> Vec<Sent> {
        let octets = std::mem::take(&mut self.wires.octets);
        let sent = std::mem::take(&mut self.wires.sent);
        sent.into_iter().zip(octets).map(|(sent, it)| (sent.0, sent.1, it.2[1], it.2)).collect()
    }

    /// Router 1 advertises link 2 with the largest metric, or uses it again.
    fn drain(&mut self, is_drained: bool) {
        self.ospf.drain_link(2, is_drained, &mut self.wires);
    }

    /// Times of an event at a router.
    fn times(&self, event: RoutingEvent, node: u32) -> Vec<u64> {
        let of = |each: &&(u64, RoutingEvent, u32, Option<u32>)| (each.1, each.2) == (event, node);
        self.wires.routing_events.iter().filter(of).map(|each| each.0).collect()
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

/// When, on which link and of which type.
fn outline(sent: &[Sent]) -> Vec<(u64, u32, u8)> {
    sent.iter().map(|each| (each.0 / MS, each.1, each.2)).collect()
}

fn read_word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// Sequence number of the first LSA of an update, and the metrics of its links: behind 24 octets of the
/// header and 4 of a count come an LSA's header of 20, 4 octets with the number of links in the last two, and
/// links of 12 with the metric in the last two; the last link is the router's address (A.3.5, A.4.2).
fn read_router_lsa(octets: &[u8]) -> (u32, Vec<u32>) {
    let links = read_word(octets, 48) & 0xffff;
    let metrics = (1..links).map(|link| read_word(octets, 48 + 12 * link as usize) & 0xffff);
    (read_word(octets, 40), metrics.collect())
}

/// Section 12.4 with `MinLSInterval` of 5 s: the first change is advertised at once, with the sequence
/// number behind 0x80000001 (12.1.6); those at 1, 2 and 3 s in one LSA at 5 s. RFC 6987 section 2: a link that
/// is drained has the metric 0xffff. At 10 s the next may be advertised at once again.
#[test]
fn rfc2328_s12_4_a_router_lsa_follows_the_one_before_after_min_ls_interval() {
    let config = OspfConfig { lsa_interval_ns: 5 * SECOND, ..make_config() };
    let mut routers = Routers::with(config, 3, chain(3));
    for (at, is_drained) in [(0, true), (1, false), (2, true), (3, false), (10, true)] {
        routers.run(at * SECOND, false);
        routers.drain(is_drained);
        // Nothing changes by the second of two such orders.
        routers.drain(is_drained);
    }
    let sent = routers.take_sent();
    let both_links = |at| [(at, 1, UPDATE), (at, 2, UPDATE)];
    assert_eq!(outline(&sent), [0, 5_000, 10_000].map(both_links).concat());
    let lsas: Vec<(u32, Vec<u32>)> =
        sent.iter().step_by(2).map(|it| read_router_lsa(&it.3)).collect();
    let expected = [(2, 0xffff), (3, 1), (4, 0xffff)];
    assert_eq!(lsas, expected.map(|(number, metric)| (0x8000_0000 + number, vec![1, metric])));
    assert_eq!(routers.times(RoutingEvent::Originated, 1), [0, 5, 10].map(|at| at * SECOND));
}

/// Section 13 step 5 (a) with `MinLSArrival` of 1 s: router 0 has taken in an instance from router 1; the next
/// one is discarded without an acknowledgment until 1 s later, and acknowledged from then on.
#[test]
fn rfc2328_s13_5_a_an_instance_within_min_ls_arrival_of_the_last_is_discarded() {
    let config = OspfConfig { lsa_arrival_ns: SECOND, ..make_config() };
    let mut routers = Routers::with(config, 3, chain(3));
    let updates = [true, false].map(|is_drained| {
        routers.drain(is_drained);
        routers.wires.take_messages().remove(0)
    });
    let mut hear = |at: u64, number: usize| {
        routers.run(at * MS, false);
        routers.take_sent();
        let (link, Message::Ospf(message)) = updates[number].clone() else { unreachable!() };
        routers.ospf.receive(link, message, &mut routers.wires);
        routers.run((at + 1) * MS, false);
        outline(&routers.take_sent())
    };
    assert_eq!(hear(2_000, 0), [(2_000, 0, ACKNOWLEDGMENT)]);
    assert_eq!(hear(2_998, 1), []);
    assert_eq!(hear(3_000, 1), [(3_000, 0, ACKNOWLEDGMENT)]);
    assert_eq!(routers.times(RoutingEvent::Learnt, 0), [2_000 * MS, 3_000 * MS]);
}

/// Section 13.6 with `RxmtInterval` of 5 s: an LSA goes out again every 5 s to a neighbour until an
/// acknowledgment of this instance comes (13.7), or the instance itself (13 step 7 (a)), which is then not
/// acknowledged. A later LSA begins anew.
#[test]
fn rfc2328_s13_6_an_lsa_is_sent_again_until_it_is_acknowledged() {
    let config = OspfConfig { resend_ns: 5 * SECOND, ..make_config() };
    let mut routers = Routers::with(config, 3, chain(3));
    routers.drain(true);
    let (_, Message::Ospf(own)) = routers.wires.take_messages().remove(0) else { unreachable!() };
    routers.run(11 * SECOND, false);
    let both_links = |at| [(at, 1, UPDATE), (at, 2, UPDATE)];
    let sent = routers.take_sent();
    assert_eq!(outline(&sent), [0, 5_000, 10_000].map(both_links).concat());
    assert!(sent.iter().all(|each| each.3 == sent[0].3), "copies");
    // Place 1, instance 1; of another instance it says nothing.
    for instance in [0, 2, 1] {
        let message = OspfMessage::Acknowledgment(vec![(1, instance)]);
        let link = if instance == 1 { 0 } else { 3 };
        routers.ospf.receive(link, message, &mut routers.wires);
    }
    routers.run(16 * SECOND, false);
    assert_eq!(outline(&routers.take_sent()), [(15_000, 2, UPDATE)]);
    routers.ospf.receive(3, own, &mut routers.wires);
    routers.run(30 * SECOND, false);
    assert_eq!(outline(&routers.take_sent()), []);
    routers.drain(false);
    routers.run(36 * SECOND, false);
    assert_eq!(outline(&routers.take_sent()), [30_000, 35_000].map(both_links).concat());
}

/// Section 9.5 and A.3.2: a hello each 10 s on each link with network mask 0, interval, options, priority,
/// dead interval of 40 s, no designated routers and the neighbour that is heard. Section 10.2: a neighbour is
/// lost 40 s after its last hello, of 100 s; router 1 then lists link 2 alone and its hellos on link 1 no
/// neighbour. A hello of 150 s finds it again: it is sent the database, one LSA of each router.
#[test]
fn rfc2328_s9_5_a_neighbour_is_lost_without_a_hello_for_the_dead_interval() {
    let config = OspfConfig { hello_ns: Some(10 * SECOND), ..make_config() };
    let mut routers = Routers::with(config, 3, chain(3));
    let hear = |routers: &mut Routers, at: u64, links: &[u32]| {
        routers.run(at * SECOND, false);
        for link in links {
            routers.ospf.receive(*link, OspfMessage::Hello, &mut routers.wires);
        }
    };
    for at in (0..=100).step_by(10) {
        hear(&mut routers, at, &[0, 1, 2, 3]);
    }
    let sent = routers.take_sent();
    for link in 0..4 {
        let own: Vec<&Sent> = sent.iter().filter(|each| each.1 == link).collect();
        assert_eq!(own.len(), 10, "link {link}");
        assert!(own[0].0 < 10 * SECOND);
        assert!(own.windows(2).all(|pair| pair[1].0 - pair[0].0 == 10 * SECOND));
        let neighbour = [1, 0, 2, 1][link as usize];
        let body =
            [0, 0, 0, 0, 0, 10, 2, 1, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, neighbour + 1];
        assert!(
            own.iter().all(|each| (each.2, &each.3[24..]) == (HELLO, &body[..])),
            "link {link}"
        );
    }
    for at in [110, 120, 130, 140] {
        hear(&mut routers, at, &[1, 2, 3]);
    }
    assert_eq!(routers.times(RoutingEvent::Originated, 1), [140 * SECOND]);
    let lsas: Vec<Sent> = routers.take_sent().into_iter().filter(|each| each.2 == UPDATE).collect();
    assert_eq!(outline(&lsas), [(140_000, 2, UPDATE)]);
    assert_eq!(read_router_lsa(&lsas[0].3).1, [1]);
    hear(&mut routers, 150, &[0, 1, 2, 3]);
    let sent = routers.take_sent();
    let alone = |each: &&Sent| each.1 == 1 && each.2 == HELLO;
    assert!(sent.iter().filter(alone).all(|each| each.3.len() == 24 + 20));
    let updates: Vec<&Sent> = sent.iter().filter(|each| each.2 == UPDATE).collect();
    let numbers: Vec<(u32, u32)> =
        updates.iter().map(|each| (each.1, read_word(&each.3, 24))).collect();
    assert_eq!(numbers, [(1, 1), (2, 1), (1, 3)]);
    assert_eq!(read_router_lsa(&updates[0].3).1, [1, 1]);
}

/// A link that detection reports to be down is not found again by a hello that was under way, but by
/// detection: then the database of ten routers goes out, eight LSAs to a packet.
#[test]
fn rfc5882_s4_a_link_that_detection_reports_stays_down_until_it_reports_it_again() {
    let mut routers = Routers::with(make_config(), 10, chain(10));
    routers.ospf.link_changed(1, 0, true, &mut routers.wires);
    routers.ospf.link_changed(1, 0, true, &mut routers.wires);
    assert_eq!(outline(&routers.take_sent()), [(0, 2, UPDATE)]);
    routers.ospf.receive(0, OspfMessage::Hello, &mut routers.wires);
    routers.run(MS, false);
    assert_eq!(outline(&routers.take_sent()), []);
    routers.ospf.link_changed(1, 0, false, &mut routers.wires);
    let counts: Vec<(u32, u32)> =
        routers.take_sent().iter().map(|each| (each.1, read_word(&each.3, 24))).collect();
    assert_eq!(counts, [(1, 1), (2, 1), (1, 8), (1, 2)]);
}

/// An update of router 1 comes to router 0 at 10 ms: it is handled 2 ms later, routes are computed after 30 ms
/// more, which takes 5 ms, and are in use after the 7 ms of router 0. Router 2 can no longer be reached;
/// the route to router 1 stays. A change of a metric alone changes no route.
#[test]
fn rfc2328_s16_a_change_leads_to_routes_one_step_after_the_other() {
    let config = OspfConfig {
        processing_ns: 2 * MS,
        spf: SpfDelay::Backoff { initial_ns: 30 * MS, second_ns: MS, maximum_ns: MS },
        compute_ns: 5 * MS,
        fib_update_ns: vec![7 * MS, 70 * MS, 700 * MS],
        ..make_config()
    };
    let mut routers = Routers::with(config, 3, chain(3));
    routers.drain(true);
    let metric = routers.wires.take_messages().remove(0);
    routers.ospf.link_changed(1, 3, true, &mut routers.wires);
    let lost = routers.wires.take_messages().remove(0);
    let mut hear = |at: u64, (link, message): (u32, Message)| {
        routers.run(at * MS, false);
        let Message::Ospf(message) = message else { unreachable!() };
        routers.wires.routes.clear();
        routers.wires.routing_events.clear();
        routers.ospf.receive(link, message, &mut routers.wires);
        routers.run((at + 500) * MS, false);
        let of = |event| routers.times(event, 0).iter().map(|at| at / MS).collect::<Vec<u64>>();
        let own = routers.wires.routes.iter().filter(|each| each.1 == 0);
        let routes: Vec<_> = own.map(|each| (each.0 / MS, each.2, each.3.clone())).collect();
        let events = [RoutingEvent::Learnt, RoutingEvent::Computed, RoutingEvent::Rerouted];
        (events.map(of), routes)
    };
    assert_eq!(hear(1_000, metric), ([vec![1_002], vec![1_032], vec![]], vec![]));
    let expected = [vec![2_002], vec![2_032], vec![2_044]];
    assert_eq!(hear(2_000, lost), (expected, vec![(2_044, 2, vec![])]));
}

/// When the routes of router 1 to router 2 are in use, where it loses its link to it in a triangle at 0 and
/// computes routes 1 ms later: what else happens, in turn, and the delay of RFC 8333.
fn reroute_in_triangle(delay: u64, others: &[fn(&mut Routers)]) -> Vec<u64> {
    let config = OspfConfig { local_delay_ns: delay, ..make_config() };
    let mut routers = Routers::with(config, 3, both([(0, 1, 1), (1, 2, 1), (0, 2, 1)]));
    routers.ospf.link_changed(1, 3, true, &mut routers.wires);
    for (number, other) in (0..).zip(others) {
        routers.run(20 * MS * number, true);
        other(&mut routers);
    }
    routers.run(200 * MS, true);
    let of = |each: &&(u64, u32, u32, Vec<u32>)| (each.1, each.2, &each.3[..]) == (1, 2, &[1]);
    routers.wires.routes.iter().filter(of).map(|each| each.0 / (MS / 10)).collect()
}

/// RFC 8333 section 5.4: `ULOOP_DELAY_DOWN_TIMER` of 50 ms runs from the computation of the routes. Section 5.3:
/// the LSA of the other end of the lost link does not end it, that of any other change does, here of router 0
/// at 20 ms, which comes 4.1 ms later, and the return of the link does at once.
#[test]
fn rfc8333_s5_a_router_delays_its_routes_after_the_loss_of_its_own_link_alone() {
    let nothing: fn(&mut Routers) = |_| {};
    let other_end: fn(&mut Routers) =
        |routers| routers.ospf.link_changed(2, 2, true, &mut routers.wires);
    let other_change: fn(&mut Routers) =
        |routers| routers.ospf.drain_link(0, true, &mut routers.wires);
    let back: fn(&mut Routers) =
        |routers| routers.ospf.link_changed(1, 3, false, &mut routers.wires);
    assert_eq!(reroute_in_triangle(0, &[nothing]), [10]);
    assert_eq!(reroute_in_triangle(50 * MS, &[nothing]), [510]);
    assert_eq!(reroute_in_triangle(50 * MS, &[other_end]), [510]);
    // 20 of IP, 24, 4, 20, 4 and 3 links of 12: 108 octets at 10 Mbit/s take 0.0864 ms besides 4 ms.
    assert_eq!(reroute_in_triangle(50 * MS, &[other_end, other_change]), [240]);
    assert_eq!(reroute_in_triangle(50 * MS, &[nothing, back]), [200]);
}

/// Routers 0, 1 and 2 that advertise 10 Mbit/s of each link.
fn offering(lsa_interval_ns: u64, lines: Vec<SignalledLink>) -> Routers {
    let offer =
        LinkTe { metric: 1, reservable_bit_s: 10_000_000, unreserved_bit_s: None, colours: 0 };
    let te = Some(vec![offer; lines.len()]);
    Routers::with(OspfConfig { te, lsa_interval_ns, ..make_config() }, 3, lines)
}

/// RFC 3630 section 2.4.2: the unreserved bandwidth of link 2 has changed, and router 1 advertises it at once
/// in an opaque LSA (type 10, RFC 5250), from which routers 0 and 2 learn it. RFC 2328 section 12.4: the
/// next one follows after 5 s, and none does if the bandwidth is what it was.
#[test]
fn rfc3630_s2_4_2_a_change_of_bandwidth_is_advertised_unless_it_is_undone_in_time() {
    let mut routers = offering(5 * SECOND, chain(3));
    for (at, bandwidth) in [(0, 4), (1, 9), (2, 4), (6, 3), (7, 2)] {
        routers.run(at * SECOND, true);
        routers.ospf.update_te_link(2, Arc::new([bandwidth; 8]), &mut routers.wires);
    }
    routers.run(20 * SECOND, true);
    assert_eq!(routers.times(RoutingEvent::Offered, 1), [0, 6, 11].map(|at| at * SECOND));
    let sent = routers.take_sent();
    let own: Vec<&Sent> = sent.iter().filter(|each| each.1 == 1 && each.2 == UPDATE).collect();
    assert!(own.iter().all(|each| each.3[24 + 4 + 3] == 10));
    for node in 0..3 {
        let of = |notice: &&ProtocolNotice| matches!(notice, ProtocolNotice::Learnt { node: it, .. } if *it == node);
        let learnt: Vec<_> = routers.wires.notices.iter().filter(of).cloned().collect();
        let expected = [4, 3, 2].map(|bandwidth| ProtocolNotice::Learnt {
            node,
            link: 2,
            news: LinkNews::Unreserved(Arc::new([bandwidth; 8])),
        });
        assert_eq!(learnt, expected, "node {node}");
    }
}

/// RFC 2328 section 16.1 (2) (b): a link is there for traffic engineering if the routers at both its ends
/// list it. In a triangle router 1 and then router 2 lose the link between them, and find it in turn: all
/// hear of each change, and the link is there after the last.
#[test]
fn rfc2328_s16_1_2_b_a_link_is_up_for_traffic_engineering_if_both_ends_list_it() {
    let mut routers = offering(0, both([(0, 1, 1), (1, 2, 1), (0, 2, 1)]));
    let changes =
        [(1, 3, true, false), (2, 2, true, false), (1, 3, false, false), (2, 2, false, true)];
    for (at, (node, link, is_lost, is_there)) in (1..).zip(changes) {
        routers.wires.notices.clear();
        routers.ospf.link_changed(node, link, is_lost, &mut routers.wires);
        routers.run(at * SECOND, true);
        let state = |notice: &ProtocolNotice| match notice {
            ProtocolNotice::Learnt { node, link, news: LinkNews::Up(up) } => {
                Some((*node, *link, *up))
            }
            _ => None,
        };
        let mut found: Vec<_> = routers.wires.notices.iter().filter_map(state).collect();
        found.sort_unstable();
        let expected: Vec<_> =
            (0..3).flat_map(|node| [(node, 2, is_there), (node, 3, is_there)]).collect();
        assert_eq!(found, expected, "change {at}");
    }
}

/// Without traffic engineering no router learns of links for it, and no LSA has them.
#[test]
fn without_traffic_engineering_nothing_is_learnt_for_it() {
    let mut routers = Routers::new();
    routers.ospf.update_te_link(2, Arc::new([1; 8]), &mut routers.wires);
    routers.ospf.link_changed(1, 3, true, &mut routers.wires);
    routers.run(SECOND, true);
    assert!(routers.wires.notices.is_empty());
    assert!(routers.times(RoutingEvent::Offered, 1).is_empty());
}
