//! Networks that cannot be run are refused before the run, with the place and the reason.

use crate::recovery::bench::Bench;
use crate::support::*;
use trunkline_agent::tcp::{DelayedAck, TcpConfig, Variant};
use trunkline_agent::udp::{Arrivals, Gaps, Size, UdpConfig};
use trunkline_agent::workload::{OpenConfig, TransferGaps, TransferSizes};
use trunkline_engine::network::recovery::{Detection, Protection, Switch};
use trunkline_engine::network::{Agent, Link, Opened, Transfers};
use trunkline_engine::RunError;

/// Makes one thing wrong.
type Spoil<T> = fn(&mut T);

#[track_caller]
fn refused(lab: &Lab, expected: &str) {
    match lab.try_run(1) {
        Err(RunError::Invalid(why)) => assert_eq!(why, expected),
        other => panic!("{expected}: {other:?}"),
    }
}

fn with_agent(agent: Agent) -> Lab {
    let mut lab = Lab::server(MBIT, fifo(queue(10, false)));
    lab.flow("f", "a", "b", agent);
    lab.lasting(0, SECOND);
    lab
}

#[test]
fn links_out_of_range_are_refused() {
    let wrong: [(Spoil<Link>, &str); 7] = [
        (|link| link.loss = f64::NAN, "link a->b: loss must be in 0..=1"),
        (|link| link.loss = 1.5, "link a->b: loss must be in 0..=1"),
        (|link| link.delay_ns = u64::MAX, "link a->b: delay_ns must be at most 100 years"),
        (|link| link.header_bytes = 1 << 24, "link a->b: header_bytes must be at most 65535"),
        (|link| link.rate_bit_s = 0, "link a->b: rate must be in 1..=10^13 bit/s"),
        (|link| link.to = 9, "node 9 does not exist, there are 2"),
        (|link| link.port = 9, "port 9 does not exist, there are 2"),
    ];
    for (spoil, expected) in wrong {
        let mut lab = with_agent(cbr(MBIT, 1000));
        spoil(&mut lab.network.links[0]);
        refused(&lab, expected);
    }
}

#[test]
fn flows_out_of_range_are_refused() {
    let mut to_itself = with_agent(cbr(MBIT, 1000));
    to_itself.network.flows[0].dst = 0;
    refused(&to_itself, "flow f: source and destination are the same node");
    let mut marked = with_agent(cbr(MBIT, 1000));
    marked.network.flows[0].dscp = 64;
    refused(&marked, "flow f: dscp must be below 64");
    let mut late = with_agent(cbr(MBIT, 1000));
    late.network.flows[0].start_ns = u64::MAX;
    refused(&late, "flow f: start_ns must be at most 100 years");
    let mut endless = with_agent(cbr(MBIT, 1000));
    endless.network.run.duration_ns = u64::MAX;
    refused(&endless, "run: duration_ns must be at most 100 years");
}

#[test]
fn datagrams_out_of_range_are_refused() {
    let choice = |bytes: &[u32], weights: &[f64]| {
        poisson(MBIT, Size::Choice { bytes: bytes.to_vec(), weights: weights.to_vec() })
    };
    let ticking = |tick_ns, phase_ns| {
        let Agent::Udp(config) = cbr(MBIT, 1000) else { unreachable!() };
        Agent::Udp(UdpConfig { tick_ns, phase_ns, ..config })
    };
    for (agent, why) in [
        (ticking(MS, MS), "phase_ns must be below tick_ns"),
        (ticking(0, 1), "phase_ns must be below tick_ns"),
        (cbr(0, 1000), "rate_bit_s must be above 0"),
        (cbr(MBIT, 0), "bytes must be in 1..=65535"),
        (cbr(MBIT, 65_536), "bytes must be in 1..=65535"),
        (poisson(MBIT, Size::Exponential { mean_bytes: 0.0 }), "mean_bytes must be above 0"),
        (poisson(MBIT, Size::Exponential { mean_bytes: f64::NAN }), "mean_bytes must be above 0"),
        (choice(&[], &[]), "weights must be 0 or more, one above"),
        (choice(&[100, 200], &[1.0]), "bytes and weights must be as many"),
        (choice(&[100, 200], &[1.0, -1.0]), "weights must be 0 or more, one above"),
        (on_off(MBIT, 1000, 0, SECOND), "mean_on_ns must be above 0"),
        (schedule(&[(5, 100), (4, 100)]), "times_ns must not decrease"),
        (schedule(&[(5, 0)]), "bytes must be in 1..=65535"),
    ] {
        refused(&with_agent(agent), &format!("flow f: {why}"));
    }
}

#[test]
fn connections_out_of_range_are_refused() {
    let wrong: [(Spoil<TcpConfig>, &str); 10] = [
        (|config| config.mss_bytes = 0, "mss_bytes must be above 0"),
        (
            |config| config.mss_bytes = 65_500,
            "mss_bytes and header_bytes must be at most 65535 together",
        ),
        (|config| config.ack_bytes = 0, "ack_bytes must be in 1..=65535"),
        (|config| config.window_packets = 0, "window_packets must be above 0"),
        (|config| config.initial_window = f64::NAN, "initial_window must be 1 or more"),
        (|config| config.initial_ssthresh = Some(-1.0), "initial_ssthresh must be above 0"),
        (|config| config.dup_acks = 0, "dup_acks must be above 0"),
        (|config| config.tick_ns = 0, "tick_ns must be above 0"),
        (|config| config.rto_max_ns = 1, "rto_min_ns must be at most rto_max_ns"),
        (
            |config| config.delayed_ack = Some(DelayedAck { timeout_ns: MS, every: 0, quick: 0 }),
            "delayed_ack: every must be above 0",
        ),
    ];
    for (spoil, why) in wrong {
        let mut config = tcp(Variant::NewReno);
        spoil(&mut config);
        refused(&with_agent(Agent::Tcp(config)), &format!("flow f: {why}"));
    }
}

