//! When a receiver acknowledges: at once or delayed, and by how much.
//!
//! Source: RFC 5681 section 4.2; Linux 6.1 (`tcp_event_data_recv`, `tcp_in_quickack_mode`,
//! `tcp_send_delayed_ack`, `tcp_delack_timer_handler`, `tcp_cleanup_rbuf`). Acknowledged one by one are
//! the first 16 segments (half a window, if that is less), 16 after a duplicate and after a silence longer than the timeout, each segment
//! that lets the window grow, two after a mark, a segment that reports a reduced window
//! (`tcp_ecn_accept_cwr`), and one that ends a write of the sender (PSH), since the application reads
//! everything as it arrives. Otherwise an acknowledgement waits for a second segment, 40 ms at first,
//! then half of the sum of the delay and the pause between segments. The delay doubles each time it was
//! in vain, and is at most a round trip.
//! Differs: without a handshake, which gives the receiver a round trip, the round trip is twice the time
//! that the first segment took.

use super::timer::{fires, ticks, TICK_NS};
use crate::tcp::handshake::RTO_AFTER_SYN_LOSS;
use trunkline_units::Time;

/// Maximum number of segments acknowledged one by one at first, after a duplicate, after silence.
const MAX_QUICK_ACKS: u32 = 16;
/// After a mark (`__tcp_ecn_check_ce`).
const QUICK_ACKS_AFTER_MARK: u32 = 2;
/// Longest that an acknowledgement is held back [ticks]: 200 ms.
const MAX_DELAY_TICKS: u64 = 50;
/// Minimum variance of the timeout [us].
const MIN_VARIANCE_US: u64 = 200_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct DelayedAckTimer {
    quick: u32,
    most: u32,                      // that are acknowledged one by one: half a window
    demanded: bool,                 // the next at once
    min_delay_ticks: u64,           // least delay [ticks]
    delay: u64,                     // [ticks]
    trip: u64,                      // round trip [ticks]
    timeout: u64,                   // [ticks]
    last_arrival_tick: Option<u64>, // tick of the last arrival in order
    opened: bool,                   // the round trip is known
}

impl DelayedAckTimer {
    /// Nothing has arrived; minimum delay of an acknowledgement [ns].
    pub fn new(min_delay: u64) -> Self {
        let min_delay = ticks(min_delay / 1_000);
        Self {
            quick: 0,
            most: MAX_QUICK_ACKS,
            demanded: false,
            min_delay_ticks: min_delay,
            delay: min_delay,
            trip: min_delay,
            timeout: 0,
            last_arrival_tick: None,
            opened: false,
        }
    }

    /// The handshake is over, which timed a round trip [us] or none.
    pub fn open(&mut self, trip: Option<u64>) {
        self.opened = true;
        let Some(trip) = trip else {
            (self.trip, self.timeout) = (MAX_DELAY_TICKS, ticks(RTO_AFTER_SYN_LOSS / 1_000));
            return;
        };
        self.trip = ticks(trip).max(self.min_delay_ticks);
        self.timeout = ticks(trip + MIN_VARIANCE_US.max(2 * trip));
    }

    /// The expected segment arrived; it was sent at `sent_at`.
    pub fn on_expected_segment(&mut self, sent_at: Time, now: Time) {
        let tick = now / TICK_NS;
        let Some(before) = self.last_arrival_tick.replace(tick) else {
            if !self.opened {
                self.open(Some(2 * (now - sent_at) / 1_000));
            }
            self.answer_next(MAX_QUICK_ACKS);
            return;
        };
        let pause = tick - before;
        if pause <= self.min_delay_ticks / 2 {
            self.delay = self.delay / 2 + self.min_delay_ticks / 2;
        } else if pause < self.delay {
            self.delay = (self.delay / 2 + pause).min(self.timeout);
        } else if pause > self.timeout {
            self.answer_next(MAX_QUICK_ACKS);
        }
    }

    /// So many are acknowledged one by one, or those of half a window.
    fn answer_next(&mut self, segments: u32) {
        self.quick = self.quick.max(segments.min(self.most));
    }

    /// This window is offered [segments].
    pub fn on_offer(&mut self, window: u32) {
        self.most = match window / 2 {
            0 => 2,
            half => half,
        };
    }

    /// Less than half of the buffer is free: nothing is acknowledged one by one.
    pub fn on_shortage(&mut self) {
        self.quick = 0;
    }

    /// The window grew.
    pub fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// A segment arrived twice: an acknowledgement was lost or late.
    pub fn on_duplicate(&mut self) {
        self.answer_next(MAX_QUICK_ACKS);
        self.delay = self.min_delay_ticks;
    }

    /// The first mark since the sender answered one: its window may be small.
    pub fn on_first_mark(&mut self) {
        self.answer_next(QUICK_ACKS_AFTER_MARK);
        self.delay = self.min_delay_ticks;
    }

    /// The sender reduced its window, or marks began or ended for an exact echo.
    pub fn acknowledge_at_once(&mut self) {
        self.demanded = true;
    }

