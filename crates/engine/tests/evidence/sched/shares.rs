//! Share of each backlogged class of the line.

use super::*;
use trunkline_engine::network::PortConfig;

/// Bytes each class sent in 20 s while CBR flows of these sizes, each faster than the line, keep
/// every class backlogged.
fn sent(port: PortConfig, sizes: &[u32]) -> Vec<f64> {
    let mut lab = Lab::server(RATE, port);
    for (index, bytes) in sizes.iter().enumerate() {
        lab.flow(&format!("flow{index}"), "a", "b", cbr(RATE * 11 / 10, *bytes));
    }
    lab.class_per_flow(0);
    lab.lasting(SECOND, 21 * SECOND);
    let run = lab.run(1);
    let total = run.summary("packet_hops");
    assert!(total > 0.0);
    (0..sizes.len() as u16).map(|class| run.class(0, class, "bytes_sent")).collect()
}

/// Over m rounds a backlogged class sends between m Q - Max and m Q + Max bytes, and two classes
/// differ by at most a round: |S_i / Q_i - S_j / Q_j| <= 1 + Max / Q_i + Max / Q_j.
/// Source: Shreedhar & Varghese, SIGCOMM 1995, lemma 2 and theorem 3.
#[test]
fn shreedhar_varghese_1995_drr_shares_follow_the_quanta_whatever_the_sizes() {
    for (quanta, sizes) in [
        ([1500, 1500, 1500], [1500, 500, 40]),
        ([1500, 3000, 4500], [40, 1500, 700]),
        ([600, 2000, 9000], [1500, 333, 1500]), // one quantum below its packets
    ] {
        let sent = sent(drr(&quanta, &queue(50, false)), &sizes);
        let rounds: Vec<f64> = sent.iter().zip(quanta).map(|(s, q)| s / f64::from(q)).collect();
        for i in 0..3 {
            for j in 0..i {
                let (q_i, q_j) = (f64::from(quanta[i]), f64::from(quanta[j]));
                let bound = 1.0 + 1500.0 / q_i + 1500.0 / q_j;
                assert!((rounds[i] - rounds[j]).abs() <= bound, "{quanta:?} {sizes:?} {rounds:?}");
            }
        }
        // The line itself: 25 MB in 20 s, but for a packet at either end.
        assert!((sent.iter().sum::<f64>() - 25e6).abs() <= 1500.0, "{sent:?}");
    }
}

/// In GPS class i gets w_i / sum w of the line; packet by packet it is at most one largest packet
/// behind that at any time, so over an interval within one packet behind its end and, all others
/// together being behind its start, n - 1 ahead.
/// Source: Parekh & Gallager, IEEE/ACM Trans. Networking 1(3), 1993, theorem 2.
#[test]
fn parekh_gallager_1993_wfq_shares_follow_the_weights_whatever_the_sizes() {
    for (weights, sizes) in [
        ([1, 1, 1], [1500, 500, 40]),
        ([1, 2, 7], [40, 1500, 700]),
        ([100, 30, 1], [1500, 333, 1500]),
    ] {
        let sent = sent(wfq(&weights, &queue(50, false)), &sizes);
        let sum: f64 = weights.iter().copied().map(f64::from).sum();
        for (bytes, weight) in sent.iter().zip(weights) {
            let share = 25e6 * f64::from(weight) / sum;
            assert!((bytes - share).abs() <= 3.0 * 1500.0, "{weights:?} {sizes:?} {sent:?}");
        }
    }
}

