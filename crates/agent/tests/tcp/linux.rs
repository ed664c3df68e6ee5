//! A sender as Linux 6.1 has it, acknowledgement by acknowledgement.

use crate::hand::Hand;
use crate::pipe::{config, take_segment, MS};
use trunkline_agent::tcp::{Ack, DelayedAck, Receiver, State, TcpConfig, Variant};

/// A window of ten at its threshold: 0..10 are out.
pub fn linux(variant: Variant) -> TcpConfig {
    TcpConfig { initial_window: 10.0, initial_ssthresh: Some(10.0), linux: true, ..config(variant) }
}

/// The timer resends 0. Its acknowledgement lets two new segments go, not 1: cwnd is 2 and all that
/// was out counts as lost. A duplicate then shows that 1 is lost: held 1, in flight 1 of 2.
#[test]
fn rfc5682_s2_1_new_data_first_then_what_is_lost() {
    let (mut hand, _) = Hand::start(&linux(Variant::NewReno));
    assert_eq!(hand.expire(), [0]);
    assert_eq!(hand.ack(1), [10, 11]);
    assert_eq!(hand.sender.state(), State::Timeout);
    assert_eq!(hand.ack(1), [1]);
}

/// As above, but 1, which was sent once only, is acknowledged: nothing was lost, and window and
/// threshold are what they were.
#[test]
fn rfc5682_s3_1_a_needless_timeout_is_taken_back() {
    let (mut hand, _) = Hand::start(&linux(Variant::NewReno));
    hand.expire();
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (1.0, 5.0));
    hand.ack(1);
    hand.ack(2);
    assert_eq!((hand.sender.cwnd(), hand.sender.ssthresh()), (10.0, 10.0));
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
    assert_eq!(hand.sender.counters().retransmissions, 1);
}

/// Round trip 100 ms. One block, of 1, is no proof: 0 has a quarter of it more, 25 ms, and 2 ms for
/// the timer: 7 ticks of 4 ms from tick 25, which fires at the end of its slot, tick 33.
#[test]
fn rfc8985_s6_2_what_was_overtaken_has_time_to_settle() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    hand.now = 100 * MS;
    assert_eq!(hand.sack(0, &[[1, 2]]), [10], "limited transmit");
    assert_eq!(hand.sender.timer(), 33 * 4 * MS);
    assert_eq!(hand.expire()[0], 0);
    assert_eq!(hand.sender.state(), State::FastRecovery);
    assert_eq!(hand.sender.ssthresh(), 5.0);
}

/// `tcp_clean_rtx_queue`: "Do not re-arm RTO if the sack RTT is measured from data sent after when the head was
/// last (re)transmitted." 0 goes again at 100 ms, and 10 with it. A block of 4, which was sent at 0, is
/// measured from before: the timer is set anew at 150 ms, 50 ms later but for ticks of 4 ms.
#[test]
fn linux_a_block_of_what_was_sent_before_the_head_sets_the_timer_anew() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    hand.now = 100 * MS;
    assert_eq!(hand.sack(0, &[[1, 4]]), [0, 10]);
    let at_first = hand.sender.timer();
    hand.now = 150 * MS;
    hand.sack(0, &[[1, 5]]);
    assert!(hand.sender.timer() >= at_first + 48 * MS);
}

/// Three blocks are proof at once. Ten out, three held, one lost leave six in flight; CEIL(3 * 5 /
/// 10) = 2 may go: 0 and one new.
#[test]
fn rfc8985_s6_2_three_held_need_no_time_to_settle() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    hand.now = 100 * MS;
    assert_eq!(hand.sack(0, &[[1, 4]]), [0, 10]);
}

/// `tcp_dsack_seen`: no reordering was seen, so a D-SACK does not widen the window of 25 ms. Three held: 0
/// goes again, and a D-SACK says that both arrived. 10, sent at 100 ms, is overtaken by 11 at 200 ms, tick 50:
/// its 99 and 25 ms and 2 ms for the timer leave 26 ms, 7 ticks. With 50 ms it were 13.
#[test]
fn linux_a_duplicate_without_reordering_does_not_widen_the_window() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    hand.now = 100 * MS;
    assert_eq!(hand.sack(0, &[[1, 4]]), [0, 10]);
    hand.now = 101 * MS;
    hand.ack(10);
    hand.sack(10, &[[0, 1]]);
    hand.now = 200 * MS;
    hand.sack(10, &[[11, 12]]);
    assert_eq!(hand.sender.timer(), (50 + 1 + 7) * 4 * MS);
}

