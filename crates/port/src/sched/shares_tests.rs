//! Shares of every scheduler for packets of unequal sizes, against closed forms.
//!
//! All classes are always backlogged on a line of 10 Mbit/s. No two of their packets have one size, so
//! that a share counted in packets in place of bytes shows, and no two weights divide each other.

use super::test_link::Endless;
use super::*;
use trunkline_units::{TransmissionClock, SECOND};

const LINE: u64 = 10_000_000;
const SIZES: [u32; 3] = [1500, 300, 700];
const WEIGHTS: [u32; 3] = [3, 2, 7];

/// Mbit/s of each class over 18 s, from the second on.
fn rates(config: &SchedulerConfig, sizes: &[u32]) -> Vec<f64> {
    const FROM: Time = 2 * SECOND;
    const UNTIL: Time = 20 * SECOND;
    let mut sched = Sched::new(config, LINE).unwrap();
    let mut line = TransmissionClock::new(LINE);
    let mut bytes_sent = vec![0u64; sizes.len()];
    for (class, &bytes) in sizes.iter().enumerate() {
        sched.on_enqueue(class as u16, bytes, true, 0);
    }
    let mut now = 0;
    while now < UNTIL {
        match sched.choose(&mut Endless(sizes), now) {
            SchedulerChoice::Class(class) => {
                let bytes = sizes[usize::from(class)];
                if now >= FROM {
                    bytes_sent[usize::from(class)] += u64::from(bytes);
                }
                sched.on_enqueue(class, bytes, false, now);
                sched.on_dequeue(class, bytes, false, now);
                now += line.span(bytes);
            }
            SchedulerChoice::Wait(until) => now = until,
            SchedulerChoice::Idle => unreachable!("every class has a packet"),
        }
    }
    bytes_sent.iter().map(|&bytes| bytes as f64 * 8.0 / 18e6).collect()
}

/// Mbit/s of classes that share `total` in these parts.
fn parts_of(total: f64, parts: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let parts: Vec<f64> = parts.into_iter().collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| total * part / sum).collect()
}

fn assert_shares(found: &[f64], expected: &[f64], tolerance: f64) {
    for (rate, expected) in found.iter().zip(expected) {
        assert!((rate - expected).abs() <= tolerance * expected, "{found:?} for {expected:?}");
    }
}

/// Shreedhar and Varghese 1995, section 3: bytes are as the quanta, and the quanta here as the weights:
/// 3 : 2 : 7 of 10 Mbit/s. The quantum of the smallest weight is 1500 B, and 10 to 7 is no whole number.
#[test]
fn shreedhar_varghese_1995_s3_drr_shares_bytes_by_weight() {
    let share = |weight| DrrShare { quantum_bytes: 0, weight };
    let drr = |weights: [u32; 3]| SchedulerConfig::Drr { shares: weights.map(share).to_vec() };
    for weights in [WEIGHTS, [10, 7, 9], [1, 1, 1]] {
        let expected = parts_of(10.0, weights.map(f64::from));
        assert_shares(&rates(&drr(weights), &SIZES), &expected, 0.002);
    }
    assert_eq!(drr::quanta(&WEIGHTS.map(share)).unwrap(), [2250, 1500, 5250]);
}

/// Quanta that are set do not change; only classes without one are weighed: weights 3 and 2
/// besides a quantum of 4000 B are 2250 and 1500 B.
#[test]
fn drr_weighs_the_classes_without_a_quantum() {
    let shares = [(0, 3), (4000, 1), (0, 2)]
        .map(|(quantum_bytes, weight)| DrrShare { quantum_bytes, weight });
    assert_eq!(drr::quanta(&shares).unwrap(), [2250, 4000, 1500]);
}

/// Parekh and Gallager 1993, eq. (1): class i has w_i of the sum of the weights, whatever its packets.
#[test]
fn parekh_gallager_1993_wfq_shares_bytes_by_weight() {
    let shares = WEIGHTS.map(|weight| WfqShare { weight }).to_vec();
    let found = rates(&SchedulerConfig::Wfq { shares }, &SIZES);
    assert_shares(&found, &parts_of(10.0, WEIGHTS.map(f64::from)), 0.002);
}

