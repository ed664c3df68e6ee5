//! Applications that write and pause: RFC 5681 section 4.1, RFC 9438 section 5.8, RFC 7661, and Linux 6.1.

use crate::pipe::{config, Pipe, MS};
use trunkline_agent::tcp::{
    AfterIdle, Bbr3Config, BbrConfig, CongestionConfig, CubicConfig, TcpConfig, Variant,
};
use trunkline_units::SECOND;

fn sack(initial_window: f64) -> TcpConfig {
    TcpConfig { initial_window, initial_ssthresh: Some(500.0), ..config(Variant::Sack) }
}

fn writing(config: &TcpConfig, bytes: u64) -> Pipe {
    Pipe::long(config).start_writing(config, bytes)
}

/// Segments sent at that instant.
fn sent_at(pipe: &Pipe, now: u64) -> usize {
    pipe.sent.iter().filter(|(at, _)| *at == now).count()
}

/// A write of so many bytes at equal times until then.
fn trickle(pipe: &mut Pipe, bytes: u64, every: u64, until: u64) {
    while pipe.now + every <= until {
        let next = pipe.now + every;
        pipe.run(next);
        pipe.write(bytes);
    }
}

/// RFC 9293 section 3.9.1: data are in the buffer until they are acknowledged. 50 segments of 1000 B go in a
/// round trip of 100 ms, and no more. With Linux each takes 2280 B, and one is written while the buffer is not
/// full: 22. The application wakes when a third is free (`sk_stream_write_space`), at 14 segments, and fills
/// up: 8 for 8 acknowledged. Of 22, 6 are then left, which wake nobody: from there 16 go in a round trip.
#[test]
fn rfc9293_s3_9_1_what_is_not_acknowledged_fills_the_send_buffer() {
    for (linux, peak, in_a_round) in [(false, 50, 50), (true, 22, 16)] {
        let config = TcpConfig { linux, send_buffer_bytes: Some(50_000), ..sack(10.0) };
        let mut pipe = Pipe::long(&config).start();
        pipe.run(5 * SECOND);
        assert_eq!(pipe.peak_flight, peak, "{linux}");
        let before = pipe.receiver.goodput_bytes();
        pipe.run(6 * SECOND);
        assert_eq!(pipe.receiver.goodput_bytes() - before, in_a_round * 10_000, "{linux}");
    }
}

#[test]
fn writes_arrive_whole_and_the_last_segment_of_each_is_short() {
    for linux in [false, true] {
        let config = TcpConfig { linux, ..sack(10.0) };
        let mut pipe = writing(&config, 2_500).lose_once(&[2, 4]);
        pipe.run(300 * MS);
        [300, 3_000, 1].into_iter().for_each(|bytes| pipe.write(bytes));
        pipe.run(5 * SECOND);
        assert_eq!(pipe.receiver.goodput_bytes(), 5_801, "{linux}");
        let length = |number: u32| {
            let all = pipe.sent.iter().filter(move |(_, segment)| segment.seq == number);
            all.map(|(_, segment)| segment.ip_bytes).collect::<Vec<_>>()
        };
        assert_eq!([0, 2, 3, 4, 7].map(|seq| length(seq)[0]), [1040, 540, 340, 1040, 41]);
        assert!(length(4).len() > 1 && length(4).iter().all(|bytes| *bytes == 1040));
        assert_eq!(pipe.sender.finished_at(), None);
    }
}

/// 100 segments in slow start leave a window of 110. After a pause of more than a timeout it is the first
/// window again, 10, and slow start goes on from there; after a shorter pause all 100 go at once.
#[test]
fn rfc5681_s4_1_after_a_timeout_without_sending_the_window_is_the_first() {
    for (pause, first) in [(5 * SECOND, 10), (50 * MS, 100)] {
        let mut pipe = writing(&sack(10.0), 100_000);
        pipe.run(450 * MS);
        assert_eq!((pipe.acked, pipe.sender.cwnd()), (100, 110.0));
        let start = 400 * MS + pause;
        pipe.run(start);
        pipe.write(100_000);
        pipe.run(start + 150 * MS);
        assert_eq!(sent_at(&pipe, start), first, "{pause}");
        assert!(pipe.sender.rto() < 2 * SECOND);
    }
}

