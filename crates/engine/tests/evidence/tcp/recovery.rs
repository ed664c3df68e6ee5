//! Many losses in one window: slow start overshoots a queue of 20 packets behind 10 Mbit/s, 20 ms.

use super::*;

const DELAY: u64 = 20 * MS;

fn overshoot(variant: Variant) -> Outcome {
    overshoot_of(tcp(variant))
}

/// The first 3 s of a flow: the overshoot, its recovery, and congestion avoidance after it.
fn overshoot_of(config: TcpConfig) -> Outcome {
    let mut lab = one_flow(config, 10 * MBIT, DELAY, 20);
    lab.lasting(0, 3 * SECOND);
    lab.trace(1)
}

/// Segments lost before the first retransmission, and when and which of these were resent.
fn first_losses(run: &Outcome) -> (Vec<u32>, Vec<(u64, u32)>) {
    let resent = resent(run);
    let before = |at: u64| at < resent[0].0;
    let lost = run.lost(0);
    let lost: Vec<u32> =
        lost.iter().filter(|(at, _)| before(*at)).map(|(_, packet)| packet.seq).collect();
    assert!(lost.len() > 10, "{lost:?}");
    let repairs = resent.into_iter().filter(|(_, seq)| lost.contains(seq)).collect();
    (lost, repairs)
}

/// RFC 6582 section 3.2 step 5: each partial acknowledgement resends the next hole and nothing
/// else, so n losses take n round trips. A round trip is at least 40 ms and the queue adds at
/// most 21 segments of 0.832 ms.
#[test]
fn rfc6582_s3_2_new_reno_repairs_one_segment_a_round_trip() {
    let run = overshoot(Variant::NewReno);
    let (lost, resent) = first_losses(&run);
    let numbers: Vec<u32> = resent.iter().map(|(_, seq)| *seq).collect();
    assert_eq!(numbers, lost, "each loss is repaired once, in order");
    for pair in resent.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        assert!(gap >= 2 * DELAY, "{gap} ns");
        assert!(gap <= 2 * DELAY + 22 * 832_000 + 864_000, "{gap} ns");
    }
    assert_eq!(run.flow(0, "timeouts"), 0.0);
}

/// RFC 6582 section 4: "impatient" restarts the timer on the first partial acknowledgement only,
/// so so many losses end in a timeout.
#[test]
fn rfc6582_s4_impatient_new_reno_times_out_where_slow_but_steady_goes_on() {
    let config = TcpConfig { new_reno_impatient: true, ..tcp(Variant::NewReno) };
    let run = overshoot_of(config);
    assert!(run.flow(0, "timeouts") >= 1.0);
}

/// RFC 6675: the holes are known, so all are repaired within about two round trips of the first,
/// several in each: the acknowledgements of one window clock them out.
#[test]
fn rfc6675_s5_sack_repairs_several_holes_in_a_round_trip() {
    let run = overshoot(Variant::Sack);
    let (lost, resent) = first_losses(&run);
    let mut numbers: Vec<u32> = resent.iter().map(|(_, seq)| *seq).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, lost, "each loss is repaired once");
    let took = resent[resent.len() - 1].0 - resent[0].0;
    assert!(took <= 2 * (2 * DELAY + 22 * 832_000), "{} holes in {took} ns", lost.len());
    assert_eq!(run.flow(0, "timeouts"), 0.0);
}

/// Fall & Floyd, Computer Communication Review 26(3), 1996: Reno recovers from one loss in a
/// window and waits for the timer after several; NewReno and SACK do not; SACK is soonest done.
#[test]
fn fall_floyd_1996_reno_times_out_where_new_reno_and_sack_do_not() {
    let runs = [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack].map(overshoot);
    let timeouts = runs.each_ref().map(|run| run.flow(0, "timeouts"));
    assert!(timeouts[1] >= 1.0 && timeouts[2] == 0.0 && timeouts[3] == 0.0, "{timeouts:?}");
    let goodput = runs.each_ref().map(|run| run.flow(0, "goodput_bytes"));
    assert!(goodput[3] > goodput[2] && goodput[3] > goodput[1], "{goodput:?}");
}

/// RFC 5681 section 3.2: one loss is resent after the third duplicate, when four segments that
/// follow it have left or three duplicates have come: no timer, one retransmission, half a window.
#[test]
fn rfc5681_s3_2_a_single_loss_is_repaired_by_fast_retransmit_and_halves_the_window() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        // Congestion avoidance from 30: the queue overflows by one segment, later.
        let config = TcpConfig { initial_ssthresh: Some(30.0), ..tcp(variant) };
        let mut lab = one_flow(config, 10 * MBIT, DELAY, 20);
        let cwnd = lab.probe(Measure::Cwnd, 0, MS);
        lab.lasting(0, 6 * SECOND);
        let run = lab.trace(1);
        let lost = run.lost(0);
        let resent = resent(&run);
        assert!(!lost.is_empty(), "{variant:?}");
        assert_eq!(lost.len(), resent.len(), "{variant:?}");
        assert_eq!(run.flow(0, "timeouts"), 0.0, "{variant:?}");
        for ((_, segment), (at, seq)) in lost.iter().zip(&resent) {
            assert_eq!(segment.seq, *seq, "{variant:?}");
            let series = run.series(cwnd);
            let value = |time: u64| series.iter().rfind(|(when, _)| *when <= time).map(|(_, w)| *w);
            let (before, after) = (value(at - MS).unwrap(), value(at + 2 * MS).unwrap());
            // SACK halves the segments in flight, which lag the window by the three duplicates.
            assert!((after / before - 0.5).abs() < 0.06, "{variant:?}: {before} to {after}");
        }
    }
}
