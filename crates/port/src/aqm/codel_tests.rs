use super::super::QueueBacklog;
use super::*;

fn codel(arithmetic: Arithmetic) -> Codel {
    let config = CodelConfig {
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        mtu_bytes: 1500,
        ce_threshold_ns: None,
        arithmetic,
    };
    Codel::new(&config, 8_000_000).unwrap()
}

/// A head that has waited `wait_us` at `at_us`, with `left` bytes behind it.
fn head(at_us: u64, wait_us: u64, left: u64, can_mark: bool) -> HeadPacket {
    let now = at_us * 1000;
    let backlog = QueueBacklog { packets: 100, bytes: left };
    let since = now - wait_us * 1000;
    HeadPacket { now, since, bytes: 1000, precedence: 0, left: backlog, can_mark }
}

/// Times [us] after the first drop at which a queue that is always 50 ms late drops, with a packet
/// sent every 10 us.
fn drops(mut codel: Codel, count: usize) -> Vec<u64> {
    let mut random = RandomStream::new(1, "test", "codel");
    let mut times = Vec::new();
    let mut at = 1_000_000;
    while times.len() < count {
        at += 10;
        while codel.on_head(&head(at, 50_000, 100_000, false), &mut random) != Verdict::Pass {
            times.push(at);
        }
    }
    times.iter().map(|time| time - times[0]).collect()
}

mod rfc8289 {
    use super::*;

    /// Section 4.4: after the first, drops are interval / sqrt(count) apart, count = 1, 2, ...:
    /// 100, 70.71, 57.74, 50, 44.72, 40.82, 37.80 ms.
    #[test]
    fn s4_4_drops_under_constant_overload_come_by_the_inverse_square_root() {
        let ideal = [0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79];
        let drop_times = drops(codel(Arithmetic::Exact), ideal.len());
        for (time, expected) in drop_times.iter().zip(ideal) {
            assert!((*time as f64 / 1000.0 - expected).abs() < 0.05, "{drop_times:?}");
        }
    }

    /// Section 5.5: a head that has waited the target is late, and the first drop is at the end of the
    /// interval. Linux, whose `codel_should_drop` has `codel_time_after`, drops behind it: its clock has
    /// units of 1024 ns, 1 000 000 us are 976 562 of them, and 97 656 are the interval.
    #[test]
    fn s5_5_a_wait_of_the_target_is_late_and_the_interval_ends_with_a_drop() {
        for (arithmetic, at_its_end) in
            [(Arithmetic::Exact, Verdict::Signal(Cause::Early)), (Arithmetic::Linux, Verdict::Pass)]
        {
            let mut random = RandomStream::new(1, "test", "codel");
            let mut codel = codel(arithmetic);
            let mut judge = |at| codel.on_head(&head(at, 5_000, 9000, false), &mut random);
            assert_eq!(judge(1_000_000), Verdict::Pass);
            assert_eq!(judge(1_099_998), Verdict::Pass, "{arithmetic:?}");
            assert_eq!(judge(1_100_000), at_its_end, "{arithmetic:?}");
            if at_its_end == Verdict::Pass {
                assert_eq!(judge(1_100_001), Verdict::Signal(Cause::Early));
            }
        }
    }

    /// Section 5.5: the first drop is one interval after the first packet above target, and a
    /// packet below target in between starts the interval again.
    #[test]
    fn s5_5_a_packet_below_target_starts_the_interval_again() {
        let mut random = RandomStream::new(1, "test", "codel");
        let mut codel = codel(Arithmetic::Exact);
        let mut judge = |at, wait| codel.on_head(&head(at, wait, 9000, false), &mut random);
        assert_eq!(judge(1_000_000, 5_000), Verdict::Pass);
        assert_eq!(judge(1_099_000, 4_999), Verdict::Pass);
        assert_eq!(judge(1_100_000, 6_000), Verdict::Pass);
        assert_eq!(judge(1_199_999, 6_000), Verdict::Pass);
        assert_eq!(judge(1_200_000, 6_000), Verdict::Signal(Cause::Early));
    }

