//! RFC 3465: the window grows by what an acknowledgement covers; and Linux's quick ACKs.

use crate::hand::Hand;
use crate::pipe::{config, MS};
use trunkline_agent::tcp::{DelayedAck, Receiver, TcpConfig, Variant};

fn counting(variant: Variant) -> TcpConfig {
    TcpConfig { initial_window: 4.0, count_segments: true, ..config(variant) }
}

/// From 4 an acknowledgement of 2 gives 6 and lets 2 + 2 segments go; once per acknowledgement it
/// would be 5.
#[test]
fn s2_2_slow_start_adds_each_segment_covered() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let (mut hand, _) = Hand::start(&counting(variant));
        assert_eq!(hand.ack(2), [4, 5, 6, 7], "{variant:?}");
        assert_eq!(hand.sender.cwnd(), 6.0);
        assert_eq!(hand.ack(6).len(), 8);
        assert_eq!(hand.sender.cwnd(), 10.0);
    }
}

/// Threshold 5, window 4: of 3 segments covered one reaches the threshold, two add 2 / 5.
#[test]
fn s2_1_what_is_left_at_the_threshold_avoids_congestion() {
    let config = TcpConfig { initial_ssthresh: Some(5.0), ..counting(Variant::NewReno) };
    let (mut hand, _) = Hand::start(&config);
    hand.ack(3);
    assert!((hand.sender.cwnd() - 5.4).abs() < 1e-12);
    // Above it two segments add 2 / 5.4 where one acknowledgement would add 1 / 5.4.
    hand.ack(5);
    assert!((hand.sender.cwnd() - (5.4 + 2.0 / 5.4)).abs() < 1e-12);
}

/// The receiver's window of 5 bounds what slow start would take to 7.
#[test]
fn s2_2_the_advertised_window_still_bounds() {
    let config = TcpConfig { window_packets: 5, ..counting(Variant::Reno) };
    let (mut hand, _) = Hand::start(&config);
    hand.ack(3);
    assert_eq!(hand.sender.cwnd(), 5.0);
}

/// Window 4, so 2 after the timeout's threshold; the acknowledgement covers all 4 at once, 3 of them
/// received before. It counts as one: 1 + 1 = 2, not 1 + 4.
#[test]
fn s2_3_after_a_timeout_an_acknowledgement_counts_once() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let (mut hand, _) = Hand::start(&counting(variant));
        assert_eq!(hand.expire(), [0], "{variant:?}");
        hand.ack(4);
        assert_eq!(hand.sender.cwnd(), 2.0, "{variant:?}");
    }
}

/// Ten out, segment 0 lost: half is 5. The acknowledgement of all ten ends recovery; of the ten,
/// nine had been acknowledged by duplicates, so that it opens 1 / 5 and not 10 / 5.
#[test]
fn s2_1_the_acknowledgement_that_ends_recovery_counts_once() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let config = TcpConfig { initial_window: 10.0, ..counting(variant) };
        let (mut hand, _) = Hand::start(&config);
        for _ in 0..9 {
            hand.ack(0);
        }
        hand.ack(10);
        assert!((hand.sender.cwnd() - 5.2).abs() < 1e-12, "{variant:?}");
    }
}

mod linux {
    use super::*;

    /// Three quick ones: segments 0, 1, 2 at once, then every second.
    #[test]
    fn tcp_input_first_segments_are_acknowledged_one_by_one() {
        let delayed = DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 3 };
        let config = TcpConfig { delayed_ack: Some(delayed), ..config(Variant::NewReno) };
        let mut receiver = Receiver::new(&config);
        let mut answered = Vec::new();
        for seq in 0..8 {
            let now = u64::from(seq) * MS;
            if receiver.on_segment(seq, false, now, false, false, now) {
                receiver.ack(now);
                answered.push(seq);
            }
        }
        assert_eq!(answered, [0, 1, 2, 4, 6]);
    }
}
