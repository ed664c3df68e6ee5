//! Functions of Linux 6.1's `net/ipv4/tcp_bbr.c`, each worked out by hand.

use super::*;
use crate::tcp::config::tests::plain;
use crate::tcp::congestion::Growth;

/// One segment of 1448 B a millisecond.
const RATE: u64 = RATE_UNIT / 1_000;
const TRIP_US: Span = 100_000;

fn make() -> Bbr {
    let mut bbr = Bbr::new(&BbrConfig {}, &TcpConfig { mss_bytes: 1448, ..plain() });
    bbr.best.update(0, RATE, RATE_ROUNDS);
    bbr.min_rtt = Some(TRIP_US);
    bbr
}

fn window(cwnd: f64) -> Window {
    Window { cwnd, ssthresh: 1e9, cap: 10_000, credit: 0, growth: Growth::Segments }
}

fn is_near(value: u64, expected: f64) -> bool {
    (value as f64 / expected - 1.0).abs() < 1e-4
}

/// `bbr_rate_bytes_per_sec`: 1448 B a millisecond times the gain, 1 % less.
#[test]
fn bbr_rate_bytes_per_sec_is_one_per_cent_below_rate_times_gain() {
    let bbr = make();
    assert!(is_near(bbr.pace(RATE, 256), 1_448_000.0 * 0.99));
    assert!(is_near(bbr.pace(RATE, 739), 1_448_000.0 * 0.99 * 2.886_719));
    assert!(is_near(bbr.pace(3 * RATE, 88), 1_448_000.0 * 0.99 * 3.0 * 0.343_75));
}

/// `bbr_init_pacing_rate_from_rtt`: ten segments in 1 ms at the gain of start-up, 2.887; a round
/// trip below 1 us counts as 1 us. `bbr_set_pacing_rate`: before start-up ends the pace only rises.
#[test]
fn bbr_init_pacing_rate_from_rtt_is_the_window_a_round_trip_at_high_gain() {
    let mut bbr = make();
    let pace = bbr.on_established(&window(10.0), Some(1_000), 0);
    assert!(is_near(pace, 14_480_000.0 * 0.99 * 2.886_719));
    assert!(bbr.timed);
    bbr.set_pace(&window(10.0), &RateSample { srtt: Some(1), ..RateSample::default() });
    assert_eq!(bbr.rate, pace, "the first sample counts once");
    bbr.full_rounds = 3;
    bbr.set_pace(&window(10.0), &RateSample::default());
    assert!(is_near(bbr.rate, 1_448_000.0 * 0.99 * 2.886_719));
    bbr.first_pace(&window(10.0), 0);
    assert!(is_near(bbr.rate, 14_480.0e6 * 0.99 * 2.886_719));
}

/// `bbr_tso_segs_goal`: a 1024th of a second's bytes, in whole segments; `bbr_min_tso_segs`: one
/// below 1.2 Mbit/s, else two at least; at most 127, and 65,215 B.
#[test]
fn bbr_tso_segs_goal_is_a_millisecond_of_full_segments() {
    let mut bbr = make();
    for (rate, segments) in [
        (0, 1),
        (149_999, 1),
        (150_000, 2),
        (2 * 1448 * 1024, 2),
        (3 * 1448 * 1024 - 1, 2),
        (3 * 1448 * 1024, 3),
        (10_000_000, 6),
        (1_000_000_000, 45),
    ] {
        bbr.rate = rate;
        assert_eq!(bbr.burst(), segments, "{rate} B/s");
    }
    bbr.mss = 500;
    assert_eq!(bbr.burst(), 127);
}

/// `bbr_bdp`, rounded up; without a round trip the first window. `bbr_quantization_budget`: three
/// bursts more, even, and two more in the phase that probes.
#[test]
fn bbr_inflight_is_the_product_with_room_for_bursts() {
    let mut bbr = make();
    assert_eq!(bbr.product(RATE_UNIT / 10, 256), 10_000);
    assert_eq!(bbr.product(RATE_UNIT / 10 + 1, 256), 10_001);
    assert_eq!(bbr.product(RATE_UNIT / 10, 320), 12_500);
    bbr.rate = 150_000; // bursts of two
    assert_eq!(bbr.with_bursts(10), 16);
    assert_eq!(bbr.with_bursts(11), 18);
    (bbr.mode, bbr.phase) = (BbrMode::ProbeRate, 0);
    assert_eq!(bbr.with_bursts(10), 18);
    bbr.phase = 1;
    assert_eq!(bbr.with_bursts(10), 16);
    bbr.min_rtt = None;
    assert_eq!(bbr.product(RATE, 256), 10);
}

