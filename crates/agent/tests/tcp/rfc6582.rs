//! RFC 6582: NewReno.

use crate::hand::Hand;
use crate::pipe::{config, Pipe, MS};
use trunkline_agent::tcp::{State, TcpConfig, Variant};
use trunkline_units::SECOND;

fn new_reno() -> TcpConfig {
    TcpConfig { initial_window: 20.0, initial_ssthresh: Some(20.0), ..config(Variant::NewReno) }
}

/// Five of the first twenty lost: the first goes again at 100 ms, and each acknowledgement that
/// covers a part names the next, a round trip later.
#[test]
fn s3_2_repairs_one_loss_each_round_trip() {
    let lost = [2, 5, 6, 11, 15];
    let mut pipe = Pipe::long(&new_reno()).lose_once(&lost).start();
    pipe.run(2 * SECOND);
    let again: Vec<(u64, u32)> = pipe
        .sent
        .iter()
        .filter(|(_, segment)| segment.retransmission)
        .map(|(at, segment)| (at / (100 * MS), segment.seq))
        .collect();
    assert_eq!(again, [(1, 2), (2, 5), (3, 6), (4, 11), (5, 15)]);
    assert_eq!(pipe.sender.counters().fast_retransmits, 1, "one recovery");
    assert_eq!(pipe.sender.counters().timeouts, 0);
}

/// Window 20, segment 0 lost and 10 too: 18 duplicates. Half is 10; 10 + 18 = 28 lets 20..28 go.
/// The acknowledgement of 10 segments takes 9 from the inflation (10 less the one resent): 10 + 9
/// = 19 from 10 on, up to 29: 28 is sent with segment 10.
#[test]
fn s3_2_a_partial_acknowledgement_deflates_by_what_it_covers() {
    let (mut hand, _) = Hand::start(&new_reno());
    let sent: Vec<u32> = (0..18).flat_map(|_| hand.ack(0)).collect();
    assert_eq!(sent, [0, 20, 21, 22, 23, 24, 25, 26, 27]);
    assert_eq!(hand.ack(10), [10, 28]);
    assert_eq!(hand.sender.cwnd(), 10.0);
    assert_eq!(hand.sender.state(), State::FastRecovery);
    // All that was outstanding at the loss: recovery ends, 20..29 fill nine of the ten.
    assert_eq!(hand.ack(20), [29]);
    assert_eq!(hand.sender.cwnd(), 10.1);
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
}

/// As above in the NewReno that does not deflate as RFC 2582 section 3 step 5 asks: 10 + 0 from 10 on
/// is full with what is outstanding up to 28, so segment 10 goes alone. Eight duplicates later 10 + 8
/// from 10 on is full still, the ninth lets one go.
#[test]
fn rfc2582_s3_step5_without_deflation_a_partial_acknowledgement_sends_one_segment() {
    let config = TcpConfig { partial_ack_resets: true, ..new_reno() };
    let (mut hand, _) = Hand::start(&config);
    let sent: Vec<u32> = (0..18).flat_map(|_| hand.ack(0)).collect();
    assert_eq!(sent, [0, 20, 21, 22, 23, 24, 25, 26, 27]);
    assert_eq!(hand.ack(10), [10]);
    assert_eq!(hand.sender.cwnd(), 10.0);
    let sent: Vec<u32> = (0..8).flat_map(|_| hand.ack(10)).collect();
    assert_eq!(sent, []);
    assert_eq!(hand.ack(10), [28]);
}

/// As above with a receiver's window of 20: the duplicates send nothing, and 10 + 9 from 10 on would
/// let 20..29 go at once. Two follow each acknowledgement.
#[test]
fn ns2_at_most_two_new_segments_follow_an_acknowledgement_in_recovery() {
    let (mut hand, _) = Hand::start(&TcpConfig { window_packets: 20, ..new_reno() });
    let sent: Vec<u32> = (0..18).flat_map(|_| hand.ack(0)).collect();
    assert_eq!(sent, [0]);
    assert_eq!(hand.ack(10), [10, 20, 21]);
    assert_eq!(hand.ack(10), [22, 23]);
}

/// Twelve losses in a row take twelve round trips of 100 ms; the timer allows 300 ms. Restarted at
/// each partial acknowledgement it never runs out; restarted at the first only, it does.
#[test]
fn s4_slow_but_steady_never_times_out_where_impatient_does() {
    let lost: Vec<u32> = (30..42).collect();
    for (new_reno_impatient, timeouts) in [(false, 0), (true, 1)] {
        let config = TcpConfig { new_reno_impatient, ..new_reno() };
        let mut pipe = Pipe::long(&config).lose_once(&lost).start();
        pipe.run(3 * SECOND);
        assert_eq!(pipe.sender.counters().timeouts, timeouts);
        assert!(pipe.acked > 80, "{}", pipe.acked);
    }
}

/// Duplicates for segments sent before a timeout start no fast retransmit until more than those is
/// acknowledged (section 3.2 step 2, "careful").
#[test]
fn s3_2_duplicates_of_what_a_timeout_resent_are_no_new_loss() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 10.0, ..new_reno() });
    assert_eq!(hand.expire(), [0]);
    assert_eq!(hand.ack(5), [5, 6]);
    for _ in 0..5 {
        assert_eq!(hand.ack(5), []);
    }
    assert_eq!(hand.sender.counters().fast_retransmits, 0);
    // Exactly what was outstanding: still careful.
    let next = hand.ack(10);
    assert_eq!(next, [10, 11, 12]);
    for _ in 0..5 {
        hand.ack(10);
    }
    assert_eq!(hand.sender.counters().fast_retransmits, 0);
    hand.ack(11);
    assert_eq!((hand.ack(11), hand.ack(11)), (vec![], vec![]));
    // Beyond it: a loss again. Window 4 / 2 + 3 = 5 from 11 on, so 15 goes too.
    assert_eq!(hand.ack(11), [11, 15]);
    assert_eq!(hand.sender.counters().fast_retransmits, 1);
}

/// A timeout goes back to the first unacknowledged segment and sends on from there in slow start.
#[test]
fn a_timeout_goes_back_and_sends_on() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 10.0, ..new_reno() });
    assert_eq!(hand.expire(), [0]);
    assert_eq!(hand.ack(1), [1, 2]);
    assert_eq!(hand.ack(2), [3, 4]);
    // Segments 3 to 9 had arrived: what was resent needs no further copy.
    assert_eq!(hand.ack(10), [10, 11, 12, 13]);
    assert_eq!(hand.sender.counters().retransmissions, 5);
}
