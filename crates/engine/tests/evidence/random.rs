//! Random small networks: every run ends, its books balance, nothing overtakes within a flow.

use crate::support::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use trunkline_agent::tcp::{DelayedAck, TcpConfig, Variant};
use trunkline_agent::udp::Size;
use trunkline_engine::network::{Agent, FlowKey, Flows, Hosts, Overflow, PortConfig, Queue, Ttl};
use trunkline_engine::observer::Event;
use trunkline_port::aqm::{
    AqmConfig, Arithmetic, BlueConfig, CobaltConfig, CodelConfig, DualPi2Config, PieConfig,
    RedConfig, Spacing, StepConfig, Unit,
};

pub const NODES: usize = 5;
const NAMES: [&str; NODES] = ["n0", "n1", "n2", "n3", "n4"];

fn any_queue() -> impl Strategy<Value = Queue> {
    let red = RedConfig {
        min_th: 2.0,
        max_th: 8.0,
        max_p: 0.1,
        w_q: 0.05,
        gentle: true,
        unit: Unit::Packets,
        mean_packet_bytes: 500,
        spacing: Spacing::Uniform,
        adaptive: false,
    };
    let codel = CodelConfig {
        target_ns: MS,
        interval_ns: 10 * MS,
        mtu_bytes: 500,
        ce_threshold_ns: None,
        arithmetic: Arithmetic::Exact,
    };
    let pie = PieConfig {
        target_ns: 2 * MS,
        tupdate_ns: 5 * MS,
        alpha: 0.125,
        beta: 1.25,
        burst_ns: 10 * MS,
        mtu_bytes: 500,
        arithmetic: Arithmetic::Linux,
    };
    let blue = BlueConfig {
        threshold: 6,
        unit: Unit::Packets,
        increment: 0.02,
        decrement: 0.002,
        freeze_ns: 5 * MS,
    };
    let cobalt = CobaltConfig { target_ns: MS, interval_ns: 10 * MS, mtu_time_ns: MS / 4 };
    let dualpi2 = DualPi2Config {
        target_ns: 2 * MS,
        tupdate_ns: 4 * MS,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step_ns: MS / 2,
        protection: 0.1,
        mtu_bytes: 500,
    };
    let aqm = prop_oneof![
        Just(UNLIMITED.aqm),
        Just(AqmConfig::Red(red)),
        Just(AqmConfig::Codel(codel)),
        Just(AqmConfig::Pie(pie)),
        Just(AqmConfig::Blue(blue)),
        Just(AqmConfig::Step(StepConfig { threshold: 4, unit: Unit::Packets })),
        Just(AqmConfig::Cobalt(cobalt)),
        Just(AqmConfig::Dualpi2(dualpi2)),
    ];
    let overflow = prop_oneof![Just(Overflow::Arrival), Just(Overflow::Tail), Just(Overflow::Head)];
    let flows = (0..3u8, any::<bool>(), overflow).prop_map(|(kind, new_first, overflow)| Flows {
        // A set of 16 holds all flows here: those of a full set may overtake themselves.
        queues: [None, Some(2), Some(16)][usize::from(kind)],
        labelled: FlowKey::Label,
        quantum_bytes: 700,
        new_first,
        flow_limit_packets: Some(20),
        overflow,
        batch: 4,
        ways: if kind == 2 { 16 } else { 1 },
        hosts: if kind == 2 { Hosts::Both } else { Hosts::Flows },
    });
    let flows = proptest::option::of(flows);
    let packets = proptest::option::of(1..40u32);
    let bytes = proptest::option::of(1500..30_000u64);
    (packets, bytes, any::<bool>(), aqm, flows).prop_map(
        |(limit_packets, limit_bytes, counts, aqm, flows)| Queue {
            limit_packets,
            limit_bytes,
            counts_in_service: counts,
            aqm,
            flows,
        },
    )
}

/// A port for `flows` flows, each its own class unless it is a FIFO.
fn any_port(flows: usize) -> impl Strategy<Value = PortConfig> {
    let shares = proptest::collection::vec(1..9u32, flows);
    (0..8u8, any_queue(), shares).prop_map(move |(kind, queue, shares)| {
        let mut port = match kind {
            0 => return fifo(queue),
            1 => priority(flows as u32, &queue),
            2 => drr(&shares.iter().map(|share| share * 300).collect::<Vec<_>>(), &queue),
            3 => wrr(&shares, &queue),
            4 => tbf(u64::from(shares[0]) * 500_000, 2000 * u64::from(shares[0]), &queue),
            5 => hfsc(&shares, &queue),
            6 => cake(&shares, &queue),
            _ => wfq(&shares, &queue),
        };
        if kind == 4 {
            return port;
        }
        port.classifier = by_flow(flows);
        port
    })
}