/// `bbr_packets_in_net_at_edt`: what leaves until the next may go is out; a burst more while probing.
#[test]
fn bbr_packets_in_net_at_edt_counts_what_will_be_delivered() {
    let mut bbr = make();
    (bbr.pacing_gain, bbr.rate) = (256, 150_000);
    let at = |next_at| RateSample { now: 7_000_000, next_at, ..RateSample::default() };
    assert_eq!(bbr.in_network(10, &at(0)), 10);
    assert_eq!(bbr.in_network(10, &at(7_000)), 10);
    // A segment a millisecond, less the rounding of its rate.
    assert_eq!(bbr.in_network(10, &at(7_000 + 4_010)), 6);
    assert_eq!(bbr.in_network(10, &at(7_000 + 50_010)), 0);
    bbr.pacing_gain = 320;
    assert_eq!(bbr.in_network(10, &at(7_000 + 4_010)), 8);
}

/// `bbr_check_full_bw_reached`: at round ends that the application does not limit, a rate of at
/// least 5/4 of the last one that grew begins anew; after three rounds without the pipe is full.
#[test]
fn bbr_check_full_bw_reached_after_three_rounds_below_a_quarter_more() {
    let mut bbr = make();
    let (plain, limited) =
        (RateSample::default(), RateSample { limited: true, ..RateSample::default() });
    bbr.full_rate = RATE;
    bbr.check_filled(&plain);
    assert_eq!(bbr.full_rounds, 0, "no round ends");
    bbr.round_start = true;
    bbr.check_filled(&limited);
    assert_eq!(bbr.full_rounds, 0, "limited by the application");
    for rounds in 1..=3 {
        bbr.check_filled(&plain);
        assert_eq!((bbr.full_rounds, bbr.filled()), (rounds, rounds == 3));
    }
    bbr.check_filled(&plain);
    assert_eq!(bbr.full_rounds, 3);
    // 5/4 of 1000 is 1250: that grows, 1249 does not.
    for (best, rounds, rate) in [(1_249, 1, 1_000), (1_250, 0, 1_250)] {
        let mut bbr = Bbr { full_rate: 1_000, round_start: true, full_rounds: 0, ..make() };
        bbr.best = WindowedMaximum::default();
        bbr.best.update(0, best, RATE_ROUNDS);
        bbr.check_filled(&plain);
        assert_eq!((bbr.full_rounds, bbr.full_rate), (rounds, rate));
    }
}

/// `bbr_is_next_cycle_phase`: cruising lasts longer than the least round trip; the probe upwards also
/// until a loss, or until its share is in the network; that downwards at most so long.
#[test]
fn bbr_is_next_cycle_phase_by_time_loss_and_what_is_in_the_network() {
    // Product 100, and 125 at 5/4; three bursts of two and two more while probing: 106, and 134.
    let next = |phase: usize, elapsed: u64, lost: u32, prior_in_flight: u32| {
        let mut bbr = Bbr { mode: BbrMode::ProbeRate, rate: 150_000, phase, ..make() };
        (bbr.pacing_gain, bbr.phase_at) = (CYCLE[phase], 1_000);
        let sample = RateSample {
            delivered_at: 1_000 + elapsed,
            lost,
            prior_in_flight,
            ..RateSample::default()
        };
        bbr.update_phase(&sample);
        bbr.phase != phase
    };
    assert!(!next(3, TRIP_US, 5, 0));
    assert!(next(3, TRIP_US + 1, 0, 1_000));
    // Upwards: a burst of two is added to what is in flight.
    assert!(!next(0, TRIP_US, 1, 1_000));
    assert!(next(0, TRIP_US + 1, 1, 0));
    assert!(!next(0, TRIP_US + 1, 0, 131));
    assert!(next(0, TRIP_US + 1, 0, 132));
    // Downwards.
    assert!(next(1, TRIP_US + 1, 0, 1_000));
    assert!(next(1, 0, 0, 106));
    assert!(!next(1, TRIP_US, 0, 107));
}

