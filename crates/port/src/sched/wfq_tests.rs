use super::super::test_link::{arrivals, proptest_discipline, saturated, serve, Arrival, Sent};
use super::*;
use proptest::prelude::*;

fn shares(weights: &[u32]) -> Vec<WfqShare> {
    weights.iter().map(|&weight| WfqShare { weight }).collect()
}

proptest_discipline!(|classes| Wfq::new(&shares(&vec![3; classes]), 8_000_000).unwrap());

/// Finish times [ns] of a fluid GPS server, worked in real time from its definition alone: while a
/// set B of classes is backlogged, class i is served at rate * w_i / (sum of w over B).
fn fluid_finish_times(weights: &[u32], rate_bit_s: f64, trace: &[Arrival]) -> Vec<f64> {
    let mut finish = vec![0.0; trace.len()];
    let mut queues: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); weights.len()];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let backlogged: f64 = (0..weights.len())
            .filter(|&i| !queues[i].is_empty())
            .map(|i| f64::from(weights[i]))
            .sum();
        let arrival = trace.get(next).map_or(f64::INFINITY, |arrival| arrival.at as f64);
        let speed = |i: usize| rate_bit_s * 1e-9 * f64::from(weights[i]) / backlogged; // bit per ns
        let (until, done) = (0..weights.len())
            .filter_map(|i| queues[i].front().map(|&(_, bits)| (now + bits / speed(i), i)))
            .fold(
                (f64::INFINITY, None),
                |best, (t, i)| if t < best.0 { (t, Some(i)) } else { best },
            );
        let step = until.min(arrival);
        if step.is_infinite() {
            return finish;
        }
        for (i, queue) in queues.iter_mut().enumerate() {
            if let Some((_, bits)) = queue.front_mut() {
                *bits -= (step - now) * speed(i);
            }
        }
        now = step;
        if arrival <= until {
            let packet = trace[next];
            queues[usize::from(packet.class)].push_back((next, f64::from(packet.bytes) * 8.0));
            next += 1;
        } else if let Some((id, _)) = done.and_then(|i| queues[i].pop_front()) {
            finish[id] = now;
        }
    }
}

mod parekh_gallager1993 {
    use super::*;

    proptest! {
        /// Theorem 1: a packet leaves PGPS no later than L_max / r after it leaves GPS.
        #[test]
        fn theorem1_no_packet_is_later_than_gps_by_more_than_one_largest_packet(
            weights in prop::collection::vec(1u32..20, 2..7),
            steps in prop::collection::vec((0u64..1_500, 0u16..7, 40u32..1500), 1..150),
        ) {
            let rate = 8_000_000;
            let mut at = 0;
            let trace: Vec<Arrival> = steps
                .iter()
                .map(|&(gap_us, class, bytes)| {
                    at += gap_us * 1000;
                    Arrival { at, class: class % weights.len() as u16, bytes }
                })
                .collect();
            let largest = trace.iter().map(|arrival| arrival.bytes).max().unwrap();
            let bound = f64::from(largest) * 1000.0; // 1 us a byte at 8 Mbit/s
            let gps = fluid_finish_times(&weights, rate as f64, &trace);
            let sent = serve(Wfq::new(&shares(&weights), rate).unwrap(), rate, weights.len(), &trace);
            for Sent { id, end, .. } in sent {
                prop_assert!(end as f64 <= gps[id] + bound + 1.0, "packet {id}: {end} after {}", gps[id]);
            }
        }
    }

    /// A leaky-bucket class (sigma = 3 packets, rho = its guaranteed rate) and a greedy one:
    /// delay <= (sigma + L_max of the class) / g + L_max / r, with g = r / 4 (their section V).
    #[test]
    fn delay_of_a_leaky_bucket_class_is_bounded() {
        let rate = 8_000_000; // 1 us a byte; g = 2 Mbit/s, 4 us a byte
        let mut trace = Vec::new();
        for k in 0..400u64 {
            // 3 packets of 500 B at once each 6 ms = 2 Mbit/s.
            trace.extend((0..3).map(|_| Arrival { at: k * 6_000_000, class: 0, bytes: 500 }));
        }
        trace.extend((0..2400u64).map(|k| Arrival { at: k * 1_000_000, class: 1, bytes: 1500 }));
        trace.sort_by_key(|arrival| arrival.at);
        let sent = serve(Wfq::new(&shares(&[1, 3]), rate).unwrap(), rate, 2, &trace);
        let worst = sent.iter().filter(|sent| sent.class == 0).map(|sent| sent.end - sent.at).max();
        // 3 * 500 B * 4 us + 1500 B * 1 us = 7.5 ms.
        assert!(worst.unwrap() <= 7_500_000, "{worst:?}");
    }
}

