//! Rules of draft-ietf-ccwg-bbr-06, each worked out another way.

use super::*;
use crate::tcp::config::tests::plain;
use crate::tcp::congestion::Growth;
use proptest::prelude::*;

const TRIP_US: Span = 100_000;
const RATE: f64 = 0.001; // one segment a millisecond: the path holds 100

/// A flow on the path, in a mode, with its window and a clock.
struct Drive {
    control: Bbr3,
    window: Window,
    random: RandomStream,
    now: Time, // [us]
    total: u64,
}

impl Drive {
    fn in_mode(mode: Mode) -> Self {
        let mut control = Bbr3::new(&Bbr3Config {}, &plain());
        control.trip.start(Some(TRIP_US), 0);
        control.mode = mode;
        (control.best, control.rate, control.timed) = ([RATE; 2], RATE, true);
        (control.full.reached, control.pace) = (mode != Mode::Startup, RATE * 1460.0 * 1e6);
        control.rounds.end = 1_000_000; // no round ends before a test says so
        (control.latest.round_end, control.cycle.wait) = (1_000_000, Some(1 << 40));
        let window =
            Window { cwnd: 200.0, ssthresh: 1e9, cap: 10_000, credit: 0, growth: Growth::Segments };
        let random = RandomStream::new(1, "flow", "test");
        Self { control, window, random, now: 1_000, total: 1_000 }
    }

    /// Ten segments acknowledged at the path's rate; `change` makes the sample another.
    fn ack(&mut self, change: impl Fn(&mut RateSample)) {
        self.now += 10_000;
        self.total += 10;
        let mut sample = RateSample {
            now: self.now * 1_000,
            delivered: Some((100, TRIP_US)),
            prior_delivered: self.total - 100,
            sent_in_flight: 100,
            rtt: Some(TRIP_US),
            srtt: Some(TRIP_US),
            acked: 10,
            in_flight: 100,
            total: self.total,
            ..RateSample::default()
        };
        change(&mut sample);
        self.control.steer(&mut self.window, &sample, &mut self.random);
    }

    /// The same, and a round trip ends, also that of losses.
    fn end_round(&mut self, change: impl Fn(&mut RateSample)) {
        (self.control.rounds.end, self.total) = (0, self.total + 100);
        self.control.latest.round_end = 0;
        self.ack(change);
        self.control.rounds.end = u64::MAX;
    }

    fn lose(&mut self, seq: u32, in_flight: u32, lost_since: u64) {
        let lost = LostSegment { seq, in_flight, lost_since, limited: false };
        self.control.on_lost(&mut self.window, &lost, self.total);
    }

    fn bound(&self) -> f64 {
        self.control.bounds.inflight_long
    }
}

/// Section 5.3.1.1: what is acknowledged in a round trip was sent in the one before. At a rate that doubles
/// each round trip that is, of the rate now, the mean of 2^s for s from -2 to -1, (1/2 - 1/4) / ln 2: the
/// gain is its inverse, 4 ln 2.
#[test]
fn s5_3_1_1_the_gain_of_start_up_doubles_the_rate_each_round_trip() {
    let steps = 100_000;
    let mean: f64 = (0..steps)
        .map(|step| 2f64.powf(-2.0 + (f64::from(step) + 0.5) / f64::from(steps)))
        .sum::<f64>()
        / f64::from(steps);
    assert!((Mode::Startup.gains().0 - 1.0 / mean).abs() < 0.003, "{}", 1.0 / mean);
}

/// Section 5.3.1.2: rates 10, 13, 15, 16, 16: of the last four only 13 is a quarter more than the one before
/// that was, so 15, 16 and 16 are three rounds without.
#[test]
fn s5_3_1_2_start_up_ends_after_three_rounds_with_less_than_a_quarter_more() {
    let mut drive = Drive::in_mode(Mode::Startup);
    for (rate, mode) in [10, 13, 15, 16].map(|rate| (rate, Mode::Startup)) {
        drive.end_round(|sample| {
            (sample.delivered, sample.in_flight) = (Some((rate, 10_000)), 1_000);
        });
        assert_eq!(drive.control.mode, mode, "{rate}");
    }
    drive.end_round(|sample| (sample.delivered, sample.in_flight) = (Some((16, 10_000)), 1_000));
    assert_eq!(drive.control.mode, Mode::Drain);
}

