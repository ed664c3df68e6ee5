use super::super::test_link::{backlog, serve, throughput, Arrival};
use super::*;
use proptest::prelude::*;

fn class(parent: Option<u16>, rate_bit_s: u64, borrow: bool) -> CbqShare {
    CbqShare {
        parent,
        rate_bit_s,
        borrow,
        max_burst_packets: 16,
        average_packet_bytes: 1000,
        ewma_log: 5,
        ..Default::default()
    }
}

/// Mbit/s of each class over 20 s (the first 2 s left out) on a line of 10 Mbit/s, for classes that
/// are always backlogged with packets of 1000 B, or empty.
fn rates(shares: &[CbqShare], sharing: LinkSharing, backlogged: &[u16]) -> Vec<f64> {
    let sched = Cbq::new(shares, 10_000_000, sharing).unwrap();
    let sent = serve(sched, 10_000_000, shares.len(), &backlog(backlogged, 25_000));
    throughput(&sent, shares.len(), 2.0, 20.0).iter().map(|rate| rate / 1e6).collect()
}

fn close(rates: &[f64], expected: &[f64], tolerance: f64) {
    for (rate, expected) in rates.iter().zip(expected) {
        assert!(
            (rate - expected).abs() <= tolerance * expected.max(0.5),
            "{rates:?} for {expected:?}"
        );
    }
}

const BOTH: [LinkSharing; 2] = [LinkSharing::TopLevel, LinkSharing::AncestorOnly];

mod fj95 {
    use super::*;

    #[test]
    fn s4_backlogged_classes_get_their_allocation() {
        let shares = [2_000_000, 3_000_000, 5_000_000].map(|rate| class(None, rate, true));
        for sharing in BOTH {
            close(&rates(&shares, sharing, &[0, 1, 2]), &[2.0, 3.0, 5.0], 0.02);
        }
    }

    #[test]
    fn s4_a_bounded_class_gets_its_allocation_and_no_more() {
        let shares = [class(None, 2_000_000, false), class(None, 3_000_000, true)];
        for sharing in BOTH {
            close(&rates(&shares, sharing, &[0]), &[2.0, 0.0], 0.02);
            close(&rates(&shares, sharing, &[0, 1]), &[2.0, 8.0], 0.02);
        }
    }

    /// Unused capacity of class 2 (5 of 10) is given to 0 and 1 in the ratio of their round robin, 2 :
    /// 3.
    #[test]
    fn s4_unused_bandwidth_is_borrowed() {
        let shares = [2_000_000, 3_000_000, 5_000_000].map(|rate| class(None, rate, true));
        for sharing in BOTH {
            close(&rates(&shares, sharing, &[0, 1]), &[4.0, 6.0, 0.0], 0.02);
        }
    }

    /// Two agencies of 5 each, A = A1 2 + A2 3, B = B1 5. A2 silent: A1 takes A2's share and B1
    /// keeps its 5. (Ancestor-only and top-level agree here: both agencies are at their limits.)
    #[test]
    fn s4_unused_bandwidth_stays_in_the_agency_first() {
        let shares = [
            class(None, 5_000_000, true),
            class(Some(0), 2_000_000, true),
            class(Some(0), 3_000_000, true),
            class(None, 5_000_000, true),
            class(Some(3), 5_000_000, true),
        ];
        close(&rates(&shares, LinkSharing::TopLevel, &[1, 4]), &[0.0, 5.0, 0.0, 0.0, 5.0], 0.03);
    }

    /// Both classes are offered 10 Mbit/s, packet by packet: an arrival of class 1 below its limit shows
    /// the top-level rule that class 0 must not borrow, so class 1 has its own 3 and class 0 the rest.
    /// Ancestor-only lets class 0 borrow the full link.
    #[test]
    fn s4c_top_level_protects_the_allocation_of_a_low_priority() {
        let low = CbqShare { priority: 1, ..class(None, 3_000_000, true) };
        let shares = [class(None, 2_000_000, true), low];
        let trace: Vec<_> = (0..50_000u64)
            .map(|k| Arrival { at: k / 2 * 800_000, class: (k % 2) as u16, bytes: 1000 })
            .collect();
        for (sharing, expected) in
            [(LinkSharing::TopLevel, [7.0, 3.0]), (LinkSharing::AncestorOnly, [10.0, 0.0])]
        {
            let sent =
                serve(Cbq::new(&shares, 10_000_000, sharing).unwrap(), 10_000_000, 2, &trace);
            let rates: Vec<_> =
                throughput(&sent, 2, 2.0, 18.0).iter().map(|rate| rate / 1e6).collect();
            close(&rates, &expected, 0.03);
        }
    }

