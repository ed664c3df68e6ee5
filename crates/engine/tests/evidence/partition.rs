//! One run on several threads: the results of one thread, wherever the network is cut.

use crate::random::{any_lab, NODES};
use crate::support::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use trunkline_agent::tcp::Variant;
use trunkline_engine::network::{Agent, Measure};
use trunkline_engine::{run_cut, run_on_threads, RunError, Table};

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

fn bits(tables: Vec<Table>) -> Outcome {
    Outcome { tables, lines: vec![] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

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