/// `bbr_update_min_rtt` with ticks of 4 ms: the least round trip counts for 2500 ticks; then any is
/// taken, and the window falls to four for 50 ticks and a round.
#[test]
fn bbr_update_min_rtt_probes_after_ten_seconds_for_200_ms_and_a_round() {
    let mut bbr = make();
    let mut cwnd = window(100.0);
    let at = |tick: u64, rtt: Span, in_flight: u32| RateSample {
        now: tick * 4_000_000,
        rtt: Some(rtt),
        in_flight,
        acked: 1,
        ..RateSample::default()
    };
    assert!(!bbr.update_trip(&mut cwnd, &at(10, TRIP_US, 50)));
    assert_eq!(bbr.min_rtt_tick, 0, "an equal one is none that is less");
    assert!(!bbr.update_trip(&mut cwnd, &at(20, TRIP_US - 1, 50)));
    assert_eq!((bbr.min_rtt, bbr.min_rtt_tick), (Some(TRIP_US - 1), 20));
    assert!(!bbr.update_trip(&mut cwnd, &at(2_520, 2 * TRIP_US, 50)));
    assert!(bbr.update_trip(&mut cwnd, &at(2_521, 2 * TRIP_US, 50)));
    assert_eq!((bbr.min_rtt, bbr.min_rtt_tick), (Some(2 * TRIP_US), 2_521));
    assert_eq!((bbr.mode, bbr.probe_end, bbr.prior_cwnd), (BbrMode::ProbeTrip, None, 100));
    assert!(bbr.update_trip(&mut cwnd, &at(2_530, TRIP_US, 5)));
    assert_eq!(bbr.probe_end, None, "five are more than four");
    assert!(bbr.update_trip(&mut cwnd, &at(2_531, TRIP_US, 4)));
    assert_eq!(bbr.probe_end, Some(2_581));
    bbr.update_trip(&mut cwnd, &at(2_600, TRIP_US, 4));
    assert_eq!(bbr.mode, BbrMode::ProbeTrip, "no round has passed");
    bbr.probe_end = Some(2_700);
    bbr.round_start = true;
    bbr.update_trip(&mut cwnd, &at(2_700, TRIP_US, 4));
    assert_eq!(bbr.mode, BbrMode::ProbeTrip, "200 ms have not passed");
    cwnd.cwnd = 4.0;
    bbr.update_trip(&mut cwnd, &at(2_701, TRIP_US, 4));
    assert_eq!((bbr.mode, bbr.min_rtt_tick, cwnd.cwnd), (BbrMode::Startup, 2_701, 100.0));
}

/// `bbr_cwnd_event`, `CA_EVENT_TX_START` of a connection that the application had limited: a probe of the
/// round trip ends if its time is over, without a round (`bbr_check_probe_rtt_done`), and not before;
/// a bandwidth probe leaves with a pace of gain 1, which before a full pipe never falls.
#[test]
fn bbr_cwnd_event_ends_a_probe_of_the_round_trip_that_is_over() {
    for (probe_end, tick, ends) in
        [(None, 2_701, false), (Some(2_700), 2_700, false), (Some(2_700), 2_701, true)]
    {
        let mut bbr = make();
        let mut cwnd = window(4.0);
        (bbr.mode, bbr.probe_end, bbr.prior_cwnd) = (BbrMode::ProbeTrip, probe_end, 100);
        bbr.on_restart(&mut cwnd, tick * 4_000_000);
        let expected = if ends { (BbrMode::Startup, 100.0) } else { (BbrMode::ProbeTrip, 4.0) };
        assert_eq!((bbr.mode, cwnd.cwnd), expected, "{probe_end:?} {tick}");
        assert_eq!(bbr.min_rtt_tick == tick, ends);
        assert!(bbr.idle_restart);
    }
    for (rate, expected) in [(0, 1_448_000.0 * 0.99), (9_000_000, 9_000_000.0)] {
        let mut bbr = make();
        (bbr.mode, bbr.rate) = (BbrMode::ProbeRate, rate);
        let rate = bbr.on_restart(&mut window(4.0), 0);
        assert!(is_near(rate, expected), "{rate}");
    }
}