    /// Section 4.2.2... "bytes() <= MAXPACKET": with one packet or less behind the head no packet is
    /// dropped however long it waited.
    #[test]
    fn s5_5_a_queue_of_one_packet_is_never_dropped_from() {
        let mut random = RandomStream::new(1, "test", "codel");
        let mut codel = codel(Arithmetic::Exact);
        for ms in 0..1000 {
            let late = head(1_000_000 + ms * 1000, 90_000, 1500, false);
            assert_eq!(codel.on_head(&late, &mut random), Verdict::Pass);
        }
    }

    /// Section 5.4: an episode of 5 drops, ended by a packet in time; where the next one begins less than 16
    /// intervals after the fifth drop, it starts from count - lastcount = 5 - 1 = 4: its second drop
    /// follows after 100 / sqrt(4) = 50 ms. Later it starts from 1: 100 ms. It begins one interval after
    /// its first late packet, so that one 12 or 14.9 intervals after the fifth drop is within, and 15.1
    /// or 17 is not.
    #[test]
    fn s5_4_the_next_episode_starts_from_the_rate_of_the_last_for_16_intervals() {
        for (late_again_us, gap_us) in [
            (20, 50_000),
            (1_200_000, 50_000),
            (1_490_000, 50_000),
            (1_510_000, 100_000),
            (1_700_000, 100_000),
        ] {
            let mut random = RandomStream::new(1, "test", "codel");
            let mut codel = codel(Arithmetic::Exact);
            let (mut at, mut drop_times) = (1_000_000, Vec::new());
            while drop_times.len() < 5 {
                at += 10;
                if codel.on_head(&head(at, 50_000, 9000, false), &mut random) != Verdict::Pass {
                    drop_times.push(at);
                }
            }
            let on_time = head(at + 10, 1_000, 9000, false);
            assert_eq!(codel.on_head(&on_time, &mut random), Verdict::Pass);
            at += late_again_us;
            drop_times.clear();
            while drop_times.len() < 2 {
                at += 20;
                if codel.on_head(&head(at, 50_000, 9000, false), &mut random) != Verdict::Pass {
                    drop_times.push(at);
                }
            }
            let gap = drop_times[1] - drop_times[0];
            assert!(gap.abs_diff(gap_us) <= 20, "{late_again_us} us: {gap}");
        }
    }
}

mod linux {
    use super::*;

    /// Linux takes for 1 / sqrt(count) of RFC 8289 one Newton step a drop, x (3 - count x^2) / 2
    /// from 1.0: 1, 0.5, 0.5625, 0.4878, ...; the times are sums of these intervals in real
    /// numbers, from which the kernel's 16 bits differ by less than the 0.05 ms allowed here.
    #[test]
    fn drops_under_constant_overload_come_earlier_than_the_ideal() {
        let kernel = [0.0, 100.0, 150.0, 206.25, 255.03, 299.18, 339.58, 377.10];
        let drop_times = drops(codel(Arithmetic::Linux), kernel.len());
        for (time, expected) in drop_times.iter().zip(kernel) {
            assert!((*time as f64 / 1000.0 - expected).abs() < 0.05, "{drop_times:?}");
        }
    }
}

/// RFC 3168 by the same law: packets are marked at the times of drops, and none is dropped.
#[test]
fn what_can_be_marked_is_signalled_once_a_time_of_the_law() {
    let mut random = RandomStream::new(1, "test", "codel");
    let mut codel = codel(Arithmetic::Exact);
    let mut times = Vec::new();
    for at in (1_000_000..1_500_000).step_by(10) {
        if codel.on_head(&head(at, 50_000, 9000, true), &mut random) != Verdict::Pass {
            times.push(at - 1_000_010);
        }
    }
    let ideal = [100_000, 200_000, 270_710, 328_450, 378_450, 423_170, 463_990];
    assert_eq!(times.len(), ideal.len(), "{times:?}");
    assert!(times.iter().zip(ideal).all(|(time, ideal)| time.abs_diff(ideal) < 50), "{times:?}");
}

