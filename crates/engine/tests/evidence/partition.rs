//! One run on several threads: the results of one thread, wherever the network is cut.

use crate::random::{any_lab, NODES};
use crate::support::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use trunkline_agent::tcp::{DelayedAck, TcpConfig, Variant};
use trunkline_agent::udp::Size;
use trunkline_agent::workload::{
    OpenConfig, PagesConfig, Rule, Times, TransferGaps, TransferSizes, VideoConfig,
};
use trunkline_engine::network::{
    Agent, FlowKey, Flows, Hosts, Measure, Opened, Overflow, Queue, Transfers, Ttl,
};
use trunkline_engine::{run_cut, run_on_threads, RunError, Table};
use trunkline_packet::Cause;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

fn bits(tables: Vec<Table>) -> Outcome {
    Outcome { tables, lines: vec![] }
}

/// Transfers of a kind over the flow, of ends and agent that it has.
fn transfers(opened: Opened) -> Option<Box<Transfers>> {
    Some(Box::new(Transfers { opened, bins_bytes: vec![3_000, 40_000], record: true, kept: false }))
}

/// Every TCP flow carries transfers that arrive by themselves, over one connection that is kept or over many; users
/// of pages and viewers of films are served between two nodes more.
fn carry_transfers(lab: &mut Lab, (server, client): (usize, usize), connect: bool, kept: bool) {
    let sizes = |mean_bytes| TransferSizes::Exponential { mean_bytes };
    for flow in &mut lab.network.flows {
        if let Agent::Tcp(_) = &*flow.agent {
            let gaps = TransferGaps::Poisson { mean_ns: 20e6 };
            let arrivals = OpenConfig { gaps, sizes: sizes(8_000.0) };
            flow.transfers = transfers(Opened::Arrivals(arrivals));
            flow.transfers.as_mut().expect("they are there").kept = kept;
        }
    }
    let first = lab.network.flows.len() as u32;
    let users = PagesConfig {
        users: 3,
        parallel: 2,
        main: sizes(4_000.0),
        embedded: sizes(2_000.0),
        objects: TransferSizes::Fixed { bytes: 3 },
        reading: Times::Fixed(100 * MS),
        parsing: Times::Fixed(4 * MS),
    };
    let players = VideoConfig {
        players: 2,
        chunk_ns: SECOND / 2,
        ladder_bit_s: vec![MBIT / 10, MBIT],
        buffer_ns: 2 * SECOND,
        start_ns: SECOND / 2,
        rule: Rule::Rate,
        spread_ns: 50 * MS,
    };
    let of_users = Opened::Pages { users, requests: first + 1, request_bytes: 300 };
    let of_viewers = Opened::Video { players, requests: first + 3, request_bytes: 300 };
    let names = lab.network.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    for (index, opened) in
        [of_users, Opened::Requests, of_viewers, Opened::Requests].into_iter().enumerate()
    {
        let (from, to) = if index % 2 == 0 { (server, client) } else { (client, server) };
        let agent = Agent::Tcp(TcpConfig { connect, ..tcp(Variant::Sack) });
        let flow = lab.flow(&format!("more{index}"), &names[from], &names[to], agent);
        lab.network.flows[flow].transfers = transfers(opened);
    }
    // They join the classes of the first flow.
    let rows = 2 * lab.network.flows.len();
    for port in lab.network.ports.iter_mut().filter(|port| !port.classifier.flow_rows.is_empty()) {
        let first = port.classifier.flow_rows[0];
        port.classifier.flow_rows.resize(rows, first);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(16)))]

    /// Any queues and losses, flow queues by connection among them, with transfers that open and close,
    /// with and without a handshake, any node in any of three regions.
    #[test]
    fn any_cut_of_any_network_with_transfers_gives_every_table_bit_by_bit(
        mut lab in any_lab(),
        regions in proptest::collection::vec(0..3u8, NODES),
        ends in (0..NODES, 1..NODES).prop_map(|(from, step)| (from, (from + step) % NODES)),
        connect in any::<bool>(),
        kept in any::<bool>(),
        trace in any::<bool>(),
    ) {
        carry_transfers(&mut lab, ends, connect, kept);
        lab.network.run.trace = trace;
        for flow in 0..lab.network.flows.len() {
            lab.probe(Measure::Transfers, flow, 7 * MS);
        }
        for link in &mut lab.network.links {
            link.delay_ns += MS;
            link.rate_bit_s += MBIT;
        }
        let uncut = run_on_threads(&lab.network, 3, 1, NEVER).expect("the run ends");
        let cut = run_cut(&lab.network, 3, &regions, NEVER).expect("the run ends");
        let (uncut, cut) = (bits(uncut), bits(cut));
        for (one, other) in uncut.bits(&[]).iter().zip(cut.bits(&[])) {
            prop_assert!(*one == other, "{} of {}", one.1, one.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(24)))]

    /// Any queues, schedulers, agents, paths and losses, any node in any of three regions.
    #[test]
    fn any_cut_of_any_network_gives_every_table_bit_by_bit(
        mut lab in any_lab(),
        regions in proptest::collection::vec(0..3u8, NODES),
        steps in proptest::collection::vec(1..40u64, Measure::ALL.len()),
        record in 0..3u8,
    ) {
        lab.network.run.trace = record == 1;
        lab.network.run.waits = record == 2;
        lab.network.paths.iter_mut().for_each(|path| path.account = true);
        for (index, (measure, step)) in Measure::ALL.into_iter().zip(steps).enumerate() {
            let targets = match measure.is_of_flow() {
                true => lab.network.flows.len(),
                false => lab.network.links.len(),
            };
            lab.probe(measure, 7 * index % targets, step * MS / 2);
        }
        for link in &mut lab.network.links {
            link.delay_ns += MS; // so that windows are few
        }
        let uncut = run_on_threads(&lab.network, 3, 1, NEVER).expect("the run ends");
        let cut = run_cut(&lab.network, 3, &regions, NEVER).expect("the run ends");
        prop_assert!(bits(uncut).bits(&[]) == bits(cut).bits(&[]));
    }
}