/// JSON has no infinity, a program has: no time or size is drawn from it.
#[test]
fn infinite_numbers_are_refused() {
    const INFINITY: f64 = f64::INFINITY;
    let gaps = |location_ns, scale_ns| {
        let gaps = Gaps::Gumbel { location_ns, scale_ns };
        udp(Arrivals::Gaps(gaps), MBIT, Size::Fixed { bytes: 9 })
    };
    let sizes = |location_bytes, scale_bytes| {
        poisson(MBIT, Size::Gumbel { location_bytes, scale_bytes, header_bytes: 28 })
    };
    let choice = Size::Choice { bytes: vec![1, 2], weights: vec![1.0, INFINITY] };
    let window = TcpConfig { initial_window: INFINITY, ..tcp(Variant::NewReno) };
    let threshold = TcpConfig { initial_ssthresh: Some(INFINITY), ..tcp(Variant::NewReno) };
    for (agent, why) in [
        (gaps(INFINITY, 1.0), "scale_ns must be above 0"),
        (gaps(1.0, INFINITY), "scale_ns must be above 0"),
        (sizes(INFINITY, 1.0), "scale_bytes must be above 0"),
        (sizes(1.0, INFINITY), "scale_bytes must be above 0"),
        (poisson(MBIT, Size::Exponential { mean_bytes: INFINITY }), "mean_bytes must be above 0"),
        (poisson(MBIT, choice), "weights must be 0 or more, one above"),
        (Agent::Tcp(window), "initial_window must be 1 or more"),
        (Agent::Tcp(threshold), "initial_ssthresh must be above 0"),
    ] {
        refused(&with_agent(agent), &format!("flow f: {why}"));
    }
    let open = |gaps, sizes| {
        let mut lab = with_agent(Agent::Tcp(tcp(Variant::NewReno)));
        let opened = Opened::Arrivals(OpenConfig { gaps, sizes });
        let transfers = Transfers { opened, bins_bytes: vec![], record: false, kept: false };
        lab.network.flows[0].transfers = Some(transfers.into());
        lab
    };
    let periods =
        |mean_ns, mean_on_ns, mean_off_ns| TransferGaps::OnOff { mean_ns, mean_on_ns, mean_off_ns };
    let means = "mean_ns and mean_on_ns must be above 0, mean_off_ns 0 or more";
    for (gaps, why) in [
        (TransferGaps::Poisson { mean_ns: INFINITY }, "mean_ns must be above 0"),
        (TransferGaps::Periodic { gap_ns: INFINITY }, "gap_ns must be above 0"),
        (periods(INFINITY, 1.0, 1.0), means),
        (periods(1.0, INFINITY, 1.0), means),
        (periods(1.0, 1.0, INFINITY), means),
    ] {
        refused(&open(gaps, TransferSizes::Fixed { bytes: 1 }), &format!("flow f: {why}"));
    }
    let pareto = |shape, least_bytes, less| TransferSizes::Pareto {
        shape,
        least_bytes,
        most_bytes: INFINITY,
        cut: false,
        less,
    };
    let lognormal = |mu, sigma| {
        let (least_bytes, most_bytes) = (1.0, INFINITY);
        TransferSizes::Lognormal { mu, sigma, least_bytes, most_bytes }
    };
    let weibull = |shape, scale_bytes| TransferSizes::Weibull { shape, scale_bytes };
    let (bounds, law) =
        ("shape and least_bytes must be above 0", "sigma must be 0 or more, bounds in order");
    for (sizes, why) in [
        (TransferSizes::Exponential { mean_bytes: INFINITY }, "mean_bytes must be above 0"),
        (pareto(INFINITY, 1.0, 0.0), bounds),
        (pareto(1.0, INFINITY, 0.0), bounds),
        (pareto(1.0, 1.0, INFINITY), bounds),
        (lognormal(INFINITY, 1.0), law),
        (lognormal(1.0, INFINITY), law),
        (weibull(INFINITY, 1.0), "shape and scale must be above 0"),
        (weibull(1.0, INFINITY), "shape and scale must be above 0"),
        (
            TransferSizes::Table { bytes: vec![1.0, INFINITY], shares: vec![0.5, 1.0] },
            "bytes and shares must rise, the last share is 1",
        ),
    ] {
        let gaps = TransferGaps::Periodic { gap_ns: 1e6 };
        refused(&open(gaps, sizes), &format!("flow f: {why}"));
    }
}

/// What a protection names must be there; a bridge has a link for each of its copies.
#[test]
fn protections_of_what_is_not_there_are_refused() {
    let wrong: [(Spoil<Protection>, &str); 7] = [
        (|it| it.path = 2, "path 2 does not exist, there are 2"),
        (|it| it.node = 7, "node 7 does not exist, there are 7"),
        (|it| it.watches[0] = 14, "link 14 does not exist, there are 14"),
        (|it| it.switches[0].entry = 9, "nhlfe 9 does not exist, there are 9"),
        (|it| it.switches[0].alternative = 9, "nhlfe 9 does not exist, there are 9"),
        (|it| it.bridge = Some(Switch { entry: 0, alternative: 3 }), "a bridge sends on links"),
        (
            |it| it.detection = Detection::Bfd { interval_ns: 1, multiplier: 0 },
            "the multiplier must be above 0",
        ),
    ];
    for (spoil, expected) in wrong {
        let mut bench = Bench::new();
        let protection = bench.protect(Detection::Fixed { delay_ns: 0 });
        spoil(protection);
        refused(&bench.lab, &format!("protection p: {expected}"));
    }
}
