//! Loss of a constant bit rate through a failure.

use super::bench::{times, Bench};
use crate::support::{drr, fifo, schedule, Lab, Outcome, MS, SECOND, UNLIMITED};
use trunkline_engine::network::recovery::{Detection, Outages};
use trunkline_engine::network::{FlowKey, Flows, Hosts, Overflow, Queue};
use trunkline_packet::Cause;
use trunkline_port::aqm::{AqmConfig, DualPi2Config};

const FIXED_0: Detection = Detection::Fixed { delay_ns: 0 };

fn lost(outcome: &Outcome, flow: usize) -> i64 {
    outcome.flow(flow, "packets_dropped") as i64
}

/// Packets leave at 0, 2, 4, ... ms. On a link they are 1.004 ms in transmission (1000 B and one
/// label at 8 Mbit/s) and 5 ms under way. A-B is cut at 1 s and noticed at A and B after 10 ms.
/// A notifies S: 5 ms and 1 ms of processing; hold-off 20 ms, switch 3 ms. Together 39 ms: the
/// packet sent at 1.039 s would be the first to take the backup, and those at 1.040 s do.
///
/// A packet sent at t passes A-B from t + 6.004 to t + 12.008 ms. So the first lost was sent after
/// 987.992 ms, that is at 988 ms, and the last before 1039 ms, that is at 1038 ms: 26 packets.
#[test]
fn cbr_loses_what_was_in_flight_and_what_detection_notification_hold_off_and_switch_take() {
    let mut bench = Bench::new();
    let cut = bench.both("A", "B");
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    let protection = bench.protect(Detection::LossOfSignal { delay_ns: 10 * MS });
    protection.processing_ns = MS;
    protection.hold_off_ns = 20 * MS;
    protection.switch_ns = 3 * MS;
    let outcome = bench.lab.trace(1);
    assert_eq!(times(&outcome, "failed"), [SECOND]);
    assert_eq!(times(&outcome, "detected")[0], SECOND + 10 * MS);
    assert_eq!(times(&outcome, "notified")[0], SECOND + 16 * MS);
    assert_eq!(times(&outcome, "held-off"), [SECOND + 36 * MS]);
    assert_eq!(times(&outcome, "switched"), [SECOND + 39 * MS]);
    assert_eq!(lost(&outcome, bench.flow), 26);
    // 988 ms..: sent 988 and 990 and 992 had left A (at most 1000 - 6.004 = 993.996 ms ago).
    assert_eq!(outcome.drops(Cause::FailedInFlight), 3);
    assert_eq!(outcome.drops(Cause::FailedQueued), 0);
    assert_eq!(outcome.drops(Cause::LinkDown), 23);
    // The gap at T: the last before the cut was sent at 986 ms and takes 3 x 6.004 ms; the first
    // after it was sent at 1040 ms and takes 4 x 6.004 ms.
    let arrivals: Vec<u64> = outcome.delivered(bench.flow).iter().map(|line| line.0).collect();
    let gap = arrivals.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert_eq!(gap, Some(54 * MS + 6_004_000));
}

/// A set time of zero: the packet sent at the instant of the cut takes the backup already.
#[test]
fn a_switch_after_zero_loses_the_packets_in_flight_alone() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    bench.protect(FIXED_0);
    let outcome = bench.lab.run(1);
    // On S-A from t to t + 6.004 ms: sent at 994 (arrives at 1000.004), 996 and 998 ms.
    assert_eq!(lost(&outcome, bench.flow), 3);
    assert_eq!(times(&outcome, "switched"), [SECOND]);
}

/// The load is 8 Mbit/s and a bit more than the link: the queue of S-A holds packets at the cut.
#[test]
fn packets_waiting_and_packets_under_way_are_counted_by_cause() {
    let mut bench = Bench::new();
    let agent = crate::support::cbr(2 * super::bench::RATE, 1000);
    bench.lab.network.flows[bench.flow].agent = agent.into();
    bench.lab.lasting(0, 100 * MS);
    let cut = bench.both("S", "A");
    bench.lab.fail("cut", cut, &[(50 * MS, 0)]);
    let outcome = bench.lab.run(1);
    // Every 0.5 ms a packet comes and every 1.004 ms one leaves. By 50 ms (the control comes
    // before the packet of 50 ms) 100 came and 49 left (at 49 x 1.004 = 49.196 ms); 5 ms of
    // propagation: those that left after 45 ms (the 45th at 45.18 ms) are under way, 5, and one
    // is being sent: 6 in flight, 100 - 49 - 1 = 50 queued.
    assert_eq!(outcome.drops(Cause::FailedInFlight), 6);
    assert_eq!(outcome.drops(Cause::FailedQueued), 50);
    // 50, 50.5, ... 99.5 ms.
    assert_eq!(outcome.drops(Cause::LinkDown), 100);
}

