//! Nodes that serve their events in a row: a run gives what one gives that serves all events in the order of time, as
//! runs do whose packets are recorded.

use crate::random::any_lab;
use crate::support::*;
use proptest::prelude::*;
use std::sync::Arc;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{Agent, Measure, Processing, Ttl};
use trunkline_engine::{run_by_node, RunError};

/// Runs both ways; the tables of both.
fn both_ways(lab: &Lab, seed: u64) -> Result<[Outcome; 2], RunError> {
    let by_node = Outcome { tables: run_by_node(&lab.network, seed)?, lines: vec![] };
    Ok([by_node, Outcome { lines: vec![], ..lab.trace(seed) }])
}

fn find_first_difference([one, other]: &[Outcome; 2]) -> Option<String> {
    let (one, other) = (one.bits(&[]), other.bits(&[]));
    let mut pairs = one.iter().zip(&other);
    assert_eq!(one.len(), other.len());
    pairs.find(|(one, other)| one != other).map(|(one, _)| format!("{} of {}", one.1, one.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(160)))]

    /// Chandy and Misra, IEEE Trans. Software Eng. 5(5), 1979: no event comes to a node within the shortest delay of
    /// its links. Any queues, schedulers, agents, paths and losses; probes and failures between visits.
    #[test]
    fn chandy1979_nodes_that_run_ahead_by_a_delay_give_every_table_bit_by_bit(
        mut lab in any_lab(),
        steps in proptest::collection::vec(1..40u64, Measure::ALL.len()),
        probed: bool,
        fails: bool,
        least_delay in prop_oneof![Just(1), Just(MS / 10), Just(5 * MS)],
    ) {
        for (index, (measure, step)) in Measure::ALL.into_iter().zip(steps).enumerate() {
            let targets = match measure.is_of_flow() {
                true => lab.network.flows.len(),
                false => lab.network.links.len(),
            };
            if probed {
                lab.probe(measure, 7 * index % targets, step * MS / 2);
            }
        }
        for link in &mut lab.network.links {
            link.delay_ns += least_delay;
        }
        if fails {
            let end_ns = lab.network.run.duration_ns;
            lab.fail("cut", vec![0], &[(end_ns / 2, end_ns / 4 * 3)]);
            lab.fail("other", vec![2], &[(end_ns / 3, end_ns / 5 * 2)]);
        }
        for flow in &mut lab.network.flows {
            if let Agent::Tcp(config) = &*flow.agent {
                flow.agent = Arc::new(Agent::Tcp(TcpConfig { connect: false, ..config.clone() }));
            }
        }
        let outcomes = both_ways(&lab, 3).expect("nodes can serve their events in a row");
        prop_assert_eq!(find_first_difference(&outcomes), None);
    }
}

/// Ports with a class a flow, loaded until queues overflow, some flows on a labelled path: choices of ports are made
/// late, some of them where a visit begins.
#[test]
fn sv95_ports_that_choose_late_choose_alike_whoever_is_ahead() {
    let ends = [["a", "d"], ["x", "d"], ["d", "a"], ["b", "x"], ["a", "x"]];
    for (delay, seed) in [(MS / 10, 1), (3 * MS, 2), (50 * MS, 3)] {
        let mut lab = Lab::new();
        let route = ["a", "b", "c", "d"];
        for pair in route.windows(2) {
            lab.duplex(pair[0], pair[1], 20 * MBIT, delay);
        }
        lab.duplex("x", "b", 20 * MBIT, delay / 2);
        lab.duplex("x", "c", 20 * MBIT, delay * 2);
        let quanta: Vec<u32> = (0..2 * ends.len()).map(|class| 400 + 300 * class as u32).collect();
        for link in 0..lab.network.links.len() as u32 {
            lab.feed(link, drr(&quanta, &queue(12, false)));
        }
        for [from, to] in ends {
            let bursts = on_off(9 * MBIT, 700, 4 * MS, 3 * MS);
            lab.flow(&format!("udp {from} {to}"), from, to, bursts);
            lab.flow(&format!("tcp {from} {to}"), from, to, Agent::Tcp(tcp(Variant::Sack)));
        }
        let removal = Removal::Penultimate;
        let path = Tunnel { route: &route, first_label: 100, removal, ttl: Ttl::Uniform };
        let (_, entry) = lab.tunnel(&path);
        lab.bind("a", 1, entry);
        lab.network.flows[..2].iter_mut().for_each(|flow| flow.fec = 1);
        (0..lab.network.links.len() as u32).for_each(|link| lab.class_per_flow(link));
        lab.lasting(SECOND / 7, 2 * SECOND);
        let outcomes = both_ways(&lab, seed).expect("nodes can serve their events in a row");
        assert_eq!(find_first_difference(&outcomes), None, "{delay} ns");
        assert!(outcomes[0].summary("packets_dropped") > 100.0);
    }
}

