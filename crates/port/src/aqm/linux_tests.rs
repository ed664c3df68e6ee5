use super::*;

/// The best-effort class of a Linux router of 2002: limit 120 kB, min 10 kB, max 100 kB.
fn de() -> TcRed {
    TcRed {
        min_bytes: 10_000,
        max_bytes: 100_000,
        avpkt_bytes: 1000,
        burst_packets: 11,
        bandwidth_bit_s: 1_000_000,
        probability: 0.3,
    }
}

fn gaps(age: LinuxRedVariant, average_bytes: u64, drops: usize) -> Vec<u64> {
    let parameters = LinuxRedParameters::new(&de(), age).unwrap();
    let scaled = average_bytes << parameters.w_log;
    let mut spacer = LinuxSpacer::default();
    let mut random = RandomStream::new(3, "test", "red");
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() <= drops {
        gap += 1;
        if spacer.judge(&parameters, scaled, false, &mut random) != Verdict::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps.split_off(1)
}

mod tc_red {
    use super::*;

    /// 0.3 / 90000 * 2^19 = 1.748 > 1 >= 0.874 = 0.3 / 90000 * 2^18: Plog 19, and the kernel's
    /// probability at max is 90000 / 2^19 = 0.1717.
    #[test]
    fn eval_p_rounds_the_probability_down_to_a_power_of_two() {
        assert_eq!(plog(&de()), Some(19));
        assert!((90_000.0 / f64::from(1u32 << 19) - 0.1717_f64).abs() < 1e-4);
        // 0.02 over 70 kB: 0.02 / 70000 * 2^22 = 1.198: Plog 22, probability 0.01669.
        let af = TcRed { min_bytes: 30_000, probability: 0.02, ..de() };
        assert_eq!(plog(&af), Some(22));
        // 0.5 / 2^15 * 2^16 is 1, which is not above 1.
        let tie = TcRed { max_bytes: 10_000 + (1 << 15), probability: 0.5, ..de() };
        assert_eq!(plog(&tie), Some(17));
        assert_eq!(plog(&TcRed { probability: 1e-6, ..de() }), None);
    }

    /// burst 11, min / avpkt = 10: 2 <= (1 - (1-W)^11) / W: W = 1/2 gives 1.999, W = 1/4 3.83:
    /// Wlog 2. burst 35, min / avpkt 30: 6 <= ..: W = 1/4: 4.0; 1/8: 7.93: Wlog 3.
    #[test]
    fn eval_ewma_takes_the_smallest_weight_log_that_lets_the_burst_pass() {
        assert_eq!(w_log(&de()), Some(2));
        assert_eq!(w_log(&TcRed { min_bytes: 30_000, burst_packets: 35, ..de() }), Some(3));
        assert_eq!(w_log(&TcRed { burst_packets: 9, ..de() }), None);
        // W = 2^-31, the smallest, lets (1 - e^-1.86) 2^31 = 1.8e9 packets pass.
        let endless = TcRed { min_bytes: 0, burst_packets: 4_000_000_000, ..de() };
        assert_eq!(w_log(&endless), None);
    }

    /// Plog, 1000 B at 1 Mbit/s = 8000 us, W = 1/4: per us 0.28768 / 8000 = 3.596e-5;
    /// longest 31 / that = 862,074 us; / 2^11 = 420.9 < 512 <= 841.9: Scell_log 11. Cell 100:
    /// 204,800 us * 3.596e-5 = 7.36: shift 7.
    #[test]
    fn eval_idle_damping_table() {
        let (cell_log, shifts) = ageing_table(&de(), 2, LinuxRedVariant::Plog).unwrap();
        assert_eq!(
            (cell_log, shifts[0], shifts[100], shifts[254], shifts[255]),
            (11, 0, 7, 18, 31)
        );
        // A bit a second: 862,074e6 us / 2^31 = 401.4 is the last that fits (`clog < 32`); of packets
        // twice as large 802.9 is too long, and there is no table.
        let slow = |avpkt_bytes| TcRed { avpkt_bytes, bandwidth_bit_s: 1, ..de() };
        assert_eq!(ageing_table(&slow(1000), 2, LinuxRedVariant::Plog).unwrap().0, 31);
        assert!(ageing_table(&slow(2000), 2, LinuxRedVariant::Plog).is_none());
        // At 1.5 Mbit/s 574,716 us / 2^10 = 561.2, which is above 511 still.
        let faster = TcRed { bandwidth_bit_s: 1_500_000, ..de() };
        assert_eq!(ageing_table(&faster, 2, LinuxRedVariant::Plog).unwrap().0, 11);
        // In ticks of 64 ns the table is 15.625 times longer: 2^15, 2^4 = 16 times the cell.
        assert_eq!(ageing_table(&de(), 2, LinuxRedVariant::MaxP).unwrap().0, 15);
    }
}

mod red_h {
    use super::*;

    /// avg <- avg + backlog - avg / 4 in units of 1/4 B: from 0, backlogs 1000, 2000, 3000:
    /// 1000, 1000 + 2000 - 250 = 2750, 2750 + 3000 - 687 = 5063: 1265.75 B.
    #[test]
    fn average_is_fixed_point_with_weight_2_to_minus_wlog() {
        let parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::MaxP).unwrap();
        let mut average = LinuxAverage::default();
        for backlog in [1000, 2000, 3000] {
            average.sample(&parameters, 0, backlog);
        }
        assert_eq!(average.scaled, 5063);
        assert_eq!(parameters.bytes(average.scaled), 1265.75);
    }

    /// `red_adaptative_algo` twice: 55,000 B at 0.5 s, when the queue becomes idle, lie in the middle fifth of the
    /// band, 46,000 to 64,000; at 1 s nothing is left of them, and max_P falls by a tenth.
    #[test]
    fn an_average_in_the_middle_of_the_band_is_looked_at_again_when_it_has_aged() {
        let mut parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::Plog).unwrap();
        let average =
            LinuxAverage { scaled: 55_000 << parameters.w_log, idle_since: Some(500_000_000) };
        let before = parameters.max_p;
        parameters.adapt(&mut AdaptiveClock::new(), &average, 1_000_000_000);
        assert_eq!(parameters.max_p, before / 10 * 9);
    }

    /// `red_adaptative_algo`: 0.3 in units of 2^-32 and 1 % more are 1,331,439,861; a random number of 32 bits is
    /// divided by that over the 90,000 B of the band (`max_P_reciprocal`): 14,793.
    #[test]
    fn the_divisor_of_random_numbers_follows_max_p() {
        let mut parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::MaxP).unwrap();
        let average = LinuxAverage { scaled: 90_000 << parameters.w_log, idle_since: None };
        parameters.adapt(&mut AdaptiveClock::new(), &average, 500_000_000);
        assert_eq!(parameters.max_p, 1_331_439_861);
        assert!(matches!(parameters.draw, DropDraw::Divisor(14_793)), "{:?}", parameters.draw);
    }

    /// `red_action`: below the band and above it the count is -1, so that the next packet in it only draws
    /// (`qcount` 0); an average of `min` itself is in the band.
    #[test]
    fn the_first_packet_of_the_band_only_draws() {
        let parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::MaxP).unwrap();
        let mut random = RandomStream::new(1, "test", "red");
        let mut spacer = LinuxSpacer::default();
        for (bytes, count) in
            [(9_999, -1), (10_000, 0), (10_000, 1), (100_000, -1), (10_000, 0), (9_999, -1)]
        {
            spacer.judge(&parameters, bytes << parameters.w_log, false, &mut random);
            assert_eq!(spacer.count, count, "{bytes}");
        }
    }

    /// Table of `Plog` above. Idle 204.8 ms: cell 100, shift 7: 80,000 -> 625. Idle 1 ms: shift 0;
    /// 80,000 * 1000 / 2048 = 39,062 is below one half, so 40,938. Idle 1.5 ms would take 58,593:
    /// one half, 40,000, is the most.
    #[test]
    fn idle_average_is_shifted_by_the_table_or_shortened_linearly() {
        let parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::Plog).unwrap();
        for (idle_us, expected) in [(204_800, 625), (1000, 40_938), (1500, 40_000)] {
            let mut average = LinuxAverage { scaled: 80_000, idle_since: Some(7_000) };
            average.sample(&parameters, 7_000 + idle_us * 1000, 5000);
            assert_eq!((average.scaled, average.idle_since), (expected, None), "{idle_us}");
        }
    }

    /// Plog 19, average 10,000 + 8192 B: threshold uniform on 0..2^19, gap = ceil(threshold / 8192):
    /// 64 cells, 1..=64, all but equal (the first has 8193 / 524288, the last 8191).
    /// The 0.999 quantile of chi-square with 63 degrees is 103.4. Mean 32.5 = 1/(2p) + 1/2.
    #[test]
    fn gap_is_uniform_on_1_to_1_over_p_with_p_rounded_by_plog() {
        let gaps = gaps(LinuxRedVariant::Plog, 18_192, 64_000);
        let mut counts = [0.0; 65];
        for &gap in &gaps {
            counts[gap as usize] += 1.0;
        }
        assert_eq!(counts[0], 0.0);
        let statistic: f64 =
            counts[1..].iter().map(|count| (count - 1000.0) * (count - 1000.0) / 1000.0).sum();
        assert!(statistic < 103.4, "{statistic}");
    }

    /// max_P 0.3: p at 55,000 B is 0.15: mean gap 1/(2p) + 1/2 = 3.833, standard deviation
    /// of a uniform on 0..6.67 about 1.92, over 100,000 gaps 0.006. Plog: p = 0.0858, mean 6.325.
    #[test]
    fn mean_gap_follows_the_age() {
        for (age, expected, error) in
            [(LinuxRedVariant::MaxP, 3.833, 0.03), (LinuxRedVariant::Plog, 6.325, 0.045)]
        {
            let gaps = gaps(age, 55_000, 100_000);
            let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
            assert!((mean - expected).abs() < error, "{age:?}: {mean}");
        }
    }

    #[test]
    fn above_max_each_packet_is_forced_and_harddrop_forbids_a_mark() {
        let parameters = LinuxRedParameters::new(&de(), LinuxRedVariant::MaxP).unwrap();
        let mut random = RandomStream::new(1, "test", "red");
        let scaled = 100_000 << parameters.w_log;
        let mut judge =
            |harddrop| LinuxSpacer::default().judge(&parameters, scaled, harddrop, &mut random);
        assert_eq!(judge(false), Verdict::Signal(Cause::Forced));
        assert_eq!(judge(true), Verdict::Refuse(Cause::Forced));
    }
}

#[test]
fn each_parameter_is_checked() {
    let key = |red: TcRed| LinuxRedParameters::new(&red, LinuxRedVariant::MaxP).unwrap_err().key;
    assert_eq!(key(TcRed { max_bytes: 10_000, ..de() }), "max_bytes");
    assert_eq!(key(TcRed { avpkt_bytes: 0, ..de() }), "avpkt_bytes");
    assert_eq!(key(TcRed { burst_packets: 5, ..de() }), "burst_packets");
    assert_eq!(key(TcRed { bandwidth_bit_s: 0, ..de() }), "bandwidth_bit_s");
    assert_eq!(key(TcRed { probability: 1.0, ..de() }), "probability");
}