/// All links of A, as a node and as four links.
#[test]
fn the_failure_of_a_node_is_that_of_all_its_links() {
    let run = |node: bool| {
        let mut bench = Bench::new();
        let mut links = bench.both("S", "A");
        links.extend(bench.both("A", "B"));
        if node {
            bench.lab.fail("node", links, &[(SECOND, 2 * SECOND)]);
            bench.lab.network.recovery.failures[0].node = true;
        } else {
            for link in links {
                bench.lab.fail("link", vec![link], &[(SECOND, 2 * SECOND)]);
            }
        }
        bench.protect(Detection::LossOfSignal { delay_ns: 10 * MS });
        bench.lab.run(1)
    };
    let (node, links) = (run(true), run(false));
    assert_eq!(node.bits(&["cause"]).len(), links.bits(&["cause"]).len());
    for (a, b) in node.bits(&["cause"]).into_iter().zip(links.bits(&["cause"])) {
        // One event takes down four links instead of four events.
        if a.1 != "events" {
            assert_eq!(a, b);
        }
    }
    assert_eq!(node.drops(Cause::NodeDown), links.drops(Cause::LinkDown));
    assert!(node.drops(Cause::NodeDown) > 0);
}

/// Both paths are cut at once; the working one is repaired after 1 s, the backup never.
#[test]
fn two_failures_at_one_instant_lose_everything_until_the_first_repair() {
    let mut bench = Bench::new();
    let (working, backup) = (bench.both("A", "B"), bench.both("C", "D"));
    bench.lab.fail("working", working, &[(SECOND, 2 * SECOND)]);
    bench.lab.fail("backup", backup, &[(SECOND, 0)]);
    bench.protect(FIXED_0);
    let outcome = bench.lab.run(1);
    // Working, cut at 1 s: sent from 988 ms on (see the first test) until 998 ms: 6. Sent from 1 s
    // to 1.998 s: 500, onto the backup: all lost at C-D or waiting for it; at 2 s back.
    assert_eq!(lost(&outcome, bench.flow), 6 + 500);
    assert_eq!(times(&outcome, "reverted"), [2 * SECOND]);
}

/// Down for 5 ms, looked at for 10 ms: no switch, and the packets of the flap are lost.
#[test]
fn a_flap_shorter_than_detection_goes_unnoticed_and_costs_its_own_packets() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("flap", cut, &[(SECOND, SECOND + 5 * MS)]);
    bench.protect(Detection::LossOfSignal { delay_ns: 10 * MS });
    let outcome = bench.lab.run(1);
    assert!(times(&outcome, "detected").is_empty());
    assert!(times(&outcome, "switched").is_empty());
    // In flight: 994, 996, 998 ms; at the port: 1000, 1002, 1004 ms.
    assert_eq!(lost(&outcome, bench.flow), 6);
}

/// From the start and for good, without protection: all 5000 packets of 10 s are lost.
#[test]
fn a_path_that_is_down_for_the_whole_run_delivers_nothing() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("for good", cut, &[(0, 0)]);
    let outcome = bench.lab.run(1);
    assert_eq!(outcome.flow(bench.flow, "packets_delivered") as i64, 0);
    assert_eq!(outcome.drops(Cause::LinkDown), 5000);
}

/// Hold-off of 50 ms, repaired (and known) after 30 ms: no switch.
#[test]
fn a_failure_that_passes_within_the_hold_off_time_is_not_switched() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("short", cut, &[(SECOND, SECOND + 30 * MS)]);
    bench.protect(FIXED_0).hold_off_ns = 50 * MS;
    let outcome = bench.lab.run(1);
    assert_eq!(times(&outcome, "notified"), [SECOND]);
    assert!(times(&outcome, "held-off").is_empty() && times(&outcome, "switched").is_empty());
}