/// Section 5.3.1.3: in recovery, 3 of 100 lost, six ranges: start-up ends with a bound of what the path
/// holds. With five ranges, outside of recovery, or 2 of 100 lost, it continues.
#[test]
fn s5_3_1_3_start_up_ends_by_six_losses_apart_and_above_two_per_cent() {
    for (ranges, recovering, lost, mode) in [
        (6, true, 3, Mode::Drain),
        (5, true, 3, Mode::Startup),
        (6, false, 3, Mode::Startup),
        (6, true, 2, Mode::Startup),
    ] {
        let mut drive = Drive::in_mode(Mode::Startup);
        for range in 0..ranges {
            drive.lose(10 * range, 100, 1);
            drive.lose(10 * range + 1, 100, 2); // the same range
        }
        drive.end_round(|sample| {
            (sample.recovering, sample.lost_since, sample.in_flight) = (recovering, lost, 1_000);
        });
        assert_eq!(drive.control.mode, mode, "{ranges} {recovering} {lost}");
        assert_eq!(drive.bound().is_finite(), mode == Mode::Drain);
    }
}

/// Section 5.3.2: it drains until the network holds no more than the path, or four rounds have passed.
#[test]
fn s5_3_2_draining_ends_at_what_the_path_holds_or_after_three_rounds() {
    let mut drive = Drive::in_mode(Mode::Drain);
    drive.ack(|sample| sample.in_flight = 101);
    assert_eq!(drive.control.mode, Mode::Drain);
    drive.ack(|sample| sample.in_flight = 100);
    assert_eq!(drive.control.mode, Mode::Cruise); // by way of down, which has nothing to do
    let mut drive = Drive::in_mode(Mode::Drain);
    for round in 1..=4 {
        assert_eq!(drive.control.mode, Mode::Drain, "{round}");
        drive.end_round(|sample| sample.in_flight = 1_000);
    }
    assert_eq!(drive.control.mode, Mode::Down);
}

/// Section 5.3.3.1: with a bound of 100 it goes down to 85, without one to what the path holds.
#[test]
fn s5_3_3_1_down_ends_where_fifteen_per_cent_of_the_bound_are_free() {
    for (bound, stays, leaves) in [(100.0, 86, 85), (f64::INFINITY, 101, 100), (5.0, 5, 4)] {
        let mut drive = Drive::in_mode(Mode::Down);
        drive.control.bounds.inflight_long = bound;
        drive.ack(|sample| (sample.in_flight, sample.sent_in_flight) = (stays, 0));
        assert_eq!(drive.control.mode, Mode::Down, "{bound}");
        drive.ack(|sample| (sample.in_flight, sample.sent_in_flight) = (leaves, 0));
        assert_eq!(drive.control.mode, Mode::Cruise, "{bound}");
    }
}

/// Section 5.3.3.5: in successive rounds with a full window the bound rises by 1, 2, 4, 8: by 2^n - 1 after n.
#[test]
fn s5_3_3_5_the_bound_rises_by_one_two_four_segments_a_round() {
    let mut drive = Drive::in_mode(Mode::Refill);
    (drive.control.bounds.inflight_long, drive.window.cwnd) = (128.0, 128.0);
    let mut bounds = vec![];
    for _ in 0..5 {
        let window = drive.window.cwnd as u32;
        drive.end_round(|sample| {
            (sample.window_full, sample.acked, sample.sent_in_flight) = (true, window, 0);
        });
        bounds.push(drive.bound());
        drive.ack(|sample| {
            (sample.window_full, sample.acked, sample.sent_in_flight) = (true, 0, 0);
        });
    }
    assert_eq!(bounds, [128.0, 129.0, 131.0, 135.0, 143.0]);
}

/// Section 5.3.3.6: after a probe that lost too much the next stops where the bound is, and if it lost
/// nothing, another follows at once.
#[test]
fn s5_3_3_6_after_a_loss_a_probe_is_a_precaution_and_another_follows() {
    let mut drive = Drive::in_mode(Mode::Up);
    drive.control.cycle.too_high = true;
    drive.control.bounds.inflight_long = 120.0;
    drive.ack(|sample| sample.in_flight = 119);
    assert_eq!(drive.control.mode, Mode::Up);
    drive.ack(|sample| sample.in_flight = 120);
    assert_eq!(drive.control.mode, Mode::Down);
    drive.end_round(|sample| sample.in_flight = 120);
    assert_eq!(drive.control.mode, Mode::Refill);
}

