//! RFC 5681: slow start, congestion avoidance, fast retransmit and recovery, delayed
//! acknowledgements.

use crate::hand::Hand;
use crate::pipe::{config, Pipe, EVERY_SECOND, MS};
use trunkline_agent::tcp::{Receiver, State, TcpConfig, Variant};
use trunkline_units::{NEVER, SECOND};

/// Ten segments at the start, segment 0 lost: nine duplicates will come.
fn ten(variant: Variant) -> TcpConfig {
    TcpConfig { initial_window: 10.0, ..config(variant) }
}

/// 2, 4, 8, 16, 32 segments in round trips of 100 ms.
#[test]
fn s3_1_slow_start_doubles_the_window_each_round_trip() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut pipe = Pipe::long(&config(variant)).start();
        pipe.run(450 * MS);
        let counts: Vec<usize> = (0..5).map(|n| pipe.round(n).len()).collect();
        assert_eq!(counts, [2, 4, 8, 16, 32], "{variant:?}");
        assert_eq!(pipe.sender.state(), State::SlowStart);
    }
}

/// A round trip brings floor(w) acknowledgements, each worth between 1 / (w + 1) and 1 / w.
#[test]
fn s3_1_congestion_avoidance_adds_at_most_one_segment_each_round_trip() {
    let config =
        TcpConfig { initial_window: 10.0, initial_ssthresh: Some(10.0), ..config(Variant::Reno) };
    let mut pipe = Pipe::long(&config).start();
    for round in 1..=10 {
        let before = pipe.sender.cwnd();
        pipe.run(round * 100 * MS + MS);
        let grown = pipe.sender.cwnd() - before;
        let smallest = before.floor() / (before + 1.0);
        assert!(grown > smallest && grown <= 1.0, "round trip {round}: {grown}");
    }
    assert_eq!(pipe.sender.state(), State::CongestionAvoidance);
}

/// Half of 10 is 5; the window shrinks to 5 and segment 0 leaves with the third duplicate, not before.
#[test]
fn s3_2_the_third_duplicate_resends_and_halves() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let (mut hand, first) = Hand::start(&ten(variant));
        assert_eq!(first, (0..10).collect::<Vec<u32>>());
        assert_eq!((hand.ack(0), hand.ack(0)), (vec![], vec![]));
        assert_eq!(hand.sender.cwnd(), 10.0);
        assert_eq!(hand.ack(0), [0], "{variant:?}");
        assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (5.0, 5.0));
        assert_eq!(hand.sender.state(), State::FastRecovery);
        assert_eq!(hand.sender.counters().fast_retransmits, 1);
    }
}

/// After three duplicates the window is 5 + 3 = 8 of 10 outstanding. The fourth and fifth make it
/// 10; the sixth to ninth let one new segment go each.
#[test]
fn s3_2_each_further_duplicate_inflates_by_one_segment() {
    let (mut hand, _) = Hand::start(&ten(Variant::Reno));
    let sent: Vec<Vec<u32>> = (0..9).map(|_| hand.ack(0)).collect();
    let expected: [&[u32]; 9] = [&[], &[], &[0], &[], &[], &[10], &[11], &[12], &[13]];
    assert_eq!(sent, expected);
    // The new acknowledgement deflates to 5 (+ 1/5): 10..14 are outstanding, one more fits.
    assert_eq!(hand.ack(10), [14]);
    assert_eq!(hand.sender.cwnd(), 5.2);
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
}

/// Tahoe starts over: window 1, back to segment 0, and slow start up to the half of 10.
#[test]
fn tahoe_restarts_slow_start_at_the_lost_segment() {
    let (mut hand, _) = Hand::start(&ten(Variant::Tahoe));
    hand.ack(0);
    hand.ack(0);
    assert_eq!(hand.ack(0), [0]);
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (1.0, 5.0));
    assert_eq!(hand.sender.state(), State::SlowStart);
    assert!((0..6).all(|_| hand.ack(0).is_empty()), "further duplicates send nothing");
    // All ten arrived but the first: two new segments at a window of 2.
    assert_eq!(hand.ack(10), [10, 11]);
}

