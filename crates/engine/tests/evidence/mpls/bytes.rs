//! Bytes on the wire: 4 per label (RFC 3032 section 2.1), link by link.

use super::*;
use trunkline_engine::network::{Ilm, Nhlfe, Path};
use trunkline_engine::PACKET_EVENTS;

/// Bytes sent per packet on the four links of the row, and of them in labels.
fn label_bytes(lab: &Lab) -> Vec<f64> {
    let run = lab.run(1);
    assert_eq!(run.flow(0, "packets_delivered"), 100.0);
    (0..4).map(|hop| run.port(2 * hop, "bytes_sent") - 100.0 * f64::from(BYTES)).collect()
}

#[test]
fn rfc3032_s2_1_without_a_path_no_link_carries_a_label() {
    assert_eq!(label_bytes(&row()), [0.0; 4]);
}

/// RFC 3031 section 3.16: the penultimate LSR pops, the last link carries the bare packet.
#[test]
fn rfc3031_s3_16_penultimate_hop_popping_spares_the_last_link_the_label() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
    assert_eq!(label_bytes(&lab), [400.0, 400.0, 400.0, 0.0]);
}

#[test]
fn rfc3031_s3_16_without_it_the_last_link_carries_the_label_too() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    assert_eq!(label_bytes(&lab), [400.0; 4]);
}

#[test]
fn rfc3032_s2_1_explicit_null_is_a_label_on_the_wire() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::ExplicitNull, Ttl::Uniform));
    assert_eq!(label_bytes(&lab), [400.0; 4]);
    let last = labels_by_link(&lab.trace(1), 4).pop();
    assert_eq!(last, Some(vec![trunkline_packet::label::EXPLICIT_NULL]));
}

/// The link header comes on top of the labels: 500 + 4 + 26 B take 424 us at 10 Mbit/s.
#[test]
fn labels_and_link_header_both_take_transmission_time() {
    let mut lab = row();
    lab.carry(0, &tunnel(&["a", "b", "c"], Removal::Ultimate, Ttl::Uniform));
    lab.network.links.iter_mut().for_each(|link| link.header_bytes = 26);
    let run = lab.run(1);
    assert_eq!(run.port(0, "bytes_sent"), 100.0 * 530.0);
    assert_eq!(run.port(4, "bytes_sent"), 100.0 * 526.0);
    // Two links with the label, two without, and four of 1 ms.
    assert_eq!(run.flow(0, "delay_max_ns"), 2.0 * 424e3 + 2.0 * 420.8e3 + 4e6);
    assert_eq!(run.flow(0, "bytes_delivered"), 100.0 * 500.0, "flows count IP bytes");
}

/// Acknowledgements of 40 B are a class of their own and take a path of their own: 4 B each on the
/// way back, which pops at the penultimate node, and none where only the data are labelled.
#[test]
fn data_and_acknowledgements_take_their_own_paths() {
    for back in [true, false] {
        let mut lab = Lab::chain(&ROUTE, 10 * MBIT, MS);
        let mut config = tcp(trunkline_agent::tcp::Variant::NewReno);
        config.size_bytes = Some(100_000);
        lab.flow("tcp", "a", "e", trunkline_engine::network::Agent::Tcp(config));
        lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
        if back {
            let route = ["e", "d", "c", "b", "a"];
            let reverse =
                Tunnel { first_label: 500, ..tunnel(&route, Removal::Penultimate, Ttl::Uniform) };
            let (_, entry) = lab.tunnel(&reverse);
            lab.network.flows[0].fec_reverse = 2;
            lab.bind("e", 2, entry);
        }
        lab.lasting(0, 5 * SECOND);
        let run = lab.run(1);
        assert_eq!((run.flow(0, "goodput_bytes"), run.flow(0, "acks_sent")), (100_000.0, 100.0));
        let label = if back { 4.0 } else { 0.0 };
        for hop in 0..4 {
            assert_eq!(run.port(2 * hop, "bytes_sent"), 100.0 * 1044.0, "data, hop {hop}");
            let on_wire = if hop == 0 { 40.0 } else { 40.0 + label }; // hop 0: after the pop
            assert_eq!(run.port(2 * hop + 1, "bytes_sent"), 100.0 * on_wire, "back, hop {hop}");
        }
    }
}

/// Bytes that entered the path count its label and not the link header.
#[test]
fn a_path_counts_what_its_ingress_sent() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
    lab.network.links.iter_mut().for_each(|link| link.header_bytes = 26);
    let run = lab.run(1);
    let paths = run.table("paths");
    assert_eq!((paths.int("packets"), paths.int("bytes")), (&[100][..], &[100 * 504][..]));
}

/// A packet of MTU size without labels is 4 B too big with one (RFC 3032 section 3.2).
#[test]
fn rfc3032_s3_2_the_label_counts_towards_the_mtu() {
    for (mtu, delivered) in [(504, 100.0), (503, 0.0)] {
        let mut lab = row();
        lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
        lab.network.links[2].mtu_bytes = mtu; // the second hop, labelled
        lab.network.links[6].mtu_bytes = 500; // the last hop, after the pop
        let run = lab.run(1);
        assert_eq!(run.flow(0, "packets_delivered"), delivered, "MTU {mtu} B");
        let lost = run.drops(trunkline_packet::Cause::TooBig);
        assert_eq!(lost as f64, 100.0 - delivered);
        if lost > 0 {
            let drops = run.table("drops");
            assert_eq!((drops.int("link"), drops.int("node")), (&[2][..], &[1][..]));
        }
    }
}

/// RFC 3032 section 2.1: a word has a label of 20 bits, and the S bit, bit 8, is set in the bottom entry alone. A
/// trace has the words of each packet where it is, the top first.
#[test]
fn rfc3032_s2_1_a_trace_shows_the_stack_with_its_bottom() {
    let mut lab = Lab::chain(&["a", "b", "c", "d"], MBIT, MS);
    lab.network.paths.push(Path { name: "p".into(), links: vec![0, 2, 4], account: false });
    let entry = |lab: &mut Lab, link, pop, push: &[u32]| {
        lab.nhlfe(Nhlfe { link: Some(link), pop, push: push.to_vec(), ..Nhlfe::default() })
    };
    let ingress = entry(&mut lab, 0, false, &[200, 100]);
    lab.bind("a", 1, ingress);
    for (node, label, link) in [("b", 100, 2), ("c", 200, 4)] {
        let nhlfe = entry(&mut lab, link, true, &[]);
        let node = lab.node(node);
        lab.network.ilm.push(Ilm { node, label, nhlfe });
    }
    let flow = lab.flow("f", "a", "d", schedule(&[(0, 100)]));
    lab.network.flows[flow].fec = 1;
    lab.network.run.trace = true;
    let run = lab.run(1);
    let packets = run.table("packets");
    let queued = PACKET_EVENTS.iter().position(|name| *name == "queued").expect("an event") as i64;
    let columns = ["link", "stack_1", "stack_2", "stack_3"].map(|name| packets.int(name));
    let rows = (0..columns[0].len()).filter(|row| packets.int("event")[*row] == queued);
    let label_and_bottom = |word: i64| if word < 0 { [-1; 2] } else { [word >> 12, word >> 8 & 1] };
    let seen: Vec<_> = rows
        .map(|row| (columns[0][row], [1, 2, 3].map(|at| label_and_bottom(columns[at][row]))))
        .collect();
    let none = [-1, -1];
    let by_hand =
        [(0, [[100, 0], [200, 1], none]), (2, [[200, 1], none, none]), (4, [none, none, none])];
    assert_eq!(seen, by_hand);
}