/// Up 90 ms and down 10 ms on average: unavailable 10 % of the time. Over 10 s of some 100 cycles
/// and 40 seeds the standard error is about 0.1 * 1.3 / sqrt(4000) = 0.002.
#[test]
fn a_random_process_is_down_for_mttr_over_mtbf_plus_mttr() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("random", cut, &[]);
    bench.lab.network.recovery.failures[0].outages =
        Outages::Random { mtbf_ns: 90 * MS, mttr_ns: 10 * MS };
    let share = |seed: u64| {
        let table = bench.lab.run(seed);
        let rows = table.table("timeline");
        let link = 0;
        let mut down = 0;
        let mut since = None;
        for ((&event, &at), &which) in
            rows.int("event").iter().zip(rows.int("time_ns")).zip(rows.int("link"))
        {
            match (which == link, event, since) {
                (true, 0, _) => since = Some(at),
                (true, 6, Some(from)) => down += at - from,
                _ => {}
            }
        }
        down as f64 / 1e10
    };
    let mean = (1..=40).map(share).sum::<f64>() / 40.0;
    assert!((mean - 0.1).abs() < 4.0 * 0.002, "{mean}");
}

/// A limit of 4000 B: of eight packets of 1000 B four may wait, or three where the one in service counts. The
/// link fails with all of them there, and after its repair as many fit again, in each kind of queue.
#[test]
fn a_cut_empties_the_bytes_that_the_limit_of_a_class_sees() {
    let flows = Flows {
        queues: Some(64),
        quantum_bytes: 1500,
        new_first: true,
        labelled: FlowKey::Label,
        overflow: Overflow::Arrival,
        batch: 1,
        flow_limit_packets: None,
        ways: 1,
        hosts: Hosts::Flows,
    };
    let dualpi2 = AqmConfig::Dualpi2(DualPi2Config {
        target_ns: 15 * MS,
        tupdate_ns: 16 * MS,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step_ns: MS,
        protection: 0.1,
        mtu_bytes: 1500,
    });
    let plain = Queue { limit_bytes: Some(4000), ..UNLIMITED };
    for queue in [
        plain.clone(),
        Queue { flows: Some(flows), ..plain.clone() },
        Queue { aqm: dualpi2, ..plain },
    ] {
        for (counts_in_service, dropped) in [(false, 3), (true, 4)] {
            let queue = Queue { counts_in_service, ..queue.clone() };
            for port in [fifo(queue.clone()), drr(&[1500, 1500], &queue)] {
                let mut lab = Lab::server(8_000, port);
                let bursts = [[(0, 1000); 8], [(2 * SECOND, 1000); 8]].concat();
                lab.flow("bursts", "a", "b", schedule(&bursts));
                lab.fail("cut", vec![0], &[(MS, SECOND)]);
                lab.lasting(0, 2 * SECOND + MS);
                let run = lab.run(1);
                assert_eq!(run.drops(Cause::QueueFull), 2 * dropped, "{queue:?}");
                assert_eq!(run.drops(Cause::FailedQueued), 7 - dropped, "{queue:?}");
                assert_eq!(run.drops(Cause::FailedInFlight), 1, "{queue:?}");
            }
        }
    }
}

/// A packet of 1000 B for a link of 500 B: too big before a failure and after its repair; while the link is down
/// that is why it is lost, or its node.
#[test]
fn a_packet_is_lost_for_the_reason_of_its_time() {
    for (node, down) in [(false, Cause::LinkDown), (true, Cause::NodeDown)] {
        let mut lab = Lab::server(8_000_000, fifo(UNLIMITED));
        lab.network.links[0].mtu_bytes = 500;
        lab.flow("large", "a", "b", schedule(&[(MS, 1000), (5 * MS, 1000), (9 * MS, 1000)]));
        lab.fail("cut", vec![0], &[(3 * MS, 7 * MS)]).node = node;
        lab.lasting(0, SECOND);
        let run = lab.run(1);
        assert_eq!((run.drops(Cause::TooBig), run.drops(down)), (2, 1), "{down:?}");
    }
}
