//! Congestion marks on labels: RFC 5129 worked by hand on a to e. TC 1 is TC 0 with congestion
//! experienced, TC 5 is TC 4.

use super::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{Agent, Ilm, Nhlfe, Queue};
use trunkline_packet::{Cause, Ecn};
use trunkline_port::aqm::{AqmConfig, StepConfig, Unit};

/// The port of link `from`-`to` has a step at 0 packets: one packet that waits is enough. With
/// `marks` its port marks labels.
fn step_at(lab: &mut Lab, from: &str, to: &str, marks: bool) {
    let aqm = AqmConfig::Step(StepConfig { threshold: 0, unit: Unit::Packets });
    let mut port = fifo(Queue { aqm, ..UNLIMITED });
    port.ecn_in_mpls = marks;
    let link = lab.between(from, to);
    lab.network.links[link as usize].rate_bit_s = MBIT / 2;
    lab.feed(link, port);
}

/// A lab whose step is at b-c; a TCP flow that understands marks, or datagrams.
fn lab(removal: Removal, ecn: bool) -> Lab {
    let mut lab = Lab::chain(&ROUTE, 10 * MBIT, MS);
    let config = TcpConfig { ecn: true, size_bytes: Some(200_000), ..tcp(Variant::Sack) };
    let agent = if ecn { Agent::Tcp(config) } else { cbr(MBIT, BYTES) };
    lab.flow("flow", "a", "e", agent);
    lab.lasting(0, 3 * SECOND);
    lab.network.ecn_in_mpls = vec![[0, 1], [4, 5]];
    lab.carry(0, &tunnel(&ROUTE, removal, Ttl::Uniform));
    step_at(&mut lab, "b", "c", true);
    lab
}

/// Traffic classes, top first, of data off a forward link, without repetition.
fn tcs(run: &Outcome, link: u32) -> Vec<Vec<u8>> {
    let packets = run.arrived(0, 2 * link);
    let mut found: Vec<Vec<u8>> = packets
        .iter()
        .filter(|(_, packet)| !packet.is_reverse())
        .map(|(_, packet)| packet.labels.iter().map(|entry| entry.tc()).collect())
        .collect();
    found.sort();
    found.dedup();
    found
}

fn marked(run: &Outcome) -> (usize, usize) {
    let data: Vec<_> = run.delivered(0).into_iter().map(|(_, packet)| packet.ecn()).collect();
    let ce = data.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    (ce, data.len())
}

/// Section 4.3: the node that is congested writes the TC of the pair; those after it swap it as
/// it is. Section 4.6: the node that takes the last label off writes CE, in each way of removal.
#[test]
fn rfc5129_s4_3_and_s4_6_the_mark_travels_in_the_tc_and_comes_out_as_ce() {
    for removal in [Removal::Penultimate, Removal::Ultimate, Removal::ExplicitNull] {
        let lab = lab(removal, true);
        let run = lab.trace(1);
        assert_eq!(tcs(&run, 0), [[0]], "before the step");
        assert_eq!(tcs(&run, 1), [[0], [1]], "off b-c");
        assert_eq!(tcs(&run, 2), [[0], [1]], "swapped");
        let last: &[&[u8]] = if removal == Removal::Penultimate { &[&[]] } else { &[&[0], &[1]] };
        assert_eq!(tcs(&run, 3), last);
        let (ce, all) = marked(&run);
        assert!(ce > 0 && ce < all, "{ce} of {all}");
        assert_eq!(run.drops(Cause::CongestionMarked), 0);
    }
}

/// Section 3: nobody inside looks at ECT; the egress drops what cannot be marked (section 4.6).
#[test]
fn rfc5129_s4_6_a_marked_packet_that_is_not_ect_is_dropped_at_the_egress() {
    for removal in [Removal::Penultimate, Removal::Ultimate, Removal::ExplicitNull] {
        let lab = lab(removal, false);
        let run = lab.trace(1);
        assert_eq!(tcs(&run, 1), [[0], [1]]);
        let off = run.arrived(0, 2);
        let marks = off.iter().filter(|(_, p)| p.labels.top().is_some_and(|top| top.tc() == 1));
        let late = 2; // on their way when the run ends
        let dropped = run.drops(Cause::CongestionMarked) as usize;
        assert!(marks.count().abs_diff(dropped) <= late, "{dropped}");
        assert!(dropped > 100);
        assert_eq!(marked(&run).0, 0);
    }
}

