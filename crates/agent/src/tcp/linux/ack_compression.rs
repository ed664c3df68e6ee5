//! Compression of acknowledgements: one acknowledgement reports several segments that arrived out of
//! order.
//!
//! Source: Linux 6.1 (`__tcp_ack_snd_check`, `tcp_event_ack_sent`) with the settings it starts with: the
//! first three since the last advance are sent at once (RFC 5681 section 4.2); of the next, up to 44
//! wait for a twentieth of a round trip, at most 1 ms. The timer has 100 us of slack and always takes it
//! here. Absent: the acknowledgement that a third or a fifth SACK block sends at once.

use trunkline_units::{Span, Time, NEVER};

const ACKS_AT_ONCE: u32 = 3;
const MAX_HELD_ACKS: u32 = 44;
const MAX_WAIT: Span = 1_000_000;
const TIMER_SLACK: Span = 100_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct AckCompression {
    wait: Span,
    next: u32,      // expected when the last was sent
    acks_sent: u32, // since then
    acks_held: u32,
    due: Time,
}

impl AckCompression {
    pub fn new() -> Self {
        Self { wait: MAX_WAIT, next: 0, acks_sent: 0, acks_held: 0, due: NEVER }
    }

    /// The handshake is over, which timed a round trip [ns].
    pub fn open(&mut self, trip: Span) {
        self.wait = (trip / 20).min(MAX_WAIT);
    }

    /// A segment leaves or finds a gap; `next` is expected. None: acknowledge at once, else then.
    pub fn on_gap(&mut self, next: u32, now: Time) -> Option<Time> {
        if self.acks_held >= MAX_HELD_ACKS {
            return None;
        }
        if self.next != next {
            (self.next, self.acks_sent) = (next, 0);
        }
        if self.acks_sent < ACKS_AT_ONCE {
            self.acks_sent += 1;
            return None;
        }
        if self.acks_held == 0 {
            self.due = now + self.wait + TIMER_SLACK;
        }
        self.acks_held += 1;
        Some(self.due)
    }

    /// Whether any are held back.
    pub fn holds(&self) -> bool {
        self.acks_held > 0
    }

    /// An acknowledgement is sent.
    pub fn on_ack_sent(&mut self) {
        self.acks_held = 0;
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    const US: Span = 1_000;

    /// Three are sent at once; the fourth, at 300 us, waits 1 ms and the slack, with the 43 after it;
    /// the 45th is sent.
    #[test]
    fn tcp_ack_snd_check_three_at_once_then_up_to_44_in_a_millisecond() {
        let mut held = AckCompression::new();
        for each in 0..3 {
            assert_eq!(held.on_gap(7, each * 100 * US), None);
        }
        for each in 3..47 {
            assert_eq!(held.on_gap(7, each * 100 * US), Some(1400 * US));
        }
        assert_eq!(held.on_gap(7, 4_700 * US), None);
        held.on_ack_sent();
        assert_eq!(held.on_gap(7, 5_000 * US), Some(6_100 * US));
    }

    /// 5 % of 4 ms are 200 us. An advance lets three more go at once.
    #[test]
    fn tcp_ack_snd_check_a_twentieth_of_a_round_trip_and_three_after_each_advance() {
        let mut held = AckCompression::new();
        held.open(4_000 * US);
        (0..3).for_each(|_| assert_eq!(held.on_gap(7, 0), None));
        assert_eq!(held.on_gap(7, 0), Some(300 * US));
        (0..3).for_each(|_| assert_eq!(held.on_gap(9, 100 * US), None));
        assert!(held.holds() && held.on_gap(9, 100 * US).is_some());
    }

    /// `tcp_ack_snd_check` waits a twentieth of the round trip, at most 1 ms (`tcp_comp_sack_delay_ns`).
    #[test]
    fn tcp_ack_snd_check_waits_a_twentieth_of_the_round_trip() {
        for (trip, wait) in
            [(10_000 * US, 500 * US), (20_000 * US, 1_000 * US), (50_000 * US, 1_000 * US)]
        {
            let mut held = AckCompression::new();
            held.open(trip);
            for _ in 0..3 {
                held.on_gap(7, 0);
            }
            assert_eq!(held.on_gap(7, 9), Some(9 + wait + TIMER_SLACK), "{trip}");
        }
    }
}
