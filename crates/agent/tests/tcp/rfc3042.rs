//! RFC 3042: limited transmit.

use crate::hand::Hand;
use crate::pipe::{config, Pipe};
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_units::SECOND;

fn four(variant: Variant, limited_transmit: bool) -> TcpConfig {
    TcpConfig { initial_window: 4.0, limited_transmit, ..config(variant) }
}

#[test]
fn s2_the_first_two_duplicates_send_one_new_segment_each() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        let (mut hand, _) = Hand::start(&four(variant, true));
        assert_eq!((hand.ack(0), hand.ack(0)), (vec![4], vec![5]), "{variant:?}");
        assert_eq!(hand.ack(0), [0], "the third resends");
        assert_eq!(hand.sender.ssthresh(), 2.0, "half of the window, without the two");
    }
    let (mut hand, _) = Hand::start(&four(Variant::Sack, true));
    assert_eq!((hand.sack(0, &[[1, 2]]), hand.sack(0, &[[1, 3]])), (vec![4], vec![5]));
    assert_eq!(hand.sack(0, &[[1, 4]]), [0]);
    assert_eq!(hand.sender.ssthresh(), 2.0);
}

#[test]
fn s2_the_receivers_window_still_bounds_the_flight() {
    let config = TcpConfig { window_packets: 5, ..four(Variant::NewReno, true) };
    let (mut hand, _) = Hand::start(&config);
    assert_eq!((hand.ack(0), hand.ack(0)), (vec![4], vec![]));
}

#[test]
fn without_it_the_first_two_duplicates_send_nothing() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        let (mut hand, _) = Hand::start(&four(variant, false));
        assert_eq!((hand.ack(0), hand.ack(0)), (vec![], vec![]), "{variant:?}");
    }
    let (mut hand, _) = Hand::start(&four(Variant::Sack, false));
    assert!(hand.sack(0, &[[1, 2]]).is_empty() && hand.sack(0, &[[1, 3]]).is_empty());
}

/// A window of three with its first segment lost: two duplicates are one too few, so only limited
/// transmit avoids the timeout.
#[test]
fn s1_it_saves_a_window_of_three_from_a_timeout() {
    for (limited_transmit, timeouts) in [(false, 1), (true, 0)] {
        let config = TcpConfig {
            size_bytes: Some(20_000),
            initial_window: 3.0,
            window_packets: 6,
            ..four(Variant::NewReno, limited_transmit)
        };
        let mut pipe = Pipe::long(&config).lose_once(&[0]).start();
        pipe.run(20 * SECOND);
        assert_eq!(pipe.acked, 20);
        assert_eq!(pipe.sender.counters().timeouts, timeouts);
    }
}