/// Katevenis 1991, section 3: a turn counts packets, so bytes are as weight times size: 4500, 600, 4900.
#[test]
fn katevenis_1991_wrr_shares_packets_by_weight() {
    let shares = WEIGHTS.map(|weight| WrrShare { weight }).to_vec();
    let found = rates(&SchedulerConfig::Wrr { shares }, &SIZES);
    assert_shares(&found, &parts_of(10.0, [4500.0, 600.0, 4900.0]), 0.002);
}

/// Cobham 1954: a lower number takes the line; equal ones send one packet each in turn, so bytes are as
/// sizes: 300 and 700 B share what the third may not have.
#[test]
fn cobham_1954_priority_serves_the_lowest_number_and_equal_ones_in_turn() {
    let shares = [1, 0, 0].map(|priority| PriorityShare { priority }).to_vec();
    assert_shares(&rates(&SchedulerConfig::Priority { shares }, &SIZES), &[0.0, 3.0, 7.0], 0.002);
}

/// RFC 2475 section 2.3.3.3: a class leaves at the rate that it is shaped to; one that is not shaped has
/// the rest of the line, after those of a lower number: 10 - 3 - 2 Mbit/s.
#[test]
fn rfc2475_s2_3_3_3_shaped_classes_have_their_rates_and_the_last_the_rest() {
    let shares = [(0, 3_000_000), (1, 2_000_000), (2, 0)]
        .map(|(priority, rate_bit_s)| ShapedShare { priority, rate_bit_s, burst_bytes: 3000 })
        .to_vec();
    assert_shares(&rates(&SchedulerConfig::Shaped { shares }, &SIZES), &[3.0, 2.0, 5.0], 0.002);
}

/// RFC 2215 section 3.1: r t + b in a time t; b is spent before the second from which rates are measured.
#[test]
fn rfc2215_s3_1_tbf_sends_at_its_rate() {
    let share = TbfShare { rate_bit_s: 4_000_000, burst_bytes: 15_000, ..Default::default() };
    let tbf = SchedulerConfig::Tbf { shares: vec![share] };
    assert_shares(&rates(&tbf, &[1500]), &[4.0], 0.001);
}

/// Devera 2002: rates of 3 and 2 of 6 Mbit/s; the 1 Mbit/s that is left is shared by the quanta, which
/// are a tenth of a second of the rates where none is set: 3 : 2. With quanta of 1500 and 6000 B it is
/// shared 1 : 4.
#[test]
fn devera_2002_htb_shares_the_excess_by_quantum_and_that_follows_the_rate() {
    for (quanta, expected) in [([0, 0], [3.6, 2.4]), ([1500, 6000], [3.2, 2.8])] {
        let class = |rate_bit_s, quantum_bytes, parent| HtbShare {
            rate_bit_s,
            ceil_bit_s: 6_000_000,
            burst_bytes: 3000,
            cburst_bytes: 3000,
            quantum_bytes,
            parent,
            ..Default::default()
        };
        // The top class is a parent and has no packets of its own.
        let leaf = |rate, quantum| class(rate, quantum, Some(2));
        let shares =
            vec![leaf(3_000_000, quanta[0]), leaf(2_000_000, quanta[1]), class(6_000_000, 0, None)];
        let found = leaves_alone(SchedulerConfig::Htb { shares }, &SIZES[..2]);
        assert_shares(&found, &expected, 0.01);
    }
}

/// Rates of the first classes, where those after them are parents and hold no packets.
fn leaves_alone(config: SchedulerConfig, sizes: &[u32]) -> Vec<f64> {
    assert!(config.classes() > sizes.len());
    rates(&config, sizes)
}

/// Høiland-Jørgensen et al. 2018, section III-D: tins of 2 and 0.5 Mbit/s have their rates before the tin
/// of the whole shaper of 8 gets the rest: 5.5 Mbit/s.
#[test]
fn hoiland_2018_s3_d_cake_tins_have_their_rates_in_bytes() {
    let shares = [(0, 2_000_000), (1, 500_000), (2, 8_000_000)]
        .map(|(priority, rate_bit_s)| CakeShare { priority, rate_bit_s })
        .to_vec();
    assert_shares(&rates(&SchedulerConfig::Cake { shares }, &SIZES), &[2.0, 0.5, 5.5], 0.005);
}