/// Every packet leaves at most one largest packet's time after it would leave the fluid server.
/// Class 0 is always backlogged; class 1 sends bursts of 20 kB every 100 ms. Equal weights: in GPS
/// a burst takes 2 * 20 kB / 10 Mbit/s = 32 ms, during which each class has half the line, and
/// class 0 has all of it else. A virtual time that lagged would let the bursts go first.
/// Source: Parekh & Gallager 1993, theorem 1.
#[test]
fn parekh_gallager_1993_wfq_is_at_most_a_packet_behind_gps() {
    const BYTE: u64 = 800; // ns at 10 Mbit/s
    let mut lab = Lab::server(RATE, wfq(&[1, 1], &UNLIMITED));
    lab.flow("steady", "a", "b", cbr(RATE * 21 / 20, 1000));
    let starts: Vec<u64> = (0..50).map(|k| (10 + 100 * k) * MS + 333).collect();
    let burst = |at: &u64| vec![(*at, 500); 40];
    lab.flow("bursts", "a", "b", schedule(&starts.iter().flat_map(burst).collect::<Vec<_>>()));
    lab.class_per_flow(0);
    lab.lasting(0, 5 * SECOND);
    let run = lab.trace(1);
    // When GPS has served class 0 `bytes`: all of the line, or half of it for 32 ms after a start.
    let fluid = |bytes: u64| {
        let (mut now, mut left) = (0, bytes * BYTE);
        for start in &starts {
            let alone = (start - now).min(left);
            (now, left) = (now + alone, left - alone);
            let shared = (16 * MS).min(left);
            (now, left) = (now + 2 * shared, left - shared);
        }
        now + left
    };
    let steady = run.arrived(0, 0);
    assert!(steady.len() > 5000, "{}", steady.len());
    for (k, (left, _)) in (1..).zip(&steady) {
        let bound = fluid(1000 * k) + 1000 * BYTE;
        assert!(*left <= bound, "packet {k} leaves at {left}, GPS and a packet are {bound}");
    }
    for (k, (left, _)) in run.arrived(1, 0).iter().enumerate() {
        let start = starts[k / 40];
        let bound = start + 2 * 500 * BYTE * (k as u64 % 40 + 1) + 1000 * BYTE;
        assert!(*left <= bound, "packet {k} of the bursts leaves at {left}, bound {bound}");
    }
}

/// The higher class takes what it wants, the lower one the rest: 6 of 10 Mbit/s and 4.
#[test]
fn strict_priority_leaves_the_lower_class_what_the_higher_does_not_use() {
    let mut lab = Lab::server(RATE, priority(2, &queue(20, false)));
    lab.flow("high", "a", "b", cbr(6 * MBIT, 1000));
    lab.flow("low", "a", "b", cbr(9 * MBIT, 1000));
    lab.class_per_flow(0);
    lab.lasting(SECOND, 21 * SECOND);
    let run = lab.run(1);
    assert!((run.class(0, 0, "bytes_sent") - 15e6).abs() <= 1000.0);
    assert!((run.class(0, 1, "bytes_sent") - 10e6).abs() <= 1000.0);
    assert_eq!(run.class(0, 0, "packets_dropped"), 0.0);
    // At most one packet of the lower class is ahead of the higher one.
    assert!(run.class(0, 0, "wait_max_ns") <= 0.8e6);
}

/// The others share the rest of an idle class by their weights: weights 1, 2, 5, the last class
/// silent: 1/3 and 2/3 of the line.
#[test]
fn an_idle_class_leaves_its_share_to_the_others() {
    for port in [wfq(&[1, 2, 5], &queue(50, false)), drr(&[1000, 2000, 5000], &queue(50, false))] {
        let mut lab = Lab::server(RATE, port);
        lab.flow("x", "a", "b", cbr(RATE, 1000));
        lab.flow("y", "a", "b", cbr(RATE, 1000));
        let silent = lab.flow("z", "a", "b", cbr(RATE, 1000));
        lab.network.flows[silent].start_ns = 100 * SECOND;
        lab.class_per_flow(0);
        lab.lasting(SECOND, 13 * SECOND);
        let run = lab.run(1);
        let sent = |class| run.class(0, class, "bytes_sent");
        assert!((sent(0) - 5e6).abs() <= 3000.0 && (sent(1) - 10e6).abs() <= 3000.0);
    }
}
