//! Local repair by hand (RFC 4090): bypass tunnels, detours, what messages say, and what is left.

mod support;

use std::collections::BTreeSet;
use support::{both, config, dynamic, session, Network, MS};
use trunkline_control::rsvp::config::{Action, Binding, Order, Protection, Session};
use trunkline_control::SignalledLink;

/// 0 - 1 - 2 - 3 and a node 4 next to it. Links: 0 0>1, 2 1>2, 4 2>3, 6 1>4, 8 4>2, 10 4>3, 12 0>4;
/// odd ones lead back.
fn ladder() -> Vec<SignalledLink> {
    let pairs = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 2), (4, 3), (0, 4)];
    both(pairs.map(|(from, to)| (from, to, 1)))
}

fn protection(one_to_one: bool, node: bool) -> Protection {
    Protection { one_to_one, node, bandwidth: false, computed: true, detours: Vec::new() }
}

/// The path 0 - 1 - 2 - 3.
fn protected(one_to_one: bool, node: bool) -> Session {
    let mut new_session = session("trunk", 4, 1_000_000);
    new_session.protection = Some(protection(one_to_one, node));
    new_session
}

/// A bypass tunnel over two links.
fn bypass(route: [u32; 2], around: &[u32]) -> Session {
    let mut new_session = session("other", 3, 0);
    (new_session.route, new_session.around) = (route.to_vec(), around.to_vec());
    new_session
}

fn network(sessions: Vec<Session>) -> Network {
    let mut rsvp_config = config(14, sessions);
    // A state lives for 5.25 s.
    rsvp_config.refresh_ns = 1_000 * MS;
    Network::new(5, ladder(), rsvp_config)
}

impl Network {
    /// A connection fails or comes back, and both its ends notice.
    fn change(&mut self, link: u32, down: bool) {
        let [there, back] = [link, link + 1];
        for each in [there, back] {
            self.wires.dead[each as usize] = down;
            let node = self.wires.lines[each as usize].to;
            self.rsvp.link_changed(node, each, down, &mut self.wires);
        }
    }

    /// Operation for a label at a node: out-link, label below and label put on.
    fn does(&self, node: u32, label: u32) -> (Option<u32>, Option<u32>, Option<u32>) {
        let entry = self.wires.entries[&self.wires.labels[&(node, label)]];
        (entry.link, entry.inner, entry.push)
    }

    /// Octets of the last message of a kind, from its common header on.
    fn last(&self, kind: &str, before: u64) -> &[u8] {
        let of = |message: &&(u64, &str, Vec<u8>)| message.1 == kind && message.0 <= before;
        &self.wires.octets.iter().rev().find(of).expect("it was sent").2
    }
}

/// Body of the first object of a class (RFC 2205 section 3.1.2).
fn object(octets: &[u8], class: u8) -> Option<&[u8]> {
    let mut at = 8;
    while at < octets.len() {
        let length = usize::from(octets[at]) << 8 | usize::from(octets[at + 1]);
        if octets[at + 2] == class {
            return Some(&octets[at + 4..at + length]);
        }
        at += length;
    }
    None
}

/// To 144 + 8 a hop of a Path come FAST_REROUTE 24 and RECORD_ROUTE 4 + 8 for each node passed: 204
/// bytes on each of three links; to the 128 of a Resv 4 + 16 for each node passed. Flags: local
/// protection, label recording, SE style and node protection desired; facility backup desired.
#[test]
fn rfc4090_s4_1_and_4_3_objects_and_flags_of_a_protected_path() {
    let mut network = network(vec![protected(false, true)]);
    network.run(100 * MS);
    let sizes = |kind| network.sent(kind).iter().map(|message| message.1).collect::<Vec<_>>();
    assert_eq!(sizes("path"), [204, 204, 204]);
    assert_eq!(sizes("resv"), [148, 164, 180]);
    let path = network.last("path", 100 * MS);
    assert_eq!(object(path, 205).map(|octets| octets[..4].to_vec()), Some(vec![7, 7, 255, 2]));
    assert_eq!(object(path, 207).map(|octets| octets[2]), Some(0x01 | 0x02 | 0x04 | 0x10));
    // The last node that it passed is first.
    let record = object(path, 21).expect("a route is recorded");
    let nodes: Vec<u8> = record.chunks(8).map(|octets| octets[5]).collect();
    assert_eq!(nodes, [3, 2, 1]);
}