/// The same with what RFC 7661 section 4.4 has, and with what nobody has: it is kept.
#[test]
fn rfc7661_s4_4_after_a_pause_the_window_is_kept() {
    for after_idle in [AfterIdle::Validate, AfterIdle::Keep] {
        let mut pipe = writing(&TcpConfig { after_idle, ..sack(10.0) }, 100_000);
        pipe.run(60 * SECOND);
        pipe.write(100_000);
        assert_eq!(sent_at(&pipe, 60 * SECOND), 100);
    }
}

/// A segment each second uses 1 of 110: the window does not grow, and five minutes later it is half; the
/// threshold was below 3/4 of it, 82.5, and is that.
#[test]
fn rfc7661_s4_4_1_an_unused_window_does_not_grow_and_s4_4_3_is_halved_after_five_minutes() {
    let config = TcpConfig {
        after_idle: AfterIdle::Validate,
        initial_ssthresh: Some(60.0),
        window_packets: 110,
        ..sack(60.0)
    };
    let mut pipe = writing(&config, 8_000_000);
    pipe.run(20 * SECOND);
    assert_eq!((pipe.receiver.goodput_bytes(), pipe.sender.cwnd()), (8_000_000, 110.0));
    trickle(&mut pipe, 1_000, SECOND, 300 * SECOND);
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (110.0, 60.0));
    trickle(&mut pipe, 1_000, SECOND, 330 * SECOND);
    // No less than the first window: 60, not 55.
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (60.0, 82.5));
}

/// With 10 of 110 used, 20 where the ends of a round trip count, a loss leaves half of that, not of 110 and
/// what it grew by.
#[test]
fn rfc7661_s4_4_2_a_loss_reduces_what_was_used() {
    for (after_idle, left) in [(AfterIdle::Validate, 4.5..=10.5), (AfterIdle::Keep, 55.0..=300.0)] {
        let config = TcpConfig { after_idle, variant: Variant::NewReno, ..sack(10.0) };
        let mut pipe = writing(&config, 100_000);
        pipe.run(SECOND);
        trickle(&mut pipe, 10_000, 100 * MS, 4 * SECOND);
        pipe.run(4 * SECOND + 90 * MS);
        let lost = pipe.sent.last().unwrap().1.seq + 1;
        let mut pipe = pipe.lose_once(&[lost]);
        pipe.write(10_000);
        pipe.run(5 * SECOND);
        let threshold = pipe.sender.ssthresh();
        assert!(left.contains(&threshold), "{after_idle:?} {threshold}");
    }
}

/// A loss at 100 segments leaves 70. An application that then sends 5 segments in 100 ms for 30 s grows no
/// window, and afterwards the curve goes on from where it was: two seconds of sending later the window is
/// that of a sender that never paused.
#[test]
fn rfc9438_s5_8_the_curve_of_cubic_waits_for_the_application() {
    let cubic = TcpConfig {
        congestion: CongestionConfig::Cubic(CubicConfig::default()),
        initial_ssthresh: Some(100.0),
        window_packets: 10_000,
        after_idle: AfterIdle::Keep,
        ..sack(100.0)
    };
    let after_pause = |pause: u64| {
        let mut pipe = writing(&cubic, 500_000).lose_once(&[300]);
        pipe.run(3 * SECOND);
        let before = pipe.sender.cwnd();
        trickle(&mut pipe, 5_000, 100 * MS, 3 * SECOND + pause);
        assert!((pipe.sender.cwnd() - before).abs() < 1.0, "{pause}");
        let start = pipe.now;
        pipe.write(10_000_000);
        pipe.run(start + 2 * SECOND);
        pipe.sender.cwnd()
    };
    let (never, long) = (after_pause(0), after_pause(30 * SECOND));
    assert!((long / never - 1.0).abs() < 0.03, "{never} {long}");
}

fn linux(initial_window: f64) -> TcpConfig {
    TcpConfig { linux: true, ..sack(initial_window) }
}

/// `tcp_cwnd_restart`: half for each timeout that has passed, the first included, down to the first window; the threshold is
/// 3/4 of what it was.
#[test]
fn linux_tcp_cwnd_restart_the_window_is_halved_for_each_timeout_without_sending() {
    for (timeouts, halvings) in [(0.9, 0), (1.5, 1), (3.5, 3), (40.0, 5)] {
        let mut pipe = writing(&linux(2.0), 60_000);
        pipe.run(650 * MS);
        assert_eq!(pipe.acked, 60);
        let (cwnd, rto) = (pipe.sender.cwnd() as u32, pipe.sender.rto() as f64);
        let last = pipe.sent.last().unwrap().0;
        pipe.run((last as f64 + timeouts * rto) as u64);
        pipe.write(1_000);
        let left = (cwnd >> halvings).max(2);
        assert_eq!(pipe.sender.cwnd() as u32, left, "{timeouts}");
    }
}

