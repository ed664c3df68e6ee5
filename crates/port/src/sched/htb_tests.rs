use super::super::test_link::{arrivals, backlog, serve, throughput, Arrival};
use super::*;
use proptest::prelude::*;

fn top(rate_bit_s: u64) -> HtbShare {
    HtbShare { rate_bit_s, burst_bytes: 2000, cburst_bytes: 2000, ..Default::default() }
}

fn leaf(rate_bit_s: u64, ceil_bit_s: u64) -> HtbShare {
    HtbShare { ceil_bit_s, parent: Some(0), quantum_bytes: 1000, ..top(rate_bit_s) }
}

/// Mbit/s of each class over 20 s (the first 2 s left out) on a line of 10 Mbit/s, for classes that
/// are always backlogged with packets of 1000 B, or empty.
fn rates(shares: &[HtbShare], backlogged: &[u16]) -> Vec<f64> {
    let sent =
        serve(Htb::new(shares).unwrap(), 10_000_000, shares.len(), &backlog(backlogged, 25_000));
    throughput(&sent, shares.len(), 2.0, 20.0).iter().map(|rate| rate / 1e6).collect()
}

fn close(rates: &[f64], expected: &[f64]) {
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate - expected).abs() <= 0.005 * expected.max(0.2), "{rates:?} for {expected:?}");
    }
}

mod sch_htb {
    use super::*;

    /// One class, 800 kbit/s = 100 B/ms, both bursts 300 B, on 8 Mbit/s; packets of 100 B (0.1 ms).
    /// Tokens before each start: 300, 210, 120, 30 (still no debt), then -70 B: paid at 1.0 ms; from
    /// then on each start leaves -100 B: 2.0, 3.0 ms.
    #[test]
    fn a_packet_may_start_with_any_tokens_not_in_debt() {
        let share = HtbShare {
            rate_bit_s: 800_000,
            burst_bytes: 300,
            cburst_bytes: 300,
            ..Default::default()
        };
        let sent = serve(Htb::new(&[share]).unwrap(), 8_000_000, 1, &arrivals(&[(0, 0, 100); 7]));
        let starts: Vec<_> = sent.iter().map(|sent| sent.start / 1000).collect();
        assert_eq!(starts, [0, 100, 200, 300, 1000, 2000, 3000]);
    }

    #[test]
    fn backlogged_classes_get_their_rates() {
        let shares = [top(1_000_000), leaf(700_000, 1_000_000), leaf(300_000, 1_000_000)];
        close(&rates(&shares, &[1, 2]), &[0.0, 0.7, 0.3]);
    }

    #[test]
    fn a_class_borrows_what_another_leaves_up_to_its_ceiling() {
        for (ceil, expected) in [(1_000_000, 1.0), (900_000, 0.9), (0, 0.7)] {
            let shares = [top(1_000_000), leaf(700_000, ceil), leaf(300_000, 1_000_000)];
            close(&rates(&shares, &[1]), &[0.0, expected, 0.0]);
        }
    }

    /// `htb_charge_class`: a class within its own rate does not charge its parent, so that children
    /// promised 1.6 of 1.0 Mbit/s get it.
    #[test]
    fn children_promised_more_than_their_parent_get_it() {
        let shares = [top(1_000_000), leaf(800_000, 800_000), leaf(800_000, 800_000)];
        close(&rates(&shares, &[1, 2]), &[0.0, 0.8, 0.8]);
    }

    /// Rates 0.1 each of 1.0 Mbit/s, quanta 1000 and 3000: the excess of 0.8 is shared 1 : 3.
    #[test]
    fn excess_is_shared_by_quantum() {
        let large = HtbShare { quantum_bytes: 3000, ..leaf(100_000, 1_000_000) };
        let shares = [top(1_000_000), leaf(100_000, 1_000_000), large];
        close(&rates(&shares, &[1, 2]), &[0.0, 0.3, 0.7]);
    }

    /// Rates 3 and 2 of 6.0 Mbit/s, quanta as 3 to 2, packets of 1000 B: between borrowed packets both
    /// send at their own rates and leave the feed. The turn survives that, so the excess of 1.0 is
    /// shared 3 : 2, small quanta or large, and does not all go to one.
    #[test]
    fn a_turn_is_resumed_after_sending_at_the_own_rate() {
        for unit in [1000, 12_500] {
            let of = |rate, quantum_bytes| HtbShare { quantum_bytes, ..leaf(rate, 6_000_000) };
            let shares = [top(6_000_000), of(3_000_000, 3 * unit), of(2_000_000, 2 * unit)];
            close(&rates(&shares, &[1, 2]), &[0.0, 3.6, 2.4]);
        }
    }

    #[test]
    fn excess_serves_the_lowest_priority_number_first() {
        let second = HtbShare { priority: 1, ..leaf(100_000, 1_000_000) };
        let shares = [top(1_000_000), leaf(100_000, 600_000), second];
        close(&rates(&shares, &[1, 2]), &[0.0, 0.6, 0.4]);
    }