/// `bbr_check_drain`: at its end start-up drains until what is in the network fits the product.
#[test]
fn bbr_check_drain_until_the_product_is_in_the_network() {
    let mut cwnd = window(300.0);
    let of = |in_flight| RateSample { in_flight, ..RateSample::default() };
    let mut bbr = Bbr { rate: 150_000, full_rounds: 2, ..make() };
    bbr.check_drained(&mut cwnd, &of(200));
    assert_eq!(bbr.mode, BbrMode::Startup);
    bbr.full_rounds = 3;
    bbr.pacing_gain = DRAIN_GAIN;
    bbr.check_drained(&mut cwnd, &of(107));
    assert_eq!((bbr.mode, cwnd.ssthresh), (BbrMode::Drain, 106.0));
    bbr.check_drained(&mut cwnd, &of(106));
    assert_eq!(bbr.mode, BbrMode::ProbeRate);
}

/// The gains of `bbr_update_gains`: 2.887 and 1/2.887 in 256ths, then 5/4, 3/4 and six times 1.
#[test]
fn bbr_update_gains_are_those_of_the_modes() {
    let mut bbr = make();
    bbr.update_gains();
    assert_eq!((bbr.pacing_gain, bbr.window_gain), (2_885 * 256 / 1_000 + 1, 739));
    bbr.mode = BbrMode::Drain;
    bbr.update_gains();
    assert_eq!((bbr.pacing_gain, bbr.window_gain), (1_000 * 256 / 2_885, 739));
    bbr.mode = BbrMode::ProbeTrip;
    bbr.update_gains();
    assert_eq!((bbr.pacing_gain, bbr.window_gain), (256, 256));
    bbr.mode = BbrMode::ProbeRate;
    for (phase, gain) in [320, 192, 256, 256, 256, 256, 256, 256].into_iter().enumerate() {
        bbr.phase = phase;
        bbr.update_gains();
        assert_eq!((bbr.pacing_gain, bbr.window_gain), (gain, 512));
    }
}

/// `bbr_reset_probe_bw_mode`: `cycle_idx` is 8 - 1 - a random number below 7, and the next phase begins: any of
/// the eight but the second, which drains.
#[test]
fn bbr_reset_probe_bw_mode_begins_in_any_phase_but_the_draining_one() {
    let mut random = RandomStream::new(1, "flows[f]", "congestion");
    let mut seen = [0; 8];
    for _ in 0..700 {
        let mut bbr = make();
        bbr.probe_rate_anew();
        bbr.draw_phase(&RateSample::default(), &mut random);
        seen[bbr.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    // 100 each; standard deviation 9.3.
    assert!(
        [0, 2, 3, 4, 5, 6, 7].iter().all(|phase| (63..=137).contains(&seen[*phase])),
        "{seen:?}"
    );
}

/// `bbr_init`: the least round trip is that of the handshake, seen now, in ticks of 4 ms.
#[test]
fn bbr_init_the_handshake_is_the_first_round_trip() {
    let mut bbr = make();
    assert_eq!(bbr.on_established(&window(10.0), None, 8_502_000_000), 0);
    assert_eq!((bbr.min_rtt, bbr.min_rtt_tick), (None, 2125));
    bbr.on_established(&window(10.0), Some(30_000), 8_504_000_000);
    assert_eq!((bbr.min_rtt, bbr.min_rtt_tick), (Some(30_000), 2126));
}

/// `bbr_set_state` and `bbr_ssthresh`: a loss and a timeout leave the threshold, and what the window was is restored
/// after them; only a timeout begins the search for the full rate anew. `bbr_undo_cwnd`: so does a loss that was none.
#[test]
fn bbr_undo_cwnd_seeks_the_full_rate_again() {
    for (cause, full_rate) in [(ReductionCause::Loss, RATE), (ReductionCause::Timeout, 0)] {
        let mut bbr = make();
        (bbr.full_rate, bbr.full_rounds) = (RATE, 2);
        assert_eq!(bbr.reduce_window(&window(20.0), 20.0, cause), 1e9);
        let by_timeout = cause == ReductionCause::Timeout;
        assert_eq!((bbr.prior_cwnd, bbr.full_rate, bbr.was_timed_out), (20, full_rate, by_timeout));
        bbr.undo_reduction(&mut window(5.0), 20.0);
        assert_eq!((bbr.full_rate, bbr.full_rounds), (0, 0));
    }
    let mut bbr = make();
    bbr.full_rounds = 3;
    bbr.undo_reduction(&mut window(5.0), 20.0);
    assert!(bbr.filled(), "what was full stays so");
}
