//! RFC 6675: recovery by selective acknowledgements.

use crate::hand::Hand;
use crate::pipe::{config, Pipe, MS};
use trunkline_agent::tcp::{State, TcpConfig, Variant};
use trunkline_units::SECOND;

fn sack(window: f64) -> TcpConfig {
    TcpConfig { initial_window: window, initial_ssthresh: Some(window), ..config(Variant::Sack) }
}

/// Step (4.2): "ssthresh = cwnd = (FlightSize / 2)", in bytes: of 21 segments 10 and a half.
/// In congestion avoidance a window of 10.5 has 11 after 6 acknowledgements, one of 10 after 10.
#[test]
fn s5_4_2_half_of_an_odd_flight_is_not_rounded() {
    let (mut hand, _) = Hand::start(&sack(21.0));
    for end in 3..=5 {
        hand.sack(0, &[[2, end]]);
    }
    assert_eq!(hand.sender.cwnd(), 10.5);
}

/// The losses that take NewReno five round trips go again within the one after they are noticed.
#[test]
fn s5_repairs_several_losses_in_one_round_trip() {
    let lost = [2, 5, 6, 11, 15];
    let mut pipe = Pipe::long(&sack(20.0)).lose_once(&lost).start();
    pipe.run(2 * SECOND);
    let again: Vec<(u64, u32)> = pipe
        .sent
        .iter()
        .filter(|(_, segment)| segment.retransmission)
        .map(|(at, segment)| (at / (100 * MS), segment.seq))
        .collect();
    assert_eq!(again, lost.map(|seq| (1, seq)));
    let counters = pipe.sender.counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
}

/// 20 outstanding, 0 and 1 lost. On the third duplicate (2, 3, 4 held) IsLost is true of 0 and 1:
/// ssthresh = cwnd = 10, 0 goes, pipe = 20 - 3 held - 2 lost + 1 resent = 16. Each further
/// duplicate takes one: after 6 more pipe is 10, after 7 it is 9 < 10 and 1 goes, then new ones.
#[test]
fn s5_sends_only_while_the_pipe_is_below_the_window() {
    let (mut hand, _) = Hand::start(&sack(20.0));
    assert_eq!(hand.sack(0, &[[2, 3]]), []);
    assert_eq!(hand.sack(0, &[[2, 4]]), []);
    assert_eq!(hand.sack(0, &[[2, 5]]), [0]);
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (10.0, 10.0));
    for end in 6..=11 {
        assert_eq!(hand.sack(0, &[[2, end]]), [], "{end}");
    }
    assert_eq!(hand.sack(0, &[[2, 12]]), [1]);
    assert_eq!(hand.sack(0, &[[2, 13]]), [20]);
    assert_eq!(hand.sack(0, &[[2, 14]]), [21]);
    assert_eq!(hand.sender.state(), State::FastRecovery);
    // RecoveryPoint is 20: its acknowledgement ends recovery.
    hand.sack(20, &[]);
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
    assert_eq!(hand.sender.cwnd(), 10.0);
}

/// One acknowledgement that reports three segments above the gap is enough (section 5 (2)).
#[test]
fn s5_2_one_acknowledgement_can_prove_a_loss() {
    let (mut hand, _) = Hand::start(&sack(10.0));
    assert_eq!(hand.sack(0, &[[1, 4]]), [0]);
    assert_eq!(hand.sender.counters().fast_retransmits, 1);
}

/// A duplicate without a new block is a copy of something, not a sign of loss (section 2).
#[test]
fn s2_a_duplicate_that_reports_nothing_new_does_not_count() {
    let (mut hand, _) = Hand::start(&sack(10.0));
    for _ in 0..5 {
        assert_eq!(hand.sack(0, &[[1, 2]]), []);
    }
    assert_eq!(hand.sender.counters().fast_retransmits, 0);
    assert_eq!(hand.sack(0, &[[5, 6], [1, 2]]), []);
    assert_eq!(hand.sack(0, &[[7, 8], [5, 6], [1, 2]]), [0]);
}

