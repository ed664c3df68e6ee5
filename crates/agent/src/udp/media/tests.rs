use super::{
    report_bytes, ArrivedMediaPacket, EncodedFrame, Encoder, FeedbackLog, MediaConfig, MediaPlayer,
    Nada, REPORT_INTERVAL,
};
use trunkline_units::{Span, Time, SECOND};

const MS: Span = SECOND / 1000;

fn arrival(number: u32, sent_at: Time, delay: Span) -> ArrivedMediaPacket {
    ArrivedMediaPacket {
        number,
        sent_at,
        arrived_at: sent_at + delay,
        bytes: 1200,
        is_marked: false,
    }
}

/// Ten packets an interval of 100 ms for `intervals`, with the delay and mark that the caller gives.
fn feed(
    nada: &mut Nada,
    (first, intervals): (u32, u32),
    mut each: impl FnMut(&mut ArrivedMediaPacket) -> bool,
) -> Time {
    let mut now = 0;
    for interval in first..first + intervals {
        let sent = |index: u32| Time::from(interval * 10 + index) * 10 * MS;
        let mut arrivals: Vec<ArrivedMediaPacket> =
            (0..10).map(|index| arrival(interval * 10 + index, sent(index), 20 * MS)).collect();
        arrivals.retain_mut(|one| each(one));
        now = sent(10) + 20 * MS;
        nada.on_feedback(&arrivals, 40 * MS, now);
    }
    now
}

#[test]
fn rfc8698_s4_3_the_ramp_up_multiplies_what_was_received() {
    let mut nada = Nada::new(150_000, 10_000_000, 1.0, 0);
    feed(&mut nada, (0, 6), |_| true);
    // 50 packets of 1200 B in 500 ms; gamma = min(0.5, 50 / (40 + 100 + 120)).
    let received = 50.0 * 1200.0 * 8.0 / 0.5;
    assert!((nada.rate() - received * (1.0 + 50.0 / 260.0)).abs() < 1.0, "{}", nada.rate());
}

#[test]
fn rfc8698_s4_3_one_flow_settles_at_its_link_with_the_delay_of_the_equilibrium() {
    for (capacity, largest, priority) in [(1e6, 2.5e6, 1.0), (3e6, 5e6, 1.0), (1e6, 1.5e6, 2.0)] {
        let mut nada = Nada::new(150_000, largest as u64, priority, 0);
        let (mut queue_bits, mut now, mut number) = (0.0_f64, 0, 0);
        for _ in 0..6000 {
            let mut arrivals = Vec::new();
            // A fluid queue; packets of its time.
            for _ in 0..20 {
                queue_bits = (queue_bits + (nada.rate() - capacity) * 0.005).max(0.0);
                let delay = 20 * MS + (queue_bits / capacity * SECOND as f64) as Span;
                let bytes = (nada.rate().min(capacity) * 0.005 / 8.0) as u16;
                arrivals.push(ArrivedMediaPacket { bytes, ..arrival(number, now, delay) });
                number += 1;
                now += 5 * MS;
            }
            nada.on_feedback(&arrivals, 40 * MS, now);
        }
        // Section 4.3: x_offset = 0 at PRIO * XREF * RMAX / r_ref.
        let expected = priority * 10.0 * largest / capacity;
        assert!((nada.rate() / capacity - 1.0).abs() < 0.02, "{} of {capacity}", nada.rate());
        assert!((nada.signal() / expected - 1.0).abs() < 0.02, "{} ms", nada.signal());
    }
}

#[test]
fn rfc8698_s4_2_after_losses_a_long_delay_counts_less_the_longer_it_is() {
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    feed(&mut nada, (0, 2), |_| true);
    // One packet is lost; from then on each waits 100 ms more.
    feed(&mut nada, (2, 10), |one| {
        one.arrived_at += 100 * MS;
        one.number != 21
    });
    // The filter of 15 and the window of 50 have forgotten the times before.
    let warped = 50.0 * (-0.5_f64 * (100.0 - 50.0) / 50.0).exp();
    // Sought by hand: the ratio of losses was smoothed over the reports with the loss in the window.
    let loss_part = nada.signal() - warped;
    assert!((0.0..8.0).contains(&loss_part), "{loss_part}");
    // Without a loss the delay counts whole.
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    feed(&mut nada, (0, 2), |_| true);
    feed(&mut nada, (2, 10), |one| {
        one.arrived_at += 100 * MS;
        true
    });
    assert!((nada.signal() - 100.0).abs() < 1e-9, "{}", nada.signal());
}