/// Section 5.3.3.8: the next probe comes after as many rounds as the path holds segments, 63 at most, or
/// after two to three seconds, whichever is first.
#[test]
fn s5_3_3_8_probes_come_as_often_as_renos_losses_or_each_three_seconds() {
    for (segments, trip, wait) in
        [(20, 20_000, 0.38..=0.43), (200, 20_000, 1.22..=1.29), (100, 100_000, 2.0..=3.1)]
    {
        let mut drive = Drive::in_mode(Mode::Up);
        drive.control.trip.start(Some(trip), 0);
        drive.control.rate = segments as f64 / trip as f64;
        drive.control.best = [drive.control.rate; 2];
        drive.control.start_down(drive.now);
        let (start, mut end) = (drive.now, 0);
        while drive.control.mode != Mode::Refill {
            drive.now += trip - 10_000;
            drive.end_round(|sample| {
                (sample.rtt, sample.in_flight, sample.delivered) =
                    (Some(trip), 5, Some((segments, trip)));
            });
            end = drive.now;
        }
        let waited = (end - start) as f64 / 1e6;
        assert!(wait.contains(&waited), "{trip}: {waited}");
    }
}

/// Section 5.3.4.2: half of what the path holds for 0.2 s in each 5 s: 98 % of the rate on average. So the
/// window is 50, and a round trip after 0.2 s it is what it was.
#[test]
fn s5_3_4_half_of_what_the_path_holds_for_200_ms_after_5_s() {
    let mut drive = Drive::in_mode(Mode::Cruise);
    let later = |sample: &mut RateSample| sample.rtt = Some(TRIP_US + 1);
    while drive.control.mode != Mode::ProbeTrip {
        drive.ack(later);
    }
    assert!((5_000_000..5_020_000).contains(&drive.now), "{}", drive.now);
    assert_eq!(drive.window.cwnd, 50.0);
    let began = drive.now;
    drive.ack(|sample| sample.in_flight = 50);
    while drive.control.mode == Mode::ProbeTrip {
        assert_eq!(drive.window.cwnd, 50.0);
        drive.end_round(|sample| sample.in_flight = 50);
    }
    assert!((200_000..=230_000).contains(&(drive.now - began)), "{}", drive.now - began);
    assert_eq!(drive.control.mode, Mode::Cruise);
    assert!(drive.window.cwnd >= 200.0);
}

proptest! {
    /// Section 5.5.10.2, InflightAtLoss, by trial: a hundredth of a segment more at a time until more than
    /// one in fifty of what was in the network is lost.
    #[test]
    fn s5_5_10_2_the_bound_is_where_losses_crossed_one_in_fifty(in_flight in 4u32..400) {
        prop_assume!(in_flight % 50 > 0);
        let lost = u64::from(in_flight / 50) + 1; // the first number above one in fifty
        let (before, lost_before) = (f64::from(in_flight - 1), (lost - 1) as f64);
        let prefix = (0..=100)
            .map(|part| f64::from(part) / 100.0)
            .find(|part| 50.0 * (lost_before + part) >= before + part)
            .unwrap();
        let mut drive = Drive::in_mode(Mode::Up);
        drive.control.cycle.is_probe_sample = true;
        drive.lose(7, in_flight, lost);
        prop_assert_eq!(drive.control.mode, Mode::Down);
        // No lower than 0.7 of what the path holds.
        prop_assert!((drive.bound() - (before + prefix).max(70.0)).abs() <= 0.01);
        // It answers once to a probe.
        drive.lose(8, 10, 10);
        prop_assert!((drive.bound() - (before + prefix).max(70.0)).abs() <= 0.01);
    }
}

/// Section 5.5.10.3: when the flow does not probe, each round trip with a loss leaves what it delivered, or
/// 0.7 if that is less; refilling forgets it.
#[test]
fn s5_5_10_3_outside_of_probes_a_round_trip_with_a_loss_leaves_what_it_delivered() {
    let mut drive = Drive::in_mode(Mode::Cruise);
    drive.window.cwnd = 100.0;
    for (delivered, left) in [(90, 90.0), (20, 63.0), (20, 44.1)] {
        drive.lose(1, 100, 1);
        (drive.control.latest.rate, drive.control.latest.inflight) = (0.0, 0.0);
        drive.total += 100;
        drive.end_round(|sample| {
            (sample.delivered, sample.prior_delivered) =
                (Some((delivered, TRIP_US)), sample.total - delivered);
        });
        let bounds = &drive.control.bounds;
        assert!((bounds.inflight_short - left).abs() < 1e-9, "{bounds:?}");
        assert!((bounds.rate_short - left / 1e5).abs() < 1e-9, "{bounds:?}");
        assert!((drive.control.rate - left / 1e5).abs() < 1e-9);
    }
    drive.control.start_refill();
    drive.ack(|_| ());
    assert_eq!(drive.control.rate, RATE);
}

