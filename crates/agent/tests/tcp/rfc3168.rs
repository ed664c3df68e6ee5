//! RFC 3168 section 6.1: what TCP does about congestion marks.

use crate::hand::Hand;
use crate::pipe::{config, Fate, Pipe};
use trunkline_agent::tcp::{Receiver, State, TcpConfig, Variant};
use trunkline_units::SECOND;

fn ecn(variant: Variant) -> TcpConfig {
    TcpConfig { ecn: true, initial_window: 10.0, ..config(variant) }
}

/// A mark is echoed on every acknowledgement until the sender says it reduced its window; a mark
/// on that very segment starts over.
#[test]
fn s6_1_3_echoes_until_the_window_was_reduced() {
    let mut receiver = Receiver::new(&ecn(Variant::NewReno));
    let arrivals = [(false, false), (true, false), (false, false), (false, true), (true, true)];
    let echoes: Vec<bool> = (0..)
        .zip(arrivals)
        .map(|(seq, (ce, cwr))| {
            receiver.on_segment(seq, false, 0, ce, cwr, 0);
            receiver.ack(0).ece
        })
        .collect();
    assert_eq!(echoes, [false, true, true, false, true]);
}

/// 10 outstanding, echo on the first acknowledgement: window 5, and again only once segment 10,
/// sent after the reduction, is acknowledged.
#[test]
fn s6_1_2_reduces_once_per_window_of_data() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let (mut hand, _) = Hand::start(&ecn(variant));
        hand.ece(1);
        assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (5.0, 5.0), "{variant:?}");
        for ack in 2..=9 {
            hand.ece(ack);
            assert_eq!(hand.sender.cwnd(), 5.0, "an echo opens nothing: {variant:?}");
        }
        hand.ece(10);
        assert_eq!(hand.sender.cwnd(), 5.0);
        hand.ece(11);
        assert_eq!(hand.sender.cwnd(), 2.5);
        assert_eq!(hand.sender.counters().retransmissions, 0);
    }
}

#[test]
fn s6_1_2_says_so_on_the_first_new_segment() {
    let mut pipe = Pipe::long(&ecn(Variant::NewReno));
    pipe.fate = Box::new(|s| if s.seq == 3 { Fate::Mark } else { Fate::Carry });
    let mut pipe = pipe.start();
    pipe.run(SECOND);
    let with_cwr: Vec<u32> = pipe.sent.iter().filter(|(_, s)| s.cwr).map(|(_, s)| s.seq).collect();
    // Acknowledgements 1 to 3 let 10..16 go; the echo comes with acknowledgement 4.
    assert_eq!(with_cwr, [16]);
    // Echoed from segment 3 until segment 16 arrives.
    let echoed: Vec<u32> =
        pipe.acks.iter().filter(|(_, a, _)| a.ece).map(|(_, a, _)| a.ack).collect();
    assert_eq!(echoed, (4..=16).collect::<Vec<u32>>());
}

/// A loss reduces the window too: the first new segment after the one resent says so, once.
#[test]
fn s6_1_2_after_a_loss_says_so_on_new_data_not_on_the_segment_resent() {
    let mut pipe = Pipe::long(&ecn(Variant::NewReno)).lose_once(&[1]).start();
    pipe.run(SECOND);
    let with_cwr: Vec<u32> = pipe.sent.iter().filter(|(_, s)| s.cwr).map(|(_, s)| s.seq).collect();
    let first_new = pipe.sent.iter().skip_while(|(_, s)| !s.retransmission).nth(1).unwrap().1.seq;
    assert_eq!(with_cwr, [first_new]);
}

/// A loss in the window that an echo already halved: resent, not halved again.
#[test]
fn s6_1_2_a_loss_in_the_same_window_does_not_reduce_again() {
    let (mut hand, _) = Hand::start(&ecn(Variant::NewReno));
    hand.ece(1);
    hand.ack(1);
    hand.ack(1);
    assert_eq!(hand.ack(1), [1]);
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (5.0, 5.0));
    assert_eq!(hand.sender.state(), State::FastRecovery);
}

/// At a window of one segment an echo stops all sending until the timer runs out.
#[test]
fn s6_1_2_at_a_window_of_one_the_timer_paces() {
    let (mut hand, _) = Hand::start(&TcpConfig { initial_window: 1.0, ..ecn(Variant::NewReno) });
    assert_eq!(hand.ece(1), []);
    assert_eq!(hand.expire(), [1]);
    assert_eq!(hand.sender.cwnd(), 1.0);
    assert_eq!(hand.sender.counters().timeouts, 0, "nothing was lost");
    assert_eq!(hand.ack(2), [2, 3]);
}

#[test]
fn without_ecn_an_echo_means_nothing() {
    let (mut hand, _) = Hand::start(&TcpConfig { ecn: false, ..ecn(Variant::NewReno) });
    hand.ece(1);
    assert_eq!(hand.sender.cwnd(), 11.0);
}