/// Stoica et al. 2000, section IV: link sharing gives each class bytes by the slope of its curve: 3 : 2 :
/// 7; a real-time curve of 4 Mbit/s is served first and counts as link sharing: of 6 Mbit/s that are left
/// the other two have 2 : 7.
#[test]
fn stoica_2000_s4_hfsc_shares_bytes_by_slope() {
    let curve = |rate: u64| Some(ServiceCurve { m1_bit_s: rate, d_ns: 0, m2_bit_s: rate });
    let share = |weight: u32| HfscShare {
        link_share: curve(u64::from(weight) * 100_000),
        ..HfscShare::default()
    };
    let shares = WEIGHTS.map(share);
    let found = rates(&SchedulerConfig::Hfsc { shares: shares.to_vec() }, &SIZES);
    assert_shares(&found, &parts_of(10.0, WEIGHTS.map(f64::from)), 0.005);
    let guaranteed = HfscShare { real_time: curve(4_000_000), ..shares[0] };
    let shares = vec![guaranteed, shares[1], shares[2]];
    let found = rates(&SchedulerConfig::Hfsc { shares }, &SIZES);
    assert_shares(&found, &[4.0, 6.0 * 2.0 / 9.0, 6.0 * 7.0 / 9.0], 0.005);
}

/// Floyd and Jacobson 1995, section IV: backlogged classes have their allocations, which fill the line,
/// whatever their packets; so under both rules of link sharing.
#[test]
fn floyd_jacobson_1995_s4_cbq_classes_have_their_allocations_in_bytes() {
    let class = |(rate_bit_s, average_packet_bytes)| CbqShare {
        rate_bit_s,
        borrow: true,
        max_burst_packets: 16,
        average_packet_bytes,
        ewma_log: 5,
        ..Default::default()
    };
    let shares: Vec<_> =
        [(2_000_000, 1500), (3_000_000, 300), (5_000_000, 700)].map(class).to_vec();
    for config in [
        SchedulerConfig::Cbq { shares: shares.clone() },
        SchedulerConfig::CbqAncestorOnly { shares },
    ] {
        assert_shares(&rates(&config, &SIZES), &[2.0, 3.0, 5.0], 0.02);
    }
}

/// McKenney 1990, RFC 8290 section 4.1: flows of one quantum have the same bytes, whatever their packets
/// and whether new flows come first.
#[test]
fn mckenney_1990_rounds_of_flows_share_bytes() {
    for new_first in [false, true] {
        let mut rounds = FlowRounds::new(3, 1514, new_first);
        (0..3).for_each(|flow| rounds.on_enqueue(flow));
        let mut bytes_sent = [0u32; 3];
        for _ in 0..30_000 {
            let flow = rounds.choose(|_| false, |_| 1).unwrap();
            rounds.on_sent(flow, SIZES[usize::from(flow)], false);
            bytes_sent[usize::from(flow)] += SIZES[usize::from(flow)];
        }
        let found = bytes_sent.map(f64::from);
        assert_shares(&found, &parts_of(found.iter().sum(), [1.0; 3]), 0.002);
    }
}

/// Sizes of the heads; none where a class is empty.
struct Heads([Option<u32>; 3]);

impl ClassHeads for Heads {
    fn head(&mut self, class: u16) -> Option<u32> {
        self.0[usize::from(class)]
    }
}

/// A scheduler of each kind for three classes without a difference.
fn schedulers_of_equal_classes() -> Vec<SchedulerConfig> {
    let rate_bit_s = 5_000_000;
    let curve = Some(ServiceCurve { m1_bit_s: 0, d_ns: 0, m2_bit_s: rate_bit_s });
    let hfsc = HfscShare { real_time: curve, link_share: curve, ..Default::default() };
    let htb = HtbShare {
        rate_bit_s,
        ceil_bit_s: rate_bit_s,
        burst_bytes: 3000,
        cburst_bytes: 3000,
        ..Default::default()
    };
    let cbq = CbqShare {
        rate_bit_s,
        max_burst_packets: 16,
        average_packet_bytes: 500,
        ewma_log: 5,
        ..Default::default()
    };
    let shaped = ShapedShare { priority: 0, rate_bit_s, burst_bytes: 3000 };
    vec![
        SchedulerConfig::Priority { shares: vec![PriorityShare { priority: 1 }; 3] },
        SchedulerConfig::Wrr { shares: vec![WrrShare { weight: 2 }; 3] },
        SchedulerConfig::Drr { shares: vec![DrrShare { quantum_bytes: 0, weight: 1 }; 3] },
        SchedulerConfig::Wfq { shares: vec![WfqShare { weight: 1 }; 3] },
        SchedulerConfig::Cake { shares: vec![CakeShare { priority: 1, rate_bit_s }; 3] },
        SchedulerConfig::Shaped { shares: vec![shaped; 3] },
        SchedulerConfig::Hfsc { shares: vec![hfsc; 3] },
        SchedulerConfig::Htb { shares: vec![htb; 3] },
        SchedulerConfig::Cbq { shares: vec![cbq; 3] },
    ]
}

