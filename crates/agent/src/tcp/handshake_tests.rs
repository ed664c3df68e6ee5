use super::*;
use crate::tcp::Variant;

const MS: Span = 1_000_000;

fn config(linux: bool) -> TcpConfig {
    let rto_max_ns = if linux { 120 * SECOND } else { 60 * SECOND };
    TcpConfig { rto_max_ns, linux, connect: true, ..crate::tcp::config::tests::plain() }
}

/// Times of the SYNs without an answer, and when the sender gives up.
fn unanswered(linux: bool) -> (Vec<Time>, Time) {
    let mut handshake = Handshake::new(&config(linux));
    handshake.connect(0);
    let mut sent = vec![0];
    loop {
        let at = handshake.client_timer();
        if handshake.on_client_timer(at).is_none() {
            assert!(handshake.has_given_up());
            return (sent, at);
        }
        sent.push(at);
    }
}

/// RFC 6298 (2.1), (5.5): 1 s, and twice as long each time, 60 s at most: 0, 1, 3, 7, 15, 31, 63,
/// 123, 183 s. RFC 9293 section 3.8.3: for at least 3 minutes; at 243 s these are over.
#[test]
fn rfc6298_s5_5_a_syn_is_repeated_after_one_second_doubling() {
    let (sent, end) = unanswered(false);
    let seconds: Vec<u64> = sent.iter().map(|at| at / SECOND).collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31, 63, 123]);
    assert_eq!(end, 183 * SECOND);
}

/// Linux 6.1: six retries. 250 ticks of 4 ms lie in slots of 8, which ends at 256; 500 from there
/// at 760; 1000 from there, in a slot of 64, at 1792; 2000 at 3840; 4000 at 7872; 8000 from there,
/// 15872, begins a slot of 512, which ends at 16384. After 16000 more, at 32768, 131 s, it gives up.
#[test]
fn linux_tcp_retransmit_timer_six_retries_at_the_ends_of_their_slots() {
    let (sent, end) = unanswered(true);
    let ticks: Vec<u64> = sent.iter().map(|at| at / (4 * MS)).collect();
    assert_eq!(ticks, [0, 256, 760, 1792, 3840, 7872, 16_384]);
    assert_eq!(end / (4 * MS), 32_768);
}

/// RFC 6298 section 3 (Karn): a SYN that was sent twice gives no round trip.
#[test]
fn rfc6298_s3_only_a_syn_that_went_once_times_the_round_trip() {
    let mut once = Handshake::new(&config(false));
    once.connect(0);
    assert_eq!(once.on_answer(40 * MS), Some(OpenedConnection { rtt: Some(40 * MS), retries: 0 }));
    assert_eq!(once.on_answer(41 * MS), None);
    let mut twice = Handshake::new(&config(false));
    twice.connect(0);
    assert_eq!(twice.on_client_timer(SECOND), Some(BarePacket::Syn));
    assert_eq!(twice.on_answer(SECOND + 40 * MS), Some(OpenedConnection { rtt: None, retries: 1 }));
}

/// RFC 9293 section 3.6: the receiver's FIN is repeated until it is acknowledged. After a round trip
/// of 100 ms the timeout is 100 + 4 * 50 = 300 ms (RFC 6298 (2.2)), then 600.
#[test]
fn rfc9293_s3_6_a_fin_is_repeated_until_it_is_acknowledged() {
    let mut handshake = Handshake::new(&config(false));
    assert!(handshake.on_syn(0));
    assert_eq!(handshake.on_ack(100 * MS), Some(Some(100 * MS)));
    assert!(handshake.close(SECOND) && !handshake.close(SECOND));
    assert_eq!(handshake.server_timer(), SECOND + 300 * MS);
    assert_eq!(handshake.on_server_timer(true, handshake.server_timer()), Some(BarePacket::Fin));
    assert_eq!(handshake.server_timer(), SECOND + 900 * MS);
    handshake.on_last_ack();
    assert_eq!(handshake.server_timer(), NEVER);
}

/// 40 B of headers, 4 of segment size, 4 of window scale; SACK permitted takes 4 more, or none where
/// time stamps, which are in the 52 B of an acknowledgement, leave room for it.
#[test]
fn rfc7323_s2_2_options_of_a_syn() {
    assert_eq!((config(true).syn_bytes(), Handshake::new(&config(true)).syn_bytes()), (52, 52));
    assert_eq!(TcpConfig { variant: Variant::NewReno, ..config(true) }.syn_bytes(), 48);
    let stamped = TcpConfig { timestamps: true, ack_bytes: 52, ..config(true) };
    assert_eq!(stamped.syn_bytes(), 60);
}

/// Linux 6.1: `tcp_synack_retries` is 5, after which another SYN opens the receiver anew, and
/// `tcp_orphan_retries` 8, after which its FIN is not sent again.
#[test]
fn linux_tcp_synack_retries_and_tcp_orphan_retries_of_the_receiver() {
    let count = |handshake: &mut Handshake, packet| {
        let mut sent = 0;
        while let Some(again) = handshake.on_server_timer(false, handshake.server_timer()) {
            assert_eq!(again, packet);
            sent += 1;
        }
        sent
    };
    for linux in [false, true] {
        let mut handshake = Handshake::new(&config(linux));
        assert!(handshake.on_syn(0));
        assert_eq!(handshake.on_server_timer(false, handshake.server_timer() - 1), None);
        assert_eq!(count(&mut handshake, BarePacket::Syn), 5);
        assert!(handshake.on_syn(1000 * SECOND));
        assert_eq!(handshake.on_ack(1000 * SECOND + MS), Some(Some(MS)));
        assert!(handshake.close(1001 * SECOND));
        assert_eq!(count(&mut handshake, BarePacket::Fin), 8);
    }
}

/// RFC 9293 section 3.6: the receiver's FIN ends the sender's end, which has not given up. A SYN that comes again
/// while its answer is out is answered, and counts as a retry of the answer (Linux 6.1: `tcp_check_req`), of which
/// there are five.
#[test]
fn rfc9293_s3_6_a_fin_ends_the_senders_end() {
    let mut handshake = Handshake::new(&config(true));
    handshake.connect(0);
    assert!(!handshake.is_client_over() && !handshake.has_given_up());
    handshake.on_answer(MS);
    assert!(!handshake.is_client_over());
    handshake.on_fin();
    assert!(handshake.is_client_over() && !handshake.has_given_up());
    assert!([0, 1, 2, 3].iter().all(|second| handshake.on_syn(second * SECOND)));
    let mut answers = 0;
    while handshake.on_server_timer(false, handshake.server_timer()).is_some() {
        answers += 1;
    }
    assert_eq!(answers, 2, "of five retries three were used");
}

/// Linux 6.1: the round trip of the handshake, 100 ms, sets the timeout of the receiver's FIN, with a variance of
/// 200 ms: 75 ticks from the 250th, in slots of 8, of which one ends at 328.
#[test]
fn linux_the_handshake_times_the_receivers_fin() {
    let mut handshake = Handshake::new(&config(true));
    handshake.on_syn(0);
    assert_eq!(handshake.on_ack(100 * MS), Some(Some(100 * MS)));
    handshake.close(SECOND);
    assert_eq!(handshake.server_timer(), 328 * 4 * MS);
}
