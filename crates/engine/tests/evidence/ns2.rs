//! Side by side with ns-2 2.35. `ns2/README.md` says how the files were made.

use crate::support::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{Agent, Measure, Queue};
use trunkline_port::aqm::{AqmConfig, RedConfig, Spacing, Unit};

/// Rows of a file, its header left out, as fields.
fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

/// NewReno with ns-2's timers: a clock of 10 ms, one segment timed at a time.
fn new_reno() -> TcpConfig {
    TcpConfig {
        rto_initial_ns: 3 * SECOND,
        tick_ns: 10 * MS,
        timestamps: false,
        window_packets: 1000,
        ..tcp(Variant::NewReno)
    }
}

struct OneFlow {
    drops: Vec<(u64, u64)>,
    cwnd: Vec<f64>,
    acked: f64,
}

impl OneFlow {
    fn theirs() -> Self {
        let mut read = Self { drops: vec![], cwnd: vec![], acked: 0.0 };
        for row in rows(include_str!("../ns2/one_flow.csv")) {
            let (time, value): (u64, u64) = (row[1].parse().unwrap(), row[2].parse().unwrap());
            match row[0] {
                "drop" => read.drops.push((time, value)),
                "cwnd" => read.cwnd.push(value as f64 / 1000.0),
                "acked" => read.acked = value as f64,
                _ => {}
            }
        }
        read
    }

    fn ours() -> Self {
        let mut lab = Lab::new();
        lab.duplex("source", "left", 97 * MBIT, MS);
        let (bottleneck, _) = lab.duplex("left", "right", 10 * MBIT, 20 * MS);
        lab.duplex("right", "sink", 97 * MBIT, MS);
        lab.feed(bottleneck, fifo(queue(50, false)));
        lab.flow("tcp", "source", "sink", Agent::Tcp(new_reno()));
        let cwnd = lab.probe(Measure::Cwnd, 0, 100 * MS);
        lab.lasting(0, 120 * SECOND);
        let run = lab.trace(1);
        let drops = run.lost(0).iter().map(|(at, packet)| (*at, u64::from(packet.seq))).collect();
        let samples = run.series(cwnd).into_iter().map(|(_, value)| value).collect();
        Self { drops, cwnd: samples, acked: run.flow(0, "goodput_bytes") / 1000.0 }
    }

    /// Times of the isolated losses that end each period of congestion avoidance.
    fn period_ends(&self) -> Vec<u64> {
        self.drops.iter().map(|(at, _)| *at).filter(|at| *at > 20 * SECOND).collect()
    }

    fn peak(&self) -> f64 {
        self.cwnd[200..].iter().copied().fold(0.0, f64::max)
    }
}

/// Same losses: count, segments, and times to within ns-2's printing.
#[test]
fn new_reno_over_10_mbit_s_and_50_packets_loses_the_same_segments() {
    let (ours, theirs) = (OneFlow::ours(), OneFlow::theirs());
    assert_eq!(ours.drops.len(), theirs.drops.len());
    for (ours, theirs) in ours.drops.iter().zip(&theirs.drops) {
        assert!(ours.1 == theirs.1 && ours.0.abs_diff(theirs.0) < 1000, "{ours:?} {theirs:?}");
    }
}

/// Mean goodput to 0.1 %, peak of the window to one segment, period of the sawtooth to 1 %.
#[test]
fn new_reno_over_10_mbit_s_and_50_packets_has_the_same_goodput_peak_and_period() {
    let (ours, theirs) = (OneFlow::ours(), OneFlow::theirs());
    assert!((ours.acked - theirs.acked).abs() <= 0.001 * theirs.acked);
    assert!((ours.peak() - theirs.peak()).abs() <= 1.0, "{} {}", ours.peak(), theirs.peak());
    let period = |ends: Vec<u64>| (ends[ends.len() - 1] - ends[0]) as f64 / (ends.len() - 1) as f64;
    let (our_period, their_period) = (period(ours.period_ends()), period(theirs.period_ends()));
    assert!((our_period / their_period - 1.0).abs() < 0.01, "{our_period} {their_period}");
    let far = ours.cwnd.iter().zip(&theirs.cwnd).filter(|(a, b)| (*a - *b).abs() > 0.01).count();
    assert_eq!(far, 0, "of {} samples of the window", theirs.cwnd.len());
}

