//! IP routing that follows failures.

use crate::support::{cbr, Lab, MBIT, MS, SECOND};
use trunkline_engine::network::recovery::{Detection, Rerouting};
use trunkline_packet::Cause;

/// A square S-A-T, S-B-T; the way over A is the shorter.
fn square() -> (Lab, usize) {
    let mut lab = Lab::chain(&["S", "A", "T"], 8 * MBIT, 5 * MS);
    lab.duplex("S", "B", 8 * MBIT, 5 * MS);
    lab.duplex("B", "T", 8 * MBIT, 5 * MS);
    let longer = lab.between("S", "B");
    lab.network.links[longer as usize].metric = 3;
    let flow = lab.flow("cbr", "S", "T", cbr(4 * MBIT, 1000));
    let links = vec![lab.between("A", "T"), lab.between("T", "A")];
    lab.fail("cut", links, &[(SECOND, 3 * SECOND)]);
    (lab, flow)
}

/// A-T is cut at 1 s, noticed at A after 10 ms; S hears 5 + 1 ms later and has new routes 100 ms
/// after that: 1.116 s. A itself has its new route, back over S, at 1.110 s.
///
/// Packets leave S every 2 ms and reach A 6 ms later (1 ms and 5 ms). On A-T at 1 s: sent at t they
/// are there from t + 6 to t + 12 ms: those of 988 ms would arrive at that very instant but the
/// failure comes first; 988, 990, 992 ms. At A between 1.000 and 1.110 s: sent from 994 ms to 1102
/// ms, 55 (that of 1104 ms comes at 1.110 s to a new route). From 1.110 to 1.116 s A sends packets
/// back to S, sent 1104 to 1114 ms (S sends that of 1116 ms over B): S gets them from 1.116 s on,
/// when it has its own new route: no loop, no loss.
#[test]
fn packets_are_lost_until_the_routers_next_to_the_failure_have_new_routes() {
    let (mut lab, flow) = square();
    lab.network.recovery.rerouting = Some(Rerouting {
        detection: Detection::LossOfSignal { delay_ns: 10 * MS },
        processing_ns: MS,
        spf_delay_ns: 100 * MS,
    });
    lab.network.run.trace = true;
    let outcome = lab.run(1);
    assert_eq!(outcome.drops(Cause::FailedInFlight), 3);
    assert_eq!(outcome.drops(Cause::LinkDown), 55);
    assert_eq!(outcome.flow(flow, "packets_dropped") as i64, 58);
    let table = outcome.table("timeline");
    let rerouted =
        trunkline_engine::TIMELINE_EVENT_NAMES.iter().position(|name| *name == "rerouted");
    let rows = table.int("event").iter().zip(table.int("node")).zip(table.int("time_ns"));
    let at = |node: u32| -> Vec<i64> {
        rows.clone()
            .filter(|((&e, &n), _)| e as usize == rerouted.unwrap_or(0) && n == i64::from(node))
            .map(|(_, &time)| time)
            .collect()
    };
    let ms = MS as i64;
    assert_eq!(at(lab.node("A")), [1110 * ms, 3110 * ms]);
    assert_eq!(at(lab.node("S")), [1116 * ms, 3116 * ms]);
    // The routes to T that came into use then: A sends back to S, S over B; and back again.
    let [s, a, b, t] = ["S", "A", "B", "T"].map(|name| lab.node(name));
    let routes = outcome.table("routes");
    let (times, nodes, links) = (routes.int("time_ns"), routes.int("node"), routes.int("link"));
    let to = |index: usize| lab.network.links[links[index] as usize].to;
    let found: Vec<(i64, u32, u32)> = (0..times.len())
        .filter(|&index| routes.int("destination")[index] == i64::from(t))
        .map(|index| (times[index] / ms, nodes[index] as u32, to(index)))
        .collect();
    assert_eq!(found, [(1110, a, s), (1116, s, b), (3110, a, t), (3116, s, a)]);
}

#[test]
fn without_rerouting_packets_are_lost_until_the_repair() {
    let (lab, _) = square();
    let outcome = lab.run(1);
    // At A from 1.000 s to 3.000 s: sent from 994 ms to 2992 ms, 1000 packets; that of 2994 ms
    // comes at 3.000 s, when the repair has come first.
    assert_eq!(outcome.drops(Cause::LinkDown), 1000);
}