/// Section 4.1: an IP packet that comes with CE gets a label that says so, and ECT(0) one that does
/// not. The step is before the path.
#[test]
fn rfc5129_s4_1_the_label_shows_ce_at_the_push() {
    let mut lab = Lab::chain(&ROUTE, 10 * MBIT, MS);
    let config = TcpConfig { ecn: true, size_bytes: Some(200_000), ..tcp(Variant::Sack) };
    lab.flow("flow", "a", "e", Agent::Tcp(config));
    lab.lasting(0, 3 * SECOND);
    lab.network.ecn_in_mpls = vec![[0, 1]];
    lab.carry(0, &tunnel(&ROUTE[1..], Removal::Ultimate, Ttl::Uniform));
    lab.network.flows[0].fec = 1;
    step_at(&mut lab, "a", "b", false);
    let run = lab.trace(1);
    assert_eq!(tcs(&run, 0), [[0u8; 0]]);
    assert_eq!(tcs(&run, 1), [[0], [1]]);
    let arrived = run.arrived(0, 2).into_iter().filter(|(_, p)| !p.is_reverse());
    for (_, packet) in arrived {
        let is_marked = packet.labels.top().is_some_and(|top| top.tc() == 1);
        assert_eq!(is_marked, packet.ecn() == Ecn::Ce);
    }
}

/// Sections 4.2 and 4.5: b pushes 900 on a label, c is congested and d takes 900 off: the label
/// below then says it. What was marked before b keeps its mark under 900 and after it.
#[test]
fn rfc5129_s4_2_and_s4_5_a_mark_passes_to_the_label_pushed_and_to_the_label_below() {
    for (from, to) in [("a", "b"), ("c", "d")] {
        let mut lab = lab(Removal::Ultimate, true);
        let port = lab.network.ports.len() - 1;
        let link = lab.between("b", "c");
        lab.network.links[link as usize].rate_bit_s = 10 * MBIT;
        lab.network.ports[port] = fifo(UNLIMITED);
        step_at(&mut lab, from, to, true);
        let at_b = lab.network.ilm[0].nhlfe as usize;
        lab.network.nhlfe[at_b].push.push(900);
        let (c, d) = (lab.node("c"), lab.node("d"));
        let (c_d, path) = (lab.between("c", "d"), lab.network.nhlfe[at_b].path);
        let mut entry =
            Nhlfe { link: Some(c_d), pop: true, push: vec![901], path, ..Nhlfe::default() };
        let swap = lab.nhlfe(entry.clone());
        (entry.link, entry.push) = (None, vec![]);
        let off = lab.nhlfe(entry);
        lab.network.ilm.push(Ilm { node: c, label: 900, nhlfe: swap });
        lab.network.ilm.push(Ilm { node: d, label: 901, nhlfe: off });
        // d finds the label that c would have swapped.
        let inner = lab.network.nhlfe[at_b].push[0];
        let at_d = lab.network.ilm[2].nhlfe;
        lab.network.ilm.push(Ilm { node: d, label: inner, nhlfe: at_d });
        let run = lab.trace(1);
        let under: &[&[u8]] = if from == "a" { &[&[0, 0], &[1, 1]] } else { &[&[0, 0], &[1, 0]] };
        assert_eq!(tcs(&run, 2), under, "{from}-{to}");
        assert_eq!(tcs(&run, 3), [[0], [1]], "{from}-{to}");
        assert!(marked(&run).0 > 0);
    }
}

/// Section 2: each PHB has its own pair, and a TC of none is dropped where it would be marked; so is
/// everything at a port that does not mark.
#[test]
fn rfc5129_s2_a_class_without_a_pair_cannot_be_marked() {
    for (dscp, marks, congested_tc) in [(32u8, true, Some(5)), (24, true, None), (32, false, None)]
    {
        let mut lab = lab(Removal::Ultimate, true);
        lab.network.flows[0].dscp = dscp; // without maps TC is DSCP / 8: 4, 3
        let port = lab.network.ports.len() - 1;
        lab.network.ports[port].ecn_in_mpls = marks;
        let run = lab.trace(1);
        let tc = dscp / 8;
        let wanted: Vec<Vec<u8>> =
            [Some(tc), congested_tc].into_iter().flatten().map(|tc| vec![tc]).collect();
        assert_eq!(tcs(&run, 1), wanted);
        assert_eq!(marked(&run).0 > 0, congested_tc.is_some());
    }
}
