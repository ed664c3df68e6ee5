//! Hops without an event: a run gives what one gives whose every hop is an event.

use crate::random::any_lab;
use crate::support::*;
use proptest::prelude::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{
    Agent, Classifier, Conditioner, Ecmp, Link, Measure, Path, Processing, Queue, Ttl,
};
use trunkline_engine::{run_cut, RunError};
use trunkline_port::aqm::{AqmConfig, Arithmetic, CodelConfig, RedConfig, Spacing, Unit};

/// Two sources meet at `a`; behind it each queue is fed by one link, the second slower than the
/// first and of four packets, so that it drops; two sinks.
fn row() -> Lab {
    let mut lab = Lab::new();
    for (from, to, rate) in [
        ("s0", "a", 20 * MBIT),
        ("s1", "a", 20 * MBIT),
        ("a", "b", 8 * MBIT),
        ("b", "c", 6 * MBIT),
        ("c", "d", 10 * MBIT),
        ("d", "t0", 30 * MBIT),
        ("d", "t1", 7 * MBIT),
    ] {
        lab.duplex(from, to, rate, 3 * MS);
    }
    let narrow = lab.between("b", "c");
    lab.feed(narrow, fifo(queue(4, true)));
    lab.flow("tcp0", "s0", "t0", Agent::Tcp(tcp(Variant::Sack)));
    lab.flow("tcp1", "s1", "t1", Agent::Tcp(tcp(Variant::NewReno)));
    lab.flow("small", "s0", "t1", cbr(MBIT, 100));
    lab.lasting(SECOND / 3, 3 * SECOND);
    lab
}

fn agrees(lab: &Lab) -> Outcome {
    let outcome = lab.run(5);
    // One region: no hop goes ahead.
    let regions = vec![0; lab.network.nodes.len()];
    let tables = run_cut(&lab.network, 5, &regions, &|| false).expect("the run ends");
    assert!(outcome.bits(&[]) == Outcome { tables, lines: vec![] }.bits(&[]));
    outcome
}

#[test]
fn queues_that_one_link_feeds_count_and_drop_as_with_an_event_a_hop() {
    let outcome = agrees(&row());
    let dropped: f64 = (0..3).map(|flow| outcome.flow(flow, "packets_dropped")).sum();
    assert!(dropped > 100.0, "the queue fed ahead overflows: {dropped}");
}

#[test]
fn labelled_packets_go_ahead_alike() {
    for removal in [Removal::Penultimate, Removal::Ultimate, Removal::ExplicitNull] {
        let mut lab = row();
        let route = ["a", "b", "c", "d"];
        let tunnel = Tunnel { route: &route, first_label: 100, removal, ttl: Ttl::Uniform };
        let (_, entry) = lab.tunnel(&tunnel);
        lab.bind("a", 1, entry);
        lab.network.flows[1].fec = 1;
        agrees(&lab);
    }
}

/// A TTL of 3 takes a packet over three links, and no further.
#[test]
fn rfc1812_s5_3_1_a_ttl_that_runs_out_on_the_way_ends_the_packet_there() {
    let mut lab = Lab::chain(&["a", "b", "c", "d", "e"], 8 * MBIT, MS);
    let short = lab.flow("short", "a", "e", cbr(MBIT, 100));
    lab.flow("long", "a", "e", cbr(MBIT, 100));
    lab.network.flows[short].ttl = 3;
    lab.lasting(0, SECOND);
    let outcome = agrees(&lab);
    assert_eq!(outcome.flow(short, "packets_delivered"), 0.0);
    assert!(outcome.flow(short + 1, "packets_delivered") > 1000.0);
}

/// Rows of two links of 8 Mbit/s, each with a flow that sends 1000 B once. All of them arrive at the middle of
/// their rows at 4 ms, and from 6 ms on at the ends, one after the other.
fn rows_that_meet_in_the_middle() -> Lab {
    let mut lab = Lab::new();
    for index in 0..ROWS {
        let [from, between, to] = ["s", "m", "t"].map(|kind| format!("{kind}{index}"));
        lab.duplex(&from, &between, 8 * MBIT, MS + (ROWS - index) * MS / 10);
        lab.duplex(&between, &to, 8 * MBIT, MS + index * MS / 10);
        lab.flow(&from, &from, &to, schedule(&[(index * MS / 10, 1000)]));
    }
    lab
}

const ROWS: u64 = 20;

