//! FTN, ILM and NHLFE (RFC 3031 section 3.10 to 3.13): what each LSR does with the stack.

use super::*;
use trunkline_engine::network::{Ilm, Nhlfe};

/// Each LSR swaps for the label its downstream neighbour chose.
#[test]
fn rfc3031_s3_13_labels_are_swapped_hop_by_hop() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    let labels = labels_by_link(&lab.trace(1), 4);
    assert_eq!(labels, [[100], [101], [102], [103]]);
}

/// RFC 3031 section 3.14: a label is local to the LSR that chose it. The same one on every hop.
#[test]
fn rfc3031_s3_14_one_label_may_be_used_on_every_hop() {
    let mut lab = row();
    let path = lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    assert_eq!(path, 0);
    lab.network.ilm.iter_mut().for_each(|entry| entry.label = 77);
    for nhlfe in &mut lab.network.nhlfe {
        nhlfe.push.iter_mut().for_each(|label| *label = 77);
    }
    assert_eq!(labels_by_link(&lab.trace(1), 4), [[77]; 4]);
}

/// The last label there is, 2^20 - 1, and the first that is not reserved, 16.
#[test]
fn rfc3032_s2_1_labels_16_and_1048575_switch_as_any_other() {
    for label in [16, 1_048_574] {
        let mut lab = row();
        let path =
            Tunnel { first_label: label, ..tunnel(&ROUTE[..3], Removal::Ultimate, Ttl::Pipe) };
        lab.carry(0, &path);
        assert_eq!(labels_by_link(&lab.trace(1), 2), [[label], [label + 1]]);
    }
}

/// An explicit route may leave the shortest path: a-d directly costs 1, the path takes b and c.
#[test]
fn a_path_follows_its_route_not_the_shortest_one() {
    let mut lab = Lab::chain(&["a", "b", "c", "d"], 10 * MBIT, MS);
    let direct = lab.link("a", "d", 10 * MBIT, MS);
    lab.flow("plain", "a", "d", cbr(MBIT, BYTES));
    lab.flow("tunnelled", "a", "d", cbr(MBIT, BYTES));
    lab.carry(1, &tunnel(&["a", "b", "c", "d"], Removal::Penultimate, Ttl::Uniform));
    lab.lasting(0, SECOND);
    let run = lab.trace(1);
    let (sent, delivered) = (run.sent(0).len(), run.delivered(0).len());
    assert!(delivered > 200 && sent - delivered <= 2);
    assert!(run.arrived(0, direct).len() >= delivered && run.arrived(0, 0).is_empty());
    assert!(run.arrived(1, direct).is_empty() && run.arrived(1, 4).len() >= run.delivered(1).len());
}

/// A trunk may begin inside the network: plain IP from `a` to `b`, labelled from `b` to `d`.
#[test]
fn a_trunk_begins_at_the_node_whose_ftn_binds_the_class() {
    let mut lab = row();
    lab.carry(0, &tunnel(&["b", "c", "d"], Removal::Ultimate, Ttl::Uniform));
    assert_eq!(labels_by_link(&lab.trace(1), 4), [vec![], vec![100], vec![101], vec![]]);
}

/// Only the class that is bound goes into the path; its acknowledgements are another class.
#[test]
fn rfc3031_s2_1_only_packets_of_the_bound_class_enter_the_path() {
    let mut lab = row();
    lab.flow("other", "a", "e", cbr(MBIT, BYTES));
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    let run = lab.trace(1);
    assert!(run.arrived(0, 0).iter().all(|(_, packet)| packet.labels.depth() == 1));
    assert!(run.arrived(1, 0).iter().all(|(_, packet)| packet.labels.is_empty()));
}

/// Lays one tunnel inside another: the entry of `outer` pushed on top of whatever the NHLFE
/// `inner` of its ingress leaves, so that packet goes into the outer one's first link.
fn nest(lab: &mut Lab, inner: u32, outer: u32) {
    let first = lab.network.nhlfe[outer as usize].clone();
    let entry = &mut lab.network.nhlfe[inner as usize];
    entry.push.extend(first.push);
    entry.link = first.link;
}

