//! Probes: the steps of a rate add up to the total, a warm-up moves no sample.

use crate::support::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{Agent, Measure, Queue};
use trunkline_port::aqm::{AqmConfig, StepConfig, Unit};

const STEP: u64 = 100 * MS;

/// CBR of 6 Mbit/s and a transfer share 8 Mbit/s; both are over at 9 s, the run at 10.05 s.
fn watched(warmup: u64) -> Outcome {
    run_watched(warmup, queue(8, false), false)
}

fn run_watched(warmup: u64, queue: Queue, ecn: bool) -> Outcome {
    let mut lab = Lab::server(8 * MBIT, fifo(queue));
    let stop = Some(9 * SECOND);
    lab.flow("cbr", "a", "b", cbr(6 * MBIT, 700));
    let size_bytes = Some(if ecn { 500_000 } else { 2_000_000 });
    let config = TcpConfig { size_bytes, ecn, ..tcp(Variant::NewReno) };
    lab.flow("tcp", "a", "b", Agent::Tcp(config));
    lab.network.flows[0].stop_ns = stop;
    for (measure, target) in [
        (Measure::Throughput, 0),
        (Measure::Throughput, 1),
        (Measure::Goodput, 0),
        (Measure::Goodput, 1),
        (Measure::Drops, 0),
        (Measure::Utilisation, 0),
        (Measure::Delay, 0),
        (Measure::DelayMax, 0),
        (Measure::Marks, 0),
    ] {
        lab.probe(measure, target, STEP);
    }
    lab.lasting(warmup, 10_050 * MS);
    lab.run(1)
}

/// Each sample is the mean over its step of 0.1 s: the sum of the samples, times 0.1 s, is the
/// column of the table, in bits for rates of flows, packets for drops, seconds for the load.
#[test]
fn the_samples_of_a_rate_add_up_to_the_total() {
    let run = watched(0);
    let sum = |probe| run.series(probe).iter().map(|(_, value)| value).sum::<f64>() * 0.1;
    assert_eq!(run.flow(1, "goodput_bytes"), 2_000_000.0, "the transfer is over");
    for (probe, total) in [
        (0, 8.0 * run.flow(0, "bytes_delivered")),
        (1, 8.0 * run.flow(1, "bytes_delivered")),
        (2, 8.0 * run.flow(0, "goodput_bytes")),
        (3, 8.0 * run.flow(1, "goodput_bytes")),
        (4, run.port(0, "packets_dropped")),
        (5, run.port(0, "bytes_sent") / 1e6),
    ] {
        let sum = sum(probe);
        assert!(total > 1.0, "probe {probe} saw something: {total}");
        assert!((sum - total).abs() < 1e-9 * total, "probe {probe}: {sum} of {total}");
    }
    // Throughput counts the 40 B of headers of each segment, goodput does not.
    assert!(run.flow(1, "bytes_delivered") >= 2_080_000.0);
}

/// Counters restart in the middle of a step; the series does not notice.
#[test]
fn a_warm_up_in_the_middle_of_a_step_moves_no_sample() {
    let (uncut, cut) = (watched(0), watched(2_030 * MS));
    for probe in 0..6 {
        assert!(uncut.series(probe) == cut.series(probe), "probe {probe}");
        assert_eq!(uncut.series(probe).len(), 100);
    }
    assert!(cut.flow(0, "packets_sent") < 0.8 * uncut.flow(0, "packets_sent"));
}

/// The packets in the network are counted a thousand times, at equal distances: here each 10 ms. Nine that are
/// there from 2014 ms to 2016 ms are not seen, seven from 3009 ms to 3011 ms are.
#[test]
fn the_peak_is_the_most_packets_at_any_of_a_thousand_times() {
    let mut lab = Lab::chain(&["a", "b"], 10 * GBIT, 2 * MS);
    let bursts = [vec![(2_014 * MS, 100); 9], vec![(3_009 * MS, 100); 7]].concat();
    lab.flow("bursts", "a", "b", schedule(&bursts));
    assert_eq!(lab.run(1).summary("packets_peak"), 7.0);
}

/// 1000 B take 1 s. At 0.5 s the first of five packets of 1000 B is being sent; the others wait in the first
/// class, and three of 500 B in the second.
#[test]
fn a_queue_is_read_by_class_and_by_precedence() {
    let mut lab = Lab::server(8_000, priority(2, &UNLIMITED));
    lab.flow("large", "a", "b", schedule(&[(0, 1000); 5]));
    lab.flow("small", "a", "b", schedule(&[(0, 500); 3]));
    lab.class_per_flow(0);
    let mut by_hand = Vec::new();
    for (class, precedence, packets, bytes) in [
        (None, None, 7.0, 5500.0),
        (Some(0), None, 4.0, 4000.0),
        (Some(1), None, 3.0, 1500.0),
        (None, Some(0), 7.0, 5500.0),
        (Some(0), Some(0), 4.0, 4000.0),
        (Some(1), Some(0), 3.0, 1500.0),
        (Some(1), Some(1), 0.0, 0.0),
    ] {
        for (measure, value) in [(Measure::QueuePackets, packets), (Measure::QueueBytes, bytes)] {
            let probe = lab.probe(measure, 0, SECOND / 2);
            (lab.network.probes[probe].class, lab.network.probes[probe].precedence) =
                (class, precedence);
            by_hand.push(value);
        }
    }
    lab.lasting(0, SECOND);
    let run = lab.run(1);
    let read: Vec<f64> = (0..by_hand.len()).map(|probe| run.series(probe)[0].1).collect();
    assert_eq!(read, by_hand);
}

/// The same of a port that marks: the samples add up to what it marked, and delays have a mean and a greatest.
#[test]
fn samples_of_marks_and_delays_add_up_and_a_warm_up_moves_none() {
    let aqm = AqmConfig::Step(StepConfig { threshold: 4, unit: Unit::Packets });
    let run = |warmup| run_watched(warmup, Queue { aqm: aqm.clone(), ..queue(40, false) }, true);
    let (uncut, cut) = (run(0), run(2_030 * MS));
    for probe in 6..9 {
        let samples = |run: &Outcome| -> Vec<u64> {
            run.series(probe).iter().map(|(_, value)| value.to_bits()).collect()
        };
        assert_eq!(samples(&uncut), samples(&cut), "probe {probe}");
    }
    assert_eq!(uncut.flow(1, "goodput_bytes"), 500_000.0, "the transfer is over");
    let marked: f64 = uncut.series(8).iter().map(|(_, rate)| rate * 0.1).sum();
    assert!(marked > 10.0 && (marked - uncut.port(0, "packets_marked")).abs() < 1e-6, "{marked}");
    let greatest = uncut.series(7).iter().map(|(_, delay)| *delay).fold(0.0, f64::max);
    assert_eq!((greatest * 1e9).round(), uncut.flow(0, "delay_max_ns"));
    let last = uncut.series(7).last().map(|(_, delay)| delay.is_nan());
    assert_eq!(last, Some(true), "nothing arrives in the last step");
    for ((_, mean), (_, max)) in uncut.series(6).iter().zip(uncut.series(7)) {
        assert!(mean.is_nan() && max.is_nan() || *mean <= max, "{mean} {max}");
    }
}