mod demers_keshav_shenker1989 {
    use super::*;

    #[test]
    fn bytes_of_backlogged_classes_are_as_their_weights() {
        let sched = Wfq::new(&shares(&[1, 2, 5]), 8_000_000).unwrap();
        let sent = saturated(sched, &[1000, 300, 1500], 20_000);
        let total: u64 = sent.iter().sum();
        for (bytes, weight) in sent.iter().zip([1.0, 2.0, 5.0]) {
            let share = *bytes as f64 / total as f64;
            assert!((share - weight / 8.0).abs() < 0.001, "{share} for {weight}");
        }
    }

    /// Equal weights, 1 us a byte. Class 0 has 4 packets of 100 B from 0; class 1 gets 2 at
    /// 100 us. GPS: packet a1 done at 100; then both at half rate: V(100) = 100, so class 1 finishes
    /// at V = 200 and 300, class 0 at 200, 300 and 400; equal finishes go by class index.
    #[test]
    fn a_class_that_wakes_up_gets_no_credit_for_its_silence() {
        let trace =
            [(0, 0, 100), (0, 0, 100), (0, 0, 100), (0, 0, 100), (100, 1, 100), (100, 1, 100)];
        let sent =
            serve(Wfq::new(&shares(&[1, 1]), 8_000_000).unwrap(), 8_000_000, 2, &arrivals(&trace));
        let order: Vec<_> = sent.iter().map(|sent| sent.class).collect();
        assert_eq!(order, [0, 0, 1, 0, 1, 0]);
    }

    /// Where GPS and a self-clocked server (SCFQ) part. Weights 1 and 1, 1 us a byte: class 0 has
    /// one packet of 1000 B at 0, class 1 one of 100 B at 500 us, class 0 one of 1000 B at 500 us,
    /// class 2 one of 550 B at 900 us. GPS: V(500) = 500; classes 0 and 1 share until class 1 is
    /// through at V = 600, real 700; class 0 alone until 900: V = 800. So F2 = 800 + 550 = 1350 and
    /// the second packet of class 0 has F = 2000. SCFQ would give V = 1000 (in service): F2 = 1550.
    #[test]
    fn virtual_time_is_that_of_the_fluid_server() {
        let mut sched = Wfq::new(&shares(&[1, 1, 1]), 8_000_000).unwrap();
        let us = 8_000_000 * 1000; // bit ns of virtual time in a microsecond at weight 1
        for (at, class, bytes) in [(0, 0, 1000), (500, 1, 100), (500, 0, 1000), (900, 2, 550)] {
            sched.on_enqueue(class, bytes, true, at * 1000);
        }
        assert_eq!(sched.virtual_time, 800 * us);
        assert_eq!(sched.last_finish, [2000 * us, 600 * us, 1350 * us]);
    }
}

/// 10^6 packets of 40 B in 2 classes at a rate with remainders: the fluid server's virtual
/// time after T ns of joint backlog is exactly floor(rate * T / 2).
#[test]
fn virtual_time_does_not_drift() {
    let rate = 9_999_991;
    let mut sched = Wfq::new(&shares(&[1, 1]), rate).unwrap();
    for _ in 0..2 {
        sched.on_enqueue(0, u32::MAX, false, 0);
        sched.on_enqueue(1, u32::MAX, false, 0);
    }
    let mut now = 0;
    for step in 0..1_000_000u64 {
        now += 1 + step % 7;
        sched.advance(now);
    }
    assert_eq!(sched.virtual_time, u128::from(rate) * u128::from(now) / 2);
}

#[test]
fn a_weight_of_zero_is_refused() {
    let refused = Wfq::new(&shares(&[1, 0]), 8_000_000).unwrap_err();
    assert_eq!((refused.key, refused.why.as_str()), ("weight", "must be above 0 (class 1)"));
}