/// Each row with a link, from 0 on: to the middle, back, to the end, back.
fn each(lab: &mut Lab, place: usize, change: impl Fn(&mut Link)) {
    lab.network.links.iter_mut().skip(place).step_by(4).for_each(change);
}

/// A hop that has no event is none of the events at one instant. It has one where anything but the link's own
/// packets may come between, or something looks at each packet, and nowhere else.
#[test]
fn a_hop_has_an_event_only_where_a_difference_would_show() {
    let probed = |lab: &mut Lab, measure, target_of: fn(usize) -> usize| {
        for row in 0..ROWS as usize {
            lab.probe(measure, target_of(row), SECOND + row as u64 * MS);
        }
    };
    type Change<'a> = &'a dyn Fn(&mut Lab);
    let conditioned = |lab: &mut Lab| {
        lab.link("x", "y", MBIT, MS);
        lab.network.conditioners.push(Conditioner {
            name: "none".into(),
            classifier: Classifier { rows: vec![], flow_rows: vec![] },
            profiles: vec![],
        });
    };
    let with_flow = |lab: &mut Lab, from: &str, to: &str| {
        for row in 0..ROWS {
            let [name, from, to] = ["more", from, to].map(|kind| format!("{kind}{row}"));
            let flow = lab.flow(&name, &from, &to, cbr(MBIT, 1000));
            lab.network.flows[flow].start_ns = 5 * SECOND + row * US;
        }
    };
    let cases: [(&str, bool, Change<'_>); 24] = [
        ("nothing", false, &|_| {}),
        ("warm-up after it", false, &|lab| lab.network.run.warmup_ns = 5 * MS),
        ("warm-up before it", false, &|lab| lab.network.run.warmup_ns = 3 * MS),
        ("trace", true, &|lab| lab.network.run.trace = true),
        ("account of a path", true, &|lab| {
            let path = Path { name: "p".into(), links: vec![0], account: true };
            lab.network.paths.push(path);
        }),
        ("conditioner elsewhere", true, &|lab| {
            conditioned(lab);
            lab.network.links.last_mut().expect("laid").conditioner = Some(0);
        }),
        ("conditioner at a far end elsewhere", true, &|lab| {
            conditioned(lab);
            lab.network.links.last_mut().expect("laid").ingress = Some(0);
        }),
        ("failure later", true, &|lab| {
            fail_late(lab);
        }),
        ("processing elsewhere", true, &|lab| {
            let node = lab.node("z") as usize;
            lab.network.nodes[node].processing = Some(Processing::default());
        }),
        ("equal cost", true, &|lab| lab.network.routing.ecmp = Some(Ecmp::Flow)),
        ("account at the queue", true, &|lab| each(lab, 2, |link| link.account = true)),
        ("account at the queue before", false, &|lab| each(lab, 0, |link| link.account = true)),
        ("losses on the way to it", true, &|lab| each(lab, 0, |link| link.loss = 1e-9)),
        ("losses on the way from it", false, &|lab| each(lab, 2, |link| link.loss = 1e-9)),
        ("limit in bytes", true, &|lab| {
            lab.network.ports.push(fifo(Queue { limit_bytes: Some(10_000), ..UNLIMITED }));
            each(lab, 2, |link| link.port = 1);
        }),
        ("classes", true, &|lab| {
            lab.network.ports.push(priority(2, &UNLIMITED));
            each(lab, 2, |link| link.port = 1);
        }),
        ("classes before", true, &|lab| {
            lab.network.ports.push(priority(2, &UNLIMITED));
            each(lab, 0, |link| link.port = 1);
        }),
        ("another feeder", true, &|lab| {
            for row in 0..ROWS {
                lab.link(&format!("u{row}"), &format!("m{row}"), MBIT, MS);
            }
            with_flow(lab, "u", "t");
        }),
        ("an agent that feeds it", true, &|lab| with_flow(lab, "m", "t")),
        ("packets that end there", true, &|lab| with_flow(lab, "s", "m")),
        ("the way back", false, &|lab| with_flow(lab, "t", "s")),
        ("probe of the marks", false, &|lab| probed(lab, Measure::Marks, |row| 4 * row + 2)),
        ("probe of the queue before", false, &|lab| {
            probed(lab, Measure::QueuePackets, |row| 4 * row);
        }),
        ("probe of a flow", false, &|lab| probed(lab, Measure::Throughput, |row| row)),
    ];
    for (name, has_events, change) in cases {
        let mut lab = rows_that_meet_in_the_middle();
        change(&mut lab);
        lab.network.run.events_per_instant = ROWS - 1;
        let ended = lab.try_run(1).map(|_| ());
        let is_storm = matches!(ended, Err(RunError::Storm { at, .. }) if at == 4 * MS);
        assert_eq!((is_storm, ended.is_err()), (has_events, has_events), "{name}: {ended:?}");
    }
    use Measure::{Drops, QueueAverage, QueueBytes, QueuePackets, Utilisation};
    for measure in [Drops, QueueAverage, QueueBytes, QueuePackets, Utilisation] {
        let mut lab = rows_that_meet_in_the_middle();
        probed(&mut lab, measure, |row| 4 * row + 2);
        lab.network.run.events_per_instant = ROWS - 1;
        assert!(matches!(lab.try_run(1), Err(RunError::Storm { .. })), "{measure:?}");
    }
}

/// The same of fixed networks, of a few packets: each scheduler, queues that judge packets and queues that do not,
/// senders that read the queue of their host. A run counts the events that it does without, too.
#[test]
fn events_that_are_left_out_are_counted_for_each_kind_of_port() {
    let judged = |aqm| Queue { aqm, ..queue(30, true) };
    let codel = AqmConfig::Codel(CodelConfig {
        target_ns: 5 * MS,
        interval_ns: 20 * MS,
        mtu_bytes: 1500,
        ce_threshold_ns: None,
        arithmetic: Arithmetic::Exact,
    });
    let red = AqmConfig::Red(RedConfig {
        min_th: 3.0,
        max_th: 9.0,
        max_p: 0.1,
        w_q: 0.1,
        gentle: true,
        unit: Unit::Packets,
        mean_packet_bytes: 700,
        spacing: Spacing::Uniform,
        adaptive: false,
    });
    for port in [
        priority(2, &queue(8, false)),
        drr(&[1500, 3000], &queue(8, false)),
        drr(&[1500, 3000], &queue(8, true)),
        drr(&[1500, 3000], &judged(red.clone())),
        drr(&[1500, 3000], &judged(codel)),
        wrr(&[1, 2], &queue(8, false)),
        wfq(&[1, 2], &queue(8, false)),
        wfq(&[1, 2], &judged(red.clone())),
        hfsc(&[1, 2], &queue(8, false)),
        cake(&[1, 2], &queue(8, false)),
    ] {
        for linux in [false, true] {
            let mut lab = Lab::chain(&["a", "b", "c"], 8 * MBIT, MS);
            let config = TcpConfig { linux, ..tcp(Variant::Sack) };
            lab.flow("tcp", "a", "c", Agent::Tcp(config));
            lab.flow("udp", "a", "c", poisson(3 * MBIT, sizes(&[200, 1200])));
            for link in [0, 2] {
                lab.feed(link, port.clone());
                lab.class_per_flow(link);
            }
            lab.network.links[2].account = true;
            lab.lasting(SECOND / 10, SECOND / 2);
            let without = lab.run(3);
            fail_late(&mut lab);
            assert!(without.bits(&[]) == lab.run(3).bits(&[]), "{:?}, {linux}", port.scheduler);
        }
    }
}

/// Adds a failure after the end.
fn fail_late(lab: &mut Lab) {
    lab.fail("late", vec![0], &[(2 * lab.network.run.duration_ns, 0)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(60)))]

    /// Where a failure may cut a link, each end of a transmission from classes has its event; else
    /// only those that another packet waits for. A failure after the end makes no other difference:
    /// any schedulers, queues and probes, at round times, when ends and samples meet.
    #[test]
    fn ends_of_transmissions_that_nobody_waits_for_need_no_event(
        mut lab in any_lab(),
        round in any::<bool>(),
        steps in proptest::collection::vec(1..20u64, Measure::ALL.len()),
    ) {
        if round {
            for link in &mut lab.network.links {
                (link.rate_bit_s, link.delay_ns) = (8 * MBIT, MS);
            }
        }
        for (index, (measure, step)) in Measure::ALL.into_iter().zip(steps).enumerate() {
            let targets = match measure.is_of_flow() {
                true => lab.network.flows.len(),
                false => lab.network.links.len(),
            };
            if measure != Measure::QueueAverage {
                lab.probe(measure, 5 * index % targets, step * MS);
            }
        }
        let without = lab.run(11);
        fail_late(&mut lab);
        prop_assert!(without.bits(&[]) == lab.run(11).bits(&[]));
    }
}
