//! HyStart: ends slow start before a loss, by the spacing and the delay of acknowledgements.
//!
//! Source: Ha and Rhee 2011 as Linux 6.1 has it (`hystart_update`); HyStart++: RFC 9406 section 4.
//! Differs: the kernel's allowance for aggregated acknowledgements is 1 ms at any pace (so below
//! 2 Gbit/s there too); `HyStartPlusPlus` counts a round trip's samples by acknowledgement.

use super::{ConnectionView, Growth, Window};
use trunkline_units::Span;

const US: Span = 1_000;
const MS: Span = 1_000_000;

/// Window from which Linux checks [segments]; it separates round trips before that.
const LOW_WINDOW: f64 = 16.0;
/// Samples that a round trip needs, in both.
const MIN_SAMPLES: u32 = 8;
/// Pause within a train of acknowledgements.
const TRAIN_GAP: Span = 2 * MS;
const AGGREGATION: Span = MS;

/// The kernel's.
#[derive(Clone, Debug)]
pub(super) struct LinuxHyStart {
    paced: bool,
    found: bool,
    began: Span, // the round trip
    last_ack: Span,
    end: u32, // the round trip ends when this is passed
    round_min: Span,
    samples: u32,
}

impl LinuxHyStart {
    pub fn new(paced: bool) -> Self {
        Self {
            paced,
            found: false,
            began: 0,
            last_ack: 0,
            end: 0,
            round_min: Span::MAX,
            samples: 0,
        }
    }

    /// After a timeout slow start is watched again.
    pub fn forget(&mut self) {
        *self = Self { end: self.end, ..Self::new(self.paced) };
    }

