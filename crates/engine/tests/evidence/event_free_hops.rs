//! Hops without an event: a run gives what one gives whose every hop is an event.

use crate::random::any_lab;
use crate::support::*;
use proptest::prelude::*;
use trunkline_agent::tcp::Variant;
use trunkline_engine::network::recovery::{Failure, Outage, Outages};
use trunkline_engine::network::{Agent, Measure, Ttl};
use trunkline_engine::run_cut;

/// Two sources meet at `a`; behind it each queue is fed by one link, the second slower than the
/// first and of four packets, so that it drops; two sinks.
fn row() -> Lab {
    let mut lab = Lab::new();
    for (from, to, rate) in [
        ("s0", "a", 20 * MBIT),
        ("s1", "a", 20 * MBIT),
        ("a", "b", 8 * MBIT),
        ("b", "c", 6 * MBIT),
        ("c", "d", 10 * MBIT),
        ("d", "t0", 30 * MBIT),
        ("d", "t1", 7 * MBIT),
    ] {
        lab.duplex(from, to, rate, 3 * MS);
    }
    let narrow = lab.between("b", "c");
    lab.feed(narrow, fifo(queue(4, true)));
    lab.flow("tcp0", "s0", "t0", Agent::Tcp(tcp(Variant::Sack)));
    lab.flow("tcp1", "s1", "t1", Agent::Tcp(tcp(Variant::NewReno)));
    lab.flow("small", "s0", "t1", cbr(MBIT, 100));
    lab.lasting(SECOND / 3, 3 * SECOND);
    lab
}

fn agrees(lab: &Lab) -> Outcome {
    let outcome = lab.run(5);
    // One region: no hop goes ahead.
    let regions = vec![0; lab.network.nodes.len()];
    let tables = run_cut(&lab.network, 5, &regions, &|| false).expect("the run ends");
    assert!(outcome.bits(&[]) == Outcome { tables, lines: vec![] }.bits(&[]));
    outcome
}

#[test]
fn queues_that_one_link_feeds_count_and_drop_as_with_an_event_a_hop() {
    let outcome = agrees(&row());
    let dropped: f64 = (0..3).map(|flow| outcome.flow(flow, "packets_dropped")).sum();
    assert!(dropped > 100.0, "the queue fed ahead overflows: {dropped}");
}

#[test]
fn labelled_packets_go_ahead_alike() {
    for removal in [Removal::Penultimate, Removal::Ultimate, Removal::ExplicitNull] {
        let mut lab = row();
        let route = ["a", "b", "c", "d"];
        let tunnel = Tunnel { route: &route, first_label: 100, removal, ttl: Ttl::Uniform };
        let (_, entry) = lab.tunnel(&tunnel);
        lab.bind("a", 1, entry);
        lab.network.flows[1].fec = 1;
        agrees(&lab);
    }
}

/// A TTL of 3 takes a packet over three links, and no further.
#[test]
fn rfc1812_s5_3_1_a_ttl_that_runs_out_on_the_way_ends_the_packet_there() {
    let mut lab = Lab::chain(&["a", "b", "c", "d", "e"], 8 * MBIT, MS);
    let short = lab.flow("short", "a", "e", cbr(MBIT, 100));
    lab.flow("long", "a", "e", cbr(MBIT, 100));
    lab.network.flows[short].ttl = 3;
    lab.lasting(0, SECOND);
    let outcome = agrees(&lab);
    assert_eq!(outcome.flow(short, "packets_delivered"), 0.0);
    assert!(outcome.flow(short + 1, "packets_delivered") > 1000.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Where a failure may cut a link, each end of a transmission from classes has its event; else
    /// only those that another packet waits for. A failure after the end makes no other difference:
    /// any schedulers, queues and probes, at round times, when ends and samples meet.
    #[test]
    fn ends_of_transmissions_that_nobody_waits_for_need_no_event(
        mut lab in any_lab(),
        round in any::<bool>(),
        steps in proptest::collection::vec(1..20u64, Measure::ALL.len()),
    ) {
        if round {
            for link in &mut lab.network.links {
                (link.rate_bit_s, link.delay_ns) = (8 * MBIT, MS);
            }
        }
        for (index, (measure, step)) in Measure::ALL.into_iter().zip(steps).enumerate() {
            let targets = match measure.is_of_flow() {
                true => lab.network.flows.len(),
                false => lab.network.links.len(),
            };
            if measure != Measure::QueueAverage {
                lab.probe(measure, 5 * index % targets, step * MS);
            }
        }
        let without = lab.run(11);
        let failed_ns = 2 * lab.network.run.duration_ns;
        lab.network.recovery.failures.push(Failure {
            name: "late".into(),
            links: vec![0],
            node: false,
            outages: Outages::Fixed { at: vec![Outage { failed_ns, repaired_ns: None }] },
            drain: None,
        });
        prop_assert!(without.bits(&[]) == lab.run(11).bits(&[]));
    }
}
