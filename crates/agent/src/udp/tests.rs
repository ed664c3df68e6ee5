//! Rates, gaps and sizes of each process against its definition.

use super::*;
use trunkline_units::SECOND;

fn config(arrivals: Arrivals, rate_bit_s: u64, size: Size) -> UdpConfig {
    UdpConfig { arrivals, rate_bit_s, size, header_bytes: 28, tick_ns: 0, phase_ns: 0 }
}

/// Datagrams of a source from `start` while they are due before `end`.
fn run(config: &UdpConfig, start: Time, end: Time) -> Vec<(Time, u16)> {
    let mut random = RandomStream::new(11, "flows[u]", "arrivals");
    let mut source = Source::new(config, start, NEVER);
    let mut sent = vec![];
    while source.next_at() < end {
        let at = source.next_at();
        sent.push((at, source.take(at, &mut random)));
    }
    sent
}

fn gaps(sent: &[(Time, u16)]) -> Vec<f64> {
    sent.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

mod cbr {
    use super::*;

    /// 210 B at 16.8 Mbit/s are 1680 / 16.8e6 s = 0.1 ms: 10,000 a second, on the dot.
    #[test]
    fn sends_ten_thousand_a_second_for_an_hour() {
        let config = config(Arrivals::Cbr { jitter: 0.0 }, 16_800_000, Size::Fixed { bytes: 210 });
        let mut random = RandomStream::new(1, "flows[u]", "arrivals");
        let mut source = Source::new(&config, SECOND, NEVER);
        for _ in 0..36_000_000 {
            source.take(source.next_at(), &mut random);
        }
        assert_eq!(source.next_at(), SECOND + 3600 * SECOND);
    }

    /// 1000 B at 3 Mbit/s are 2,666,666 2/3 ns: three take 8 ms exactly, so do 3 million.
    #[test]
    fn carries_fractions_of_a_nanosecond() {
        let config = config(Arrivals::Cbr { jitter: 0.0 }, 3_000_000, Size::Fixed { bytes: 1000 });
        let sent = run(&config, 0, 8 * SECOND);
        assert_eq!(sent.len(), 3000);
        assert_eq!(sent[1].0, 2_666_666);
        assert_eq!(sent[2].0, 5_333_333);
        assert_eq!(sent[3].0, 8_000_000);
    }

    /// Each is late by less than half a gap; their own clock keeps the rate.
    #[test]
    fn jitter_delays_within_its_bound_and_does_not_add_up() {
        let config = config(Arrivals::Cbr { jitter: 0.5 }, 8_000_000, Size::Fixed { bytes: 1000 });
        let sent = run(&config, 0, 10 * SECOND);
        assert_eq!(sent.len(), 10_000);
        let late: Vec<f64> =
            (0u64..).zip(&sent).skip(1).map(|(k, (at, _))| (at - k * 1_000_000) as f64).collect();
        assert!(late.iter().all(|late| (0.0..500_000.0).contains(late)));
        // Uniform on [0, 0.5) ms: mean 0.25 ms; standard error 0.144 ms / 100.
        let (mean, _) = mean_and_variance(&late);
        assert!((mean - 250_000.0).abs() < 4.0 * 1_443.0, "{mean}");
    }

    /// Two sizes, one rate: 3000 of 100 B and 1000 of 1500 B on average make 1.8 MB in 14.4 s.
    #[test]
    fn the_rate_holds_for_mixed_sizes() {
        let size = Size::Choice { bytes: vec![100, 1500], weights: vec![3.0, 1.0] };
        let config = config(Arrivals::Cbr { jitter: 0.0 }, 1_000_000, size);
        let sent = run(&config, 0, 100 * SECOND);
        let bytes: u64 = sent[..sent.len() - 1].iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        let last = sent.last().unwrap().0;
        assert_eq!(bytes * 8 * 1000, last, "bits over the rate is the time, to the nanosecond");
    }
}

mod poisson {
    use super::*;

    /// 125 B at 1 Mbit/s: gaps of mean m = 1 ms, variance m^2. 200,000 gaps: standard errors
    /// m / 447 and m^2 sqrt(8) / 447.
    #[test]
    fn gaps_have_the_mean_and_variance_of_an_exponential() {
        let config = config(Arrivals::Poisson, 1_000_000, Size::Fixed { bytes: 125 });
        let gaps = gaps(&run(&config, 0, 200 * SECOND));
        let (mean, variance) = mean_and_variance(&gaps);
        assert!((mean / 1e6 - 1.0).abs() < 4.0 / 447.0, "{mean}");
        assert!((variance / 1e12 - 1.0).abs() < 4.0 * 2.83 / 447.0, "{variance}");
    }

    /// Counts in 10 ms are Poisson with mean and variance 10; 20,000 windows: standard errors
    /// 3.16 / 141 and 10 sqrt(2.1) / 141.
    #[test]
    fn counts_have_equal_mean_and_variance() {
        let config = config(Arrivals::Poisson, 1_000_000, Size::Fixed { bytes: 125 });
        let mut counts = vec![0.0; 20_000];
        for (at, _) in run(&config, 0, 200 * SECOND) {
            counts[(at / 10_000_000) as usize] += 1.0;
        }
        let (mean, variance) = mean_and_variance(&counts);
        assert!((mean - 10.0).abs() < 4.0 * 3.16 / 141.0, "{mean}");
        assert!((variance - 10.0).abs() < 4.0 * 14.5 / 141.0, "{variance}");
    }

    /// The gaps use the mean size: exponential sizes of mean 500 B at 4 Mbit/s, 1000 a second.
    #[test]
    fn the_rate_counts_the_mean_size() {
        let config = config(Arrivals::Poisson, 4_000_000, Size::Exponential { mean_bytes: 500.0 });
        let sent = run(&config, 0, 200 * SECOND);
        // 200,000 expected, standard deviation 447; bytes: mean 500, deviation 500 / 447.
        assert!((sent.len() as f64 - 200_000.0).abs() < 4.0 * 447.0);
        let sizes: Vec<f64> = sent.iter().map(|(_, bytes)| f64::from(*bytes)).collect();
        let (mean, variance) = mean_and_variance(&sizes);
        assert!((mean - 500.0).abs() < 4.0 * 500.0 / 447.0, "{mean}");
        assert!((variance / 250_000.0 - 1.0).abs() < 4.0 * 2.83 / 447.0, "{variance}");
    }
}

mod on_off {
    use super::*;

    fn voice(mean_off_ns: u64) -> UdpConfig {
        let arrivals = Arrivals::OnOff { mean_on_ns: 400_000_000, mean_off_ns };
        config(arrivals, 80_000, Size::Fixed { bytes: 200 })
    }

    /// 80 kbit/s * 0.4 / (0.4 + 0.6) = 32 kbit/s: 20 of 200 B a second. A cycle brings N = 20
    /// datagrams in 1 s on average; over n = 20,000 cycles the rate's relative standard error is
    /// sqrt(2) * 0.6 / sqrt(n) = 0.006 (on and off exponential, Cox 1962).
    #[test]
    fn the_mean_rate_is_the_share_of_time_on() {
        let sent = run(&voice(600_000_000), 0, 20_000 * SECOND);
        let rate = sent.len() as f64 / 20_000.0;
        assert!((rate / 20.0 - 1.0).abs() < 4.0 * 0.006, "{rate}");
    }

    /// While on, 200 B at 80 kbit/s are 20 ms apart; an off period shows as a longer gap. Per
    /// datagram a period ends with probability 1 - exp(-20 / 400) = 0.0488.
    #[test]
    fn gaps_are_those_of_the_rate_or_hold_a_silence() {
        let gaps = gaps(&run(&voice(600_000_000), 0, 10_000 * SECOND));
        assert!(gaps.iter().all(|gap| *gap >= 20e6));
        let silent = gaps.iter().filter(|gap| **gap > 20e6).count() as f64 / gaps.len() as f64;
        // 200,000 gaps: standard error sqrt(0.0488 * 0.9512 / 200,000) = 0.00048.
        assert!((silent - 0.0488).abs() < 4.0 * 0.00048, "{silent}");
    }

    /// It starts on: the first gap holds no silence with probability exp(-20 / 400) = 0.951, over 2000
    /// sources; standard error 0.0048.
    #[test]
    fn it_starts_on() {
        let mut random = RandomStream::new(5, "flows[u]", "arrivals");
        let has_full_gap = |_: &u32| {
            let mut source = Source::new(&voice(600_000_000), 0, NEVER);
            source.take(0, &mut random);
            source.next_at() == 20_000_000
        };
        let share = (0..2000).filter(has_full_gap).count() as f64 / 2000.0;
        assert!((share - 0.951).abs() < 4.0 * 0.0048, "{share}");
    }

    #[test]
    fn without_off_periods_it_is_a_constant_rate() {
        let sent = run(&voice(0), 5, 5 + 10 * SECOND);
        let expected: Vec<(Time, u16)> = (0..500).map(|k| (5 + k * 20_000_000, 200)).collect();
        assert_eq!(sent, expected);
    }
}

mod schedule {
    use super::*;

    #[test]
    fn is_replayed_to_the_nanosecond_and_ends() {
        let arrivals = Arrivals::Schedule {
            times_ns: vec![3, 3, 1_000, 77_777],
            sizes: vec![60, 28, 1500, 9],
        };
        let config = config(arrivals, 1, Size::Fixed { bytes: 1 });
        let sent = run(&config, 100, NEVER);
        assert_eq!(sent, [(103, 60), (103, 28), (1_100, 1500), (77_877, 9)]);
    }

    #[test]
    fn an_empty_one_sends_nothing() {
        let arrivals = Arrivals::Schedule { times_ns: vec![], sizes: vec![] };
        let config = config(arrivals, 1, Size::Fixed { bytes: 1 });
        assert_eq!(Source::new(&config, 0, NEVER).next_at(), NEVER);
    }
}

mod sizes {
    use super::*;

    /// Weights 1 : 0 : 3 over 40,000 draws: a quarter, none, three quarters; standard error
    /// sqrt(0.25 * 0.75 / 40,000) = 0.0022.
    #[test]
    fn a_choice_follows_its_weights() {
        let size = Size::Choice { bytes: vec![40, 576, 1500], weights: vec![1.0, 0.0, 3.0] };
        assert_eq!(size.mean(), 1135.0);
        let sizes = Sizes::new(&size);
        let mut random = RandomStream::new(3, "flows[u]", "sizes");
        let draws: Vec<u16> = (0..40_000).map(|_| sizes.draw(&mut random)).collect();
        let share = |bytes| draws.iter().filter(|b| **b == bytes).count() as f64 / 40_000.0;
        assert!((share(40) - 0.25).abs() < 4.0 * 0.0022);
        assert_eq!(share(576), 0.0);
        assert_eq!(share(40) + share(1500), 1.0);
    }

    /// Sizes are rounded to the nearest byte, and one at least: the law of RFC 2330 section 11.1.1 drawn by hand.
    #[test]
    fn an_exponential_is_rounded_to_the_nearest_byte() {
        let sizes = Sizes::new(&Size::Exponential { mean_bytes: 5.0 });
        let stream = || RandomStream::new(3, "flows[u]", "sizes");
        let (mut random, mut by_hand) = (stream(), stream());
        for _ in 0..1000 {
            let expected = by_hand.exponential(5.0).round().max(1.0);
            assert_eq!(f64::from(sizes.draw(&mut random)), expected);
        }
        let shifted = Size::Gumbel { location_bytes: 9.0, scale_bytes: 4.0, header_bytes: 28 };
        let sizes = Sizes::new(&shifted);
        for _ in 0..1000 {
            let expected = gumbel(9.0, 4.0, &mut by_hand).round().max(1.0) + 28.0;
            assert_eq!(f64::from(sizes.draw(&mut random)), expected);
        }
    }

    /// A mean far above the limit: P(size > 65535) = exp(-65535 / 200,000) = 0.72 of all draws
    /// stop at 65535, none wraps round.
    #[test]
    fn an_exponential_stops_at_the_largest_datagram() {
        let sizes = Sizes::new(&Size::Exponential { mean_bytes: 200_000.0 });
        let mut random = RandomStream::new(3, "flows[u]", "sizes");
        let at_limit = (0..10_000).filter(|_| sizes.draw(&mut random) == u16::MAX).count();
        assert!((at_limit as f64 / 10_000.0 - 0.7206).abs() < 4.0 * 0.0045, "{at_limit}");
    }
}

#[test]
fn a_configuration_survives_json_and_refuses_unknown_keys() {
    let arrivals = Arrivals::OnOff { mean_on_ns: 1, mean_off_ns: 2 };
    let config = config(arrivals, 9, Size::Exponential { mean_bytes: 1.5 });
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(
        json,
        r#"{"arrivals":{"on-off":{"mean_on_ns":1,"mean_off_ns":2}},"rate_bit_s":9,"size":{"exponential":{"mean_bytes":1.5}},"header_bytes":28,"tick_ns":0,"phase_ns":0}"#
    );
    assert_eq!(serde_json::from_str::<UdpConfig>(&json).unwrap(), config);
    let extra = json.replace("\"rate_bit_s\"", "\"pace\":1,\"rate_bit_s\"");
    assert!(serde_json::from_str::<UdpConfig>(&extra).unwrap_err().to_string().contains("pace"));
}

/// A host whose timer ticks every 10 ms (HZ = 100): datagrams due at 0, 3, 10, 10.1 and 25 ms leave
/// at 0, 10, 10, 20 and 30 ms; none is lost, and the process itself does not drift.
#[test]
fn a_tick_holds_datagrams_back_to_its_end() {
    const MS: u64 = 1_000_000;
    let times_ns = vec![0, 3 * MS, 10 * MS, 10 * MS + 100_000, 25 * MS];
    let arrivals = Arrivals::Schedule { times_ns, sizes: vec![100; 5] };
    let fine = config(arrivals, 1, Size::Fixed { bytes: 100 });
    let coarse = UdpConfig { tick_ns: 10 * MS, ..fine };
    let left: Vec<u64> = run(&coarse, 0, SECOND).iter().map(|(at, _)| at / MS).collect();
    assert_eq!(left, [0, 10, 10, 20, 30]);
}

/// The same where the timer ticks 4 ms later than the whole multiples, at 4, 14, 24 and 34 ms: what is
/// due at 0 and 3 ms leaves at 4, at 10 and 10.1 ms at 14, at 25 ms at 34.
#[test]
fn a_phase_moves_all_ticks() {
    const MS: u64 = 1_000_000;
    let times_ns = vec![0, 3 * MS, 10 * MS, 10 * MS + 100_000, 25 * MS];
    let arrivals = Arrivals::Schedule { times_ns, sizes: vec![100; 5] };
    let fine = config(arrivals, 1, Size::Fixed { bytes: 100 });
    let late = UdpConfig { tick_ns: 10 * MS, phase_ns: 4 * MS, ..fine };
    let left: Vec<u64> = run(&late, 0, SECOND).iter().map(|(at, _)| at / MS).collect();
    assert_eq!(left, [4, 4, 14, 14, 34]);
}

mod gaps {
    use super::*;

    /// 7 ms for ever, whatever the size: no rate in whole bits gives that.
    #[test]
    fn fixed_gaps_are_exact() {
        let arrivals = Arrivals::Gaps(Gaps::Fixed { gap_ns: 7_000_000 });
        let sent = run(&config(arrivals, 1, Size::Fixed { bytes: 64 }), 5, SECOND);
        assert_eq!(sent.len(), 143);
        assert!((0..).zip(&sent).all(|(n, (at, _))| *at == 5 + n * 7_000_000));
    }

    /// Gumbel's law of the largest: mean a + 0.5772 b, variance (pi b)^2 / 6 (NIST/SEMATECH,
    /// "Engineering statistics handbook", 1.3.6.6.16). Gaps of a = 55 ms, b = 6 ms: 58.463 ms and
    /// 7.695 ms; sizes of a = 120 B, b = 36 B besides 28 B of headers: 168.78 B and 46.17 B, rounded.
    #[test]
    fn gumbel_gaps_and_sizes_have_their_mean_and_variance() {
        let gaps = Gaps::Gumbel { location_ns: 55e6, scale_ns: 6e6 };
        let size = Size::Gumbel { location_bytes: 120.0, scale_bytes: 36.0, header_bytes: 28 };
        assert!((size.mean() - 168.78).abs() < 0.01);
        let sent = run(&config(Arrivals::Gaps(gaps), 1, size), 0, 6000 * SECOND);
        let n = sent.len() as f64;
        let sizes: Vec<f64> = sent.iter().map(|(_, bytes)| f64::from(*bytes)).collect();
        for (values, mean, deviation) in
            [(super::gaps(&sent), 58.463e6, 7.695e6), (sizes, 168.78, 46.17)]
        {
            let (its_mean, its_variance) = mean_and_variance(&values);
            assert!((its_mean - mean).abs() < 4.0 * deviation / n.sqrt(), "{its_mean}");
            // Its kurtosis is 5.4: the variance has a standard error of sqrt(4.4 / n) of itself.
            let off = its_variance / (deviation * deviation) - 1.0;
            assert!(off.abs() < 4.0 * (4.4 / n).sqrt() + 0.001, "{its_variance}");
        }
    }
}