    /// A round trip was timed; `min_rtt` is the smallest of the connection.
    pub fn on_measured_ack(
        &mut self,
        window: &mut Window,
        rtt: Span,
        min_rtt: Span,
        view: &ConnectionView,
    ) {
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        let now = view.now / US * US;
        if view.una > self.end {
            (self.began, self.last_ack, self.end) = (now, now, view.next);
            (self.round_min, self.samples) = (Span::MAX, 0);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if now - self.last_ack <= TRAIN_GAP {
            self.last_ack = now;
            // Acknowledgements of paced segments are spaced as the segments were.
            let half = if self.paced { 1 } else { 2 };
            self.found = now - self.began > (min_rtt + AGGREGATION) / half;
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.round_min > min_rtt + (min_rtt / 8).clamp(4 * MS, 16 * MS);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

/// Slow start at a quarter of its pace, until it is clear that the queue grows.
#[derive(Clone, Copy, Debug)]
struct ConservativeSlowStart {
    baseline: Span,
    rounds_left: u32,
}

/// RFC 9406's, for the first slow start of a connection.
#[derive(Clone, Debug)]
pub(super) struct HyStartPlusPlus {
    paced: bool,
    ended: bool,
    end: u32,
    last: Option<Span>, // least round trip of the round before
    round_min: Option<Span>,
    samples: u32,
    conservative: Option<ConservativeSlowStart>,
}

/// Section 4.2: rounds of conservative slow start, and its part of the growth.
const CONSERVATIVE_ROUNDS: u32 = 5;
const CONSERVATIVE_DIVISOR: f64 = 4.0;
/// Section 4.2: segments that one acknowledgement opens at most, unless paced.
const MAX_SEGMENTS_PER_ACK: f64 = 8.0;

impl HyStartPlusPlus {
    pub fn new(paced: bool) -> Self {
        Self {
            paced,
            ended: false,
            end: 0,
            last: None,
            round_min: None,
            samples: 0,
            conservative: None,
        }
    }

    /// Section 4.3: afterwards slow start is the standard one.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Opens the window by the acknowledged segments; returns those that slow start leaves.
    pub fn open(&mut self, window: &mut Window, acked: f64) -> f64 {
        if self.ended || window.cwnd >= window.ssthresh {
            return window.start_slowly(acked);
        }
        let counted = if window.growth == Growth::Acknowledgements { 1.0 } else { acked };
        let limited = if self.paced { counted } else { counted.min(MAX_SEGMENTS_PER_ACK) };
        let part = if self.conservative.is_some() { CONSERVATIVE_DIVISOR } else { 1.0 };
        let opened = window.cwnd + limited / part;
        window.cwnd = opened.min(window.ssthresh).min(f64::from(window.cap));
        0.0
    }

    pub fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        if self.ended || window.cwnd >= window.ssthresh {
            return;
        }
        if view.una >= self.end {
            self.begin_round(window, view.next);
        }
        let Some(rtt) = view.rtt else { return };
        let round_min = self.round_min.map_or(rtt, |round_min| round_min.min(rtt));
        self.round_min = Some(round_min);
        self.samples += 1;
        if self.samples < MIN_SAMPLES {
            return;
        }
        match (self.conservative, self.last) {
            (Some(now), _) if round_min < now.baseline => self.conservative = None,
            (None, Some(last)) if round_min >= last + (last / 8).clamp(4 * MS, 16 * MS) => {
                self.conservative = Some(ConservativeSlowStart {
                    baseline: round_min,
                    rounds_left: CONSERVATIVE_ROUNDS,
                });
            }
            _ => {}
        }
    }

    fn begin_round(&mut self, window: &mut Window, next: u32) {
        (self.last, self.round_min, self.samples) = (self.round_min.take(), None, 0);
        self.end = next;
        if let Some(conservative) = self.conservative.as_mut() {
            conservative.rounds_left -= 1;
            if conservative.rounds_left == 0 {
                window.ssthresh = window.cwnd;
                self.end();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 1e9, cap: 100_000, credit: 0, growth: Growth::Segments }
    }

    /// A round of acknowledgements, each of one segment and with this round trip.
    fn round(plus: &mut HyStartPlusPlus, window: &mut Window, una: &mut u32, acks: u32, rtt: Span) {
        let next = *una + acks;
        for _ in 0..acks {
            let view = ConnectionView {
                una: *una,
                next,
                acked: 1,
                rtt: Some(rtt),
                ..ConnectionView::default()
            };
            plus.on_measured_ack(window, &view);
            plus.open(window, 1.0);
            *una += 1;
        }
    }

    /// 100 ms, then 113 ms (100 + 100 / 8 = 112.5): at the eighth sample, which itself opens a quarter; five
    /// rounds, the partial one among them, and the threshold is the window.
    #[test]
    fn rfc9406_s4_2_a_longer_round_trip_slows_down_for_five_rounds() {
        let (mut plus, mut window, mut una) = (HyStartPlusPlus::new(false), window(10.0), 0);
        round(&mut plus, &mut window, &mut una, 10, 100 * MS);
        assert_eq!(window.cwnd, 20.0);
        round(&mut plus, &mut window, &mut una, 20, 113 * MS);
        assert_eq!(window.cwnd, 20.0 + 7.0 + 13.0 / 4.0);
        for _ in 0..4 {
            assert_eq!(window.ssthresh, 1e9);
            round(&mut plus, &mut window, &mut una, 8, 113 * MS);
        }
        let cwnd = window.cwnd;
        round(&mut plus, &mut window, &mut una, 1, 113 * MS);
        assert_eq!(window.ssthresh, cwnd);
    }

    /// 112 ms is not long enough; and a round trip that falls again was no queue.
    #[test]
    fn rfc9406_s4_2_slow_start_resumes_when_the_round_trip_falls() {
        let (mut plus, mut window, mut una) = (HyStartPlusPlus::new(false), window(10.0), 0);
        round(&mut plus, &mut window, &mut una, 10, 100 * MS);
        round(&mut plus, &mut window, &mut una, 10, 112 * MS);
        assert!(plus.conservative.is_none());
        round(&mut plus, &mut window, &mut una, 10, 126 * MS);
        assert!(plus.conservative.is_some());
        round(&mut plus, &mut window, &mut una, 10, 110 * MS);
        assert!(plus.conservative.is_none());
    }

    /// The threshold of 1 / 8 is at least 4 ms and at most 16 ms.
    #[test]
    fn rfc9406_s4_2_the_threshold_is_within_4_and_16_ms() {
        for (first, below, above) in [(8, 11, 12), (400, 415, 416)] {
            for (rtt, slow) in [(below, false), (above, true)] {
                let (mut plus, mut window, mut una) =
                    (HyStartPlusPlus::new(false), window(10.0), 0);
                round(&mut plus, &mut window, &mut una, 10, first * MS);
                round(&mut plus, &mut window, &mut una, 8, rtt * MS);
                assert_eq!(plus.conservative.is_some(), slow, "{first} {rtt}");
            }
        }
    }

    /// Round trip 200 ms, then 240 ms (200 + 16 at most): the first eight samples are only gathered, the
    /// ninth ends slow start. One ACK every 3 ms is no train.
    #[test]
    fn linux_the_ninth_sample_of_a_longer_round_trip_ends_slow_start() {
        let mut hystart = LinuxHyStart::new(false);
        let mut window = window(36.0);
        for each in 0..9u64 {
            assert_eq!(window.ssthresh, 1e9, "{each}");
            let now = (1000 + 3 * each) * MS;
            let view = ConnectionView {
                now,
                una: 21 + each as u32,
                next: 60,
                ..ConnectionView::default()
            };
            hystart.on_measured_ack(&mut window, 240 * MS, 200 * MS, &view);
        }
        assert_eq!(window.ssthresh, 36.0);
    }

    /// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: a round trip is longer by more than an eighth of the least,
    /// at least 4 ms and at most 16 ms.
    #[test]
    fn linux_the_threshold_of_a_longer_round_trip_is_within_4_and_16_ms() {
        for (least, threshold) in [(20, 4), (64, 8), (200, 16)] {
            for (more, ends) in [(0, false), (1, true)] {
                let mut hystart = LinuxHyStart::new(false);
                let mut window = window(36.0);
                for each in 0..9u64 {
                    let now = (1000 + 3 * each) * MS;
                    let (una, next) = (21 + each as u32, 60);
                    let view = ConnectionView { now, una, next, ..ConnectionView::default() };
                    let trip = (least + threshold) * MS + more;
                    hystart.on_measured_ack(&mut window, trip, least * MS, &view);
                }
                assert_eq!(window.ssthresh == 36.0, ends, "{least} {more}");
            }
        }
    }

    /// `after(tp->snd_una, ca->end_seq)`: the ACK of segment 60, where the round trip ends, is still of it, as
    /// its ninth sample; that of segment 61 is the first of the next one, which has only gathered it.
    #[test]
    fn linux_a_round_trip_ends_behind_the_segment_that_was_next() {
        for (last, ended) in [(60, true), (61, false)] {
            let (mut hystart, mut window) = (LinuxHyStart::new(false), window(36.0));
            for (each, una) in (0..).zip([21, 22, 23, 24, 25, 26, 27, 28, last]) {
                assert_eq!(window.ssthresh, 1e9);
                let now = (1000 + 3 * each) * MS;
                let view = ConnectionView { now, una, next: 60, ..ConnectionView::default() };
                hystart.on_measured_ack(&mut window, 240 * MS, 200 * MS, &view);
            }
            assert_eq!(window.ssthresh == 36.0, ended, "{last}");
        }
    }

    /// ACKs every 2 ms, round trip 100 ms: (100 + 1) / 2 = 50.5 ms after the first, so at the 27th,
    /// 52 ms; where packets are paced, after 101 ms, at the 52nd. Below 16 segments nothing is checked.
    #[test]
    fn linux_a_train_of_half_a_round_trip_ends_slow_start() {
        for (paced, cwnd, last) in [(false, 16.0, 27), (true, 16.0, 52), (false, 15.0, 60)] {
            let mut hystart = LinuxHyStart::new(paced);
            let mut window = window(cwnd);
            let mut seen = 0;
            while seen < 60 && window.ssthresh == 1e9 {
                let view = ConnectionView {
                    now: (100 + 2 * seen) * MS,
                    una: 1,
                    next: 900,
                    ..ConnectionView::default()
                };
                hystart.on_measured_ack(&mut window, 100 * MS, 100 * MS, &view);
                seen += 1;
            }
            assert_eq!(seen, last);
        }
    }

    /// RFC 9406 section 4.2: at most L = 8 segments an acknowledgement in HyStart's slow start, a quarter of them in
    /// the conservative one; once it ended, slow start is the standard one: 20 for 20.
    #[test]
    fn rfc9406_s4_2_the_window_opens_by_eight_or_two_until_the_end() {
        for (conservative, ended, opened) in
            [(false, false, 8.0), (true, false, 2.0), (false, true, 20.0), (true, true, 20.0)]
        {
            let mut plus = HyStartPlusPlus::new(false);
            let rest = ConservativeSlowStart { baseline: 1, rounds_left: 3 };
            plus.conservative = conservative.then_some(rest);
            if ended {
                plus.end();
            }
            let mut window = window(100.0);
            assert_eq!(plus.open(&mut window, 20.0), 0.0);
            assert_eq!(window.cwnd, 100.0 + opened, "{conservative:?} {ended}");
        }
    }

    /// `bictcp_state` after a loss: slow start is watched again, and the round trip under way continues to its end.
    #[test]
    fn linux_bictcp_reset_keeps_the_end_of_the_round_trip() {
        let mut start = LinuxHyStart { found: true, end: 77, ..LinuxHyStart::new(true) };
        start.forget();
        assert_eq!((start.found, start.end, start.paced), (false, 77, true));
    }

    /// `hystart_update`: a train is too long when it takes more than half of the least round trip and 1 ms: 25.5 ms
    /// of 50 ms do not, and 1 us more does.
    #[test]
    fn linux_a_train_is_too_long_above_half_of_the_round_trip_and_a_millisecond() {
        for (more, ended) in [(0, false), (US, true)] {
            let (mut hystart, mut window) = (LinuxHyStart::new(false), window(20.0));
            for now in (0..13).map(|each| 2 * each * MS).chain([25_500_000 + more]) {
                let view = ConnectionView {
                    now: 1000 * MS + now,
                    una: 1,
                    next: 900,
                    ..Default::default()
                };
                hystart.on_measured_ack(&mut window, 50 * MS, 50 * MS, &view);
            }
            assert_eq!(window.ssthresh == 20.0, ended, "{more}");
        }
    }
}