/// Behind `a` one link feeds each queue, so that its packets go ahead of time, but those that come when the warm-up
/// ends; `d` sees them while `c` is behind it in time.
#[test]
fn packets_that_went_ahead_leave_the_port_in_the_time_of_its_node() {
    let mut lab = Lab::new();
    for (from, to, rate) in [
        ("s0", "a", 20),
        ("s1", "a", 20),
        ("a", "b", 8),
        ("b", "c", 6),
        ("c", "d", 10),
        ("d", "t", 7),
    ] {
        lab.duplex(from, to, rate * MBIT, 3 * MS);
    }
    let narrow = lab.between("b", "c");
    lab.feed(narrow, fifo(queue(4, true)));
    let removal = Removal::Penultimate;
    let path =
        Tunnel { route: &["a", "b", "c", "d"], first_label: 100, removal, ttl: Ttl::Uniform };
    for from in ["s0", "s1"] {
        lab.flow(&format!("tcp {from}"), from, "t", Agent::Tcp(tcp(Variant::Sack)));
        lab.flow(&format!("small {from}"), from, "t", cbr(MBIT, 100));
    }
    let (_, entry) = lab.tunnel(&path);
    lab.bind("a", 1, entry);
    lab.network.flows[1].fec = 1;
    lab.network.flows[2].fec = 1;
    lab.lasting(SECOND / 3, 3 * SECOND);
    let outcomes = both_ways(&lab, 5).expect("nodes can serve their events in a row");
    assert_eq!(find_first_difference(&outcomes), None);
}

/// A run counts its packets a thousand times and gives the maximum: here that of the 37th part, in which all packets
/// of a burst are on their way, where no visit ends.
#[test]
fn packets_are_counted_at_times_at_which_no_visit_ends() {
    let mut lab = Lab::chain(&["a", "b", "c"], GBIT, 40 * MS);
    let burst: Vec<(u64, u32)> = (0..50).map(|each| (36 * MS + each * MS / 60, 500)).collect();
    lab.flow("burst", "a", "c", schedule(&burst));
    lab.flow("back", "c", "a", schedule(&[(5 * MS, 500), (36 * MS, 500)]));
    lab.lasting(0, SECOND);
    let outcomes = both_ways(&lab, 1).expect("nodes can serve their events in a row");
    assert_eq!(find_first_difference(&outcomes), None);
    assert_eq!(outcomes[0].summary("packets_peak"), 52.0);
}

/// Where a packet or a timer may touch the state of two nodes at once, all events are served in the order of time.
#[test]
fn a_node_that_others_reach_at_once_serves_no_events_in_a_row() {
    let changes: [fn(&mut Lab); 3] = [
        |lab| lab.network.links[1].delay_ns = 0,
        |lab| {
            lab.network.nodes[1].processing =
                Some(Processing { fixed_ns: MS, ..Default::default() })
        },
        |lab| {
            let config = TcpConfig { connect: true, ..tcp(Variant::Sack) };
            lab.network.flows[0].agent = Arc::new(Agent::Tcp(config));
        },
    ];
    for change in changes {
        let mut lab = Lab::chain(&["a", "b", "c"], 8 * MBIT, MS);
        lab.flow("tcp", "a", "c", Agent::Tcp(tcp(Variant::Sack)));
        lab.lasting(0, SECOND);
        run_by_node(&lab.network, 1).expect("nodes can serve their events in a row");
        change(&mut lab);
        let Err(RunError::Invalid(why)) = run_by_node(&lab.network, 1) else { panic!("it ran") };
        assert!(why.contains("in a row"), "{why}");
        lab.run(1);
    }
}
