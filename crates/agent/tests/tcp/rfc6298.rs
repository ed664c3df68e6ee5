//! RFC 6298 as the sender applies it: when the timer runs, what it does, Karn's rule.

use crate::hand::Hand;
use crate::pipe::{config, Fate, Pipe, MS};
use trunkline_agent::tcp::{Ack, TcpConfig, Variant};
use trunkline_units::{NEVER, SECOND};

/// (5.1): the timer starts with the first segment and runs on when others follow; sent at 0 with 3 s.
/// (5.4) to (5.6): it resends the earliest that is not acknowledged, the wait doubles, and it starts again.
#[test]
fn s5_1_s5_4_s5_6_the_timer_runs_and_resends_the_earliest_segment() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 2.0, ..config(Variant::NewReno) });
    assert_eq!(hand.sender.timer(), 3 * SECOND);
    hand.now = 100 * MS;
    assert_eq!(hand.ack(1), [2, 3], "RTO = 300 ms from here");
    assert_eq!(hand.sender.timer(), 400 * MS);
    assert_eq!(hand.expire(), [1]);
    assert_eq!(hand.sender.rto(), 600 * MS);
    assert_eq!(hand.sender.timer(), 1000 * MS);
}

/// 3, 6, 12, 24, 48 s and then the maximum of 60 s: sent at 0, 3, 9, 21, 45, 93, 153, 213 s.
#[test]
fn s5_5_each_timeout_doubles_the_wait() {
    let config = TcpConfig { initial_window: 1.0, ..config(Variant::NewReno) };
    let mut pipe = Pipe::long(&config);
    pipe.fate = Box::new(|_| Fate::Lose);
    let mut pipe = pipe.start();
    pipe.run(220 * SECOND);
    let sent: Vec<u64> = pipe.sent.iter().map(|(at, _)| at / SECOND).collect();
    assert_eq!(sent, [0, 3, 9, 21, 45, 93, 153, 213]);
    assert_eq!(pipe.sender.counters().timeouts, 7);
}

/// Segment 0 times out at 3 s and is acknowledged at 3.1 s: no sample, and the wait stays at 6 s
/// until a segment sent once, 100 ms later, gives one: 100 + 4 * 50 = 300 ms.
#[test]
fn s3_a_resent_segment_gives_no_sample() {
    let config = TcpConfig { initial_window: 1.0, ..config(Variant::NewReno) };
    let mut pipe = Pipe::long(&config).lose_once(&[0]).start();
    pipe.run(3150 * MS);
    assert_eq!((pipe.sender.srtt(), pipe.sender.rto()), (None, 6 * SECOND));
    pipe.run(3250 * MS);
    assert_eq!((pipe.sender.srtt(), pipe.sender.rto()), (Some(100e6), 300 * MS));
}

/// With time stamps the acknowledgement of a resent segment is unambiguous (RFC 7323 section 4).
#[test]
fn s3_a_time_stamp_makes_a_resent_segment_count() {
    let config = TcpConfig { initial_window: 1.0, timestamps: true, ..config(Variant::NewReno) };
    let mut pipe = Pipe::long(&config).lose_once(&[0]).start();
    pipe.run(3150 * MS);
    assert_eq!((pipe.sender.srtt(), pipe.sender.rto()), (Some(100e6), 300 * MS));
}

#[test]
fn s5_2_s5_3_new_acknowledgements_restart_the_timer_and_the_last_stops_it() {
    let config = TcpConfig { size_bytes: Some(3000), ..config(Variant::Reno) };
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 3.0, ..config });
    assert_eq!(hand.sender.timer(), 3 * SECOND);
    hand.now = 100 * MS;
    hand.ack(1);
    // R = 100 ms: RTO = 300 ms from now.
    assert_eq!(hand.sender.timer(), 400 * MS);
    hand.now = 150 * MS;
    hand.ack(1);
    assert_eq!(hand.sender.timer(), 400 * MS, "a duplicate restarts nothing");
    hand.ack(3);
    assert_eq!(hand.sender.timer(), NEVER);
    assert_eq!(hand.sender.finished_at(), Some(150 * MS));
}

/// One segment is timed at a time: sent at 0 and acknowledged after 100 ms, while later ones that
/// took 250 ms were not timed.
#[test]
fn s3_one_segment_is_timed_per_window() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 4.0, ..config(Variant::Reno) });
    hand.now = 100 * MS;
    hand.ack(1);
    hand.now = 250 * MS;
    hand.ack(2);
    assert_eq!(hand.sender.srtt(), Some(100e6));
    // Every acknowledgement counts with time stamps: 7/8 * 100 + 1/8 * 250 in whole ticks of
    // 10 ms: 8 SRTT = 80, error 25 - 10 = 15, 95 / 8 = 11.875 ticks.
    let config = TcpConfig { initial_window: 4.0, timestamps: true, ..config(Variant::Reno) };
    let (mut hand, _) = Hand::start(&config);
    for (now, ack) in [(100 * MS, 1), (250 * MS, 2)] {
        hand.now = now;
        hand.full(&Ack { ack, ..Ack::default() });
    }
    assert_eq!(hand.sender.srtt(), Some(118.75e6));
}

/// Each burst waits for a time uniform on [0, 10) ms after the acknowledgement that allows it, and
/// then leaves whole. 1000 draws: mean 5 ms, standard error 10 ms / sqrt(12) / sqrt(1000) = 0.091.
#[test]
fn a_send_overhead_holds_each_burst_back_below_its_bound() {
    let config = TcpConfig {
        send_overhead_ns: 10 * MS,
        initial_ssthresh: Some(2.0),
        window_packets: 2,
        ..config(Variant::NewReno)
    };
    let (mut hand, first) = Hand::start(&config);
    assert_eq!(first, [0, 1], "the first burst leaves at once");
    let mut waits = 0;
    for round in 1..=1000 {
        assert_eq!(hand.ack(2 * round), []);
        let wait = hand.sender.timer() - hand.now;
        assert!(wait < 10 * MS);
        waits += wait;
        assert_eq!(hand.expire(), [2 * round, 2 * round + 1]);
    }
    assert!((waits as f64 / 1e9 - 5.0).abs() < 4.0 * 0.091, "{waits}");
}