/// Hundreds of transfers that share queues by connection with losses on the way, their ends in different
/// regions and in the same one with another between them; of each the same time, and nothing stays open.
#[test]
fn transfers_of_many_connections_are_those_of_one_thread() {
    for connect in [false, true] {
        let mut lab = Lab::chain(&["a", "b", "c", "d", "e"], 20 * MBIT, 3 * MS);
        for (from, to) in [("a", "e"), ("d", "b"), ("a", "b")] {
            let delayed_ack = Some(DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 0 });
            let agent = Agent::Tcp(TcpConfig { connect, delayed_ack, ..tcp(Variant::Sack) });
            lab.flow(&format!("{from}{to}"), from, to, agent);
        }
        carry_transfers(&mut lab, (4, 1), connect, false);
        let flows = lab.network.flows.len();
        let flow_queues = Flows {
            queues: Some(64),
            quantum_bytes: 1040,
            new_first: true,
            labelled: FlowKey::Label,
            overflow: Overflow::Tail,
            batch: 1,
            flow_limit_packets: None,
            ways: 1,
            hosts: Hosts::Flows,
        };
        let port = fifo(Queue { flows: Some(flow_queues), ..queue(60, false) });
        (0..8).for_each(|link| lab.feed(link, port.clone()));
        (lab.network.links[2].loss, lab.network.links[5].loss) = (0.02, 0.01);
        lab.network.flows.iter_mut().for_each(|flow| flow.stop_ns = Some(3 * SECOND));
        let open_now: Vec<_> =
            (0..flows).map(|flow| lab.probe(Measure::Transfers, flow, SECOND)).collect();
        lab.lasting(SECOND, 12 * SECOND);
        let uncut = lab.run(3);
        let ended = uncut.table("transfers").int("finish_ns");
        assert!(ended.len() > 300 && ended.iter().all(|at| *at > 0), "{}", ended.len());
        for probe in open_now {
            assert_eq!(uncut.series(probe).last().map(|(_, open)| *open), Some(0.0));
        }
        for regions in [[0, 0, 1, 1, 1], [0, 1, 1, 2, 0], [2, 1, 0, 1, 2]] {
            let cut = bits(run_cut(&lab.network, 3, &regions, NEVER).expect("the run ends"));
            for (one, other) in uncut.bits(&[]).iter().zip(cut.bits(&[])) {
                assert!(*one == other, "{regions:?}: {} of {}", one.1, one.0);
            }
        }
    }
}

/// The jitter of a path is an average that forgets: it depends on the order of all its packets, which
/// end in three regions here, many of them at one instant.
#[test]
fn the_account_of_a_path_is_that_of_one_thread_where_its_packets_end_in_several_regions() {
    let mut lab = Lab::chain(&["a", "b", "c", "d", "e"], 50 * MBIT, 3 * MS);
    let route = &["a", "b"];
    let tunnel = Tunnel { route, first_label: 100, removal: Removal::Ultimate, ttl: Ttl::Uniform };
    for (index, end) in ["c", "d", "e", "c", "d", "e"].iter().enumerate() {
        let agent = match index {
            0..3 => on_off(4 * MBIT, 500 + 100 * index as u32, 4 * MS, 4 * MS),
            _ => cbr(2 * MBIT, 500),
        };
        let flow = lab.flow(&format!("flow{index}"), "a", end, agent);
        match index {
            0 => {
                lab.carry(flow, &tunnel);
            }
            _ => lab.network.flows[flow].fec = lab.network.flows[0].fec,
        }
    }
    lab.network.links[6].loss = 0.05;
    lab.network.paths[0].account = true;
    lab.lasting(SECOND / 2, 2 * SECOND);
    let uncut = lab.run(3);
    assert!(uncut.path(0, "jitter_ns") > 0.0);
    for regions in [[0, 0, 0, 1, 1], [0, 0, 1, 2, 0], [2, 1, 0, 1, 2]] {
        let cut = run_cut(&lab.network, 3, &regions, NEVER).expect("the run ends");
        assert!(uncut.bits(&[]) == bits(cut).bits(&[]), "{regions:?}");
    }
}

