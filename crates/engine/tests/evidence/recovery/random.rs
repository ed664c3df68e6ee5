//! Random failures under random ports and protections: every run ends and its books balance. The
//! checks are the engine's own, made in every run: packets sent are delivered, lost or inside, and
//! Little's law holds exactly, which a wrong account of a queue cut short would break.

use super::bench::Bench;
use crate::support::{
    count_cases, drr, fifo, priority, queue, tcp, wfq, Outcome, MBIT, MS, SECOND,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use trunkline_agent::tcp::Variant;
use trunkline_engine::network::recovery::{Detection, Outages, ProtectionKind, Rerouting, Switch};
use trunkline_engine::network::{Agent, PortConfig};
use trunkline_engine::{run_cut, run_on_threads};
use trunkline_port::aqm::{AqmConfig, RedConfig, Spacing, Unit};

fn any_port() -> impl Strategy<Value = PortConfig> {
    let red = AqmConfig::Red(RedConfig {
        min_th: 3.0,
        max_th: 12.0,
        max_p: 0.1,
        w_q: 0.05,
        gentle: true,
        unit: Unit::Packets,
        mean_packet_bytes: 1000,
        spacing: Spacing::Uniform,
        adaptive: false,
    });
    (0..4u8, any::<bool>(), any::<bool>(), 1..60u32).prop_map(
        move |(kind, with_red, counts, limit)| {
            let mut queue_config = queue(limit, counts);
            if with_red {
                queue_config.aqm = red.clone();
            }
            let mut port = match kind {
                0 => return fifo(queue_config),
                1 => priority(3, &queue_config),
                2 => drr(&[600, 1500, 3000], &queue_config),
                _ => wfq(&[1, 2, 5], &queue_config),
            };
            port.classifier = crate::support::by_flow(3);
            port
        },
    )
}

fn any_detection() -> impl Strategy<Value = Detection> {
    prop_oneof![
        (0..80 * MS).prop_map(|delay_ns| Detection::Fixed { delay_ns }),
        (0..80 * MS).prop_map(|delay_ns| Detection::LossOfSignal { delay_ns }),
        (MS..30 * MS, 1..5u32)
            .prop_map(|(interval_ns, multiplier)| Detection::Bfd { interval_ns, multiplier }),
        (MS..30 * MS).prop_map(|interval_ns| Detection::Hello {
            interval_ns,
            timeout_ns: interval_ns * 7 / 2
        }),
    ]
}

#[derive(Clone, Debug)]
struct Plan {
    ports: Vec<PortConfig>,
    detection: Detection,
    kind: u8,
    times: [u64; 4],
    flags: [bool; 3],
    up_down: [u64; 2],
    warmup: u64,
    seed: u64,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let ports = proptest::collection::vec(any_port(), 14);
    let times = proptest::array::uniform4(0..60 * MS);
    let up_down = (10 * MS..600 * MS, MS..300 * MS).prop_map(|(up, down)| [up, down]);
    let flags = proptest::array::uniform3(any::<bool>());
    (ports, any_detection(), 0..3u8, times, flags, up_down, 0..SECOND, any::<u64>()).prop_map(
        |(ports, detection, kind, times, flags, up_down, warmup, seed)| Plan {
            ports,
            detection,
            kind,
            times,
            flags,
            up_down,
            warmup,
            seed,
        },
    )
}

fn build(plan: &Plan) -> Bench {
    let mut bench = Bench::new();
    bench.lab.flow("tcp", "S", "T", Agent::Tcp(tcp(Variant::Sack)));
    bench.lab.flow("back", "T", "A", crate::support::cbr(3 * MBIT, 700));
    bench.lab.network.flows[1].fec = 1;
    for (link, port) in plan.ports.iter().enumerate() {
        bench.lab.feed(link as u32, port.clone());
    }
    let [mtbf_ns, mttr_ns] = plan.up_down;
    for (name, a, b) in [("f", "A", "B"), ("g", "C", "D"), ("h", "S", "A")] {
        let links = bench.both(a, b);
        bench.lab.fail(name, links, &[]);
        let last = bench.lab.network.recovery.failures.last_mut().expect("just added");
        last.outages = Outages::Random { mtbf_ns, mttr_ns };
        last.node = name == "g";
    }
    let tails = [102, 203].map(|label| {
        let found = bench.lab.network.ilm.iter().find(|entry| entry.label == label);
        found.expect("a tail without penultimate-hop popping").nhlfe
    });
    let tail = bench.lab.node("T");
    let (head, other) = (bench.working.1, bench.backup.1);
    let protection = bench.protect(plan.detection);
    [protection.hold_off_ns, protection.switch_ns, protection.wait_to_restore_ns, _] = plan.times;
    protection.processing_ns = plan.times[3] / 20;
    [protection.revertive, protection.make_before_break, _] = plan.flags;
    match plan.kind {
        0 => {}
        1 => protection.kind = ProtectionKind::Restoration,
        _ => {
            protection.kind = ProtectionKind::OnePlusOne;
            protection.node = tail;
            protection.bridge = Some(Switch { entry: head, alternative: other });
            protection.switches = vec![Switch { entry: tails[0], alternative: tails[1] }];
        }
    }
    bench.lab.network.recovery.rerouting = plan.flags[2].then_some(Rerouting {
        detection: plan.detection,
        processing_ns: MS,
        spf_delay_ns: plan.times[0],
    });
    bench.lab.lasting(plan.warmup, 2 * SECOND);
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(150)))]
    #[test]
    fn every_run_ends_with_its_books_balanced_and_repeats(plan in any_plan()) {
        let bench = build(&plan);
        let once = bench.lab.run(plan.seed);
        let again = bench.lab.run(plan.seed);
        prop_assert_eq!(once.bits(&[]), again.bits(&[]));
    }
    /// The content of a failing link is lost by the region of its port and by that of its far end, and
    /// tables are switched in all: a run in any three regions gives every table bit by bit, that of
    /// every packet's events where there is one.
    #[test]
    fn any_cut_of_a_network_that_fails_gives_every_table_bit_by_bit(
        plan in any_plan(),
        regions in proptest::collection::vec(0..3u8, 7),
        trace in any::<bool>(),
    ) {
        prop_assert!(is_same_on_one_thread(&plan, &regions, trace));
    }
}

