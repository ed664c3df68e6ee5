//! Processing at nodes: which look-ups a packet needs (RFC 3031 section 3.12), by hand.

use crate::support::*;
use trunkline_engine::network::{Processing, Reorder, Ttl};

const US: u64 = 1_000;
/// 1000 B at 8 Mbit/s take 1 ms, and each link 1 ms more: three links 6 ms.
const BARE: f64 = 6_000_000.0;

/// Four nodes in a row that take 100 us for a packet, 30 us for an IP look-up, 5 us for a label's.
fn row() -> Lab {
    let mut lab = Lab::chain(&["a", "b", "c", "d"], 8 * MBIT, MS);
    lab.flow("f", "a", "d", cbr(MBIT, 1000));
    let times = Processing { fixed_ns: 100 * US, ip_lookup_ns: 30 * US, label_lookup_ns: 5 * US };
    lab.network.nodes.iter_mut().for_each(|node| node.processing = Some(times));
    lab.lasting(0, SECOND);
    lab
}

/// Delay of every packet of the row beyond that without processing [us].
fn processing_of(lab: &Lab) -> f64 {
    let run = lab.run(1);
    assert_eq!(run.flow(0, "delay_min_ns"), run.flow(0, "delay_max_ns"));
    (run.flow(0, "delay_min_ns") - BARE) / 1e3
}

fn carried(route: &[&str], removal: Removal) -> Lab {
    let mut lab = row();
    lab.carry(0, &Tunnel { route, first_label: 100, removal, ttl: Ttl::Uniform });
    lab
}

/// Label stack bytes on so many links: 4 us each.
const LABEL: f64 = 4.0;

/// b and c forward by IP: 2 (100 + 30) us. The source and the destination do not forward.
#[test]
fn an_ip_packet_is_looked_up_at_each_hop() {
    assert_eq!(processing_of(&row()), 260.0);
}

/// RFC 3031 section 3.16: with penultimate hop popping b swaps and c pops, one label look-up each;
/// d gets an IP packet that is for itself.
#[test]
fn rfc3031_s3_16_penultimate_popping_spares_the_egress_a_look_up() {
    let lab = carried(&["a", "b", "c", "d"], Removal::Penultimate);
    assert_eq!(processing_of(&lab), 210.0 + 2.0 * LABEL);
}

/// Popped by the egress: a label look-up at b, c and d, and d then looks up the IP header too.
#[test]
fn rfc3031_s3_16_else_the_egress_looks_up_twice() {
    let lab = carried(&["a", "b", "c", "d"], Removal::Ultimate);
    assert_eq!(processing_of(&lab), 2.0 * 105.0 + 135.0 + 3.0 * LABEL);
}

/// A path from b: b looks the IP header up for its FEC (RFC 3031 section 3.1), c the label.
#[test]
fn rfc3031_s3_1_the_ingress_looks_up_the_fec() {
    let lab = carried(&["b", "c", "d"], Removal::Penultimate);
    assert_eq!(processing_of(&lab), 130.0 + 105.0 + LABEL);
}

/// A pipeline: 1000 B every 1 ms pass nodes that take 5 ms, and all are there, or inside.
#[test]
fn processing_delays_and_does_not_limit() {
    let mut lab = row();
    lab.network.flows.clear();
    lab.flow("f", "a", "d", cbr(8 * MBIT, 1000));
    let slow = Processing { fixed_ns: 5 * MS, ..Processing::default() };
    lab.network.nodes.iter_mut().for_each(|node| node.processing = Some(slow));
    let run = lab.run(1);
    // Sent at 0, 1, .. 999 ms; 16 ms later there, before the end those sent by 983 ms.
    assert_eq!((run.flow(0, "packets_sent"), run.flow(0, "packets_delivered")), (1000.0, 984.0));
    assert_eq!(run.summary("packets_inside_after"), 16.0);
}

/// The same pipeline on a link of 80 Mbit/s: ten packets arrive 0.1 ms apart, while the first is still inside,
/// and each goes on 5 ms after it came.
#[test]
fn each_packet_takes_the_time_of_its_node_whatever_is_ahead_of_it() {
    let mut lab = Lab::chain(&["a", "b", "c"], 80 * MBIT, MS);
    lab.flow("f", "a", "c", schedule(&[(0, 1000); 10]));
    let slow = Processing { fixed_ns: 5 * MS, ..Processing::default() };
    lab.network.nodes[1].processing = Some(slow);
    lab.lasting(0, SECOND);
    let there: Vec<u64> = lab.trace(1).delivered(0).iter().map(|(at, _)| *at).collect();
    let by_hand: Vec<u64> = (1..=10).map(|packet| packet * MS / 10 + 7 * MS + MS / 10).collect();
    assert_eq!(there, by_hand);
}

/// Packets that come at one instant go on in the order in which they came, which is that of their links, here the
/// opposite of the order in which they were sent.
#[test]
fn packets_of_one_instant_stay_in_order() {
    let mut lab = Lab::new();
    for index in 0..4 {
        let name = format!("s{index}");
        lab.link(&name, "m", 8 * MBIT, MS + index * MS);
        lab.flow(&name, &name, "t", schedule(&[((3 - index) * MS, 1000)]));
    }
    lab.link("m", "t", 8 * MBIT, MS);
    let node = lab.node("m") as usize;
    let slow = Processing { fixed_ns: MS, ..Processing::default() };
    lab.network.nodes[node].processing = Some(slow);
    let run = lab.trace(1);
    // All are at m after 5 ms; each takes 1 ms behind it, and 1 ms on its way.
    for flow in 0..4 {
        let there: Vec<u64> = run.delivered(flow).iter().map(|(at, _)| *at).collect();
        assert_eq!(there, [(8 + flow as u64) * MS], "{flow}");
    }
}

/// Two links that hold back every packet, one by 2 and one by 5 ms: a flow over the first alone takes 2 ms longer,
/// one over the second 5 ms, and one over both 7 ms.
#[test]
fn each_link_holds_back_its_packets_by_its_own_time() {
    let mut lab = Lab::chain(&["a", "b", "c", "d"], 8 * MBIT, MS);
    for (from, to) in [("a", "b"), ("c", "d"), ("a", "d"), ("b", "c")] {
        lab.flow(&format!("{from}{to}"), from, to, schedule(&[(MS, 1_000)]));
    }
    // So that no packet meets another.
    (0..4).for_each(|flow| lab.network.flows[flow].start_ns = flow as u64 * 100 * MS);
    for (link, by_ns) in [(0, 2 * MS), (4, 5 * MS)] {
        lab.network.links[link].reorder = Some(Reorder { share: 1.0, by_ns });
    }
    lab.lasting(0, SECOND);
    let run = lab.run(1);
    let delays = [0, 1, 2, 3].map(|flow| run.flow(flow, "delay_max_ns") / 1e6);
    assert_eq!(delays, [2.0 + 2.0, 2.0 + 5.0, 6.0 + 7.0, 2.0]);
}