/// Node 1 puts the label that node 2 recorded below that of the tunnel, and the Path of 204 bytes
/// through it: 204 + 4 bytes to node 4, 204 on to node 2, 4 ms each. The Resv of 164 comes back on
/// the tunnel's links.
#[test]
fn rfc4090_s6_4_3_the_node_before_the_failure_sends_the_path_through_its_bypass_tunnel() {
    let mut network = network(vec![protected(false, false), bypass([6, 8], &[2])]);
    network.run(500 * MS);
    assert_eq!(network.does(1, 500_000), (Some(2), None, Some(500_000)));
    let available: Vec<u8> = object(network.last("resv", 500 * MS), 21)
        .map_or(Vec::new(), |octets| octets.chunks(16).map(|node| node[7]).collect());
    assert_eq!(available, [1, 0, 0]);
    let sent = network.sent("path").len();
    network.change(2, true);
    assert_eq!(network.events("repaired"), [500 * MS]);
    // At node 4 the tunnel's label is the first that it gives out.
    assert_eq!(network.does(1, 500_000), (Some(6), Some(500_000), Some(500_000)));
    assert_eq!(network.sent("path")[sent..], [(500 * MS, 204)]);
    let path = network.last("path", 500 * MS).to_vec();
    // Sender and next route: node 1 has its own address; node 2 is the first hop left.
    assert_eq!(object(&path, 11).map(|octets| octets[3]), Some(2));
    assert_eq!(object(&path, 20).map(|octets| (octets.len(), octets[5])), Some((16, 3)));
    network.run(509 * MS);
    let back = network.sent("resv").into_iter().find(|message| message.0 > 508 * MS);
    assert_eq!(back, Some((500 * MS + 8 * MS + (208 + 204) * 800, 164)));
    // The head hears of it: code 25, value 3; and that protection is in use at node 1.
    let error = network.last("path-err", 500 * MS);
    assert_eq!(object(error, 6).map(|octets| (octets[5], octets[7])), Some((25, 3)));
    let used = network.last("resv", 500 * MS);
    assert_eq!(object(used, 21).map(|octets| octets[7]), Some(1 | 2));
}

/// Flags of node 1 in the route that a path of 1 Mbit/s records, by its wish for protected bandwidth:
/// 0x01 local protection available, 0x04 the backup has the bandwidth.
#[test]
fn rfc4090_s4_4_the_flag_of_bandwidth_says_that_the_tunnel_has_what_the_path_reserves() {
    let flags = |wanted, bandwidth| {
        let mut trunk = protected(false, false);
        trunk.protection.iter_mut().for_each(|each| each.bandwidth = wanted);
        let mut tunnel = bypass([6, 8], &[2]);
        tunnel.bandwidth_bit_s = bandwidth;
        let mut network = network(vec![trunk, tunnel]);
        network.run(500 * MS);
        object(network.last("resv", 500 * MS), 21).map(|octets| octets[7])
    };
    assert_eq!(flags(true, 1_000_000), Some(0x01 | 0x04));
    assert_eq!(flags(true, 999_999), Some(0x01));
    assert_eq!(flags(false, 1_000_000), Some(0x01));
}