/// Of packets that arrive when the warm-up ends the jitter has the difference, as one thread counts it.
#[test]
fn a_packet_that_arrives_when_the_warm_up_ends_counts_in_the_account_of_its_path() {
    let mut lab = Lab::chain(&["a", "b", "c"], 8 * MBIT, 3 * MS);
    let size = Size::Exponential { mean_bytes: 400.0 };
    let flow = lab.flow("sizes", "a", "c", poisson(4 * MBIT, size));
    let route = &["a", "b"];
    let removal = Removal::Ultimate;
    let path = lab.carry(flow, &Tunnel { route, first_label: 100, removal, ttl: Ttl::Uniform });
    lab.network.paths[path as usize].account = true;
    lab.lasting(0, 100 * MS);
    let arrives = lab.trace(1).delivered(flow)[20].0;
    for warmup in [arrives - 1, arrives, arrives + 1] {
        lab.lasting(warmup, 100 * MS);
        let (uncut, cut) = (lab.run(1), run_cut(&lab.network, 1, &[0, 0, 1], NEVER));
        assert!(uncut.path(0, "jitter_ns") > 0.0);
        assert!(uncut.bits(&[]) == bits(cut.expect("the run ends")).bits(&[]), "{warmup}");
    }
}

/// A packet of 1,000 B leaves each millisecond, one of them at the very time of a failure: it is lost for the same
/// cause in one region and in two, from a FIFO and from a class.
#[test]
fn a_packet_that_leaves_when_its_link_fails_is_lost_for_the_same_cause() {
    for (port, failed_ns) in [
        (fifo(queue(50, false)), 10 * MS),
        (fifo(queue(50, false)), 10 * MS + 1),
        (priority(1, &queue(50, false)), 10 * MS),
        (priority(1, &queue(50, false)), 10 * MS - 1),
    ] {
        let mut lab = Lab::chain(&["a", "b"], 8 * MBIT, 3 * MS);
        lab.feed(0, port);
        lab.flow("cbr", "a", "b", cbr(16 * MBIT, 1_000));
        lab.fail("cut", vec![0, 1], &[(failed_ns, failed_ns + 20 * MS)]);
        lab.lasting(0, 60 * MS);
        let uncut = lab.run(1);
        let cut = bits(run_cut(&lab.network, 1, &[0, 1], NEVER).expect("the run ends"));
        // Three or four are on the wire, and one may be on its way to it.
        assert!((3..=5).contains(&uncut.drops(Cause::FailedInFlight)), "{failed_ns}");
        for (one, other) in uncut.bits(&[]).iter().zip(cut.bits(&[])) {
            assert!(*one == other, "{failed_ns}: {} of {}", one.1, one.0);
        }
    }
}

/// 8 nodes in a row at 1 Gbit/s and 10 ms: 29,000 packets a window, worth a cut.
fn long_row() -> Lab {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut lab = Lab::chain(&names, GBIT, 10 * MS);
    for (index, (from, to)) in [("a", "h"), ("h", "a"), ("b", "f"), ("g", "c")].iter().enumerate() {
        lab.flow(&format!("sack{index}"), from, to, Agent::Tcp(tcp(Variant::Sack)));
        lab.flow(&format!("cbr{index}"), from, to, cbr(20 * MBIT, 700));
    }
    lab.lasting(SECOND / 2, 2 * SECOND);
    lab
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let lab = long_row();
    let uncut = lab.run(7);
    for threads in [1, 2, 3, 8] {
        let tables = run_on_threads(&lab.network, 7, threads, NEVER).expect("the run ends");
        assert!(uncut.bits(&[]) == bits(tables).bits(&[]), "{threads} threads");
    }
}

/// Every packet's number, events and waits, bit by bit, in one order.
#[test]
fn a_trace_is_the_same_on_any_number_of_threads() {
    let mut lab = long_row();
    lab.network.run.trace = true;
    lab.lasting(SECOND / 10, SECOND / 4);
    let [one, two] = [1, 2]
        .map(|threads| run_on_threads(&lab.network, 7, threads, NEVER).expect("the run ends"));
    assert!(bits(one).bits(&[]) == bits(two).bits(&[]));
}

