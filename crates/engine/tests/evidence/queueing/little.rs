//! Little's law and Lindley's recursion: the engine's counters against a second bookkeeping.

use super::*;
use trunkline_engine::network::Measure;
use trunkline_engine::observer::Event;

/// L = lambda W over the waiting room, from three columns that are counted apart. The run's ends
/// cut at most one queueful of waits. Source: Little, Operations Research 9(3), 1961.
#[test]
fn little_1961_mean_queue_is_rate_times_mean_wait() {
    for (port, classes) in [
        (fifo(queue(30, false)), 1),
        (priority(2, &queue(30, true)), 2),
        (drr(&[500, 1500], &queue(30, false)), 2),
        (wfq(&[1, 3], &queue(30, false)), 2),
    ] {
        let mut lab = Lab::server(RATE, port);
        lab.flow("x", "a", "b", poisson(RATE / 2, FIXED));
        lab.flow("y", "a", "b", poisson(RATE / 2, sizes(&[200, 1500])));
        if classes > 1 {
            lab.class_per_flow(0);
        }
        lab.lasting(10 * SECOND, 310 * SECOND);
        let run = lab.run(3);
        for class in 0..classes {
            let column = |name| run.class(0, class, name);
            let rate = (column("packets_offered") - column("packets_dropped")) / 300e9;
            let (queue, wait) = (column("queue_mean_packets"), column("wait_mean_ns"));
            assert!(queue > 0.2, "the class waits: {queue}");
            // 31 packets for 40 ms of 300 s are under 0.005 packets.
            assert!((queue - rate * wait).abs() < 0.005, "{queue} {}", rate * wait);
        }
    }
}

/// Lindley: W' = max(0, W + S - A), in whole nanoseconds for every packet of a run, with S the
/// bytes' exact share of the line; the sum is the wait column's.
/// Source: Lindley, Proc. Cambridge Philosophical Society 48, 1952.
#[test]
fn lindley_1952_every_packet_waits_as_the_recursion_says() {
    let mut lab = offered(0.95, sizes(&[40, 577, 1500]), fifo(UNLIMITED));
    lab.network.links[0].rate_bit_s = 7_777_777; // transmission times are not whole
    lab.network.links[0].delay_ns = 123_457;
    lab.lasting(0, 40 * SECOND);
    let run = lab.trace(5);
    let queued = run.events(0, false, |event| event == Event::Queued { link: 0 });
    let arrived = run.arrived(0, 0);
    assert!(arrived.len() > 20_000, "{}", arrived.len());
    let (mut free_at, mut remainder, mut waits) = (0u64, 0u128, 0u64);
    for ((joined, packet), (came, same)) in queued.iter().zip(&arrived) {
        assert_eq!(packet.seq, same.seq);
        let work = u128::from(packet.ip_bytes) * 8_000_000_000 + remainder;
        remainder = work % 7_777_777;
        let start = free_at.max(*joined);
        free_at = start + (work / 7_777_777) as u64;
        waits += start - joined;
        assert_eq!(*came, free_at + 123_457, "packet {}", packet.seq);
    }
    for (joined, _) in &queued[arrived.len()..] {
        waits += free_at.max(*joined) - joined; // at most one more counted than is on its way
    }
    let mean = run.port(0, "wait_mean_ns");
    let counted = mean * run.port(0, "packets_offered");
    let tail = (queued.len() - arrived.len()) as f64 * 100.0 * SERVICE;
    assert!((counted - waits as f64).abs() <= tail, "{counted} {waits}");
}

/// The queue seen by a probe in steps that do not follow the arrivals has the mean of the
/// integral: those waiting, without the one being sent.
#[test]
fn a_probe_sees_the_mean_queue_and_the_load() {
    let mut lab = offered(0.8, FIXED, fifo(UNLIMITED));
    let packets = lab.probe(Measure::QueuePackets, 0, 777_777);
    let busy = lab.probe(Measure::Utilisation, 0, 100 * MS);
    lab.lasting(5 * SECOND, 605 * SECOND);
    let run = lab.run(2);
    let mean = |probe| {
        let series = run.series(probe);
        let after: Vec<f64> =
            series.iter().filter(|(at, _)| *at > 5 * SECOND).map(|(_, value)| *value).collect();
        after.iter().sum::<f64>() / after.len() as f64
    };
    let sent = run.port(0, "packets_sent");
    assert!((mean(busy) - sent * SERVICE / 600e9).abs() < 1e-5, "{}", mean(busy));
    let waiting = run.port(0, "queue_mean_packets");
    // 770,000 samples of a queue with standard deviation 2 and memory of some 50 samples.
    assert!((mean(packets) - waiting).abs() < 0.03 * waiting, "{} {waiting}", mean(packets));
}
