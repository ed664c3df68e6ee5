//! RFC 8985: losses found by time, and tail loss probes, in the stack of the RFCs.

use crate::hand::Hand;
use crate::pipe::{config, Fate, Pipe, MS};
use trunkline_agent::tcp::{State, TcpConfig, Variant};
use trunkline_units::SECOND;

fn rack(window: f64) -> TcpConfig {
    TcpConfig { initial_window: window, initial_ssthresh: Some(window), ..config(Variant::Rack) }
}

/// Segment 0 answered after 100 ms gives SRTT, RACK.rtt and min_RTT 100 ms; 10 is sent for it then.
fn timed(window: f64) -> Hand {
    let (mut hand, _) = Hand::start(&rack(window));
    hand.now = 100 * MS;
    assert_eq!(hand.ack(1), [window as u32]);
    hand
}

/// Section 6.2 step 4: no reordering seen and DupThresh segments held: the window is 0. Three held, sent with
/// 1 and after it: 1 is lost at once. One held is fewer: 1 is lost min_RTT / 4 = 25 ms after RACK.rtt, which
/// has passed since it was sent when the timer that step 5 sets runs out.
#[test]
fn s6_2_a_segment_overtaken_is_lost_at_once_or_after_a_quarter_of_the_round_trip() {
    let mut at_once = timed(10.0);
    at_once.now = 101 * MS;
    assert_eq!(at_once.sack(1, &[[2, 5]]), [1]);
    assert_eq!(at_once.sender.state(), State::FastRecovery);
    let mut later = timed(10.0);
    later.now = 101 * MS;
    assert_eq!(later.sack(1, &[[2, 3]]), [11]);
    assert_eq!(later.sender.state(), State::CongestionAvoidance);
    assert_eq!(later.sender.timer(), 126 * MS);
    assert_eq!(later.expire(), [1]);
    assert_eq!(later.sender.state(), State::FastRecovery);
}

/// Section 6.2 step 3: 2 arrived before 1, which was not sent again: reordering is seen. From then on three
/// held do not shorten the window of a quarter of the round trip: 4 lost? not before 25 ms have passed.
#[test]
fn s6_2_reordering_once_seen_keeps_the_window_open() {
    let mut hand = timed(10.0);
    hand.now = 101 * MS;
    hand.sack(1, &[[2, 3]]);
    hand.now = 102 * MS;
    hand.ack(4);
    hand.now = 103 * MS;
    assert!(!hand.sack(4, &[[5, 9]]).contains(&4));
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
    assert_eq!(hand.sender.timer(), 128 * MS);
    assert_eq!(hand.expire()[0], 4);
}

/// Section 6.2 step 4: each round trip with a D-SACK adds a quarter of min_RTT: after one 50 ms of 100 ms.
#[test]
fn s6_2_a_duplicate_reported_widens_the_window_once_a_round() {
    let mut hand = timed(10.0);
    hand.now = 101 * MS;
    // Twice in one round: only one widens.
    hand.sack(1, &[[0, 1]]);
    hand.sack(1, &[[0, 1]]);
    hand.sack(1, &[[2, 3]]);
    assert_eq!(hand.sender.timer(), 151 * MS);
}

/// Section 7.2 and 7.3: two round trips after the last answer the last segment is sent again, if there is no new
/// data; the timeout runs from then. Its acknowledgement repairs the loss without a timeout.
#[test]
fn s7_a_lost_tail_is_found_by_a_probe_after_two_round_trips() {
    let transfer = TcpConfig { size_bytes: Some(10_000), rto_initial_ns: SECOND, ..rack(10.0) };
    let mut lost_tail = Pipe::long(&transfer).lose_once(&[9]).start();
    lost_tail.run(3 * SECOND);
    let again: Vec<u32> = lost_tail
        .sent
        .iter()
        .filter(|(_, one)| one.retransmission)
        .map(|(_, one)| one.seq)
        .collect();
    assert_eq!(again, [9]);
    assert_eq!(lost_tail.sender.counters().timeouts, 0);
    // The SACK variant waits for the timer, which is longer.
    let mut without = Pipe::long(&TcpConfig { variant: Variant::Sack, ..transfer });
    without = without.lose_once(&[9]).start();
    without.run(3 * SECOND);
    assert_eq!(without.sender.counters().timeouts, 1);
    assert!(lost_tail.sender.finished_at() < without.sender.finished_at());
}

/// Section 7.4.2: the probe was a loss's repair if something beyond it is acknowledged and no D-SACK came: the window
/// is halved. With a D-SACK of the probe both arrived, and it is not.
#[test]
fn s7_4_2_a_loss_that_a_probe_repaired_halves_the_window() {
    for (twice, cwnd) in [(false, 5.0), (true, 10.0)] {
        let (mut hand, first) = Hand::start(&TcpConfig { window_packets: 10, ..rack(10.0) });
        assert_eq!(first.len(), 10);
        hand.now = 100 * MS;
        hand.ack(1);
        let end = 11;
        assert_eq!(hand.expire(), [end - 1]);
        hand.ack(end);
        if twice {
            hand.sack(end, &[[end - 1, end]]);
        }
        hand.ack(end + 1);
        assert!((hand.sender.cwnd() - cwnd).abs() < 1.0, "{twice} {}", hand.sender.cwnd());
    }
}

/// Section 6.3: a timeout loses the first segment, and those sent longer ago than RACK.rtt and the window: not the four
/// sent 6 ms before, which stay in flight together with the first, sent again.
#[test]
fn s6_3_a_timeout_spares_what_was_sent_within_the_round_trip() {
    let mut hand = timed(10.0);
    hand.now = 101 * MS;
    hand.sack(1, &[[2, 3]]);
    assert_eq!(hand.expire(), [1]); // at 126 ms; the timeout is 300 ms from then
    hand.now = 420 * MS;
    assert_eq!(hand.sack(1, &[[2, 12]]), [12, 13, 14, 15]);
    assert_eq!(hand.expire(), [1]);
    assert_eq!((hand.now, hand.sender.state()), (426 * MS, State::Timeout));
    assert_eq!((hand.sender.cwnd(), hand.sender.in_flight()), (1.0, 5));
}

/// Section 1: segments that come late are no losses. 2 % of them 5 ms late on a path of 100 ms: once
/// reordering was seen nothing is sent again, where duplicates alone take each for a loss.
#[test]
fn s1_late_segments_are_not_sent_again() {
    let again = |variant| {
        let mut pipe = Pipe::long(&TcpConfig { variant, ..rack(50.0) }).start();
        let mut count = 0;
        pipe.fate = Box::new(move |_| {
            count += 1;
            if count % 50 == 0 {
                Fate::Late(8 * MS)
            } else {
                Fate::Carry
            }
        });
        pipe.run(20 * SECOND);
        pipe.sender.counters().retransmissions
    };
    let (by_time, by_duplicates) = (again(Variant::Rack), again(Variant::Sack));
    assert!(by_duplicates > 20, "{by_duplicates}");
    assert!(by_time <= 1, "{by_time}");
}