/// Section 5.5.11.2: a loss that was none gives back bounds and mode.
#[test]
fn s5_5_11_2_a_loss_that_was_none_gives_back_the_bound_and_the_probe() {
    let mut drive = Drive::in_mode(Mode::Up);
    drive.control.cycle.is_probe_sample = true;
    drive.lose(7, 100, 5);
    assert_eq!((drive.control.mode, drive.bound().is_finite()), (Mode::Down, true));
    drive.control.undo_reduction(&mut drive.window, 0.0);
    assert_eq!((drive.control.mode, drive.bound().is_finite()), (Mode::Refill, false));
}

/// Google's v3: half of the segments of each round marked: alpha is 1/2 + 1/2 (15/16)^n, and a round leaves
/// 1 - alpha / 3 of the bound.
#[test]
fn v3_marks_take_a_third_of_their_mean_share() {
    let mut drive = Drive::in_mode(Mode::Cruise);
    let (mut marked, mut left) = (0, 100.0);
    drive.end_round(|_| ()); // without a mark: alpha is 15/16
    drive.window.cwnd = left;
    for round in 1..=5 {
        marked += 55; // of 110
        drive.end_round(|sample| sample.total_marked = marked);
        let share = 0.5 + (15.0 / 16.0 - 0.5) * (15f64 / 16.0).powi(round);
        left *= 1.0 - share / 3.0;
        assert!((drive.control.bounds.inflight_short - left).abs() < 1e-9, "{round}");
    }
}

/// Section 5.6.4.6: before start-up has filled the pipe the window grows by what was acknowledged while it is
/// below its most, or fewer segments were delivered than the initial window.
#[test]
fn s5_6_4_6_in_start_up_the_window_grows_below_its_most_and_at_the_very_start() {
    for (cwnd, early, grown) in
        [(1_000.0, true, 1_010.0), (1_000.0, false, 1_000.0), (20.0, false, 30.0)]
    {
        let mut drive = Drive::in_mode(Mode::Startup);
        drive.control.full.reached = false;
        drive.window.cwnd = cwnd;
        let initial = drive.control.initial_window as u64;
        let total = if early { initial - 1 } else { initial };
        let sample = RateSample { acked: 10, total, ..RateSample::default() };
        drive.control.set_window(&mut drive.window, &sample);
        assert_eq!(drive.window.cwnd, grown, "{cwnd} {early}");
    }
}

/// Section 5.5.10.1: what was in the network without too much loss raises the long-term bound; without SACK
/// a single loss is too much, and without a bound there is none to raise.
#[test]
fn s5_5_10_1_only_what_was_safe_raises_the_bound() {
    for (lost_since, sack, bound, left) in [
        (0, true, 128.0, 200.0),
        (4, true, 128.0, 200.0), // one in fifty
        (5, true, 128.0, 128.0),
        (5, false, 128.0, 128.0),
        (1, false, 128.0, 128.0),
        (0, false, 128.0, 200.0),
        (0, true, f64::INFINITY, f64::INFINITY),
        (0, true, 300.0, 300.0),
    ] {
        let mut drive = Drive::in_mode(Mode::Cruise);
        (drive.control.sack, drive.control.bounds.inflight_long) = (sack, bound);
        drive.ack(|sample| (sample.lost_since, sample.sent_in_flight) = (lost_since, 200));
        assert_eq!(drive.bound(), left, "{lost_since} {sack} {bound}");
    }
}

/// Section 5.5.10.3, ResetCongestionSignals: the next round trip begins with neither a loss nor deliveries.
#[test]
fn s5_5_10_3_a_probe_begins_without_the_deliveries_of_before() {
    let mut drive = Drive::in_mode(Mode::Cruise);
    drive.ack(|_| ());
    assert!(drive.control.latest.rate > 0.0 && drive.control.latest.inflight > 0.0);
    drive.control.latest.reset();
    assert_eq!((drive.control.latest.rate, drive.control.latest.inflight), (0.0, 0.0));
}

