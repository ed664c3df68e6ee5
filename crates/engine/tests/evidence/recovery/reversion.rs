//! Going back to a repaired path.

use super::bench::{times, Bench};
use crate::support::{Outcome, MS, SECOND};
use trunkline_engine::network::recovery::Detection;
use trunkline_packet::Cause;

fn cut_for_a_second(
    adjust: impl Fn(&mut trunkline_engine::network::recovery::Protection),
) -> (Outcome, usize) {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    bench.lab.fail("cut", cut, &[(SECOND, 2 * SECOND)]);
    adjust(bench.protect(Detection::Fixed { delay_ns: 0 }));
    (bench.lab.run(1), bench.flow)
}

/// The three packets in flight at the cut (994, 996, 998 ms) are lost, and none on the way back.
/// The working path is a link of 6.004 ms shorter, a packet comes every 2 ms: of the last packets
/// on the backup (sent at 2.094, 2.096, 2.098 s) each arrives after the ones sent up to 6.004 ms
/// later on the working path; 2.094 is overtaken by 2.100 (94 + 24.016 > 100 + 18.012), so are the
/// later ones: 3 reordered.
#[test]
fn make_before_break_loses_nothing_on_the_way_back() {
    let (outcome, flow) = cut_for_a_second(|protection| {
        protection.wait_to_restore_ns = 80 * MS;
        protection.switch_ns = 20 * MS;
        protection.make_before_break = true;
    });
    assert_eq!(times(&outcome, "switched"), [SECOND + 20 * MS]);
    assert_eq!(times(&outcome, "reverted"), [2 * SECOND + 100 * MS]);
    // In flight 3, and those sent during the first switch: 1000, ... 1018 ms, 10.
    assert_eq!(outcome.flow(flow, "packets_dropped") as i64, 3 + 10);
    assert_eq!(outcome.drops(Cause::Switching), 0);
    assert_eq!(outcome.flow(flow, "reordered") as i64, 3);
}

/// Break before make: from 2.08 s to 2.1 s nothing passes: 10 packets.
#[test]
fn break_before_make_loses_what_comes_during_the_switch() {
    let (outcome, flow) = cut_for_a_second(|protection| {
        protection.wait_to_restore_ns = 80 * MS;
        protection.switch_ns = 20 * MS;
        protection.make_before_break = false;
    });
    assert_eq!(times(&outcome, "reverted"), [2 * SECOND + 100 * MS]);
    assert_eq!(outcome.drops(Cause::Switching), 10);
    assert_eq!(outcome.flow(flow, "packets_dropped") as i64, 3 + 10 + 10);
}

#[test]
fn without_reversion_traffic_stays_on_the_backup() {
    let (outcome, _) = cut_for_a_second(|protection| protection.revertive = false);
    assert!(times(&outcome, "reverted").is_empty());
    // On the backup from 1 s to the end of 10 s: 4500 packets entered it.
    assert_eq!(outcome.table("paths").int("packets")[1], 4500);
}

/// Repaired at 2 s, failed again at 2.03 s, within the 50 ms of waiting: no way back until 3.05 s.
#[test]
fn a_failure_during_wait_to_restore_starts_the_wait_anew() {
    let mut bench = Bench::new();
    let cut = bench.both("S", "A");
    let outages = [(SECOND, 2 * SECOND), (2 * SECOND + 30 * MS, 3 * SECOND)];
    bench.lab.fail("cut", cut, &outages);
    bench.protect(Detection::Fixed { delay_ns: 0 }).wait_to_restore_ns = 50 * MS;
    let outcome = bench.lab.run(1);
    assert_eq!(times(&outcome, "reverted"), [3 * SECOND + 50 * MS]);
    assert_eq!(times(&outcome, "switched"), [SECOND]);
}
