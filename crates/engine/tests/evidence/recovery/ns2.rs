//! A failing link side by side with ns-2 2.35. `ns2/README.md` says how the file was made.

use crate::support::{schedule, Lab, MBIT, MS, SECOND, US};
use trunkline_engine::observer::Event;
use trunkline_packet::Cause;

fn theirs(event: &str) -> Vec<(u64, u32)> {
    let rows = include_str!("../../ns2/cut.csv").lines().skip(1);
    rows.map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[0] == event)
        .map(|fields| {
            let seconds: f64 = fields[1].parse().expect("a time");
            ((seconds * 1e9).round() as u64, fields[2].parse().expect("a number"))
        })
        .collect()
}

/// The same packets are lost at the failure, waiting, in transmission and on the wire, and the same
/// are received before and after it, to the microsecond that ns-2 prints.
///
/// By hand: by 1 s 1429 came (0.1 ms + 0.7 ms k), 994 had arrived (6.1 ms + 1 ms k), 6 are under
/// way, 429 wait. 714 come to the closed link, which ns-2 does not trace.
#[test]
fn a_link_that_fails_loses_the_packets_that_ns2_loses() {
    let mut lab = Lab::new();
    let (there, back) = lab.duplex("a", "b", 8 * MBIT, 5 * MS);
    let times: Vec<(u64, u32)> = (0..2857).map(|k| (100 * US + 700 * US * k, 1000)).collect();
    let flow = lab.flow("cbr", "a", "b", schedule(&times));
    lab.fail("cut", vec![there, back], &[(SECOND, SECOND + 500 * MS)]);
    lab.lasting(0, 2 * SECOND);
    let ours = lab.trace(1);
    assert_eq!(ours.drops(Cause::FailedInFlight), 6);
    assert_eq!(ours.drops(Cause::FailedQueued), 429);
    assert_eq!(ours.drops(Cause::LinkDown), 714);

    let at_failure = |event| match event {
        Event::Dropped { cause, .. } => cause != Cause::LinkDown,
        _ => false,
    };
    let mut lost: Vec<u32> =
        ours.events(flow, false, at_failure).iter().map(|(_, packet)| packet.seq).collect();
    let mut lost_there: Vec<u32> = theirs("d").iter().map(|row| row.1).collect();
    lost.sort_unstable();
    lost_there.sort_unstable();
    assert_eq!(lost, lost_there);

    let within = 980 * MS + 1..1520 * MS;
    let received: Vec<(u64, u32)> = ours
        .delivered(flow)
        .iter()
        .filter(|(at, _)| within.contains(at))
        .map(|(at, packet)| (*at, packet.seq))
        .collect();
    let received_there = theirs("r");
    assert_eq!(received.len(), received_there.len());
    for (ours, theirs) in received.iter().zip(&received_there) {
        assert!(ours.1 == theirs.1 && ours.0.abs_diff(theirs.0) <= US, "{ours:?} {theirs:?}");
    }
}