    /// Agency of 6, bounded: 4 isolated and silent, 2 that may borrow. Isolated: 2 stays at 2;
    /// otherwise it has all 6.
    #[test]
    fn s4_what_an_isolated_class_leaves_is_not_lent() {
        for (isolated, expected) in [(true, 2.0), (false, 6.0)] {
            let keeper = CbqShare { isolated, ..class(Some(0), 4_000_000, false) };
            let shares = [class(None, 6_000_000, false), keeper, class(Some(0), 2_000_000, true)];
            for sharing in BOTH {
                close(&rates(&shares, sharing, &[2]), &[0.0, 0.0, expected], 0.02);
            }
        }
    }

    /// The same at the top: the link of 10 lends all but the isolated 4.
    #[test]
    fn s4_an_isolated_top_class_holds_back_its_part_of_the_link() {
        let keeper = CbqShare { isolated: true, ..class(None, 4_000_000, false) };
        let shares = [keeper, class(None, 2_000_000, true)];
        close(&rates(&shares, LinkSharing::TopLevel, &[1]), &[0.0, 6.0], 0.02);
        close(&rates(&shares, LinkSharing::TopLevel, &[0, 1]), &[4.0, 6.0], 0.02);
    }
}

/// ns-2.35 (Debian), `CBQ/WRR` on 10 Mbit/s, leaves of allotment as below under a top class of 1.0,
/// maxidle auto, each offered CBR of 10 Mbit/s in 1000 B (`random_ 1`); Mbit/s over 2..20 s,
/// ancestor-only (algorithm 0) and top-level (algorithm 1).
mod ns2 {
    use super::*;

    const ALL: [[f64; 3]; 2] = [[2.116, 2.964, 4.920], [2.012, 2.997, 4.991]];
    const ONE_SILENT: [f64; 3] = [4.188, 5.812, 0.0];
    const BOUNDED: [[f64; 2]; 2] = [[2.028, 7.972], [2.043, 7.957]];
    const PRIORITY: [[f64; 2]; 2] = [[9.671, 0.329], [6.991, 3.009]];

    /// Offers 10 Mbit/s to each of `active`, gaps uniform on 0.5..1.5 of their mean.
    fn measure_throughput(shares: &[CbqShare], sharing: LinkSharing, active: u16) -> Vec<f64> {
        let mut gaps = trunkline_units::RandomStream::new(1, "test", "gaps");
        let mut trace = Vec::new();
        for class in 1..=active {
            let mut at = 100_000 * u64::from(class);
            while at < 20_000_000_000 {
                trace.push(Arrival { at, class, bytes: 1000 });
                at += (800_000.0 * (0.5 + gaps.uniform())) as u64;
            }
        }
        trace.sort_by_key(|arrival| arrival.at);
        let sched = Cbq::new(shares, 10_000_000, sharing).unwrap();
        let sent = serve(sched, 10_000_000, shares.len(), &trace);
        throughput(&sent, shares.len(), 2.0, 20.0).iter().map(|rate| rate / 1e6).collect()
    }