    /// The tree of the HTB notes: 1.0 = A 0.4 (A1 0.3, A2 0.1) + B 0.6. B silent and A ceiled at 1.0:
    /// A1 and A2 share the 0.6 more by equal quanta. A2 silent: A1 takes A2's 0.1 first, then B
    /// and A1 have no excess to share: 0.4 and 0.6.
    #[test]
    fn borrowing_uses_the_nearest_ancestor_first() {
        let child = |parent, rate_bit_s| HtbShare {
            parent: Some(parent),
            quantum_bytes: 1000,
            ceil_bit_s: 1_000_000,
            ..top(rate_bit_s)
        };
        let shares = [
            top(1_000_000),
            child(0, 400_000),
            child(1, 300_000),
            child(1, 100_000),
            child(0, 600_000),
        ];
        close(&rates(&shares, &[2, 3]), &[0.0, 0.0, 0.6, 0.4, 0.0]);
        close(&rates(&shares, &[2, 4]), &[0.0, 0.0, 0.4, 0.0, 0.6]);
        close(&rates(&shares, &[2, 3, 4]), &[0.0, 0.0, 0.3, 0.1, 0.6]);
    }

    proptest! {
        /// Every packet is sent once and in order; the bytes that a class sends up to the start of its
        /// last packet stay within cburst + ceil * span plus that packet, which may start without tokens
        /// of its own.
        #[test]
        fn ceilings_hold_over_every_interval(
            steps in prop::collection::vec((0u64..8_000, 1u16..4, 40u32..1500), 1..150),
            rates in prop::collection::vec(1u64..30, 3),
            extra in prop::collection::vec(0u64..60, 3),
        ) {
            let mut shares = vec![top(1_000_000)];
            for (rate, extra) in rates.iter().zip(&extra) {
                shares.push(leaf(rate * 10_000, (rate + extra) * 10_000));
            }
            let mut at = 0;
            let trace: Vec<_> = steps
                .iter()
                .map(|&(gap, class, bytes)| { at += gap * 1000; Arrival { at, class, bytes } })
                .collect();
            let sent = serve(Htb::new(&shares).unwrap(), 10_000_000, 4, &trace);
            prop_assert_eq!(sent.len(), trace.len());
            for class in 1..4u16 {
                let own: Vec<_> = sent.iter().filter(|sent| sent.class == class).collect();
                prop_assert!(own.windows(2).all(|pair| pair[0].id < pair[1].id));
                let ceil = u128::from(shares[usize::from(class)].ceil_bit_s);
                for from in 0..own.len() {
                    let mut before = 0u128;
                    for to in from..own.len() {
                        let span = u128::from(own[to].start - own[from].start);
                        prop_assert!(before * 8_000_000_000 <= 2000 * 8_000_000_000 + ceil * span);
                        before += u128::from(own[to].bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn bad_relations_are_refused_with_their_class() {
        let refused = |share: HtbShare| Htb::new(&[top(1_000_000), share]).unwrap_err().to_string();
        assert_eq!(
            refused(leaf(500_000, 400_000)),
            "ceil_bit_s must not be below rate_bit_s: 400000 is below 500000 (class 1)"
        );
        assert_eq!(
            refused(HtbShare { priority: 8, ..leaf(1, 1) }),
            "priority must be below 8, not 8 (class 1)"
        );
        assert_eq!(refused(leaf(0, 1)), "rate_bit_s must be above 0 (class 1)");
    }
}

/// `htb_change_class`, r2q 10: the rate in bytes by 10, in 1000 to 200,000 B; one that is given is taken.
#[test]
fn sch_htb_the_quantum_is_a_tenth_of_a_second_within_bounds() {
    for (rate_bit_s, given, quantum) in [
        (8, 0, 1000),
        (80_079, 0, 1000),
        (80_080, 0, 1001),
        (16_000_000, 0, 200_000),
        (16_000_080, 0, 200_000),
        (80_080, 7, 7),
    ] {
        let share = HtbShare { quantum_bytes: given, ..top(rate_bit_s) };
        assert_eq!(Htb::new(&[share]).unwrap().classes[0].quantum, quantum, "{rate_bit_s} {given}");
    }
}

/// Eight priorities for each class: the last of the last class is served, and when it is empty a class
/// of another priority waits for its rate, 100 B at 1 B/ms.
#[test]
fn the_lowest_priority_leaves_nothing_behind() {
    let slow = HtbShare { burst_bytes: 1, cburst_bytes: 1, ..top(8000) };
    let low = HtbShare { priority: 7, ..top(8_000_000) };
    let sched = Htb::new(&[slow, low]).unwrap();
    let sent = serve(sched, 8_000_000, 2, &arrivals(&[(0, 0, 100), (0, 0, 100), (0, 1, 100)]));
    let order: Vec<_> = sent.iter().map(|sent| (sent.class, sent.start / 1_000_000)).collect();
    assert_eq!(order, [(0, 0), (1, 0), (0, 99)]);
}