fn is_same_on_one_thread(plan: &Plan, regions: &[u8], trace: bool) -> bool {
    let mut bench = build(plan);
    bench.lab.network.run.trace = trace;
    let uncut = run_on_threads(&bench.lab.network, plan.seed, 1, &|| false);
    let cut = run_cut(&bench.lab.network, plan.seed, regions, &|| false);
    let [uncut, cut] = [uncut, cut].map(|tables| {
        let tables = tables.expect("the run ends");
        Outcome { tables, lines: vec![] }.bits(&[])
    });
    uncut == cut
}

/// The same of twelve networks that are the same each time, each kind of protection with both ends of the links
/// that fail in one region and in two.
#[test]
fn twelve_networks_that_fail_give_every_table_bit_by_bit_in_three_regions() {
    let mut runner = TestRunner::deterministic();
    for number in 0..12usize {
        let mut plan = any_plan().new_tree(&mut runner).expect("a plan").current();
        plan.kind = (number % 3) as u8;
        let regions: [u8; 7] = match number / 3 {
            0 => [0, 1, 2, 0, 1, 2, 0],
            1 => [0, 0, 1, 1, 2, 2, 2],
            2 => [2, 1, 1, 0, 0, 1, 2],
            _ => [1, 0, 0, 0, 2, 2, 1],
        };
        assert!(is_same_on_one_thread(&plan, &regions, number % 2 == 0), "{number}");
    }
}