/// The sawtooth by hand: the window peaks where line and queue are full, 44 ms and two
/// transmissions of 0.0858 ms on the access links aside: (44 ms + 0.17 ms) * 10 Mbit/s / 8320 bit
/// = 53.1 segments in flight, 1 in service, 50 waiting. ns-2 must agree with it as we do.
#[test]
fn new_reno_peaks_at_the_bandwidth_delay_product_plus_the_queue() {
    for flow in [OneFlow::ours(), OneFlow::theirs()] {
        let peak = flow.peak();
        assert!((104.0..=107.0).contains(&peak), "{peak}");
    }
}

/// Three CBR flows of 120 % of the line: packets that came and were dropped, flow by flow.
#[test]
fn cbr_overload_drops_as_many_of_each_flow() {
    let mut lab = Lab::new();
    let (line, _) = lab.duplex("left", "right", 10 * MBIT, 5 * MS);
    lab.feed(line, fifo(queue(20, false)));
    for (kbit_s, bytes, start_us) in [(5900, 1000, 139), (4100, 700, 137), (1990, 210, 251)] {
        let flow = lab.flow(&format!("{bytes} B"), "left", "right", cbr(kbit_s * 1000, bytes));
        lab.network.flows[flow].start_ns = start_us * US;
    }
    lab.flow("first", "left", "right", schedule(&[(0, 1000)]));
    lab.lasting(0, 60 * SECOND);
    let run = lab.run(1);
    for row in rows(include_str!("../ns2/cbr.csv")) {
        let fields: Vec<f64> = row.iter().map(|field| field.parse().unwrap()).collect();
        let flow = fields[0] as usize;
        let (came, dropped) = (run.flow(flow, "packets_sent"), run.flow(flow, "packets_dropped"));
        assert_eq!((came, dropped), (fields[1], fields[2]), "flow {flow}");
    }
}

/// Eight NewReno flows through RED: average queue, queue, drops and goodput over 100 s are those
/// of ns-2 but for chance (Welch's test on 20 runs each, alpha = 0.001 for each measure).
#[test]
fn red_with_eight_new_reno_flows_has_the_same_average_drops_and_goodput() {
    let theirs: Vec<[f64; 4]> = rows(include_str!("../ns2/red.csv"))
        .map(|row| std::array::from_fn(|k| row[k + 1].parse().unwrap()))
        .collect();
    let red = RedConfig {
        min_th: 5.0,
        max_th: 15.0,
        max_p: 0.1,
        w_q: 0.002,
        gentle: false,
        unit: Unit::Packets,
        mean_packet_bytes: 1040,
        spacing: Spacing::Ns2,
        adaptive: false,
    };
    let mut lab = Lab::new();
    let (line, _) = lab.duplex("left", "right", 10 * MBIT, 20 * MS);
    lab.feed(line, fifo(Queue { aqm: AqmConfig::Red(red), ..queue(60, false) }));
    for k in 0..8 {
        let (source, sink) = (format!("source{k}"), format!("sink{k}"));
        lab.duplex(&source, "left", 100 * MBIT, (k + 1) * MS);
        lab.duplex("right", &sink, 100 * MBIT, MS);
        let flow = lab.flow(&source, &source, &sink, Agent::Tcp(new_reno()));
        lab.network.flows[flow].start_jitter_ns = SECOND;
    }
    let average = lab.probe(Measure::QueueAverage, line as usize, 10_100_000);
    lab.lasting(20 * SECOND, 120 * SECOND);
    let ours = replicate(&lab, 20, |run| {
        let series = run.series(average);
        let after: Vec<f64> =
            series.iter().filter(|(at, _)| *at >= 20 * SECOND).map(|(_, value)| *value).collect();
        let goodput: f64 = (0..8).map(|flow| run.flow(flow, "goodput_bytes")).sum();
        [
            after.iter().sum::<f64>() / after.len() as f64,
            run.port(line, "queue_mean_packets"),
            run.port(line, "packets_dropped"),
            goodput / 1000.0,
        ]
    });
    for (k, ours) in ours.iter().enumerate() {
        let theirs = Interval::of(&theirs.iter().map(|row| row[k]).collect::<Vec<_>>());
        println!("{ours:?} {theirs:?}");
        ours.assert_like(&theirs, 0.03);
    }
}
