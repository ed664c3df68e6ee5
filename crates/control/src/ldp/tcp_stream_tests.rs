//! The connection of a session by the clauses of RFC 9293, RFC 6298 and RFC 6582.

use super::*;

const FIRST_WAIT: Span = 1000;

/// Sequence number, acknowledgment and octets of a segment.
fn read(segment: &StreamSegment) -> (u32, Option<u32>, u32) {
    (segment.seq, segment.ack, segment.bytes)
}

/// Both ends after the handshake at time 0: SYN, SYN, acknowledgment.
fn shake_hands() -> (TcpStream, TcpStream) {
    let mut active = TcpStream::new(49_152, true, FIRST_WAIT);
    let mut passive = TcpStream::new(49_152, false, FIRST_WAIT);
    let opening = active.open(0);
    passive.receive(opening, FIRST_WAIT, 0);
    let answer = passive.open(0);
    active.receive(answer, FIRST_WAIT, 0);
    passive.receive(active.acknowledgment(), FIRST_WAIT, 0);
    (active, passive)
}

fn send(stream: &mut TcpStream, octets: usize, now: Time) -> StreamSegment {
    stream.data(vec![Body::KeepAlive], vec![7; octets], now)
}

/// Sequence numbers of what is handed on.
fn receive(stream: &mut TcpStream, segment: &StreamSegment) -> Vec<u32> {
    let ready = stream.receive(segment.clone(), FIRST_WAIT, 0).0;
    ready.iter().map(|segment| segment.seq).collect()
}

/// Section 3.5, figure 6: a SYN takes one number, its answer acknowledges the next one, and data begin
/// there. The first SYN acknowledges nothing.
#[test]
fn rfc9293_s3_5_a_handshake_takes_one_number_of_each_end() {
    let mut active = TcpStream::new(49_152, true, FIRST_WAIT);
    let mut passive = TcpStream::new(49_152, false, FIRST_WAIT);
    let opening = active.open(0);
    assert_eq!((read(&opening), opening.syn, opening.from_active), ((0, None, 0), true, true));
    passive.receive(opening, FIRST_WAIT, 0);
    let answer = passive.open(0);
    assert_eq!((read(&answer), answer.syn, answer.from_active), ((0, Some(1), 0), true, false));
    assert!(!passive.owes, "the answer acknowledges");
    active.receive(answer, FIRST_WAIT, 0);
    assert!(active.owes);
    assert_eq!(read(&active.acknowledgment()), (1, Some(1), 0));
    assert!(!active.owes);
    assert_eq!(read(&send(&mut active, 30, 0)), (1, Some(1), 30));
    assert_eq!(read(&send(&mut active, 40, 0)), (31, Some(1), 40));
}

/// Section 3.4: a FIN takes a number behind the data, and segments in order alone are handed on; those
/// that come early wait, and a copy is acknowledged and dropped (section 3.10.7.4).
#[test]
fn rfc9293_s3_4_segments_are_handed_on_once_and_in_order() {
    let (mut active, mut passive) = shake_hands();
    let segments: Vec<StreamSegment> = (0..3).map(|_| send(&mut active, 10, 0)).collect();
    let end = active.last(Vec::new(), vec![1; 5]);
    assert_eq!(receive(&mut passive, &segments[1]), [0; 0]);
    assert_eq!(read(&passive.acknowledgment()), (1, Some(1), 0));
    assert_eq!(receive(&mut passive, &segments[0]), [1, 11]);
    assert_eq!(read(&passive.acknowledgment()), (1, Some(21), 0));
    assert_eq!(receive(&mut passive, &segments[0]), [0; 0]);
    assert!(passive.owes);
    assert_eq!(receive(&mut passive, &end), [0; 0]);
    assert_eq!(receive(&mut passive, &segments[2]), [21, 31]);
    assert_eq!((end.fin, read(&passive.acknowledgment())), (true, (1, Some(37), 0)));
    // A bare acknowledgment takes no number and asks for none.
    let bare = active.acknowledgment();
    assert_eq!(receive(&mut passive, &bare), [0; 0]);
    assert!(!passive.owes);
}

/// RFC 6298 section 5: (5.1) the timer runs from the first segment sent, and a later one does not set it;
/// (5.4 to 5.6) when it expires the earliest segment that is not acknowledged goes out again, with the
/// acknowledgment of now, and the wait doubles; (5.3) an acknowledgment of new data restarts it with
/// the first wait, and (5.2) one of all data ends it.
#[test]
fn rfc6298_s5_the_timer_of_the_earliest_segment_doubles_until_it_is_acknowledged() {
    let (mut active, mut passive) = shake_hands();
    assert_eq!((active.due, passive.due), (None, None));
    for at in [100, 400] {
        send(&mut active, 10, at);
    }
    assert_eq!(active.due, Some(1100));
    receive(&mut active, &send(&mut passive, 8, 500));
    let mut now = 1100;
    for wait in [2000, 4000, 8000] {
        let again = active.resend_first(now).expect("it is not acknowledged");
        assert_eq!(read(&again), (1, Some(9), 10));
        now += wait;
        assert_eq!(active.due, Some(now));
    }
    // Of the first: the second has the timer alone, with the first wait. RFC 6582 section 3.2 step 5: it
    // goes out at once after a resend. Half of it is no acknowledgment of it.
    let (_, again) = active.receive(acknowledge(11), FIRST_WAIT, now);
    assert_eq!(again.as_ref().map(read), Some((11, Some(1), 10)));
    assert_eq!(active.due, Some(now + FIRST_WAIT));
    let (_, again) = active.receive(acknowledge(20), FIRST_WAIT, now + 10);
    assert_eq!((again.is_none(), active.due), (true, Some(now + FIRST_WAIT)));
    let (_, again) = active.receive(acknowledge(21), FIRST_WAIT, now + 20);
    assert_eq!((again.is_none(), active.due), (true, None));
    assert!(active.resend_first(now + 30).is_none());
    assert_eq!(active.due, None);
}

fn acknowledge(ack: u32) -> StreamSegment {
    StreamSegment { port: 49_152, ack: Some(ack), ..StreamSegment::default() }
}

/// RFC 6582 section 3.2: outside a recovery an acknowledgment of a part sends nothing again, and the one
/// that ends a recovery does not begin another.
#[test]
fn rfc6582_s3_2_a_partial_acknowledgment_resends_in_a_recovery_alone() {
    let (mut active, _) = shake_hands();
    for _ in 0..4 {
        send(&mut active, 10, 0);
    }
    assert!(active.receive(acknowledge(11), FIRST_WAIT, 5).1.is_none());
    assert_eq!(active.due, Some(5 + FIRST_WAIT));
    active.resend_first(5 + FIRST_WAIT);
    let (_, second) = active.receive(acknowledge(21), FIRST_WAIT, 2000);
    assert_eq!(second.as_ref().map(read), Some((21, Some(1), 10)));
    let (_, third) = active.receive(acknowledge(31), FIRST_WAIT, 2001);
    assert_eq!(third.as_ref().map(read), Some((31, Some(1), 10)));
    assert!(active.receive(acknowledge(41), FIRST_WAIT, 2002).1.is_none());
    for _ in 0..2 {
        send(&mut active, 10, 3000);
    }
    assert!(active.receive(acknowledge(51), FIRST_WAIT, 3001).1.is_none());
}
