//! RFC 6937 and RFC 6582 as Linux does them without SACK: duplicates are counted.

use crate::hand::Hand;
use trunkline_agent::tcp::{Ack, ReceiveBufferConfig, State, TcpConfig, Variant};

fn linux() -> TcpConfig {
    crate::linux::linux(Variant::NewReno)
}

/// Two duplicates let 10 and 11 go. The third starts recovery at 5: 12 out, 3 held and one lost
/// leave 8; CEIL(1 * 5 / 10) = 1 is the retransmission. Then CEIL(d * 5 / 10) less what went: for
/// d = 2, 3, 4, 5 it is 0, 1, 0, 1. In flight 8 + 1 - 1 = 8, 8, 7, 7 and then 6: above 5 all the time.
#[test]
fn s3_reduces_in_proportion_to_what_arrives() {
    let (mut hand, _) = Hand::start(&linux());
    assert_eq!((hand.ack(0), hand.ack(0)), (vec![10], vec![11]));
    assert_eq!(hand.ack(0), [0]);
    assert_eq!((hand.sender.ssthresh(), hand.sender.cwnd()), (5.0, 9.0));
    let sent: Vec<Vec<u32>> = (0..4).map(|_| hand.ack(0)).collect();
    assert_eq!(sent, [vec![], vec![12], vec![], vec![13]]);
}

/// As above with 0 and 5 lost: after all ten duplicates of 12, the acknowledgement of 0..5 covers one
/// hole and four that were held, and 5 goes again, once.
#[test]
fn rfc6582_s3_2_a_partial_acknowledgement_repairs_one_hole() {
    let (mut hand, _) = Hand::start(&linux());
    for _ in 0..10 {
        hand.ack(0);
    }
    let sent = hand.ack(5);
    assert_eq!(sent[0], 5);
    assert_eq!(hand.ack(5).iter().filter(|seq| **seq == 5).count(), 0);
    assert_eq!(hand.sender.state(), State::FastRecovery);
    assert_eq!(hand.sender.counters().fast_retransmits, 1);
}

/// `recover` is 12: its acknowledgement does not change recovery, duplicates of it start no other,
/// and the next one above it ends at the threshold, 5, with one of five towards the next.
#[test]
fn rfc6582_s4_recovery_is_held_until_something_above_recover_is_acknowledged() {
    let (mut hand, _) = Hand::start(&linux());
    for _ in 0..11 {
        hand.ack(0);
    }
    hand.ack(12);
    assert_eq!(hand.sender.state(), State::FastRecovery);
    for _ in 0..4 {
        assert!(!hand.ack(12).contains(&12), "no second fast retransmit");
    }
    hand.ack(13);
    assert_eq!(hand.sender.cwnd(), 5.0);
    assert_eq!(hand.sender.counters().fast_retransmits, 1);
}

/// Recovery has set 5; the timeout in it leaves 5, where half of the window left would be less.
#[test]
fn linux_a_timeout_in_recovery_keeps_the_threshold() {
    let (mut hand, _) = Hand::start(&linux());
    for _ in 0..3 {
        hand.ack(0);
    }
    assert_eq!(hand.expire(), [0]);
    assert_eq!((hand.sender.ssthresh(), hand.sender.cwnd()), (5.0, 1.0));
    hand.expire();
    assert_eq!(hand.sender.ssthresh(), 5.0, "nor does the next, without progress");
}

/// Memory of 20 kB is a window of 10 segments. In slow start the acknowledgement of 4 lets 14 of the
/// congestion window be out; the receiver allows as many, or 12.
#[test]
fn linux_the_receivers_window_is_what_acknowledgements_say() {
    let buffer = ReceiveBufferConfig { initial_bytes: 20_000, max_bytes: 20_000 };
    let slow = TcpConfig { initial_ssthresh: None, receive_buffer: Some(buffer), ..linux() };
    for (window, more) in [(14_000, 8), (12_000, 6)] {
        let (mut hand, first) = Hand::start(&slow);
        assert_eq!(first.len(), 10);
        assert_eq!(hand.full(&Ack { ack: 4, window, ..Ack::default() }).len(), more);
    }
}
