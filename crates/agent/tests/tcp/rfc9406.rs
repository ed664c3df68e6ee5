//! RFC 9406: HyStart++ in a connection of CUBIC.

use crate::hand::Hand;
use crate::pipe::{config, MS};
use trunkline_agent::tcp::{Ack, CongestionConfig, CubicConfig, SlowStart, TcpConfig, Variant};

fn plus_plus() -> TcpConfig {
    TcpConfig {
        congestion: CongestionConfig::Cubic(CubicConfig { slow_start: SlowStart::HystartPlusPlus }),
        timestamps: true,
        count_segments: true,
        initial_window: 20.0,
        ..config(Variant::NewReno)
    }
}

/// Section 4.2: an acknowledgement opens the window by what it covers, 8 segments at most where nothing is paced.
#[test]
fn s4_2_an_acknowledgement_opens_eight_segments_at_most() {
    for (covered, opened) in [(5, 5.0), (8, 8.0), (20, 8.0)] {
        let (mut hand, _) = Hand::start(&plus_plus());
        hand.now = 100 * MS;
        hand.ack(covered);
        assert_eq!(hand.sender.cwnd(), 20.0 + opened, "{covered}");
    }
}

/// Section 4.2: a round trip of 100 ms, then one of 140: the first seven samples open a segment each, the eighth a
/// quarter. The acknowledgement that ends a round is the first of the next.
#[test]
fn s4_2_seven_samples_tell_nothing() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 10.0, ..plus_plus() });
    hand.now = 100 * MS;
    for ack in 1..=9 {
        hand.full(&Ack { ack, echo: 0, ..Ack::default() });
    }
    hand.now = 240 * MS;
    for (each, opened) in (1..).zip([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25, 0.25]) {
        let before = hand.sender.cwnd();
        hand.full(&Ack { ack: 9 + each, echo: 100 * MS, ..Ack::default() });
        assert_eq!(hand.sender.cwnd() - before, opened, "{each}");
    }
}

/// Section 4.3: HyStart++ is for the first slow start only. After a timeout at a window of 20, with 20 out, the
/// threshold is 14 and the window 1; the answer to all 20 counts as one (RFC 3465 section 2.3); then eight samples
/// of a longer round trip change nothing, and the window ends at the threshold.
#[test]
fn s4_3_after_a_loss_slow_start_is_the_standard_one() {
    let (mut hand, _) = Hand::start(&plus_plus());
    hand.expire();
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (1.0, 14.0));
    hand.ack(20);
    assert_eq!(hand.sender.cwnd(), 2.0);
    for ack in 21..=30 {
        hand.now += if ack == 25 { 900 * MS } else { MS };
        let before = hand.sender.cwnd();
        hand.full(&Ack { ack, echo: 0, ..Ack::default() });
        assert_eq!(hand.sender.cwnd() - before, 1.0, "{ack}");
    }
}