/// Four labels: `a` pushes all at once; the innermost ends at `e` and each outer one a hop before,
/// popped where it ends. Depth by link 4, 3, 2, 1 and 16, 12, 8, 4 B.
#[test]
fn rfc3032_s2_1_a_stack_of_four_labels_is_taken_off_one_by_one() {
    let mut lab = row();
    lab.network.flows[0].fec = 1;
    lab.network.paths.push(trunkline_engine::network::Path {
        name: "p".into(),
        links: vec![],
        account: false,
    });
    let entry = |link, pop, push| Nhlfe { link, pop, push, ..Nhlfe::default() };
    let ingress = lab.nhlfe(entry(Some(0), false, vec![204, 203, 202, 201]));
    lab.bind("a", 1, ingress);
    for (node, label) in [("b", 201), ("c", 202), ("d", 203), ("e", 204)] {
        // Pop, then look at what is below: another label of this node, or the packet.
        let nhlfe = lab.nhlfe(entry(None, true, vec![]));
        let node = lab.node(node);
        lab.network.ilm.push(Ilm { node, label, nhlfe });
        if label < 204 {
            let link =
                lab.network.links.iter().position(|link| link.from == node && link.to > node);
            let forward = lab.nhlfe(entry(link.map(|link| link as u32), true, vec![label + 1]));
            lab.network.ilm.push(Ilm { node, label: label + 1, nhlfe: forward });
        }
    }
    let run = lab.trace(1);
    let labels = labels_by_link(&run, 4);
    assert_eq!(labels, [vec![201, 202, 203, 204], vec![202, 203, 204], vec![203, 204], vec![204]]);
    for (hop, bytes) in [(0, 16.0), (1, 12.0), (2, 8.0), (3, 4.0)] {
        let extra = run.port(2 * hop, "bytes_sent") / 100.0 - f64::from(BYTES);
        assert_eq!(extra, bytes, "hop {hop}");
    }
    assert_eq!(run.flow(0, "packets_delivered"), 100.0);
}

/// A tunnel in a tunnel: the inner path a-b-d-e crosses b-c-d inside the outer one. The outer
/// label is on b-c only (its penultimate hop pops), over the one that d chose for the inner.
#[test]
fn rfc3031_s3_27_a_path_may_go_through_another_as_one_hop() {
    let mut lab = row();
    // The inner path sees b-d as a link of its own.
    let shortcut = lab.link("b", "d", MBIT, 0);
    lab.network.links[shortcut as usize].metric = 1000;
    lab.carry(0, &tunnel(&["a", "b", "d", "e"], Removal::Penultimate, Ttl::Uniform));
    let outer =
        Tunnel { first_label: 900, ..tunnel(&["b", "c", "d"], Removal::Penultimate, Ttl::Uniform) };
    let (_, entry) = lab.tunnel(&outer);
    let at_b = lab.network.ilm[0].nhlfe;
    nest(&mut lab, at_b, entry);
    let run = lab.trace(1);
    assert_eq!(labels_by_link(&run, 4), [vec![100], vec![900, 101], vec![101], vec![]]);
    assert!(run.arrived(0, shortcut).is_empty());
    // Uniform: every hop counts, 64 at `a`, 61 when it comes to `e`.
    assert_eq!(run.delivered(0)[0].1.ttl, 61);
}

/// The TC of a pushed label is the class selector part of the DSCP (RFC 2474 section 4.2.2) and
/// stays through swaps; an outer label takes it over.
#[test]
fn rfc3270_tc_is_set_at_the_ingress_and_kept_by_swaps() {
    let mut lab = row();
    lab.network.flows[0].dscp = 46; // EF: 101110, class selector 5
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    let run = lab.trace(1);
    for link in 0..4 {
        let packet = run.arrived(0, 2 * link)[0].1;
        assert_eq!(packet.labels.top().map(|top| top.tc()), Some(5));
        assert_eq!(packet.dscp, 46);
    }
}
