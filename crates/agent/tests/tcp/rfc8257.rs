//! RFC 8257 at both ends: the receiver's echo, and what the sender takes from the window.

use crate::hand::Hand;
use crate::pipe::{config, EVERY_SECOND};
use trunkline_agent::tcp::{
    CongestionConfig, DctcpConfig, DelayedAck, Receiver, TcpConfig, Variant,
};

fn dctcp() -> TcpConfig {
    TcpConfig {
        congestion: CongestionConfig::Dctcp(DctcpConfig {}),
        ecn: true,
        initial_window: 10.0,
        initial_ssthresh: Some(10.0),
        ..config(Variant::NewReno)
    }
}

/// Section 3.2, figure 2, with delayed acknowledgements: segments 0 and 1 unmarked, one answer without
/// ECN-Echo. 2 unmarked waits; 3 is marked: at once an answer for 2 without ECN-Echo, and 3 waits. 4
/// marked: one for both, with. 5 marked waits, 6 unmarked: one for 5, with. 7: one for 6 and 7, without.
#[test]
fn s3_2_a_change_of_marks_is_answered_at_once_with_the_echo_of_before() {
    let mut receiver = Receiver::new(&TcpConfig { delayed_ack: EVERY_SECOND, ..dctcp() });
    let marks = [false, false, false, true, true, true, false, false];
    let mut answers = vec![];
    for (seq, ce) in (0..).zip(marks) {
        let now = receiver.on_segment(seq, false, 0, ce, false, 0);
        answers.extend(receiver.take_earlier_ack().map(|owed| (owed.ack, owed.ece)));
        if now {
            let answer = receiver.ack(0);
            answers.push((answer.ack, answer.ece));
        }
    }
    assert_eq!(answers, [(2, false), (3, false), (5, true), (6, true), (8, false)]);
}

/// Section 3.2 with Linux's receiver (`dctcp_ece_ack_update`): a change of marks asks for an answer at once,
/// marks that go on do not. 16 are answered one by one at the start; then 16 marked, answered at once;
/// 17 and 18 marked: one for both; 19 waits, 20 unmarked: one for 19, and one for 20 at once; 21 waits.
#[test]
fn s3_2_linux_answers_a_change_of_marks_at_once_and_every_second_segment_between() {
    let delayed_ack = Some(DelayedAck { timeout_ns: 40_000_000, every: 2, quick: 0 });
    let config = TcpConfig { linux: true, window_packets: 3000, delayed_ack, ..dctcp() };
    let mut receiver = Receiver::new(&config);
    let mut answers = vec![];
    for seq in 0..22 {
        let ce = (16..20).contains(&seq);
        let now = receiver.on_segment(seq, false, 10, ce, false, 10);
        answers.extend(receiver.take_earlier_ack().map(|owed| (owed.ack, owed.ece)));
        if now {
            let answer = receiver.ack(10);
            answers.push((answer.ack, answer.ece));
        }
    }
    let (first, later) = answers.split_at(16);
    assert_eq!(first, (1..=16).map(|ack| (ack, false)).collect::<Vec<_>>());
    assert_eq!(later, [(17, true), (19, true), (20, true), (21, false)]);
}

/// Section 3.2: the echo follows the marks and waits for no CWR, as that of RFC 3168 does.
#[test]
fn s3_2_the_echo_ends_with_the_marks() {
    let mut receiver = Receiver::new(&dctcp());
    let echoes: Vec<bool> = (0..)
        .zip([true, false, true, true, false])
        .map(|(seq, ce)| {
            receiver.on_segment(seq, false, 0, ce, false, 0);
            receiver.ack(0).ece
        })
        .collect();
    assert_eq!(echoes, [true, false, true, true, false]);
}

/// Sections 3.3 and 4.2: alpha is 1 at first, so the first mark halves: 10 to 5. Section 3.4: once a window
/// of data; when 10, the first segment of the next, is acknowledged, all of the window before was marked and
/// alpha is still 1: 2.5.
#[test]
fn s3_4_the_window_is_reduced_once_per_window_of_data() {
    let (mut hand, _) = Hand::start(&dctcp());
    hand.ece(1);
    assert_eq!(hand.sender.cwnd(), 5.0);
    for ack in 2..=10 {
        hand.ece(ack);
        assert_eq!(hand.sender.cwnd(), 5.0, "{ack}");
    }
    hand.ece(11);
    assert_eq!(hand.sender.cwnd(), 2.5);
}

/// Section 3.3: a window without a mark takes a sixteenth of alpha. After the first acknowledgement and nine windows of
/// ten alpha is (15/16)^10 = 0.5245; the next has a mark in its last acknowledgement, 0.5245 * 15/16 + 0.1 / 16 = 0.498,
/// which takes alpha / 2 of the window, 24.9 %.
#[test]
fn s3_3_what_a_mark_takes_falls_with_the_share_of_marks() {
    let fixed = TcpConfig { window_packets: 10, ..dctcp() };
    let (mut hand, _) = Hand::start(&fixed);
    for ack in 1..=100 {
        hand.ack(ack);
    }
    let before = hand.sender.cwnd();
    hand.ece(101);
    let left = hand.sender.cwnd() / before;
    assert!((left - (1.0 - 0.498 / 2.0)).abs() < 0.0001, "{left}");
}

/// Section 3.5: a loss halves, whatever alpha is.
#[test]
fn s3_5_a_loss_halves_the_window() {
    let (mut hand, _) = Hand::start(&dctcp());
    for _ in 0..3 {
        hand.ack(0);
    }
    assert_eq!(hand.sender.ssthresh(), 5.0);
}

/// Section 3.5 in the kernel (`dctcp_state`): marks of a tenth of a window of 100 take alpha / 2 of it, a loss while
/// that goes on half of the window of that moment.
#[test]
fn s3_5_linux_a_loss_halves_a_window_that_marks_reduce() {
    let linux =
        TcpConfig { linux: true, variant: Variant::Sack, initial_ssthresh: None, ..dctcp() };
    let (mut hand, _) = Hand::start(&linux);
    for ack in 1..=20 {
        hand.ack(ack);
    }
    hand.ece(21);
    let marked = hand.sender.ssthresh();
    let window = hand.sender.cwnd();
    assert!(marked > window / 2.0, "{marked} {window}");
    hand.sack(21, &[[22, 25]]);
    assert_eq!(hand.sender.ssthresh(), (window / 2.0).trunc());
}

/// Section 3.2: while the marks do not change, acknowledgements are delayed as ever, one for two
/// segments; so are those of Linux after its quick ones at the start.
#[test]
fn s3_2_acknowledgements_are_delayed_while_the_marks_do_not_change() {
    for (linux, ce) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut receiver =
            Receiver::new(&TcpConfig { linux, delayed_ack: EVERY_SECOND, ..dctcp() });
        let at_once = (0..100)
            .map(|seq| {
                let now = receiver.on_segment(seq, false, 0, ce, false, u64::from(seq) * 1_000);
                if now {
                    receiver.ack(u64::from(seq) * 1_000);
                }
                now
            })
            .skip(60)
            .filter(|now| *now)
            .count();
        assert_eq!(at_once, 20, "{linux} {ce}");
    }
}