/// Section 5.6.3: what is sent at once is what the pace gives in 1 ms, at least 2 segments and at most 64 KiB; the
/// window has room for three of them, for four segments at least, and for two more while it probes upward.
#[test]
fn s5_6_4_the_window_has_room_for_what_is_sent_at_once() {
    let largest = 3.0 * 65_536.0 / 1460.0;
    for (pace, inflight, room) in
        [(1e6, 0.0, 6.0), (1e6, 50.0, 50.0), (7.3e6, 0.0, 15.0), (1e9, 0.0, largest)]
    {
        for (mode, more) in [(Mode::Cruise, 0.0), (Mode::Up, 2.0)] {
            let mut drive = Drive::in_mode(mode);
            drive.control.pace = pace;
            let found = drive.control.inflight(inflight / TRIP_US as f64, 1.0);
            assert!((found - room - more).abs() < 1e-9, "{pace} {inflight} {mode:?}: {found}");
        }
    }
}

/// Section 5.6.2: the pace is the gain times the rate, 1 % less; until the pipe is full it only rises.
#[test]
fn s5_6_2_the_pace_is_one_per_cent_below_the_rate() {
    let by_hand = 1.25 * 1460.0 * 1000.0 * 0.99;
    for (full, before, after) in [(true, 1e9, by_hand), (false, 1e9, 1e9), (false, 1.0, by_hand)] {
        let mut drive = Drive::in_mode(Mode::Cruise);
        (drive.control.full.reached, drive.control.pace) = (full, before);
        drive.control.set_pace_with_gain(1.25);
        assert!((drive.control.pace - after).abs() < 1e-6, "{full} {before}");
    }
}

/// Section 5.5.6: the filter holds two cycles; one without a sample does not replace what is known.
#[test]
fn s5_5_6_a_cycle_without_a_sample_keeps_the_maximum() {
    for (best, after) in [([5.0, 3.0], [3.0, 0.0]), ([5.0, 0.0], [5.0, 0.0])] {
        let mut drive = Drive::in_mode(Mode::Cruise);
        drive.control.best = best;
        drive.control.advance_max_rate();
        assert_eq!(drive.control.best, after);
    }
}

/// Section 5.2.1 (BBROnInit): both least round trips and the aggregation begin with the connection.
#[test]
fn s5_2_1_the_handshake_is_the_first_round_trip() {
    let mut drive = Drive::in_mode(Mode::Startup);
    drive.control.on_established(&drive.window, Some(30_000), 3_000_000_000);
    let trip = &drive.control.trip;
    assert_eq!((trip.least, drive.control.extra_since), (Some(30_000), 3_000_000));
}

/// Section 2.15 and HandleSpuriousLossDetection: bounds are those of before the loss where they were higher; a probe
/// for more rate continues, but not while the round trip is probed.
#[test]
fn s5_5_10_a_loss_that_was_none_restores_bounds_and_mode() {
    for (mode, after) in
        [(Mode::Cruise, Mode::Refill), (Mode::Up, Mode::Up), (Mode::ProbeTrip, Mode::ProbeTrip)]
    {
        let mut drive = Drive::in_mode(mode);
        drive.control.bounds.inflight_long = 150.0;
        drive.control.bounds.rate_short = 0.9 * RATE;
        drive.lose(7, 100, 1);
        drive.control.bounds.inflight_long = 90.0;
        drive.control.bounds.rate_short = 0.5 * RATE;
        drive.control.saved.mode = Some(Mode::Up);
        drive.control.undo_reduction(&mut drive.window, 0.0);
        assert_eq!(drive.control.mode, after);
        let bounds = &drive.control.bounds;
        let is_filling = after == Mode::Refill; // which has no bounds for the short term
        assert_eq!(bounds.rate_short, if is_filling { f64::INFINITY } else { 0.9 * RATE });
        assert_eq!(bounds.inflight_long, 150.0);
    }
}

/// The same for a loss that ended the start: it continues, at once or after the round trip was probed.
#[test]
fn s5_5_10_a_loss_that_was_none_lets_the_start_go_on() {
    for (mode, after) in [
        (Mode::Drain, Mode::Startup),
        (Mode::Cruise, Mode::Startup),
        (Mode::ProbeTrip, Mode::ProbeTrip),
    ] {
        let mut drive = Drive::in_mode(mode);
        drive.lose(7, 100, 1);
        drive.control.full.reached = true;
        drive.control.saved.mode = Some(Mode::Startup);
        drive.control.undo_reduction(&mut drive.window, 0.0);
        assert_eq!((drive.control.mode, drive.control.full.reached), (after, false));
    }
}