/// Classes in the order in which a scheduler serves these numbers of packets of 500 B from a time on.
fn serve_all(sched: &mut Sched, mut waiting: [usize; 3], mut now: Time) -> Vec<u16> {
    let mut served = Vec::new();
    loop {
        let heads = waiting.map(|packets| (packets > 0).then_some(500));
        match sched.choose(&mut Heads(heads), now) {
            SchedulerChoice::Idle => return served,
            SchedulerChoice::Wait(until) => {
                assert!(until > now, "a wait ends later");
                now = until;
            }
            SchedulerChoice::Class(class) => {
                let left = &mut waiting[usize::from(class)];
                *left = left.checked_sub(1).expect("a class that is served has a packet");
                sched.on_dequeue(class, 500, *left == 0, now);
                served.push(class);
                now += 400_000;
            }
        }
    }
}

/// RFC 8289 section 5.5: CoDel drops the head and takes the next. So a class may become empty without
/// having sent, in its turn or not: it is not served then, all others are, each packet once, and it comes
/// back with its next packet.
#[test]
fn rfc8289_s5_5_a_class_whose_last_head_is_dropped_is_served_no_more_and_all_others_are() {
    for config in schedulers_of_equal_classes() {
        for emptied in 0..3 {
            let mut sched = Sched::new(&config, LINE).unwrap();
            for first in [true, false] {
                (0..3).for_each(|class| sched.on_enqueue(class, 500, first, 0));
            }
            sched.on_discard(emptied, false);
            sched.on_discard(emptied, true);
            let mut left = [2; 3];
            left[usize::from(emptied)] = 0;
            let mut served = serve_all(&mut sched, left, 0);
            served.sort_unstable();
            let expected: Vec<u16> =
                (0..3).filter(|it| *it != emptied).flat_map(|it| [it; 2]).collect();
            assert_eq!(served, expected, "{emptied} of {config:?}");
            sched.on_enqueue(emptied, 500, true, 10 * SECOND);
            let mut again = [0; 3];
            again[usize::from(emptied)] = 1;
            assert_eq!(serve_all(&mut sched, again, 10 * SECOND), [emptied], "{config:?}");
        }
    }
}

/// A class that has one packet left after its head was dropped sends that one.
#[test]
fn rfc8289_s5_5_a_class_sends_the_packet_behind_a_dropped_head() {
    for config in schedulers_of_equal_classes() {
        let mut sched = Sched::new(&config, LINE).unwrap();
        sched.on_enqueue(1, 500, true, 0);
        sched.on_enqueue(1, 500, false, 0);
        sched.on_discard(1, false);
        assert_eq!(serve_all(&mut sched, [0, 1, 0], 0), [1], "{config:?}");
    }
}

/// State that a scheduler keeps of an empty port: nothing where classes have an order alone, and nothing in DRR,
/// where an empty class has the deficit 0 (Shreedhar and Varghese 1995, section 3). WFQ has its virtual
/// time, WRR and the shapers their turns and tokens.
#[test]
fn shreedhar_varghese_1995_s3_an_empty_class_keeps_nothing_where_its_scheduler_says_so() {
    let says: Vec<bool> = schedulers_of_equal_classes()
        .iter()
        .map(|config| Sched::new(config, LINE).unwrap().is_stateless_when_empty())
        .collect();
    assert_eq!(says, [true, false, true, false, false, false, false, false, false]);
}