/// Link 0-1 fails behind the head of the path, which has a tunnel over node 4 to node 1. Its packets go
/// through the tunnel, unless they have left the path: after a move at 500 ms the old LSP is still there
/// for a second, is repaired as any other, and carries nothing (RFC 3209 section 2.5).
#[test]
fn rfc4090_s6_4_3_a_head_sends_its_packets_through_the_tunnel_if_they_use_the_path() {
    for is_moved in [false, true] {
        let mut trunk = protected(false, false);
        trunk.classes = vec![Binding { fec: 1, dscps: Vec::new() }];
        let mut rsvp_config = config(14, vec![trunk, bypass([12, 7], &[0])]);
        let action = Action::Move { route: Some(vec![12, 10]) };
        rsvp_config.orders = vec![Order { at_ns: 500 * MS, session: 0, action }];
        rsvp_config.orders.retain(|_| is_moved);
        let mut network = Network::new(5, ladder(), rsvp_config);
        network.run(800 * MS);
        assert_eq!(network.events("moved").len(), usize::from(is_moved));
        let entry = network.wires.classes[&(0, 1)];
        network.change(0, true);
        assert_eq!(network.events("repaired"), [800 * MS]);
        let now = network.wires.classes[&(0, 1)];
        assert_eq!((now == entry, network.wires.entries[&now].link), (is_moved, Some(12)));
    }
}

/// A node in the middle takes the label of the path off and its packets have the tunnel's mode for TTL; a
/// head has none to take off, so that the path's mode and class count (RFC 3443 section 3, RFC 3270
/// section 2.6). Behind a tunnel of one link to the tail no label is left: what the path does where its
/// label comes off is done there.
#[test]
fn rfc4090_s3_2_a_node_in_the_middle_takes_the_label_off_that_a_head_never_put_on() {
    let lines = || both([(0, 1), (1, 2), (2, 3), (1, 3), (0, 4), (4, 1)].map(|(a, b)| (a, b, 1)));
    for is_pipe in [false, true] {
        let mut trunk = protected(false, true);
        trunk.classes = vec![Binding { fec: 1, dscps: Vec::new() }];
        (trunk.pipe, trunk.diffserv) = (is_pipe, [Some(1), Some(2)]);
        let mut one_link = session("other", 2, 0);
        (one_link.route, one_link.around) = (vec![6], vec![2, 4]);
        let mut two_links = bypass([8, 10], &[0]);
        for tunnel in [&mut one_link, &mut two_links] {
            (tunnel.pipe, tunnel.diffserv) = (!is_pipe, [Some(3), Some(4)]);
        }
        let mut network = Network::new(5, lines(), config(12, vec![trunk, one_link, two_links]));
        network.run(500 * MS);
        // Before any failure: classes are marked where the label is put on, and read where it comes off.
        let head = network.wires.entries[&network.wires.classes[&(0, 1)]];
        let middle = network.wires.entries[&network.wires.labels[&(1, 500_000)]];
        let off = if middle.push.is_none() { Some(2) } else { None };
        assert_eq!((head.diffserv, middle.diffserv), ([Some(1), None], [None, off]));
        network.change(2, true);
        let middle = network.wires.entries[&network.wires.labels[&(1, 500_000)]];
        assert_eq!((middle.link, middle.inner, middle.push), (Some(6), None, None));
        assert_eq!((middle.pop, middle.pipe), (true, !is_pipe));
        assert_eq!(middle.diffserv, [None, Some(2)]);
        network.change(0, true);
        let head = network.wires.entries[&network.wires.classes[&(0, 1)]];
        assert_eq!((head.link, head.inner.is_some(), head.push.is_some()), (Some(8), true, true));
        assert_eq!((head.pop, head.pipe, head.diffserv), (false, is_pipe, [Some(1), None]));
    }
    // A label is left: the class is taken from it further on.
    let mut trunk = protected(false, false);
    trunk.diffserv = [Some(1), Some(2)];
    let mut network = network(vec![trunk, bypass([6, 8], &[2])]);
    network.run(500 * MS);
    network.change(2, true);
    let middle = network.wires.entries[&network.wires.labels[&(1, 500_000)]];
    assert_eq!((middle.pop, middle.diffserv), (true, [None, None]));
}