/// Ten segments and nothing new after them; ssthresh = 5. First held: 1, 2, 3 and 6, so 4 and 5
/// have one held segment above. Then 7 and 8 too: three above, lost, rule (1).
#[test]
fn s4_next_seg_takes_lost_segments_before_doubtful_ones() {
    let config = TcpConfig { size_bytes: Some(10_000), ..sack(10.0) };
    let (mut hand, _) = Hand::start(&config);
    assert_eq!(hand.sack(0, &[[6, 7], [1, 4]]), [0]);
    // pipe = 0 sent again, 4, 5, 8, 9 = 5: no room.
    assert_eq!(hand.sack(0, &[[6, 8], [1, 4]]), []);
    // 4 and 5 are lost now; pipe = 0, 9 = 2 takes both, and with 4 < 5 rule (4) sends the last.
    assert_eq!(hand.sack(0, &[[6, 9], [1, 4]]), [4, 5, 9]);

    let (mut hand, _) = Hand::start(&config);
    assert_eq!(hand.sack(0, &[[1, 4]]), [0]);
    // Acknowledging 0 to 3 leaves 4..10 = 6; with 7 held 5: no room; with 8 held 4.
    hand.sack(4, &[]);
    assert_eq!(hand.sack(4, &[[7, 8]]), []);
    // Rule (1): 4 has only two above; (2): nothing new; (3): 4 goes.
    assert_eq!(hand.sack(4, &[[7, 9]]), [4]);
}

/// The last segments of a transfer are lost behind a lost one: no duplicate will show it. Rule (4)
/// sends the highest once, whose block then proves the others lost.
#[test]
fn s4_a_rescue_retransmission_saves_the_tail_from_a_timeout() {
    let config = TcpConfig { size_bytes: Some(20_000), ..sack(20.0) };
    let mut pipe = Pipe::long(&config).lose_once(&[10, 17, 18, 19]).start();
    pipe.run(5 * SECOND);
    assert_eq!(pipe.receiver.goodput_bytes(), 20_000);
    assert_eq!(pipe.sender.counters().timeouts, 0);
    let again: Vec<u32> =
        pipe.sent.iter().filter(|(_, s)| s.retransmission).map(|(_, s)| s.seq).collect();
    assert_eq!(again[..2], [10, 19]);
}

/// After a timeout only what is missing goes again, in slow start; and no new recovery begins
/// before RecoveryPoint is acknowledged (section 5.1).
#[test]
fn s5_1_a_timeout_resends_only_what_is_missing() {
    let (mut hand, _) = Hand::start(&sack(10.0));
    hand.sack(0, &[[4, 6]]);
    assert_eq!(hand.expire(), [0]);
    assert_eq!(hand.sack(1, &[[4, 6]]), [1, 2]);
    assert_eq!(hand.sack(2, &[[4, 6]]), [3, 6]);
    assert_eq!(hand.sack(6, &[]), [7, 8, 9]);
    assert_eq!(hand.sender.counters().fast_retransmits, 0);
    assert_eq!(hand.sender.state(), State::Timeout);
    hand.sack(10, &[]);
    assert_ne!(hand.sender.state(), State::Timeout);
}

/// After a timeout of 0..10, segment 10, sent anew, is lost too: four held ones above prove it, but
/// it waits until RecoveryPoint is acknowledged and a recovery of its own may begin.
#[test]
fn s5_1_a_loss_beyond_the_recovery_point_of_a_timeout_waits() {
    let (mut hand, _) = Hand::start(&sack(10.0));
    let mut sent = hand.expire();
    for ack in 1..=8 {
        sent.extend(hand.sack(ack, &[]));
    }
    assert_eq!(sent, (0..=12).collect::<Vec<u32>>());
    // The window is 5 and something, 8 to 12 are out; 8 is lost again, so is 10.
    assert_eq!(hand.sack(8, &[[9, 10]]), [13]);
    assert_eq!(hand.sack(8, &[[11, 12], [9, 10]]), [14]);
    assert_eq!(hand.sack(8, &[[11, 13], [9, 10]]), [15]);
    // 11, 12, 13 are held: 10 is lost, and pipe = 8, 14, 15. Two more fit: new ones.
    assert_eq!(hand.sack(8, &[[11, 14], [9, 10]]), [16, 17]);
    assert_eq!(hand.sender.state(), State::Timeout);
}

/// Recovery halves 20 to 10. All but segment 0 arrives, new ones go in its place: 0 to 28 are sent and
/// not acknowledged, but 1 to 19 have left the network. A timeout halves the window of 10, not the 29.
#[test]
fn s5_1_a_timeout_in_recovery_halves_what_is_in_the_network() {
    let (mut hand, _) = Hand::start(&sack(20.0));
    let sent: Vec<u32> = (2..=20).flat_map(|end| hand.sack(0, &[[1, end]])).collect();
    assert_eq!(sent, [0].into_iter().chain(20..=28).collect::<Vec<u32>>());
    assert_eq!(hand.sender.cwnd(), 10.0);
    hand.expire();
    assert_eq!(hand.sender.ssthresh(), 5.0);
}