fn any_agent() -> impl Strategy<Value = Agent> {
    let variant = prop_oneof![
        Just(Variant::Tahoe),
        Just(Variant::Reno),
        Just(Variant::NewReno),
        Just(Variant::Sack)
    ];
    let delayed = prop_oneof![
        Just(None),
        Just(Some(DelayedAck { timeout_ns: 100 * MS, every: 2, quick: 0 }))
    ];
    let size = proptest::option::of(1..200_000u64);
    let overhead = prop_oneof![Just(0), Just(MS)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let transfer = (variant, delayed, size, overhead, flags).prop_map(
        |(variant, delayed_ack, size_bytes, send_overhead_ns, (timestamps, ecn, connect))| {
            let config = TcpConfig {
                delayed_ack,
                size_bytes,
                send_overhead_ns,
                timestamps,
                ecn,
                connect,
                limited_transmit: timestamps,
                window_packets: 64,
                ..tcp(variant)
            };
            Agent::Tcp(config)
        },
    );
    let rate = 100_000..8_000_000u64;
    prop_oneof![
        transfer,
        (rate.clone(), 20..1500u32).prop_map(|(rate, bytes)| cbr(rate, bytes)),
        (rate.clone(), 20.0..800.0f64)
            .prop_map(|(rate, mean_bytes)| poisson(rate, Size::Exponential { mean_bytes })),
        (rate, 20..1500u32).prop_map(|(rate, bytes)| on_off(rate, bytes, 30 * MS, 50 * MS)),
    ]
}

#[derive(Clone, Debug)]
struct FlowPlan {
    ends: (usize, usize),
    agent: Agent,
    tunnel: Option<(Removal, Ttl)>,
    start_ns: u64,
    ttl: u8,
}

fn any_flow() -> impl Strategy<Value = FlowPlan> {
    let ends = (0..NODES, 1..NODES).prop_map(|(src, step)| (src, (src + step) % NODES));
    let removal = prop_oneof![
        Just(Removal::Penultimate),
        Just(Removal::Ultimate),
        Just(Removal::ExplicitNull)
    ];
    let model = prop_oneof![Just(Ttl::Uniform), Just(Ttl::Pipe)];
    let tunnel = proptest::option::of((removal, model));
    (ends, any_agent(), tunnel, 0..SECOND, 1..70u8).prop_map(
        |(ends, agent, tunnel, start_ns, ttl)| FlowPlan { ends, agent, tunnel, start_ns, ttl },
    )
}

/// Nodes in a row with links of any rate, delay, loss and port; flows either way, some in paths.
pub fn any_lab() -> impl Strategy<Value = Lab> {
    let flows = proptest::collection::vec(any_flow(), 1..6);
    flows.prop_flat_map(|flows| {
        let loss = prop_oneof![Just(0.0), Just(0.02)];
        let mtu = prop_oneof![4 => Just(65_535), 1 => 300..1600u32];
        let link = (100_000..50_000_000u64, 0..8 * MS, 0..40u32, loss, mtu);
        let links = proptest::collection::vec((link, any_port(flows.len())), 2 * (NODES - 1));
        (Just(flows), links, 0..SECOND, SECOND + 1..3 * SECOND).prop_map(build)
    })
}

/// RFC 9331 section 5.1: what is marked CE waits apart in DualPI2 from then on, and may overtake
/// packets of its flow that are not.
fn may_overtake(lab: &Lab, flow: usize) -> bool {
    let is_dual = |queue: &Queue| matches!(queue.aqm, AqmConfig::Dualpi2(_));
    let mut classes = lab.network.ports.iter().flat_map(|port| &port.classes);
    let capable = matches!(&*lab.network.flows[flow].agent, Agent::Tcp(config) if config.ecn);
    capable && classes.any(|class| is_dual(&class.queue))
}

type LinkPlan = ((u64, u64, u32, f64, u32), PortConfig);

fn build((flows, links, warmup, duration): (Vec<FlowPlan>, Vec<LinkPlan>, u64, u64)) -> Lab {
    let mut lab = Lab::chain(&NAMES, MBIT, 0);
    for (index, ((rate, delay, header, loss, mtu), port)) in links.into_iter().enumerate() {
        let link = &mut lab.network.links[index];
        (link.rate_bit_s, link.delay_ns, link.header_bytes) = (rate, delay, header);
        (link.loss, link.mtu_bytes) = (loss, mtu);
        lab.feed(index as u32, port);
    }
    for (index, plan) in flows.into_iter().enumerate() {
        let (src, dst) = plan.ends;
        let flow = lab.flow(&format!("flow{index}"), NAMES[src], NAMES[dst], plan.agent);
        lab.network.flows[flow].start_ns = plan.start_ns;
        lab.network.flows[flow].ttl = plan.ttl;
        if let Some((removal, ttl)) = plan.tunnel {
            let mut route = NAMES[src.min(dst)..=src.max(dst)].to_vec();
            if src > dst {
                route.reverse();
            }
            lab.carry(
                flow,
                &Tunnel { route: &route, first_label: 100 * flow as u32 + 100, removal, ttl },
            );
        }
    }
    lab.lasting(warmup, duration);
    lab
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", self.network)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_260_301),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// `finish` checks conservation by flow and Little's law by class, exactly. Beyond it: one
    /// class per flow on one path keeps order, no line sends more than its rate, the same seed
    /// gives the same tables, and with or without a trace.
    #[test]
    fn any_network_conserves_packets_keeps_order_and_repeats(lab in any_lab(), seed in 0..1000u64) {
        let run = lab.try_run(seed).map_err(|failure| TestCaseError::fail(failure.to_string()))?;
        for flow in 0..lab.network.flows.len() {
            if !may_overtake(&lab, flow) {
                prop_assert_eq!(run.flow(flow, "reordered"), 0.0);
            }
            // Whatever averages nothing is none; what averages something is a number.
            let timed = run.flow(flow, "packets_timed");
            let compared = run.flow(flow, "delays_compared");
            prop_assert!(timed <= run.flow(flow, "packets_delivered"));
            prop_assert!(compared <= timed && timed <= compared + 1.0);
            prop_assert_eq!(run.flow(flow, "delay_mean_ns").is_nan(), timed == 0.0);
            prop_assert_eq!(run.flow(flow, "delay_max_ns") < 0.0, timed == 0.0);
            prop_assert_eq!(run.flow(flow, "jitter_ns").is_nan(), compared == 0.0);
            let payload = run.flow(flow, "goodput_bytes");
            prop_assert!(payload <= run.flow(flow, "bytes_delivered") + 1e6);
        }
        let span = (lab.network.run.duration_ns - lab.network.run.warmup_ns) as f64;
        for (index, link) in lab.network.links.iter().enumerate() {
            let classes = lab.network.ports[link.port as usize].classes.len() as u16;
            for class in 0..classes {
                let waited = run.class(index as u32, class, "packets_waited");
                let mean = run.class(index as u32, class, "wait_mean_ns");
                prop_assert_eq!(mean.is_nan(), waited == 0.0);
            }
            let sent: f64 = (0..classes).map(|c| run.class(index as u32, c, "bytes_sent")).sum();
            let room = span * link.rate_bit_s as f64 / 8e9 + 65_600.0;
            prop_assert!(sent <= room, "link {}: {} B of {}", index, sent, room);
        }
        prop_assert!(run.bits(&[]) == lab.trace(seed).bits(&[]));
    }

    /// On every link a flow's packets come off in the order they joined, each direction apart:
    /// what arrives is a subsequence of what joined (the rest was lost on the wire or is on it).
    #[test]
    fn any_network_keeps_the_order_of_a_flow_on_every_link(lab in any_lab(), seed in 0..1000u64) {
        let mut joined: BTreeMap<(u32, u32, bool), VecDeque<(u64, u32)>> = BTreeMap::new();
        for line in lab.trace(seed).lines {
            let packet = line.packet;
            if may_overtake(&lab, packet.flow as usize) {
                continue;
            }
            let same = (packet.sent_at, packet.seq);
            match line.event {
                Event::Queued { link } => {
                    let row = (link, packet.flow, packet.is_reverse());
                    joined.entry(row).or_default().push_back(same);
                }
                Event::Arrived { link } => {
                    let row = (link, packet.flow, packet.is_reverse());
                    let queue = joined.entry(row).or_default();
                    let place = queue.iter().position(|before| *before == same);
                    prop_assert!(place.is_some(), "overtaken: {:?}", line);
                    queue.drain(..=place.unwrap_or(0));
                }
                _ => {}
            }
        }
    }
}
