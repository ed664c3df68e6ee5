use super::super::test_link::{arrivals, backlog, proptest_discipline, serve, throughput, Arrival};
use super::*;
use proptest::prelude::*;

const LINE: u64 = 10_000_000;

fn linear(m2_bit_s: u64) -> Option<ServiceCurve> {
    Some(ServiceCurve { m1_bit_s: 0, d_ns: 0, m2_bit_s })
}

/// A class with a share of the link and no more.
fn shares_of(rate_bit_s: u64, parent: Option<u16>) -> HfscShare {
    HfscShare { link_share: linear(rate_bit_s), parent, ..Default::default() }
}

fn hfsc(shares: &[HfscShare]) -> Hfsc {
    Hfsc::new(shares).unwrap()
}

/// Mbit/s of each class over `from..until` s on a line of 10 Mbit/s.
fn rates(shares: &[HfscShare], trace: &[Arrival], from: f64, until: f64) -> Vec<f64> {
    let sent = serve(hfsc(shares), LINE, shares.len(), trace);
    throughput(&sent, shares.len(), from, until).iter().map(|rate| rate / 1e6).collect()
}

fn close(rates: &[f64], expected: &[f64]) {
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate - expected).abs() < 0.03, "{rates:?} for {expected:?}");
    }
}

proptest_discipline!(|classes| hfsc(&vec![shares_of(1_000_000, None); classes]));

mod stoica2000 {
    use super::*;

    /// Section IV: shares are in proportion to the link-sharing curves, at each level.
    #[test]
    fn s4_link_sharing_divides_by_curves_level_by_level() {
        let shares = [
            shares_of(6_000_000, None),
            shares_of(2_000_000, Some(0)),
            shares_of(1_000_000, Some(0)),
            shares_of(4_000_000, None),
        ];
        // 10 Mbit/s: 6 and 4 at the top, 6 divided 2 to 1 below.
        let all = backlog(&[1, 2, 3], 20_000);
        close(&rates(&shares, &all, 1.0, 10.0), &[0.0, 4.0, 2.0, 4.0]);
        // Without class 1 its sister has all 6.
        let without = backlog(&[2, 3], 20_000);
        close(&rates(&shares, &without, 1.0, 10.0), &[0.0, 0.0, 6.0, 4.0]);
    }

    /// Section II-B: a class that used capacity left by others does not pay for it. Class 0 has the line
    /// for a second; from then on both have a half.
    #[test]
    fn s2_excess_is_not_held_against_a_class() {
        let shares = [shares_of(5_000_000, None); 2];
        let mut trace = backlog(&[0], 10_000);
        trace.extend(
            backlog(&[1], 5_000).iter().map(|packet| Arrival { at: 1_000_000_000, ..*packet }),
        );
        close(&rates(&shares, &trace, 0.0, 1.0), &[10.0, 0.0]);
        close(&rates(&shares, &trace, 1.0, 1.4), &[5.0, 5.0]);
        close(&rates(&shares, &trace, 1.0, 3.0), &[5.0, 5.0]);
    }

    /// The same of a class with children: the agency 0 is silent from 1 to 3 s, while agency 1 has the line, and
    /// both have a half before and after (Linux's `init_vf` and `update_vf`, which count active children).
    #[test]
    fn s2_an_agency_that_was_silent_has_its_share_again_and_no_more() {
        let shares = [
            shares_of(5_000_000, None),
            shares_of(5_000_000, None),
            shares_of(1_000_000, Some(0)),
            shares_of(1_000_000, Some(0)),
            shares_of(1_000_000, Some(1)),
        ];
        // 1000 B take 0.8 ms: two leaves with 312 packets each fill a half of the first second.
        let mut trace = backlog(&[2, 3], 312);
        trace.extend(backlog(&[4], 10_000));
        let again = backlog(&[2, 3], 2_000);
        trace.extend(again.iter().map(|packet| Arrival { at: 3_000_000_000, ..*packet }));
        trace.sort_by_key(|packet| packet.at);
        close(&rates(&shares, &trace, 0.0, 0.99), &[0.0, 0.0, 2.5, 2.5, 5.0]);
        close(&rates(&shares, &trace, 1.01, 3.0), &[0.0, 0.0, 0.0, 0.0, 10.0]);
        close(&rates(&shares, &trace, 3.01, 4.5), &[0.0, 0.0, 2.5, 2.5, 5.0]);
    }

    /// Linux's `update_vf`: a class that its upper limit held back takes up the virtual time of the
    /// others, and does not catch up. Class 0 has 1 Mbit/s at most for a second; from then on both
    /// have a half, where without that class 0 would have the line until it has had 4.5 Mbit.
    #[test]
    fn s4_a_class_held_back_by_its_limit_does_not_catch_up() {
        let limit = ServiceCurve { m1_bit_s: 1_000_000, d_ns: 1_000_000_000, m2_bit_s: 10_000_000 };
        let shares = [
            HfscShare { upper_limit: Some(limit), ..shares_of(5_000_000, None) },
            shares_of(5_000_000, None),
        ];
        let trace = backlog(&[0, 1], 10_000);
        close(&rates(&shares, &trace, 0.0, 0.9), &[1.0, 9.0]);
        close(&rates(&shares, &trace, 1.01, 1.4), &[5.0, 5.0]);
    }

