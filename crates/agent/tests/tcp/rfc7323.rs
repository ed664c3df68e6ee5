//! RFC 7323 section 4.3: which time stamp an acknowledgement echoes.

use crate::pipe::{config, EVERY_SECOND};
use trunkline_agent::tcp::{Receiver, TcpConfig, Variant};

fn receiver() -> Receiver {
    Receiver::new(&TcpConfig { delayed_ack: EVERY_SECOND, ..config(Variant::NewReno) })
}

/// "(A) Delayed ACKs": the acknowledgement of segments sent at 10 and 20 echoes 10, so that the
/// sender's timer covers the delay.
#[test]
fn s4_3_a_delayed_acknowledgement_echoes_the_oldest_segment_it_covers() {
    let mut receiver = receiver();
    assert!(!receiver.on_segment(0, false, 10, false, false, 60));
    assert!(receiver.on_segment(1, false, 20, false, false, 70));
    assert_eq!(receiver.ack(70).echo, 10);
    receiver.on_segment(2, false, 30, false, false, 80);
    receiver.on_segment(3, false, 40, false, false, 90);
    assert_eq!(receiver.ack(90).echo, 30);
}

/// "(B) A hole in the sequence space": segment 1 is lost; 2 and 3 echo segment 0's stamp again.
/// "(C) A filled hole": segment 1, sent again at 90, echoes its own.
#[test]
fn s4_3_a_segment_beyond_a_hole_is_not_echoed_and_the_one_that_fills_it_is() {
    let mut receiver = receiver();
    let echoes = [(0, 10), (2, 30), (3, 40), (1, 90)].map(|(seq, sent_at)| {
        receiver.on_segment(seq, false, sent_at, false, false, 100);
        receiver.ack(100).echo
    });
    assert_eq!(echoes, [10, 10, 10, 90]);
}