/// For ten lifetimes the path lives on what goes through the tunnel; then the link is there again,
/// and the packets go back to it. Nothing is left in the end.
#[test]
fn rfc4090_s6_5_a_repaired_path_lives_on_and_goes_back_when_the_link_is_there_again() {
    for summary in [false, true] {
        let sessions = vec![protected(false, false), bypass([6, 8], &[2])];
        let mut rsvp_config = config(14, sessions);
        rsvp_config.refresh_ns = 1_000 * MS;
        (rsvp_config.resend_ns, rsvp_config.summary) = (summary.then_some(100 * MS), summary);
        let tear = |session| Order { at_ns: 70_000 * MS, session, action: Action::Tear {} };
        rsvp_config.orders = vec![tear(0), tear(1)];
        let mut network = Network::new(5, ladder(), rsvp_config);
        network.run(1_000 * MS);
        network.change(2, true);
        network.run(53_500 * MS);
        assert!(network.events("timed-out").is_empty() && network.events("down").is_empty());
        assert_eq!((network.rsvp.states(), network.rsvp.reserved(4)), (7, 1_000_000));
        network.change(2, false);
        network.run(54_000 * MS);
        // Path 204 bytes there, Resv 164 bytes back; with an identifier 12 more.
        let each = if summary { 24 } else { 0 };
        let reverted = network.events("reverted");
        assert!(reverted[0] <= 53_500 * MS + 8 * MS + (204 + 164 + each + 200) * 800);
        assert_eq!(network.does(1, 500_000), (Some(2), None, Some(500_000)));
        network.run(69_000 * MS);
        assert_eq!(network.events("down").len() + network.events("timed-out").len(), 0);
        network.run(71_000 * MS);
        assert_eq!(network.rsvp.states(), 0, "summary {summary}");
        assert!(network.wires.entries.is_empty() && network.wires.labels.is_empty());
    }
}

/// Node 2 fails. Node 1 has a tunnel to node 2 and one to node 3, and wants to go around nodes: the
/// second counts. The label at node 3 is implicit null, so that there is none below the tunnel's.
#[test]
fn rfc4090_s3_2_a_tunnel_to_the_next_but_one_node_protects_against_the_failure_of_a_node() {
    let sessions = vec![protected(false, true), bypass([6, 8], &[2]), bypass([6, 10], &[2, 4])];
    let mut network = network(sessions);
    network.run(1_000 * MS);
    let flags = object(network.last("resv", 900 * MS), 21).map(|octets| octets[7]);
    assert!(flags.is_some());
    network.change(2, true);
    network.change(4, true);
    assert_eq!(network.does(1, 500_000), (Some(6), None, Some(500_001)));
    network.run(53_500 * MS);
    assert!(network.events("down").is_empty());
    // Nodes 0, 1 and 3 have the path, 3 each the tunnels whose links are up.
    assert_eq!(network.rsvp.states(), 9);
}

/// Link 1-2 has failed and node 2 is the merge point. It hears nothing more from node 3, and its reservation ends
/// a lifetime later: the ResvTear (RFC 2205 section 3.1.6) goes back over the tunnel, 2 - 4 - 1, and from
/// node 1 on to the head.
#[test]
fn rfc4090_s7_1_a_merge_point_tears_a_reservation_over_the_tunnel() {
    let mut network = network(vec![protected(false, false), bypass([6, 8], &[2])]);
    network.run(500 * MS);
    network.change(2, true);
    network.run(1_000 * MS);
    network.wires.dead[5] = true;
    network.run(20_000 * MS);
    let tears = network.wires.sent.iter().filter(|message| message.2 == "resv-tear");
    let links: Vec<u32> = tears.map(|message| message.1).collect();
    assert_eq!(links, [9, 7, 1]);
}