#[test]
fn rfc8698_s4_2_marks_count_two_milliseconds_at_one_in_a_hundred_and_grow_as_the_square() {
    // The window of 50 packets holds one, two or five marks.
    for (one_in, expected) in [(50, 8.0), (25, 32.0), (10, 200.0)] {
        let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
        feed(&mut nada, (0, 300), |one| {
            one.is_marked = one.number % one_in == 0;
            true
        });
        assert!((nada.signal() / expected - 1.0).abs() < 1e-9, "{}", nada.signal());
    }
    // All packets marked: the ratio after k reports is 1 - 0.9^k.
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    feed(&mut nada, (0, 3), |one| {
        one.is_marked = true;
        true
    });
    let ratio = 1.0 - 0.9_f64.powi(3);
    assert!((nada.signal() - 2.0 * (ratio / 0.01).powi(2)).abs() < 1e-6, "{}", nada.signal());
}

#[test]
fn rfc8698_s5_1_1_the_least_of_fifteen_delays_counts() {
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    feed(&mut nada, (0, 2), |_| true);
    // One packet in 14 does not wait: the filter always holds one of them.
    feed(&mut nada, (2, 10), |one| {
        one.arrived_at += if one.number % 14 == 0 { 0 } else { 30 * MS };
        true
    });
    assert!(nada.signal().abs() < 1e-9, "{}", nada.signal());
    feed(&mut nada, (12, 10), |one| {
        one.arrived_at += if one.number % 30 == 20 { 0 } else { 30 * MS };
        true
    });
    // Of the last 15, numbers 205 to 219, all waited.
    assert!((nada.signal() - 30.0).abs() < 1e-9, "{}", nada.signal());
}

#[test]
fn rfc8888_s5_reports_that_are_missing_halve_the_rate_again_and_again() {
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    let silence = 400 * MS;
    // Before the first report there is nothing to miss.
    nada.notice_silence(silence, 10 * SECOND);
    assert_eq!(nada.rate(), 150_000.0);
    let heard = feed(&mut nada, (0, 20), |_| true);
    nada.hear(heard);
    let rate = nada.rate();
    // One report lost changes nothing.
    nada.notice_silence(silence, heard + 399 * MS);
    assert_eq!(nada.rate(), rate);
    nada.notice_silence(silence, heard + 400 * MS);
    nada.notice_silence(silence, heard + 500 * MS);
    assert_eq!(nada.rate(), rate / 2.0);
    nada.notice_silence(silence, heard + 800 * MS);
    assert_eq!(nada.rate(), rate / 4.0);
    (3..9).for_each(|step| nada.notice_silence(silence, heard + step * silence));
    assert_eq!(nada.rate(), 150_000.0);
}

#[test]
fn a_packet_that_was_only_late_is_no_loss() {
    let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
    let numbers = [0, 1, 2, 4, 5, 3, 6, 7, 8, 9];
    let arrivals: Vec<ArrivedMediaPacket> =
        numbers.iter().map(|&n| arrival(n, Time::from(n) * 10 * MS, 20 * MS)).collect();
    nada.on_feedback(&arrivals, 40 * MS, 200 * MS);
    assert_eq!(nada.signal(), 0.0);
}

fn config() -> MediaConfig {
    MediaConfig {
        min_bit_s: 150_000,
        ladder_bit_s: vec![],
        priority: 1.0,
        frame_ns: SECOND / 25,
        playout_ns: 200 * MS,
        ecn: false,
    }
}

#[test]
fn a_frame_has_the_bytes_of_its_time_in_packets_of_like_size() {
    let mut encoder = Encoder::new(&config(), 4_000_000, 1240, 0);
    let frame = encoder.make_frame(1_000_000.0, 0).unwrap();
    // 1 Mbit/s over 40 ms: 5000 B in 5 packets of at most 1240 B.
    assert_eq!((frame.packets, frame.rate_bit_s), (5, 1_000_000));
    assert_eq!(encoder.make_frame(1_000_000.0, 39 * MS), None);
    // r_send = r_ref + 0.1 * 8 * 5000 B * 25/s = 1.1 Mbit/s: 1000 B take 7.27 ms.
    assert_eq!(encoder.take_packet(1_000_000.0, 0).unwrap().bytes, 1000);
    assert_eq!(encoder.wakes_at(), 7_272_727);
    assert_eq!(encoder.take_packet(1_000_000.0, 7_272_726), None);
    // r_vin = r_ref - 0.1 * 8 * 4000 B * 25/s.
    assert_eq!(encoder.choose_rates(1_000_000.0), (920_000, 920_000));
}