/// `tcp_cwnd_application_limited`: a segment each 50 ms, so that three are under way; each timeout the window loses half of what it has
/// above the larger of what was used and the first window.
#[test]
fn linux_tcp_cwnd_application_limited_a_window_falls_half_way_to_what_is_used() {
    let mut pipe = writing(&linux(10.0), 100_000);
    pipe.run(450 * MS);
    let mut seen = vec![pipe.sender.cwnd() as u32];
    while pipe.now < 10 * SECOND {
        let now = pipe.now;
        trickle(&mut pipe, 1_000, 50 * MS, now + 50 * MS);
        if Some(&(pipe.sender.cwnd() as u32)) != seen.last() {
            seen.push(pipe.sender.cwnd() as u32);
        }
    }
    assert!(seen.len() > 4 && seen[0] > 60, "{seen:?}");
    // The first step is towards what the transfer used.
    for pair in seen[1..].windows(2) {
        assert_eq!(pair[1], (pair[0] + 10) / 2, "{seen:?}");
    }
    assert!(*seen.last().unwrap() <= 11);
}

/// `tcp_cwnd_application_limited`: "if (win_used < tp->snd_cwnd)". A window that a loss has cut below the first
/// window is not raised towards it while a segment each 50 ms does not fill it.
#[test]
fn linux_tcp_cwnd_application_limited_raises_no_window() {
    let config = linux(10.0);
    let mut pipe = Pipe::long(&config).lose_once(&[5]).start_writing(&config, 20_000);
    pipe.run(2 * SECOND);
    let cwnd = pipe.sender.cwnd();
    assert!((2.0..9.0).contains(&cwnd) && pipe.acked == 20, "{cwnd} {}", pipe.acked);
    while pipe.now < 8 * SECOND {
        let now = pipe.now;
        trickle(&mut pipe, 1_000, 50 * MS, now + 50 * MS);
        assert!(pipe.sender.cwnd() <= cwnd, "{} at {now}", pipe.sender.cwnd());
    }
}

/// `tcp_jiffies32 - tp->snd_cwnd_stamp >= inet_csk(sk)->icsk_rto` with jiffies of 4 ms: a window of 55 that a write
/// of one segment does not fill is left until the tick in which the timeout has passed, and then is half way
/// to the first window of 10.
#[test]
fn linux_tcp_cwnd_validate_a_window_falls_in_the_tick_of_the_timeout() {
    let mut pipe = writing(&linux(10.0), 100_000);
    pipe.run(450 * MS);
    let last = pipe.sent.last().unwrap().0;
    let start = (last + pipe.sender.rto() * 3 / 2).next_multiple_of(4 * MS);
    pipe.run(start);
    pipe.write(1_000);
    pipe.run(start + 150 * MS);
    let timeout = pipe.sender.rto();
    assert_eq!((pipe.sender.cwnd(), timeout % (4 * MS)), (55.0, 0));
    for (now, left) in [(start + timeout - 1, 55.0), (start + timeout, 32.0)] {
        pipe.run(now);
        pipe.write(1_000);
        assert_eq!(pipe.sender.cwnd(), left);
    }
}

/// draft-cheng-iccrg-delivery-rate-estimation section 3.4: samples of an application that sends less than
/// the path takes do not lower the rate. 10 Mbit/s are 1.2 segments of 1040 B a millisecond; after 20 s of
/// 4 segments in 100 ms the pace is still that of the path.
#[test]
fn delivery_rate_s3_4_a_slow_application_does_not_lower_the_rate() {
    let controls = [CongestionConfig::Bbr(BbrConfig {}), CongestionConfig::Bbr3(Bbr3Config {})];
    for (congestion, linux) in controls.iter().flat_map(|one| [(one, false), (one, true)]) {
        let config = TcpConfig {
            congestion: congestion.clone(),
            linux,
            pacing: true,
            timestamps: true,
            ..sack(10.0)
        };
        let mut pipe =
            Pipe::new(&config, 10_000_000, 20 * MS, 1000).start_writing(&config, 3_000_000);
        pipe.run(4 * SECOND);
        trickle(&mut pipe, 4_000, 100 * MS, 24 * SECOND);
        let pace = pipe.sender.pacing_rate().unwrap() as f64 * 8.0 * 1.04;
        assert!(pace > 0.9 * 10e6, "{congestion:?} {linux}: {pace}");
    }
}