    #[test]
    fn shares_of_leaves_under_the_root() {
        let top = || class(None, 10_000_000, false);
        let leaf = |rate| class(Some(0), rate, true);
        let borrowers = [top(), leaf(2_000_000), leaf(3_000_000), leaf(5_000_000)];
        let bounded = [top(), class(Some(0), 2_000_000, false), leaf(3_000_000)];
        let low = CbqShare { priority: 1, ..leaf(3_000_000) };
        let by_priority = [top(), leaf(2_000_000), low];
        for (rule, sharing) in
            [LinkSharing::AncestorOnly, LinkSharing::TopLevel].into_iter().enumerate()
        {
            let near = |rates: Vec<f64>, expected: &[f64], tolerance: f64| {
                for (rate, expected) in rates[1..].iter().zip(expected) {
                    assert!(
                        (rate - expected).abs() <= tolerance,
                        "{sharing:?} {rates:?}: {expected}"
                    );
                }
            };
            near(measure_throughput(&borrowers, sharing, 3), &ALL[rule], 0.13);
            near(measure_throughput(&borrowers, sharing, 2), &ONE_SILENT, 0.2);
            near(measure_throughput(&bounded, sharing, 2), &BOUNDED[rule], 0.04);
            // Ancestor-only: in ns-2 rounding noise puts the full top class over its limit now and
            // then, which lets the low class in; exact arithmetic does not.
            let tolerance = if sharing == LinkSharing::TopLevel { 0.02 } else { 0.35 };
            near(measure_throughput(&by_priority, sharing, 2), &PRIORITY[rule], tolerance);
        }
    }
}

proptest! {
    /// With classes that may borrow from the link, CBQ never leaves the line idle, and keeps every
    /// packet and the order within a class.
    #[test]
    fn classes_that_may_borrow_conserve_work(
        steps in prop::collection::vec((0u64..3_000, 0u16..4, 40u32..1500), 1..120),
        rates in prop::collection::vec(1u64..20, 4),
        ancestor_only in any::<bool>(),
    ) {
        let mut at = 0;
        let trace: Vec<_> = steps
            .iter()
            .map(|&(gap, class, bytes)| { at += gap * 1000; Arrival { at, class, bytes } })
            .collect();
        let shares: Vec<_> = rates.iter().map(|rate| class(None, rate * 100_000, true)).collect();
        let sharing = BOTH[usize::from(ancestor_only)];
        let sent = serve(Cbq::new(&shares, 8_000_000, sharing).unwrap(), 8_000_000, 4, &trace);
        super::super::test_link::check_work_conserving(&trace, &sent, 4);
    }

    /// Bounded classes send everything in the end, in order.
    #[test]
    fn bounded_classes_starve_not(
        steps in prop::collection::vec((0u64..3_000, 0u16..4, 40u32..1500), 1..120),
        rates in prop::collection::vec(1u64..20, 4),
    ) {
        let mut at = 0;
        let trace: Vec<_> = steps
            .iter()
            .map(|&(gap, class, bytes)| { at += gap * 1000; Arrival { at, class, bytes } })
            .collect();
        let shares: Vec<_> = rates.iter().map(|rate| class(None, rate * 100_000, false)).collect();
        let sched = Cbq::new(&shares, 8_000_000, LinkSharing::TopLevel).unwrap();
        let sent = serve(sched, 8_000_000, 4, &trace);
        prop_assert_eq!(sent.len(), trace.len());
        for class in 0..4 {
            let ids: Vec<_> = sent.iter().filter(|sent| sent.class == class).map(|sent| sent.id).collect();
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

#[test]
fn bad_relations_are_refused_with_their_class() {
    let refused = |share: CbqShare| {
        Cbq::new(&[share], 10_000_000, LinkSharing::TopLevel).unwrap_err().to_string()
    };
    assert_eq!(
        refused(class(None, 11_000_000, true)),
        "rate_bit_s must not be above the link's: 11000000 is above 10000000 (class 0)"
    );
    assert_eq!(refused(class(None, 0, true)), "rate_bit_s must be above 0 (class 0)");
    let log = CbqShare { ewma_log: 17, ..class(None, 1, true) };
    assert_eq!(refused(log), "ewma_log must be 1 to 16, not 17 (class 0)");
}

/// Turns by the rates of one priority, the smallest of which has the base of 1500 B; a quantum that is
/// given is taken, and another priority counts for itself.
#[test]
fn a_quantum_is_in_proportion_to_the_rates_of_its_priority() {
    let share = |rate_bit_s, priority, quantum_bytes| CbqShare {
        rate_bit_s,
        priority,
        quantum_bytes,
        ..CbqShare::default()
    };
    let shares = [share(2000, 0, 0), share(5000, 0, 0), share(1000, 1, 0), share(9000, 0, 70)];
    let quanta: Vec<i64> = shares.iter().map(|it| quantum(&shares, it)).collect();
    assert_eq!(quanta, [1500, 3750, 1500, 70]);
}