/// Each node but the tail has a detour: around node 1 over 4 to 3, around node 2 over 4 to 3, and
/// around link 2-3 over 4 to 3. The DETOUR object names who repairs and what is avoided.
#[test]
fn rfc4090_s6_3_each_node_has_a_detour_and_the_head_knows_that_it_is_protected() {
    let mut network = network(vec![protected(true, true)]);
    network.run(500 * MS);
    assert_eq!(network.events("protected").len(), 1);
    // 4 states of the path, 2 of each detour, and at node 3 the one that all are from node 4 on.
    assert_eq!(network.rsvp.states(), 4 + 3 * 2 + 1);
    let detours: Vec<Vec<u8>> = network
        .wires
        .octets
        .iter()
        .filter(|message| message.1 == "path")
        .filter_map(|message| object(&message.2, 63).map(|octets| vec![octets[3], octets[7]]))
        .collect();
    // Addresses end in the node's number + 1; each detour has two links.
    assert_eq!(detours.len(), 6);
    for pair in [[1, 2], [2, 3], [3, 4]] {
        assert_eq!(detours.iter().filter(|detour| detour[..] == pair).count(), 2, "{pair:?}");
    }
    // They share what the path has reserved, and reserve nothing themselves.
    assert_eq!((network.rsvp.reserved(10), network.rsvp.reserved(2)), (0, 1_000_000));
}

/// From node 1 the cheapest way around link 1-2 is 1 - 4 - 2, which meets node 2; around the node it is the
/// dear 1 - 5 - 3. Where nodes are to be protected (section 4.1, "node protection desired") the detour takes
/// the second, and the first where they are not.
#[test]
fn rfc4090_s6_3_a_detour_around_the_node_takes_another_route_than_that_around_the_link() {
    let ends = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 4, 1), (4, 2, 1), (1, 5, 5), (5, 3, 5)];
    for node in [false, true] {
        let lines = both(ends);
        let rsvp_config = config(lines.len(), vec![protected(true, node)]);
        let mut network = Network::new(6, lines, rsvp_config);
        network.run(500 * MS);
        // Addresses end in the node's number + 1: node 1 avoids node 2.
        let begun_at_1 = |link| network.detours_on(link).iter().any(|pair| pair[..] == [2, 3]);
        assert_eq!([6, 8, 10, 12].map(begun_at_1), [!node, !node, node, node], "{node}");
    }
}

/// Node 1 swaps the path's label for that of its detour, with none below; the path lives on it for
/// ten lifetimes, and goes back.
#[test]
fn rfc4090_s3_1_a_detour_takes_over_and_gives_back() {
    let mut network = network(vec![protected(true, false)]);
    network.run(500 * MS);
    let before = network.does(1, 500_000);
    network.change(2, true);
    assert_eq!(network.events("repaired"), [500 * MS]);
    let (link, inner, push) = network.does(1, 500_000);
    assert_eq!((link, inner), (Some(6), None));
    assert!(push.is_some());
    network.run(53_500 * MS);
    assert!(network.events("down").is_empty());
    network.change(2, false);
    network.run(60_000 * MS);
    assert_eq!((network.events("reverted").len(), network.does(1, 500_000)), (1, before));
}

/// The head moves the path to 0 - 4 - 3 when it hears of the repair, before it tears the old one.
#[test]
fn rfc4090_s5_the_head_moves_a_repaired_path_without_it_going_down() {
    let mut trunk = protected(false, false);
    trunk.dynamic = true;
    let mut network = network(vec![trunk, bypass([6, 8], &[2])]);
    network.run(500 * MS);
    network.change(2, true);
    network.run(10_000 * MS);
    assert_eq!((network.events("moved").len(), network.events("down").len()), (1, 0));
    // The path on its new route, the tunnel; node 2 was asked through the tunnel to let go.
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(4)), (3 + 3, 0));
}

/// Example 4 of section 7.1.2.1: R1 to R6 are nodes 0 to 5, R7 above R2 is 6, R8 above R3 7, R9 above
/// R4 8. Links: 0 R1>R2, 2 R2>R3, 4 R3>R4, 6 R4>R5, 8 R5>R6, 10 R2>R7, 12 R7>R8, 14 R8>R9, 16 R9>R4,
/// 18 R3>R8, 20 R9>R5; odd ones lead back. R2's detour is R2-R7-R8-R9-R4.
fn example_4(third: [u32; 3]) -> Network {
    let ends =
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6), (6, 7), (7, 8), (8, 3), (2, 7), (8, 4)];
    let lines = both(ends.map(|(from, to)| (from, to, 1)));
    let mut trunk = session("trunk", 6, 1_000_000);
    let detours = vec![vec![10, 12, 14, 16], third.to_vec()];
    trunk.protection = Some(Protection { computed: false, detours, ..protection(true, true) });
    let mut rsvp_config = config(lines.len(), vec![trunk]);
    rsvp_config.refresh_ns = 1_000 * MS;
    rsvp_config.orders = vec![Order { at_ns: 70_000 * MS, session: 0, action: Action::Tear {} }];
    let mut network = Network::new(9, lines, rsvp_config);
    network.run(500 * MS);
    network
}