/// An outage of the acknowledgements: 5 goes again in vain, and one 100 ms later acknowledges all below
/// 12. It takes the timeout back (6 to 11 went once), and 12 to 14, sent 10 to 30 ms after 11, are not
/// lost yet: Linux measures by 11, the last in order (`tcp_rack_advance`), not by 5, sent last.
#[test]
fn linux_6_1_an_outage_of_acknowledgements_loses_nothing_that_was_sent_after_the_last() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    for each in 1..=5 {
        hand.now = 90 * MS + u64::from(each) * 10 * MS;
        assert_eq!(hand.ack(each)[0], 9 + each);
    }
    assert_eq!(hand.expire(), [15], "a loss probe");
    assert_eq!(hand.expire(), [5]);
    hand.now += 100 * MS;
    let sent = hand.ack(12);
    assert_eq!(hand.sender.state(), State::CongestionAvoidance);
    assert!(sent.iter().all(|seq| *seq > 15), "{sent:?}");
    assert_eq!(hand.sender.counters().retransmissions, 1);
}

/// 10 was sent after 0 went again, and came: 0 is lost a second time.
#[test]
fn rfc8985_s3_a_lost_retransmission_is_seen() {
    let (mut hand, _) = Hand::start(&linux(Variant::Sack));
    hand.now = 100 * MS;
    hand.sack(0, &[[1, 4]]);
    hand.now = 200 * MS;
    assert_eq!(hand.sack(0, &[[10, 11], [1, 4]])[0], 0);
    assert_eq!(hand.sender.counters().timeouts, 0);
}

/// Round trip 100 ms, two segments out, nothing more to send. The probe goes after 2 * 100 + 2 ms: 51
/// ticks from tick 25, end of slot 76: 308 ms; it is the last segment again. The timeout runs from
/// there: 100 + 200 ms are 75 ticks, 77 + 75 = 152, and slots are 8 ticks long so far ahead: 160.
#[test]
fn rfc8985_s7_the_last_segment_asks_for_an_answer() {
    let four = TcpConfig { initial_window: 2.0, size_bytes: Some(4000), ..linux(Variant::Sack) };
    let (mut hand, _) = Hand::start(&four);
    hand.now = 100 * MS;
    assert_eq!(hand.ack(2), [2, 3]);
    assert_eq!(hand.sender.timer(), 308 * MS);
    assert_eq!(hand.expire(), [3]);
    assert_eq!(hand.sender.counters().timeouts, 0);
    assert_eq!(hand.sender.timer(), 640 * MS);
    assert_eq!(hand.expire(), [2]);
    assert_eq!(hand.sender.counters().timeouts, 1);
}

/// Ten out and no room for more. Of ten duplicates nine can be segments held; the tenth looks like
/// reordering, by ten. Five duplicates in the next window are therefore no loss yet.
#[test]
fn linux_too_many_duplicates_raise_their_number_that_means_a_loss() {
    let full = TcpConfig { window_packets: 10, ..linux(Variant::NewReno) };
    for (duplicates, lost) in [(9, true), (10, false)] {
        let (mut hand, _) = Hand::start(&full);
        for _ in 0..duplicates {
            hand.ack(0);
        }
        hand.ack(10);
        hand.ack(11);
        let again: Vec<u32> = (0..4).flat_map(|_| hand.ack(11)).collect();
        assert_eq!(again.contains(&11), lost, "{duplicates}: {again:?}");
    }
}

/// 0 went again at 100 ms; the acknowledgement of all echoes time 0: the first 0 had arrived. Without
/// that, the window is 5, and one more for 8 acknowledged that were not held.
#[test]
fn rfc3522_s3_2_an_echo_from_before_the_retransmission_takes_the_reduction_back() {
    for (echo, cwnd) in [(0, 10.0), (100 * MS, 6.0)] {
        let stamped = TcpConfig { timestamps: true, ..linux(Variant::Sack) };
        let (mut hand, _) = Hand::start(&stamped);
        hand.now = 100 * MS;
        hand.sack(0, &[[1, 4]]);
        assert_eq!(hand.sender.ssthresh(), 5.0);
        hand.now = 150 * MS;
        hand.full(&Ack { ack: 11, echo, ..Ack::default() });
        assert_eq!(hand.sender.cwnd(), cwnd);
    }
}

/// RFC 3168 section 6.1.2: once a window of data. From 10 to 5 in proportion: one acknowledged of ten
/// leaves CEIL(1 * 5 / 10) = 1 to go, two leave 1, three 2.
#[test]
fn rfc3168_s6_1_2_an_echo_reduces_in_proportion_once_a_window() {
    let marked = TcpConfig { ecn: true, ..linux(Variant::NewReno) };
    let (mut hand, _) = Hand::start(&marked);
    let sent: Vec<usize> = (1..4).map(|ack| hand.ece(ack).len()).collect();
    assert_eq!(sent, [1, 0, 1]);
    assert_eq!(hand.sender.ssthresh(), 5.0);
    assert_eq!(hand.sender.counters().retransmissions, 0);
}

/// Segments of the list that are acknowledged at once, all at 10 ms; the receiver's window is as
/// large as its buffer.
fn answered(segments: &[u32]) -> (Vec<u32>, Receiver) {
    let open = TcpConfig {
        delayed_ack: Some(DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 0 }),
        window_packets: 3000,
        ..linux(Variant::NewReno)
    };
    let mut receiver = Receiver::new(&open);
    let mut found = vec![];
    for seq in segments {
        if receiver.on_segment(*seq, false, 10 * MS, false, false, 10 * MS) {
            receiver.ack(10 * MS);
            found.push(*seq);
        }
    }
    (found, receiver)
}