#[test]
fn a_ladder_takes_the_highest_rung_that_fits() {
    let ladder = MediaConfig { ladder_bit_s: vec![300_000, 900_000, 2_000_000], ..config() };
    let encoder = Encoder::new(&ladder, 4_000_000, 1240, 0);
    for (reference, rung) in [(200e3, 300_000), (899_999.0, 300_000), (900e3, 900_000)] {
        assert_eq!(encoder.choose_rates(reference).1, rung);
    }
    // Padding fills a frame up to the rate; the lowest rung is sent whatever the rate.
    assert_eq!(encoder.choose_rates(1.5e6), (1_500_000, 900_000));
    assert_eq!(encoder.choose_rates(200e3), (300_000, 300_000));
}

#[test]
fn a_frame_that_is_late_or_lost_stops_the_picture_for_its_time() {
    let mut player = MediaPlayer::new(40 * MS, 100 * MS);
    let mut encoder = Encoder::new(&config(), 4_000_000, 1240, 0);
    for frame in 0..10_u32 {
        let captured = Time::from(frame) * 40 * MS;
        player.expect(encoder.make_frame(200_000.0, captured).unwrap());
        // Frame 0 and 3 are late, 4 never comes, 7 lacks nothing and comes in the last moment.
        let delay = match frame {
            0 | 3 => 101,
            4 => continue,
            7 => 100,
            _ => 30,
        };
        player.on_packet(frame, captured + delay * MS);
    }
    let playback = player.viewing(10 * SECOND);
    // The last frame is due at 460 ms, and shown once that time has passed.
    assert_eq!(player.viewing(460 * MS).chunks, 6);
    assert_eq!(playback.chunks, 7);
    assert_eq!((playback.stalls, playback.stalled), (1, 80 * MS));
    // The second frame is the first picture: at 40 + 100 ms.
    assert_eq!(playback.start_up, Some(140 * MS));
}

#[test]
fn rfc8888_s3_1_reports_overlap_so_that_the_loss_of_one_loses_nothing() {
    let mut log = FeedbackLog::default();
    let mut covered = Vec::new();
    for interval in 0..3 {
        (0..5).for_each(|index| log.push(arrival(interval * 5 + index, 0, MS)));
        covered.push(log.begin_report());
    }
    let heard = |log: &mut FeedbackLog, report: (u64, u64)| {
        log.take(report).iter().map(|one| one.number).collect::<Vec<_>>()
    };
    assert_eq!(heard(&mut log, covered[0]), [0, 1, 2, 3, 4]);
    // The second is lost.
    assert_eq!(heard(&mut log, covered[2]), [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    assert!(heard(&mut log, covered[1]).is_empty());
    // 20 B and 2 B a packet, padded: 10 packets.
    assert_eq!((report_bytes(10), report_bytes(9)), (40, 40));
    // Section 3.1: a report covers 16384 packets at most.
    assert_eq!((report_bytes(16_384), report_bytes(20_000)), (32_788, 32_788));
    assert_eq!(REPORT_INTERVAL, 100 * MS);
}

/// Frames each 40 ms, 100 ms from capture to picture. The first is not there: the picture starts with the
/// second, 140 ms after the first capture, and what was missing before is no stall. Frames 2 and 3 are missing:
/// one stall of 80 ms; frame 5 another one of 40. The rate changes with frames 4 and 7.
#[test]
fn a_player_starts_with_a_picture_and_stalls_without_one() {
    let mut player = MediaPlayer::new(40 * MS, 100 * MS);
    for frame in 0..8 {
        let rate_bit_s = [1, 1, 1, 1, 2, 2, 2, 1][frame as usize];
        player.expect(EncodedFrame { captured_at: frame * 40 * MS, packets: 2, rate_bit_s });
        for packet in 0..if [0, 2, 3, 5].contains(&frame) { 1 } else { 2 } {
            player.on_packet(frame as u32, (frame * 40 + 10 + packet) * MS);
        }
    }
    let viewing = player.viewing(SECOND);
    assert_eq!((viewing.began, viewing.start_up), (Some(0), Some(140 * MS)));
    assert_eq!((viewing.stalls, viewing.stalled), (2, 120 * MS));
    assert_eq!((viewing.chunks, viewing.rates, viewing.switches), (4, 1 + 2 + 2 + 1, 2));
    // A picture is shown when its time is past, not at it.
    assert_eq!([340, 341].map(|ms| player.viewing(ms * MS).chunks), [2, 3]);
}