impl Network {
    /// Nodes that repair and that are gone around, of the Path messages on a link; by address.
    fn detours_on(&self, link: u32) -> Vec<Vec<u8>> {
        let sent = self.wires.sent.iter().zip(&self.wires.octets);
        let on = sent.filter(|(message, _)| (message.1, message.2) == (link, "path"));
        let pairs = on.filter_map(|(_, octets)| object(&octets.2, 63));
        pairs.map(|octets| octets.chunks(4).map(|address| address[3]).collect()).collect()
    }
}

/// With senders of their own the detours of example 4 stay two from R8 on: R3's goes R3-R8-R9-R5, and
/// the routes that are left differ. R4 and R5 merge them with the path, whose Path alone continues.
#[test]
fn rfc4090_s7_1_1_detours_whose_routes_to_the_tail_differ_are_not_merged() {
    let mut network = example_4([18, 14, 20]);
    assert_eq!(network.rsvp.states(), 6 + 5 + 4);
    assert_eq!(network.detours_on(14), [[3, 4], [2, 3]]);
    assert!(network.detours_on(6).is_empty() && network.detours_on(8).is_empty());
    network.run(71_000 * MS);
    assert_eq!(network.rsvp.states(), 0);
}

/// R3's detour goes R3-R8-R9-R4: from R8 on both are [R9, R4, R5, R6]. R3's is there first, so that its
/// Path continues; R8 gives R7 a label of its own, sends both labels' packets the same way, and the
/// DETOUR object has both pairs.
#[test]
fn rfc4090_s8_1_merged_detours_are_one_from_there_and_the_object_has_the_pairs_of_all() {
    let network = example_4([18, 14, 16]);
    assert_eq!(network.rsvp.states(), 6 + 4 + 3);
    // Addresses end in the node's number + 1, in any order: (R3, R4); then (R2, R3) as well.
    assert_eq!(network.detours_on(14), [vec![3, 4], vec![2, 3, 3, 4]]);
    assert_eq!(network.detours_on(16), [vec![3, 4], vec![2, 3, 3, 4]]);
    let labels: Vec<u32> =
        network.wires.labels.keys().filter(|at| at.0 == 7).map(|at| at.1).collect();
    assert_eq!(labels.len(), 2);
    assert_eq!(network.does(7, labels[0]), network.does(7, labels[1]));
    assert_eq!(network.does(7, labels[0]).0, Some(14));
}

/// R9-R4 fails behind the node where the two are one: R9's error goes over R8 to R3 and over R8 and R7 to
/// R2, so that both know that they have no detour, and R2 can look for another. The path is left.
#[test]
fn rfc4090_s7_1_3_an_error_behind_the_merge_goes_back_to_each_sender() {
    let mut network = example_4([18, 14, 16]);
    network.change(16, true);
    network.run(600 * MS);
    let errors = network.wires.sent.iter().filter(|it| it.0 >= 500 * MS && it.2 == "path-err");
    let links: BTreeSet<u32> = errors.map(|message| message.1).collect();
    // R7>R2, R8>R7, R9>R8 and R8>R3.
    assert_eq!(links, BTreeSet::from([11, 13, 15, 19]));
    assert!(network.events("down").is_empty());
    // The six states of the path.
    assert_eq!(network.rsvp.states(), 6);
}

