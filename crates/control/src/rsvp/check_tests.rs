//! Reservations of links against the states that hold them (RFC 2205 section 2.1: a reservation is state).

use super::admission::Reservation;
use super::config::{ClassTypes, RsvpConfig};
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
    let line = |from, to, reverse| SignalledLink {
        from,
        to,
        metric: 1,
        rate_bit_s: 100,
        reverse: Some(reverse),
    };
    Rsvp::new(config, 2, vec![line(0, 1, 1), line(1, 0, 0)], 1)
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