    /// Section II, delay apart from rate: 160 B every 20 ms (64 kbit/s), due within 5 ms (m1
    /// 256 kbit/s for 5 ms), with packets of 1500 B of a class with 9.7 Mbit/s in real time. No
    /// packet is later than 5 ms and one packet of 1500 B (1.2 ms), though at 64 kbit/s a packet
    /// takes 20 ms, and though the other class was first and is always backlogged.
    #[test]
    fn s2_a_concave_curve_buys_delay_without_rate() {
        let concave = ServiceCurve { m1_bit_s: 256_000, d_ns: 5_000_000, m2_bit_s: 64_000 };
        let voice = HfscShare { real_time: Some(concave), ..Default::default() };
        let bulk = HfscShare { real_time: linear(9_700_000), ..Default::default() };
        let mut trace = [Arrival { at: 0, class: 1, bytes: 1500 }; 2000].to_vec();
        trace.extend((0..50).map(|at| Arrival { at: at * 20_000_000, class: 0, bytes: 160 }));
        trace.sort_by_key(|packet| packet.at);
        let sent = serve(hfsc(&[voice, bulk]), LINE, 2, &trace);
        let waits =
            sent.iter().filter(|packet| packet.class == 0).map(|packet| packet.end - packet.at);
        let waits: Vec<_> = waits.collect();
        assert_eq!(waits.len(), 50);
        assert!(waits.iter().all(|&wait| wait <= 5_000_000 + 1_200_000), "{waits:?}");
        assert!(sent.iter().filter(|packet| packet.start < 900_000_000).count() > 700);
    }

    /// Theorem 1: if the real-time curves together never exceed the line, every packet has left by
    /// packet deadline plus the time of one largest packet. Classes are backlogged from time 0, so
    /// the deadline of a packet is the time by which the curve reaches the bytes up to it.
    fn check_deadlines(curves: &[(u64, u64, u64)], sizes: &[u32]) -> Result<(), TestCaseError> {
        let curve = |&(m1, d_ms, m2): &(u64, u64, u64)| ServiceCurve {
            m1_bit_s: m1 * 1000,
            d_ns: d_ms * 1_000_000,
            m2_bit_s: m2 * 1000,
        };
        let shares: Vec<_> = curves
            .iter()
            .map(|curve_values| HfscShare {
                real_time: Some(curve(curve_values)),
                link_share: linear(1_000_000),
                ..Default::default()
            })
            .collect();
        let packets = |(class, &bytes): (usize, &u32)| {
            std::iter::repeat_n(Arrival { at: 0, class: class as u16, bytes }, 60)
        };
        let trace: Vec<_> = sizes.iter().enumerate().flat_map(packets).collect();
        let sent = serve(hfsc(&shares), LINE, shares.len(), &trace);
        let largest = f64::from(*sizes.iter().max().unwrap()) * 8.0 / LINE as f64;
        let mut bits = vec![0.0; shares.len()];
        for packet in &sent {
            let class = usize::from(packet.class);
            bits[class] += f64::from(packet.bytes) * 8.0;
            let (m1, d_ms, m2) = curves[class];
            let (m1, d, m2) = (m1 as f64 * 1e3, d_ms as f64 / 1e3, m2 as f64 * 1e3);
            let deadline = if bits[class] <= m1 * d {
                bits[class] / m1
            } else {
                d + (bits[class] - m1 * d) / m2
            };
            let end = packet.end as f64 / 1e9;
            prop_assert!(end <= deadline + largest + 1e-6, "class {class}: {end} > {deadline}");
        }
        prop_assert_eq!(sent.len(), trace.len());
        Ok(())
    }

    proptest! {
        #[test]
        fn s6_no_deadline_is_missed_by_more_than_a_packet(
            curves in prop::collection::vec((0u64..3300, 0u64..40, 100u64..3300), 1..4),
            sizes in prop::collection::vec(64u32..1500, 3),
        ) {
            check_deadlines(&curves, &sizes[..curves.len()])?;
        }
    }

    /// An upper limit of 2 Mbit/s: 1000 B every 4 ms though the line is free; the rest is given to
    /// others.
    #[test]
    fn s5_an_upper_limit_holds_link_sharing_back() {
        let limited = HfscShare { upper_limit: linear(2_000_000), ..shares_of(5_000_000, None) };
        let sent = serve(hfsc(&[limited]), LINE, 1, &arrivals(&[(0, 0, 1000); 4]));
        let starts: Vec<_> = sent.iter().map(|sent| sent.start / 1000).collect();
        assert_eq!(starts, [0, 4000, 8000, 12_000]);
        let shares = [limited, shares_of(5_000_000, None)];
        close(&rates(&shares, &backlog(&[0, 1], 10_000), 1.0, 8.0), &[2.0, 8.0]);
    }

    /// The limit of a parent holds all its children back.
    #[test]
    fn s5_a_parents_limit_is_that_of_its_children_together() {
        let parent = HfscShare { upper_limit: linear(3_000_000), ..shares_of(5_000_000, None) };
        let shares = [parent, shares_of(2_000_000, Some(0)), shares_of(1_000_000, Some(0))];
        close(&rates(&shares, &backlog(&[1, 2], 10_000), 1.0, 8.0), &[0.0, 2.0, 1.0]);
    }
}

#[test]
fn relations_that_cannot_be_are_refused() {
    let refused = |shares: &[HfscShare]| Hfsc::new(shares).unwrap_err().to_string();
    let none = HfscShare::default();
    assert_eq!(refused(&[none]), "link_share must be set, or real_time of a leaf (class 0)");
    let real_time_and_share = HfscShare { real_time: linear(1), ..shares_of(1, None) };
    let leaf = shares_of(1, Some(0));
    assert_eq!(refused(&[real_time_and_share, leaf]), "real_time is of leaves only (class 0)");
    let limit = HfscShare { real_time: linear(1), upper_limit: linear(1), ..none };
    assert_eq!(refused(&[limit]), "upper_limit limits link sharing, which class 0 has no part in");
    let flat = HfscShare { link_share: linear(0), ..none };
    assert_eq!(refused(&[flat]), "m2_bit_s must be above 0 where m1_bit_s is 0 (class 0)");
}