/// R3-R8 fails: R3's detour has lost its sender, but R2's continues as it. So nothing is torn behind R8,
/// the object has R2's pair alone, and R2's detour carries the path for ten lifetimes when R2-R3
/// fails too. With R3-R8 the pair of R3 comes back. When all is torn nothing is left.
#[test]
fn rfc4090_s7_1_3_a_tear_goes_on_when_all_that_are_merged_are_torn() {
    for sender_back in [false, true] {
        let mut network = example_4([18, 14, 16]);
        network.change(18, true);
        network.run(600 * MS);
        assert_eq!(network.detours_on(14).last(), Some(&vec![2, 3]));
        let torn = |message: &&(u64, u32, &str, usize)| (message.1, message.2) == (14, "path-tear");
        assert_eq!(network.wires.sent.iter().filter(torn).count(), 0);
        network.change(2, true);
        assert_eq!(network.events("repaired").len(), 1);
        network.run(53_500 * MS);
        assert!(network.events("down").is_empty());
        if sender_back {
            network.change(18, false);
            network.change(2, false);
            network.run(69_000 * MS);
            assert_eq!(network.events("reverted").len(), 1);
        }
        network.run(80_000 * MS);
        assert_eq!(network.rsvp.states(), 0);
        assert!(network.wires.entries.is_empty() && network.wires.labels.is_empty());
    }
}

/// Whatever fails, comes back, moves and is torn: when all is torn nothing is left a lifetime later.
#[test]
fn rfc4090_any_sequence_of_failures_ends_with_nothing_held() {
    let (mut repaired, mut reverted) = (0, 0);
    for seed in 0..120u64 {
        let mut draw = trunkline_units::RandomStream::new(seed, "failures", "test");
        let mut sessions = vec![bypass([6, 8], &[2]), bypass([6, 10], &[2, 4])];
        sessions.extend((0..3u64).map(|index| {
            let mut new_session = dynamic("trunk", 1_000_000 * (1 + draw.below(5)), 0);
            new_session.route = vec![0, 2, 4];
            new_session.dynamic = draw.below(3) > 0;
            new_session.protection = Some(protection((seed + index) % 3 == 0, draw.below(2) > 0));
            new_session.protection.iter_mut().for_each(|each| each.bandwidth = seed % 5 == 0);
            new_session.hops = session("trunk", 4, 0).hops;
            new_session.setup = 7 - draw.below(4) as u8;
            new_session.hold = new_session.setup;
            new_session
        }));
        let mut rsvp_config = config(14, sessions);
        (rsvp_config.refresh_ns, rsvp_config.retry_ns, rsvp_config.attempts) =
            (200 * MS, 300 * MS, 3);
        rsvp_config.cleanup_ns = 50 * MS;
        rsvp_config.reoptimise_ns = (seed % 2 == 0).then_some(700 * MS);
        (rsvp_config.resend_ns, rsvp_config.summary) =
            ((seed % 4 > 1).then_some(50 * MS), seed % 4 == 3);
        let tear = |session| Order { at_ns: 10_000 * MS, session, action: Action::Tear {} };
        rsvp_config.orders = (0..5).map(tear).collect();
        let mut network = Network::new(5, ladder(), rsvp_config);
        let mut down = [false; 7];
        for step in 1..90 {
            network.run(step * 110 * MS);
            let link = draw.below(7) as usize;
            let fails = !down[link] && draw.below(3) > 0;
            if fails || down[link] {
                down[link] = fails;
                network.change(2 * link as u32, fails);
            }
        }
        for (link, down) in down.iter().enumerate().filter(|entry| *entry.1) {
            network.change(2 * link as u32, !down);
        }
        network.run(20_000 * MS);
        assert_eq!(network.rsvp.states(), 0, "seed {seed}");
        assert_eq!((0..14).map(|link| network.rsvp.reserved(link)).sum::<u64>(), 0);
        assert!(network.wires.entries.is_empty(), "seed {seed}: {:?}", network.wires.entries);
        assert!(network.wires.labels.is_empty(), "seed {seed}: {:?}", network.wires.labels);
        repaired += network.events("repaired").len();
        reverted += network.events("reverted").len();
    }
    assert!(repaired > 500 && reverted > 50, "{repaired} repaired, {reverted} reverted");
}
