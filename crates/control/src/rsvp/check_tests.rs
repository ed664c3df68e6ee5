//! Reservations of links against the states that hold them (RFC 2205 section 2.1: a reservation is state).

use super::admission::Reservation;
use super::config::{Attributes, ClassTypes, RsvpConfig, Shared};
use super::message::{PathKey, PathRequest};
use super::*;

const KEY: PathKey = PathKey { session: 0, lsp: 1, sender: 0 };

/// Two nodes and a link each way, without paths.
fn make_rsvp() -> Rsvp {
    let config = RsvpConfig {
        flow: 0,
        refresh_ns: 1,
        multiplier: 3,
        processing_ns: 0,
        resend_ns: None,
        resend_increment: 1.0,
        resend_limit: 3,
        summary: true,
        hello_ns: None,
        retry_ns: 1,
        attempts: 1,
        flooding_ns: Some(0),
        flooding_threshold: 0.0,
        make_before_break: true,
        cleanup_ns: 1,
        soft_ns: None,
        reoptimise_ns: None,
        discard: false,
        reservable: vec![100; 2],
        class_types: ClassTypes::default(),
        attributes: Vec::new(),
        sessions: Vec::new(),
        orders: Vec::new(),
        requests: Vec::new(),
    };
    Rsvp::new(config, 2, make_lines(&[(0, 1)]), 1)
}

/// Links between pairs of nodes: 2i from the first of pair i, 2i + 1 back.
fn make_lines(pairs: &[(u32, u32)]) -> Vec<SignalledLink> {
    let line = |from, to, reverse| SignalledLink {
        from,
        to,
        metric: 1,
        rate_bit_s: 100,
        reverse: Some(reverse),
    };
    let both = |(index, &(from, to)): (u32, &(u32, u32))| {
        [line(from, to, 2 * index + 1), line(to, from, 2 * index)]
    };
    (0..).zip(pairs).flat_map(both).collect()
}

/// A state of 40 at holding priority 5 on link 0 needs a reservation of the same: none, one of another
/// bandwidth or another priority, or one on the other link is a fault; so is one without the state.
/// A state that was preempted softly holds nothing (RFC 5712 section 5).
#[test]
fn rfc2205_s2_1_a_reservation_without_its_state_is_a_fault() {
    let held = |priority, bandwidth| Reservation { class_type: 0, priority, bandwidth };
    let cases = [
        (0, held(5, 40), true),
        (0, held(5, 39), false),
        (0, held(4, 40), false),
        (0, held(6, 40), false),
        (1, held(5, 40), false),
    ];
    for (link, reservation, is_right) in cases {
        let mut rsvp = make_rsvp();
        assert_eq!(rsvp.check(), Ok(()));
        rsvp.pools[link].reserve(KEY, reservation);
        assert!(rsvp.check().is_err());
        let request = PathRequest {
            route: [0].into(),
            head: 0,
            tail: 1,
            bandwidth: 40,
            setup: 7,
            hold: 5,
            class_type: 0,
            name: "".into(),
            desired: None,
            detour: None,
        };
        rsvp.open(0, KEY, request.into(), 0, 0);
        assert!(rsvp.check().is_err(), "the Resv has not arrived");
        let state = rsvp.states.get_mut(&(0, KEY)).expect("it was made");
        state.reserved = true;
        assert_eq!(rsvp.check().is_ok(), is_right, "{link} {reservation:?}");
        rsvp.pools[link].release(KEY);
        assert!(rsvp.check().is_err());
        let state = rsvp.states.get_mut(&(0, KEY)).expect("it was made");
        state.soft = true;
        assert_eq!(rsvp.check(), Ok(()));
    }
}

/// The route 0 - 1 - 2 on links 0 and 2, a way 1 - 3 - 2 on 4 and 6, and 0 - 3 on 8. A path that shares no link may
/// not take 0 to 3; one that shares no node also not those at node 1, which lies between the ends; one that shares
/// no risk not 6, which has the risk of link 2 but its reverse not.
#[test]
fn rfc4090_s3_2_what_is_shared_with_a_route() {
    let mut rsvp = make_rsvp();
    rsvp.lines = make_lines(&[(0, 1), (1, 2), (1, 3), (3, 2), (0, 3)]);
    let attributes = |risks: &[u32]| Attributes { metric: 1, delay_ns: 0, risks: risks.into() };
    rsvp.config.attributes = (0..10).map(|_| attributes(&[])).collect();
    rsvp.config.attributes[2] = attributes(&[1, 7]);
    rsvp.config.attributes[6] = attributes(&[7]);
    rsvp.config.attributes[8] = attributes(&[9]);
    assert_eq!(rsvp.links_sharing(&[0, 2], Shared::Link), [0, 1, 2, 3]);
    assert_eq!(rsvp.links_sharing(&[0, 2], Shared::Node), [0, 1, 2, 3, 4, 5]);
    assert_eq!(rsvp.links_sharing(&[0, 2], Shared::Risk), [0, 1, 2, 3, 6]);
    // A bypass tunnel around both links keeps away from the node between them; one around a link from it alone.
    let forbidden = |around: &[u32]| rsvp.forbidden_links(around).into_iter().collect::<Vec<_>>();
    assert_eq!(forbidden(&[0, 2]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(forbidden(&[2]), [2, 3]);
    assert!(forbidden(&[]).is_empty());
}
