//! Counts of delivered packets by their marks, which a comparison with another engine reads.

use crate::support::*;

/// A packet of 1000 B each 8 ms arrives 1 ms later: those of 2,000 to 4,992 ms, 375 of them, within a run of
/// 5 s whose warm-up ends at 2 s. The other flow begins at 3 s, with 250. Nothing before counts.
#[test]
fn packets_are_counted_by_their_marks_from_the_end_of_the_warm_up_on() {
    let mut lab = Lab::server(8 * MBIT, fifo(queue(10, false)));
    for (dscp, start_ns) in [(46, 0), (10, 3 * SECOND)] {
        let flow = lab.flow(&format!("of {dscp}"), "a", "b", cbr(MBIT, 1000));
        (lab.network.flows[flow].dscp, lab.network.flows[flow].start_ns) = (dscp, start_ns);
    }
    lab.network.run.delivered_marks = true;
    lab.lasting(2 * SECOND, 5 * SECOND);
    let run = lab.run(1);
    let marks = run.table("delivered_marks");
    assert_eq!(marks.int("dscp"), [46, 10]);
    assert_eq!(marks.int("ecn"), [0, 0]);
    assert_eq!(marks.int("packets")[0], 375);
    for flow in 0..2 {
        let delivered = run.flow(flow, "packets_delivered");
        assert_eq!(marks.int("packets")[flow] as f64, delivered, "{flow}");
    }
}
