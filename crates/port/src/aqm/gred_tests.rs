use super::super::test_queue::overload;
use super::*;

/// W = 1/4 (as worked in `linux_tests`), thresholds far away.
fn far() -> TcRed {
    TcRed {
        min_bytes: 10_000,
        max_bytes: 100_000,
        avpkt_bytes: 1000,
        burst_packets: 11,
        bandwidth_bit_s: 8_000_000,
        probability: 0.3,
    }
}

fn gred(grio: bool, prios: &[u8], parameters: TcRed, limit_bytes: u64) -> Gred {
    let dps = prios
        .iter()
        .enumerate()
        .map(|(dp, &prio)| GredDp { dp: dp as u8 + 1, limit_bytes, prio, parameters })
        .collect();
    let config =
        GredConfig { dps, default_dp: 2, grio, age: LinuxRedVariant::MaxP, harddrop: false };
    Gred::new(&config, 8_000_000).unwrap()
}

/// Packets of 1000 B that arrive at time 0 and stay.
fn script(gred: &mut Gred, precedences: &[u8]) {
    let mut random = RandomStream::new(1, "test", "gred");
    let mut backlog = QueueBacklog::default();
    for &precedence in precedences {
        let arrival = Arrival { now: 0, bytes: 1000, precedence, backlog };
        assert_eq!(gred.on_arrival(&arrival, &mut random), Verdict::Pass);
        gred.on_enqueue(1000, precedence);
        backlog.packets += 1;
        backlog.bytes += 1000;
    }
}

mod sch_gred {
    use super::*;

    /// Arrivals 1, 2, 1, 2, 2. Own backlogs seen: DP1: 0, 1000; DP2: 0, 1000, 2000.
    /// In units of 1/4 B: DP1: 0, 1000; DP2: 0, 1000, 1000 + 2000 - 250 = 2750.
    /// Own: 250 and 687.5 B. RIO with DP1 before DP2: 250 and 937.5 B.
    /// WRED: backlogs 0..4000: 0, 1000, 2750, 2750 + 3000 - 687 = 5063, 5063 + 4000 - 1265 = 7798:
    /// 1949.5 B for both.
    #[test]
    fn averages_without_grio_with_it_and_with_equal_priorities() {
        for (grio, prios, expected) in [
            (false, [1, 2], [250.0, 687.5]),
            (true, [1, 2], [250.0, 937.5]),
            (true, [3, 3], [1949.5, 1949.5]),
        ] {
            let mut gred = gred(grio, &prios, far(), 100_000);
            script(&mut gred, &[1, 2, 1, 2, 2]);
            let averages = [1, 2].map(|precedence| gred.average_of(precedence).unwrap());
            assert_eq!(averages, expected, "grio {grio}, prios {prios:?}");
        }
    }

    /// The same script: a queue's average is the shared one of WRED, or else the sum, 250 + 687.5.
    #[test]
    fn the_average_of_the_queue_is_the_shared_one_or_the_sum() {
        let mut own = gred(false, &[1, 2], far(), 100_000);
        script(&mut own, &[1, 2, 1, 2, 2]);
        assert_eq!(own.average(), Some(937.5));
        let mut wred = gred(true, &[3, 3], far(), 100_000);
        script(&mut wred, &[1, 2, 1, 2, 2]);
        assert_eq!(wred.average(), Some(1949.5));
    }

    /// WRED's average ages from when the whole queue is empty (`gred_dequeue`, `gred_wred_mode`).
    #[test]
    fn the_shared_average_is_idle_when_no_packet_is_left() {
        let mut gred = gred(true, &[3, 3], far(), 100_000);
        script(&mut gred, &[1, 2]);
        gred.on_departure(5, 1000, 1, QueueBacklog { packets: 1, bytes: 1000 });
        assert_eq!(gred.shared.idle_since, None);
        gred.on_departure(9, 1000, 2, QueueBacklog::default());
        assert_eq!(gred.shared.idle_since, Some(9));
    }

