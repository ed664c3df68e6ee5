//! Windows and timers, instant by instant: on 1 Gbit/s a segment takes 8.32 us and an
//! acknowledgement 0.32 us; 50 ms each way make a round trip of 100.00864 ms.

use super::*;
use trunkline_engine::observer::Event;

const ROUND: u64 = 100 * MS + 8_320 + 320;

fn fast(config: TcpConfig) -> Lab {
    one_flow(config, GBIT, 50 * MS, 100_000)
}

/// 1, 2, 4, 8, ... segments a round trip from an initial window of 1.
#[test]
fn rfc5681_s3_1_slow_start_doubles_every_round_trip() {
    let mut lab = fast(TcpConfig { initial_window: 1.0, ..tcp(Variant::NewReno) });
    lab.lasting(0, 11 * ROUND);
    let sent = lab.trace(1).sent(0);
    for round in 0..11 {
        // Acknowledgements are 8.32 us apart: a round's segments follow its start closely.
        let within = |at: u64| at >= round * ROUND && at < (round + 1) * ROUND;
        let count = sent.iter().filter(|(at, _)| within(*at)).count();
        assert_eq!(count, 1 << round, "round {round}");
    }
}

/// A transfer of 1023 = 1 + 2 + ... + 512 segments takes ten rounds. The last starts after nine
/// round trips and keeps the line busy for 512 segments; the last acknowledgement comes 100 ms and
/// 0.32 us after the last bit.
#[test]
fn rfc5681_s3_1_a_transfer_of_1023_segments_ends_after_ten_rounds() {
    let config =
        TcpConfig { initial_window: 1.0, size_bytes: Some(1_023_000), ..tcp(Variant::Sack) };
    let mut lab = fast(config);
    lab.lasting(0, 2 * SECOND);
    let run = lab.run(1);
    let end = 9 * ROUND + 512 * 8_320 + 100 * MS + 320;
    assert_eq!(run.flow(0, "finished_ns"), end as f64);
    assert_eq!(run.flow(0, "goodput_bytes"), 1_023_000.0);
    assert_eq!(run.flow(0, "packets_sent"), 1023.0);
    assert_eq!(run.flow(0, "bytes_sent"), 1023.0 * 1040.0);
    assert_eq!(run.flow(0, "acks_sent"), 1023.0);
}

/// Congestion avoidance: about one segment more per round trip. With 1 / cwnd per acknowledgement
/// the window follows w' = w + 1 / w for every of its w acknowledgements, a little below that.
#[test]
fn rfc5681_s3_1_congestion_avoidance_adds_a_segment_a_round_trip() {
    let mut lab = fast(TcpConfig { initial_ssthresh: Some(10.0), ..tcp(Variant::Reno) });
    let cwnd = lab.probe(Measure::Cwnd, 0, ROUND);
    lab.lasting(0, 60 * ROUND);
    let windows: Vec<f64> = lab.run(1).series(cwnd).iter().map(|(_, value)| *value).collect();
    let after = |rounds: usize| windows[rounds + 4] - windows[4];
    assert!(windows[4] >= 10.0, "{windows:?}");
    for rounds in [10, 30, 50] {
        let gain = after(rounds) / rounds as f64;
        assert!(gain <= 1.0 && gain > 0.93, "{gain} a round over {rounds}");
    }
}

/// A window of 20 segments and nothing lost: 20 segments a round trip, whatever the line.
#[test]
fn a_window_limits_throughput_to_a_window_a_round_trip() {
    let mut lab = fast(TcpConfig { window_packets: 20, ..tcp(Variant::NewReno) });
    lab.lasting(10 * ROUND, 110 * ROUND);
    let run = lab.run(1);
    assert_eq!(run.flow(0, "packets_sent"), 2000.0);
    assert_eq!(run.flow(0, "goodput_bytes"), 2_000_000.0);
}

/// Nothing arrives: expiries after 1, 2, 4, 8, 16, 32 s and then every 60 s (the maximum here).
#[test]
fn rfc6298_s5_5_the_timer_backs_off_by_doubling_up_to_its_maximum() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut lab = fast(TcpConfig { initial_window: 1.0, ..tcp(variant) });
        lab.network.links[0].loss = 1.0;
        lab.lasting(0, 200 * SECOND);
        let run = lab.trace(1);
        let times: Vec<u64> = run.sent(0).iter().map(|(at, _)| at / SECOND).collect();
        assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183], "{variant:?}");
        assert!(run.sent(0).iter().all(|(at, packet)| at % SECOND == 0 && packet.seq == 0));
        assert_eq!(run.flow(0, "timeouts"), 8.0);
    }
}

/// A timer of 1 s at least (2.4) on a path of 100 ms: a tail that is cut off is resent 1 s after
/// the last acknowledgement restarted the timer (5.3). The last segment of 4 is lost.
#[test]
fn rfc6298_s5_3_the_timer_runs_from_the_last_new_acknowledgement() {
    let config = TcpConfig {
        initial_window: 4.0,
        size_bytes: Some(4000),
        rto_min_ns: SECOND,
        ..tcp(Variant::NewReno)
    };
    let mut lab = fast(config);
    // Three segments and no more get into the first node's port at once.
    lab.feed(0, fifo(queue(2, false)));
    lab.lasting(0, 3 * SECOND);
    let run = lab.trace(1);
    let last_ack = ROUND + 2 * 8_320; // of the third segment
    assert_eq!(resent(&run), [(last_ack + SECOND, 3)]);
}

/// The same by script: the first copy of the last segment is lost on the wire, the second is not.
#[test]
fn rfc6298_s5_3_a_segment_lost_by_script_is_resent_when_the_timer_says() {
    let config = TcpConfig {
        initial_window: 4.0,
        size_bytes: Some(4000),
        rto_min_ns: SECOND,
        ..tcp(Variant::NewReno)
    };
    let mut lab = fast(config);
    lab.network.links[0].scripted = vec![Scripted { flow: 0, seq: 3, times: 1 }];
    lab.lasting(0, 3 * SECOND);
    let run = lab.trace(1);
    assert_eq!(resent(&run), [(ROUND + 2 * 8_320 + SECOND, 3)]);
    assert_eq!(run.flow(0, "goodput_bytes"), 4000.0);
    // Lost twice: again after the doubled timer (5.5).
    lab.network.links[0].scripted[0].times = 2;
    lab.lasting(0, 5 * SECOND);
    let again = ROUND + 2 * 8_320 + SECOND;
    assert_eq!(resent(&lab.trace(1)), [(again, 3), (again + 2 * SECOND, 3)]);
}

/// Acknowledgements of a connection are numbered from 0 on, one after the other, as its trace shows.
#[test]
fn acknowledgements_are_numbered_as_they_are_sent() {
    let mut lab = fast(TcpConfig { size_bytes: Some(30_000), ..tcp(Variant::Sack) });
    lab.lasting(0, SECOND);
    let run = lab.trace(1);
    let sent = run.events(0, true, |event| matches!(event, Event::Sent { .. }));
    let numbers: Vec<u32> = sent.iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(numbers, (0..30).collect::<Vec<u32>>());
}