    /// Whether the next segment in order is acknowledged at once.
    pub fn is_quick(&self) -> bool {
        self.demanded || self.quick > 0
    }

    /// An acknowledgement is sent.
    pub fn on_ack_sent(&mut self) {
        self.demanded = false;
        if self.quick == 1 {
            self.delay = self.min_delay_ticks;
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// When the acknowledgement is due that waits from now on.
    pub fn due(&self, now: Time) -> Time {
        fires(now, self.delay.min(self.trip).min(MAX_DELAY_TICKS))
    }

    /// It waited in vain.
    pub fn on_timeout(&mut self) {
        self.delay = (2 * self.delay).min(self.timeout);
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    const MS: Time = 1_000_000;

    /// The first segment took 50 ms: a round trip of 100 ms, 25 ticks, and a timeout of 100 + 200 ms, 75.
    fn fresh() -> DelayedAckTimer {
        let mut answer = DelayedAckTimer::new(40 * MS);
        answer.on_expected_segment(0, 50 * MS);
        answer
    }

    /// 16 at the start; 300 ms of silence bring none, 304 ms (a tick more) 16 again.
    #[test]
    fn tcp_event_data_recv_after_a_silence_of_a_timeout_sixteen_are_answered() {
        let mut answer = fresh();
        assert_eq!(answer.quick, 16);
        for _ in 0..16 {
            answer.on_ack_sent();
        }
        answer.on_expected_segment(0, 348 * MS);
        assert_eq!(answer.quick, 0);
        answer.on_expected_segment(0, 652 * MS);
        assert_eq!(answer.quick, 16);
    }

    /// 10 ticks. Missed twice: 20, 40, but a round trip is 25: from 48 ms, tick 12, to the end of 37.
    #[test]
    fn tcp_delack_timer_handler_a_delay_in_vain_doubles_up_to_a_round_trip() {
        let mut answer = fresh();
        assert_eq!(answer.due(48 * MS), 23 * 4 * MS);
        answer.on_timeout();
        answer.on_timeout();
        assert_eq!((answer.delay, answer.due(48 * MS)), (40, 38 * 4 * MS));
    }

    /// A pause is from tick to tick: from 50 ms, tick 12, to 72 ms, where tick 18 begins. 6 of 10: 5 + 6 = 11; 5
    /// would be half of the least delay: 5 + 5.
    #[test]
    fn tcp_event_data_recv_a_tick_begins_at_its_instant() {
        let mut answer = fresh();
        answer.on_expected_segment(0, 72 * MS);
        assert_eq!(answer.delay, 11);
        let mut answer = fresh();
        answer.on_expected_segment(0, 72 * MS - 1);
        assert_eq!(answer.delay, 10);
    }

    /// 10 ticks; a pause of 8 is shorter: 5 + 8 = 13; one of 12: 6 + 12 = 18; one of 4, at most half of
    /// 10: 9 + 5 = 14; the last quick one ends it: 10.
    #[test]
    fn tcp_event_data_recv_the_delay_follows_the_pauses() {
        let mut answer = fresh();
        let mut now = 50 * MS;
        let mut seen = vec![];
        for pause in [8, 12, 4] {
            now += pause * TICK_NS;
            answer.on_expected_segment(0, now);
            seen.push(answer.delay);
        }
        assert_eq!(seen, [13, 18, 14]);
        for _ in 0..16 {
            answer.on_ack_sent();
        }
        assert_eq!(answer.delay, 10);
    }

    /// Times are rounded up to ticks of 4 ms: a least delay of 40.004 ms are 11, a round trip of 100.004 ms from a
    /// segment that took half of it 26. However large the window, 16 are answered at first.
    #[test]
    fn tcp_delayed_acknowledgements_count_in_ticks() {
        let mut answer = DelayedAckTimer::new(40_004_000);
        assert_eq!((answer.min_delay_ticks, answer.delay), (11, 11));
        answer.on_offer(100);
        answer.on_expected_segment(0, 50_002_000);
        assert_eq!((answer.trip, answer.quick), (26, 16));
    }

    /// `tcp_measure_rcv_mss` apart, `tcp_incr_quickack`: half a window of one by one, two of a window of one. A shortage
    /// ends it, a window that grows answers one, a first mark two (`tcp_enter_quickack_mode`).
    #[test]
    fn tcp_incr_quickack_is_at_most_half_a_window() {
        for (window, quick) in [(0, 2), (1, 2), (2, 1), (10, 5), (100, 16)] {
            let mut answer = DelayedAckTimer::new(40 * MS);
            answer.on_offer(window);
            answer.on_duplicate();
            assert_eq!(answer.quick, quick, "{window}");
            answer.on_shortage();
            assert!(!answer.is_quick());
            answer.on_window_growth();
            assert_eq!(answer.quick, 1);
            answer.on_first_mark();
            assert_eq!(answer.quick, quick.min(2), "{window}");
        }
    }
}