/// A user who keeps connections takes one that is idle, as its far end knows.
#[test]
fn connections_that_users_keep_take_one_thread() {
    let mut lab = Lab::chain(&["a", "b"], GBIT, MS);
    carry_transfers(&mut lab, (0, 1), false, false);
    assert!(run_cut(&lab.network, 7, &[0, 1], NEVER).is_ok());
    lab.network.flows[0].transfers.as_mut().expect("a user's pages").kept = true;
    assert!(matches!(run_cut(&lab.network, 7, &[0, 1], NEVER), Err(RunError::Invalid(_))));
}

/// What a report covers stays where the media arrived, and its sender reads it there.
#[test]
fn interactive_media_take_one_thread() {
    let mut lab = Lab::chain(&["a", "b"], 2 * MBIT, MS);
    lab.flow("media", "a", "b", media(MBIT, 1_000));
    lab.lasting(0, SECOND);
    assert!(matches!(run_cut(&lab.network, 7, &[0, 1], NEVER), Err(RunError::Invalid(_))));
    lab.network.flows[0].agent = cbr(MBIT, 1_000).into();
    assert!(run_cut(&lab.network, 7, &[0, 1], NEVER).is_ok());
}

#[test]
fn regions_that_touch_without_delay_are_refused() {
    let mut lab = long_row();
    lab.network.links[6].delay_ns = 0;
    let refused = run_cut(&lab.network, 7, &[0, 0, 0, 0, 1, 1, 1, 1], NEVER);
    assert!(matches!(refused, Err(RunError::Invalid(_))));
}

/// A region asks every 65,536 events; when one is asked to stop, all do, and all are counted.
#[test]
fn an_interrupted_run_ends_on_every_thread() {
    let lab = long_row();
    let asked = AtomicU32::new(0);
    let question = || asked.fetch_add(1, Ordering::SeqCst) > 0;
    let Err(failure) = run_cut(&lab.network, 7, &[0, 0, 0, 0, 1, 1, 1, 1], &question) else {
        panic!("it was asked to stop")
    };
    let RunError::Interrupted { at, events, .. } = failure else { panic!("{failure:?}") };
    assert!(at < 2 * SECOND && events > 65_536, "{at} {events}");
}

/// Two regions with a source each of twice what its link carries, which nothing joins for a second: both stop at
/// their event 65,536, and the counts of the run are twice those of one.
#[test]
fn an_interrupted_run_has_the_counts_of_all_its_regions() {
    let counts = |sources: &[(&str, &str)]| {
        let mut lab = Lab::new();
        lab.duplex("a", "b", GBIT, 0);
        lab.duplex("b", "c", GBIT, SECOND);
        lab.duplex("c", "d", GBIT, 0);
        for (from, to) in sources {
            lab.flow(from, from, to, cbr(2 * GBIT, 100));
        }
        match run_cut(&lab.network, 7, &[0, 0, 1, 1], &|| true) {
            Err(RunError::Interrupted { at, events, packets, queued }) => {
                (at, events, packets, queued)
            }
            other => panic!("{other:?}"),
        }
    };
    let (at, events, packets, queued) = counts(&[("a", "b")]);
    assert!((1 << 16..(1 << 16) + 4).contains(&events), "{events}");
    assert!(packets > 10_000 && queued > 10_000, "{packets} {queued}");
    let twice = (at, 2 << 16, 2 * packets, 2 * queued);
    assert_eq!(counts(&[("a", "b"), ("c", "d")]), twice);
}

/// When one region breaks, all end.
#[test]
fn a_panic_in_one_region_ends_the_run() {
    let lab = long_row();
    let asked = AtomicU32::new(0);
    let question = || assert!(asked.fetch_add(1, Ordering::SeqCst) < 1, "a rule");
    let broken = run_cut(&lab.network, 7, &[0, 0, 0, 0, 1, 1, 1, 1], &|| {
        question();
        false
    });
    let Some(RunError::Panic { at, why }) = broken.err() else { panic!("broken") };
    assert!(at < 2 * SECOND && why.starts_with("a rule"), "{at} {why}");
}

/// Too many events at one instant in one region end the run, with the node and time of it.
#[test]
fn a_storm_in_one_region_is_reported_as_on_one_thread() {
    let mut lab = long_row();
    lab.flow("burst", "g", "h", schedule(&vec![(300 * MS, 100); 2_000]));
    lab.network.run.events_per_instant = 1_500;
    let uncut = lab.try_run(7).expect_err("a storm");
    let cut = run_cut(&lab.network, 7, &[0, 0, 0, 0, 1, 1, 1, 1], NEVER).expect_err("a storm");
    assert_eq!(uncut, cut);
}