/// Half of 10; then the same segment times out again and the half of the window of 1 is under the
/// floor of 2 for the older variants, while SACK holds the threshold.
#[test]
fn s3_1_a_timeout_leaves_a_window_of_one() {
    for (variant, second) in [(Variant::NewReno, 2.0), (Variant::Sack, 5.0)] {
        let (mut hand, _) = Hand::start(&ten(variant));
        assert_eq!(hand.expire(), [0]);
        assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (1.0, 5.0));
        assert_eq!(hand.sender.state(), State::Timeout);
        assert_eq!(hand.expire(), [0]);
        assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (1.0, second), "{variant:?}");
    }
}

#[test]
fn s2_an_acknowledgement_with_nothing_outstanding_is_no_duplicate() {
    let config = TcpConfig { size_bytes: Some(1000), ..config(Variant::Reno) };
    let (mut hand, _) = Hand::start(&config);
    hand.ack(1);
    for _ in 0..5 {
        assert_eq!(hand.ack(1), []);
    }
    assert_eq!(hand.sender.counters().fast_retransmits, 0);
}

/// A window of 4 that the receiver grants bounds a congestion window that would be larger.
#[test]
fn s3_1_the_receivers_window_bounds_the_flight() {
    let config = TcpConfig { window_packets: 4, ..config(Variant::NewReno) };
    let mut pipe = Pipe::long(&config).start();
    pipe.run(SECOND);
    assert_eq!(pipe.peak_flight, 4);
    assert_eq!(pipe.round(9).len(), 4);
}

fn delayed() -> Receiver {
    Receiver::new(&TcpConfig { delayed_ack: EVERY_SECOND, ..config(Variant::NewReno) })
}

/// At 5 ms: held, due at 105 ms. The second, at 7 ms, ends the wait.
#[test]
fn s4_2_every_second_segment_is_acknowledged() {
    let mut receiver = delayed();
    assert!(!receiver.on_segment(0, false, 0, false, false, 5 * MS));
    assert_eq!(receiver.timer(), 105 * MS);
    assert!(receiver.on_segment(1, false, 0, false, false, 7 * MS));
    assert_eq!(receiver.ack(7 * MS).ack, 2);
    assert_eq!(receiver.timer(), NEVER);
    assert!(!receiver.on_segment(2, false, 0, false, false, 9 * MS));
    assert!(!receiver.on_timer(109 * MS - 1));
    assert!(receiver.on_timer(109 * MS));
    assert_eq!(receiver.ack(109 * MS).ack, 3);
}

#[test]
fn s4_2_a_gap_its_filling_and_a_copy_are_acknowledged_at_once() {
    let mut receiver = delayed();
    let mut arrive = |seq| {
        let now = receiver.on_segment(seq, false, 0, false, false, 0);
        (now, receiver.ack(0).ack)
    };
    assert_eq!(arrive(2), (true, 0), "leaves a gap");
    assert_eq!(arrive(0), (true, 1), "fills a part");
    assert_eq!(arrive(1), (true, 3), "fills the rest");
    assert_eq!(arrive(1), (true, 3), "a copy");
    assert_eq!(arrive(3), (false, 4), "back to order");
}

/// 2500 B in segments of 1000 B: 1040, 1040 and 540 B of IP; 2500 B delivered, once.
#[test]
fn a_finite_transfer_ends_with_a_short_segment() {
    let config = TcpConfig { size_bytes: Some(2500), ..config(Variant::NewReno) };
    let mut pipe = Pipe::long(&config).start();
    pipe.run(SECOND);
    let sizes: Vec<u16> = pipe.sent.iter().map(|(_, segment)| segment.ip_bytes).collect();
    assert_eq!(sizes, [1040, 1040, 540]);
    assert_eq!(pipe.receiver.goodput_bytes(), 2500);
    // Two in the first round trip, the third in the second: done just after 200 ms.
    let finished = pipe.sender.finished_at().unwrap();
    assert!((200 * MS..201 * MS).contains(&finished), "{finished}");
    assert_eq!(pipe.sender.timer(), NEVER);
}

#[test]
fn a_stopped_sender_makes_good_what_it_sent_and_no_more() {
    let mut pipe = Pipe::long(&ten(Variant::NewReno)).lose_once(&[4]).start();
    pipe.sender.stop(0);
    pipe.run(5 * SECOND);
    assert_eq!(pipe.acked, 10);
    assert_eq!(pipe.sender.counters().segments_sent, 11);
    assert_eq!(pipe.sender.finished_at(), None);
}