/// The step of DCTCP (RFC 8257 section 3.1): marks every packet that waited longer than the threshold,
/// and no other.
#[test]
fn rfc8257_s3_1_a_step_marks_by_the_time_in_the_queue() {
    let mut random = RandomStream::new(1, "test", "codel");
    let config =
        CodelConfig { ce_threshold_ns: Some(1_000_000), ..codel(Arithmetic::Exact).config };
    let mut codel = Codel::new(&config, 8_000_000).unwrap();
    let mut judge = |wait| codel.on_head(&head(1_000_000, wait, 9000, true), &mut random);
    assert_eq!([judge(1_000), judge(1_001)], [Verdict::Pass, Verdict::Mark]);
}

/// RFC 8289 section 5.4, and Linux's `codel_dequeue`: a queue that becomes empty ends the dropping state.
/// The RFC starts the interval of late heads again, Linux only where a drop left the queue empty.
#[test]
fn an_empty_queue_ends_the_dropping_state() {
    for (arithmetic, next) in [(Arithmetic::Exact, 1_160_000), (Arithmetic::Linux, 1_101_000)] {
        let mut random = RandomStream::new(1, "test", "codel");
        let mut codel = codel(arithmetic);
        assert_eq!(codel.on_head(&head(1_000_000, 6_000, 9000, false), &mut random), Verdict::Pass);
        (codel.dropping, codel.count, codel.last_count) = (true, 5, 1);
        codel.on_idle(1_050_000_000);
        assert!(!codel.dropping);
        assert_eq!((codel.count, codel.last_count), (5, 1), "no drop, no new count");
        let signals: Vec<u64> = (1_060_000..1_200_000)
            .step_by(1000)
            .filter(|&at| {
                codel.on_head(&head(at, 6_000, 9000, false), &mut random) != Verdict::Pass
            })
            .take(1)
            .collect();
        assert_eq!(signals, [next], "{arithmetic:?}");
    }
}

/// The first drop takes the queue's last packet: the state of section 5.4 is entered, its second drop due
/// an interval later, and left.
#[test]
fn a_first_drop_that_empties_the_queue_counts() {
    let mut random = RandomStream::new(1, "test", "codel");
    let mut codel = codel(Arithmetic::Exact);
    let mut judge = |at| codel.on_head(&head(at, 6_000, 9000, false), &mut random);
    assert_eq!(judge(1_000_000), Verdict::Pass);
    assert_eq!(judge(1_100_000), Verdict::Signal(Cause::Early));
    codel.on_idle(1_100_000_000);
    assert_eq!((codel.count, codel.last_count, codel.drop_next), (1, 1, 1_200_000_000));
    assert_eq!((codel.dropping, codel.first_above), (false, None));
}

/// Linux's `codel_dequeue`: `delta = count - lastcount`, and only where it is above 1 does the next episode
/// start from it. One of two drops is followed by one that starts from 1, its second drop 100 ms on.
#[test]
fn linux_an_episode_of_two_drops_leaves_no_rate() {
    let mut random = RandomStream::new(1, "test", "codel");
    let mut codel = codel(Arithmetic::Linux);
    let (mut at, mut times) = (1_000_000, Vec::new());
    let mut drop_until = |codel: &mut Codel, at: &mut u64, count: usize| {
        times.clear();
        while times.len() < count {
            *at += 10;
            if codel.on_head(&head(*at, 50_000, 9000, false), &mut random) != Verdict::Pass {
                times.push(*at);
            }
        }
        let on_time = head(*at + 10, 1_000, 9000, false);
        assert_eq!(codel.on_head(&on_time, &mut random), Verdict::Pass);
        times[count - 1] - times[0]
    };
    assert!(drop_until(&mut codel, &mut at, 2).abs_diff(100_000) < 30);
    assert!(drop_until(&mut codel, &mut at, 2).abs_diff(100_000) < 30);
}