/// 16 at the start, 0 to 15, then every second. 19 comes again: it and 15 more are acknowledged one
/// by one, to 34.
#[test]
fn linux_sixteen_are_acknowledged_one_by_one_at_the_start_and_after_a_duplicate() {
    let segments: Vec<u32> = (0..20).chain([19]).chain(20..40).collect();
    let expected: Vec<u32> = (0..16).chain([17, 19, 19]).chain(20..35).chain([36, 38]).collect();
    assert_eq!(answered(&segments).0, expected);
}

/// RFC 7323 section 5.3: "R2) If the segment is outside the window, reject it", before R3 records its
/// stamp. 0 and 1, sent again at 90 although they had arrived, echo what the last in order did, which
/// shows the sender that it sent them in vain. 2 ends where the window begins: Linux takes it
/// (`tcp_sequence` compares with `rcv_wup`).
#[test]
fn rfc7323_s5_3_a_segment_before_the_window_is_not_echoed() {
    let mut receiver = Receiver::new(&linux(Variant::Sack));
    for seq in 0..3 {
        receiver.on_segment(seq, false, 10 * (1 + u64::from(seq)), false, false, 60);
        receiver.ack(70);
    }
    let echoes = [0, 1, 2].map(|seq| {
        receiver.on_segment(seq, false, 90, false, false, 100);
        receiver.ack(100).echo
    });
    assert_eq!(echoes, [30, 30, 90]);
}

/// The 17th waits. At 10 ms, tick 2: 40 ms are 10 ticks, and the slot after tick 12 ends at 52 ms.
#[test]
fn linux_a_delayed_acknowledgement_goes_at_a_tick() {
    let segments: Vec<u32> = (0..17).collect();
    let (found, receiver) = answered(&segments);
    assert_eq!(found.len(), 16);
    assert_eq!(receiver.timer(), 52 * MS);
}

/// `__tcp_ack_snd_check`: above a gap three are acknowledged at once, and the fourth waits for a twentieth
/// of the round trip that the handshake timed, 200 us of 4 ms, and the timer's slack of 100 us. A
/// handshake that timed none leaves 1 ms.
#[test]
fn linux_acknowledgements_are_held_for_a_twentieth_of_the_handshakes_round_trip() {
    let open = TcpConfig {
        delayed_ack: Some(DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 0 }),
        window_packets: 3000,
        ..linux(Variant::Sack)
    };
    for (round_trip, held_ns) in [(Some(4 * MS), 300_000), (None, 1_100_000)] {
        let mut receiver = Receiver::new(&open);
        receiver.establish(round_trip);
        let mut answer = |seq| {
            let at_once = receiver.on_segment(seq, false, 10 * MS, false, false, 10 * MS);
            if at_once {
                receiver.ack(10 * MS);
            }
            at_once
        };
        assert!((0..16).all(&mut answer));
        assert_eq!([17, 18, 19, 20].map(answer), [true, true, true, false]);
        assert_eq!(receiver.timer(), 10 * MS + held_ns);
    }
}

/// The 17th would wait, but ends a write of the sender: all is read, and answered.
#[test]
fn linux_the_end_of_a_write_is_acknowledged_at_once() {
    let segments: Vec<u32> = (0..16).collect();
    let (_, mut receiver) = answered(&segments);
    assert!(receiver.on_segment(16, true, 10 * MS, false, false, 10 * MS));
    receiver.ack(10 * MS);
    assert!(!receiver.on_segment(17, false, 10 * MS, false, false, 10 * MS));
}

/// The first came at once, so the timeout is the least variance, 200 ms. After 204 ms of silence 16 are
/// answered one by one; the next waits.
#[test]
fn linux_sixteen_are_acknowledged_one_by_one_after_a_silence() {
    let segments: Vec<u32> = (0..18).collect();
    let (_, mut receiver) = answered(&segments);
    let now = 10 * MS + 204 * MS;
    for seq in 18..34 {
        assert!(receiver.on_segment(seq, false, now, false, false, now), "{seq}");
        receiver.ack(now);
    }
    assert!(!receiver.on_segment(34, false, now, false, false, now));
}

/// Segments of 1000 B: a write of 64 KiB has 65 and a window of 100 lets them go, so 64 is marked.
#[test]
fn linux_the_last_segment_of_a_write_is_marked() {
    let open = TcpConfig { initial_window: 100.0, ..linux(Variant::Sack) };
    let (_, sent) = Hand::start(&open);
    assert_eq!(sent.len(), 100);
    let mut sender = trunkline_agent::tcp::Sender::new(&open);
    sender.start(0);
    let pushed: Vec<u32> = std::iter::from_fn(|| take_segment(&mut sender, 0))
        .filter(|segment| segment.push)
        .map(|segment| segment.seq)
        .collect();
    assert_eq!(pushed[0], 64);
}