    /// After DP1's two packets have left, DP1 is idle and counts no more for DP2.
    #[test]
    fn grio_an_idle_dp_does_not_count() {
        let mut gred = gred(true, &[1, 2], far(), 100_000);
        script(&mut gred, &[1, 2, 1, 2, 2]);
        for left in [4, 3] {
            gred.on_departure(1_000_000, 1000, 1, QueueBacklog { packets: left, bytes: 1000 });
        }
        assert_eq!(gred.average_of(2), Some(687.5));
    }

    /// Limit 3000 B a DP: the fourth packet of a DP is one too many, whoever else is queued.
    #[test]
    fn the_limit_is_of_the_dp() {
        let mut gred = gred(false, &[1, 2], far(), 3000);
        script(&mut gred, &[1, 1, 1, 2, 2]);
        let mut random = RandomStream::new(1, "test", "gred");
        let backlog = QueueBacklog { packets: 5, bytes: 5000 };
        let mut judge = |precedence| {
            gred.on_arrival(&Arrival { now: 0, bytes: 1000, precedence, backlog }, &mut random)
        };
        assert_eq!(judge(1), Verdict::Refuse(Cause::QueueFull));
        assert_eq!(judge(2), Verdict::Pass);
    }

    #[test]
    fn a_dp_not_set_up_falls_to_the_default_and_without_one_it_passes() {
        assert_eq!(gred(false, &[1, 2], far(), 1).index(9), Some(1));
        let config = GredConfig {
            dps: vec![GredDp { dp: 0, limit_bytes: 0, prio: 0, parameters: far() }],
            default_dp: 5,
            grio: false,
            age: LinuxRedVariant::MaxP,
            harddrop: false,
        };
        let mut gred = Gred::new(&config, 1).unwrap();
        let arrival = Arrival {
            now: 0,
            bytes: 1000,
            precedence: 3,
            backlog: QueueBacklog { packets: 9, bytes: 9000 },
        };
        assert_eq!(
            gred.on_arrival(&arrival, &mut RandomStream::new(1, "test", "gred")),
            Verdict::Pass
        );
    }

    /// Two DPs of one curve at 1.1 times the capacity, half and half, W = 1/64.
    /// Without grio they are alike: mean gap 11, p = 1/21, averages 10,000 + 90,000 / (21 * 0.3)
    /// = 24,286 B each. With it DP2, judged by the sum, loses more than DP1.
    #[test]
    fn equilibrium_of_two_dps_with_and_without_grio() {
        let slow = TcRed { burst_packets: 60, ..far() };
        let own = overload(gred(false, &[1, 2], slow, 10_000_000), 1.1, &[1, 2], 600_000);
        for precedence in [1, 2] {
            let average = own.averages[precedence];
            assert!((average / 24_286.0 - 1.0).abs() < 0.04, "{:?}", own.averages);
            assert!((own.dropped[precedence] - 1.0 / 11.0).abs() < 0.01, "{:?}", own.dropped);
        }
        let rio = overload(gred(true, &[1, 2], slow, 10_000_000), 1.1, &[1, 2], 600_000);
        assert!(rio.dropped[2] > 2.0 * rio.dropped[1], "{:?}", rio.dropped);
        assert!((rio.dropped[1] + rio.dropped[2] - 2.0 / 11.0).abs() < 0.01, "{:?}", rio.dropped);
    }
}

#[test]
fn bad_dps_are_refused() {
    let dp = |dp| GredDp { dp, limit_bytes: 1, prio: 0, parameters: far() };
    let refused = |dps: Vec<GredDp>| {
        let config = GredConfig {
            dps,
            default_dp: 0,
            grio: false,
            age: LinuxRedVariant::MaxP,
            harddrop: false,
        };
        Gred::new(&config, 1).unwrap_err().to_string()
    };
    assert_eq!(refused(vec![]), "dps must be at least one");
    assert_eq!(refused(vec![dp(16)]), "dp must be below 16, not 16");
    assert_eq!(refused(vec![dp(3), dp(3)]), "dp 3 is set up twice");
}
