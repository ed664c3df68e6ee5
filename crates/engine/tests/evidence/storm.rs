//! Runs that do not reach their end: too many events at one instant, a wish to stop, a panic.

use crate::support::*;
use trunkline_agent::tcp::{DelayedAck, TcpConfig, Variant};
use trunkline_agent::workload::{OpenConfig, TransferGaps, TransferSizes};
use trunkline_engine::network::{Agent, Measure, Opened, Processing, Transfers};
use trunkline_engine::RunError;

/// A burst of `count` datagrams at 5 ms; nothing else happens then.
fn burst(count: usize, events_per_instant: u64) -> Result<Outcome, RunError> {
    let mut lab = Lab::server(MBIT, fifo(UNLIMITED));
    lab.flow("burst", "a", "b", schedule(&vec![(5 * MS, 100); count]));
    lab.network.run.events_per_instant = events_per_instant;
    lab.try_run(1)
}

#[test]
fn events_per_instant_is_the_most_that_may_happen_at_one_instant() {
    let run = burst(1000, 1000).expect("1000 events at 5 ms are allowed");
    assert_eq!(run.flow(0, "packets_delivered"), 1000.0);
    match burst(1001, 1000) {
        Err(RunError::Storm { at, node }) => assert_eq!((at, node.as_str()), (5 * MS, "a")),
        other => panic!("{other:?}"),
    }
}

/// 1000 B at 10^17 bit/s leave 12,500 times a nanosecond: the run stops and names the source.
#[test]
fn a_source_that_never_lets_time_pass_is_named() {
    let mut lab = Lab::server(MBIT, fifo(queue(10, true)));
    lab.flow("flood", "a", "b", cbr(100_000_000 * GBIT, 1000));
    lab.network.run.events_per_instant = 10_000;
    let failure = lab.try_run(1).expect_err("a storm");
    assert!(matches!(&failure, RunError::Storm { node, .. } if node == "a"), "{failure:?}");
    assert!(failure.to_string().contains("at node a"), "{failure}");
}

/// Sources at 8 Mbit/s, each 1 ms from its sink: source i sends 1000 + 100 i bytes, which take 1 + i / 10
/// ms, so early that all transmissions end at 5 ms and all packets arrive at 6 ms.
fn sources_that_end_at_once(count: u32) -> Lab {
    let mut lab = Lab::new();
    for index in 0..count {
        let (name, sink) = (format!("s{index}"), format!("t{index}"));
        let link = lab.link(&name, &sink, 8 * MBIT, MS);
        lab.feed(link, priority(2, &UNLIMITED));
        let sent = 5 * MS - MS - u64::from(index) * MS / 10;
        lab.flow(&name, &name, &sink, schedule(&[(sent, 1000 + 100 * index)]));
    }
    lab
}

/// Each event of a storm has its node: the end of a transmission that of the sender, an arrival that of
/// the receiver. Links are served by their number at one instant. The end of a transmission is an event
/// of its own where a probe reads the average of a queue, which an end may change before; else the
/// arrivals are the first.
#[test]
fn a_storm_of_transmissions_names_the_sender_and_one_of_arrivals_the_receiver() {
    for (is_average_read, at, node) in [(true, 5 * MS, "s19"), (false, 6 * MS, "t19")] {
        let mut lab = sources_that_end_at_once(20);
        if is_average_read {
            lab.probe(Measure::QueueAverage, 0, SECOND);
        }
        lab.network.run.events_per_instant = 20;
        lab.try_run(1).expect("20 events at one instant are allowed");
        lab.network.run.events_per_instant = 19;
        let failure = lab.try_run(1).expect_err("a storm");
        assert_eq!(failure, RunError::Storm { at, node: node.into() });
    }
}

/// Packets that arrive one after the other, at nodes that take so long for them that all go on at once: each
/// is an event of its node. Packet i arrives at 2 + i / 10 ms, behind a link of 1 ms on which it takes 1 ms.
#[test]
fn a_storm_of_nodes_that_are_done_names_the_node() {
    let mut lab = Lab::new();
    for index in 0..20 {
        let [from, between, to] = ["s", "m", "t"].map(|kind| format!("{kind}{index}"));
        lab.link(&from, &between, 8 * MBIT, MS);
        lab.link(&between, &to, 8 * MBIT, MS);
        lab.flow(&from, &from, &to, schedule(&[(index * MS / 10, 1000)]));
        let node = lab.node(&between) as usize;
        let fixed_ns = 3 * MS - index * MS / 10;
        lab.network.nodes[node].processing = Some(Processing { fixed_ns, ..Default::default() });
    }
    lab.network.run.events_per_instant = 20;
    lab.try_run(1).expect("20 events at one instant are allowed");
    lab.network.run.events_per_instant = 19;
    let failure = lab.try_run(1).expect_err("a storm");
    assert_eq!(failure, RunError::Storm { at: 5 * MS, node: "m19".into() });
}

/// Linux's timers run out at the ends of slots of its wheel, of 32 ms after 252 ms (`timer.c`): those of 20
/// connections whose segment is on its way for 5 s, all at one instant after 1 s. Each is the sender's.
#[test]
fn a_storm_of_timers_names_the_node_that_has_them() {
    let gaps = TransferGaps::Schedule {
        times_ns: (1..=20).map(|each| each * 1000).collect(),
        sizes_bytes: vec![1000; 20],
    };
    let opened = Opened::Arrivals(OpenConfig { gaps, sizes: TransferSizes::Fixed { bytes: 1 } });
    let transfers = Transfers { opened, bins_bytes: vec![], record: true, kept: false };
    let mut lab = Lab::chain(&["a", "b"], GBIT, 5 * SECOND);
    let linux = TcpConfig { linux: true, ..tcp(Variant::Sack) };
    let flow = lab.flow("transfers", "a", "b", Agent::Tcp(linux));
    lab.network.flows[flow].transfers = Some(transfers.into());
    lab.network.run.events_per_instant = 20;
    lab.try_run(1).expect("20 timers at one instant are allowed");
    lab.network.run.events_per_instant = 19;
    let failure = lab.try_run(1).expect_err("a storm");
    assert_eq!(failure, RunError::Storm { at: 1024 * MS, node: "a".into() });
}

/// Receivers that put off their acknowledgement until 102.04 ms, all of them: segment i of 1040 B is sent after i
/// ms, there 2.04 ms later, and answered after 100 - i ms.
#[test]
fn a_storm_of_acknowledgements_names_the_receiver() {
    let mut lab = Lab::new();
    for index in 0..20 {
        let [from, to] = ["s", "t"].map(|kind| format!("{kind}{index}"));
        lab.duplex(&from, &to, 8 * MBIT, MS);
        let delayed_ack = Some(DelayedAck { timeout_ns: (100 - index) * MS, every: 2, quick: 0 });
        let config = TcpConfig { size_bytes: Some(1000), delayed_ack, ..tcp(Variant::NewReno) };
        let flow = lab.flow(&from, &from, &to, Agent::Tcp(config));
        lab.network.flows[flow].start_ns = index * MS;
    }
    lab.network.run.events_per_instant = 20;
    lab.try_run(1).expect("20 events at one instant are allowed");
    lab.network.run.events_per_instant = 19;
    let failure = lab.try_run(1).expect_err("a storm");
    assert_eq!(failure, RunError::Storm { at: 102_040_000, node: "t19".into() });
}

/// A run of one nanosecond counts its packets a thousand times, and not all of them at one instant.
#[test]
fn counts_of_packets_are_no_storm() {
    let mut lab = Lab::server(MBIT, fifo(UNLIMITED));
    lab.network.run.events_per_instant = 10;
    lab.lasting(0, 1);
    assert_eq!(lab.run(1).summary("packets_peak"), 0.0);
}

/// The caller's wish to stop is asked for in a run that is long enough.
#[test]
fn an_interrupted_run_says_so() {
    let mut lab = Lab::server(GBIT, fifo(UNLIMITED));
    lab.flow("load", "a", "b", cbr(800 * MBIT, 100));
    // Two links of 1 kbit/s whose first packets take 0.8 s: all ten of each are in the port.
    for (from, to) in [("c", "d"), ("e", "f")] {
        lab.link(from, to, 1_000, 0);
        lab.flow(from, from, to, schedule(&[(0, 100); 10]));
    }
    let network = &lab.network;
    let stopped = trunkline_engine::run(network, 1, &|| true);
    // 65536 events of packets that need three each (sent, transmitted, arrived), at 1 us a packet.
    let Some(RunError::Interrupted { at, events, packets, queued }) = stopped.err() else {
        panic!("stopped")
    };
    assert_eq!(events, 1 << 16);
    assert!((21_000_000..33_000_000).contains(&at), "{at}");
    // One of the load at most is there.
    assert!((20..=21).contains(&packets) && (20..=packets).contains(&queued), "{packets} {queued}");
    let says = RunError::Interrupted { at: 1_500_000_000, events: 9, packets: 8, queued: 7 };
    assert_eq!(
        says.to_string(),
        "stopped at 1.5 s of the run: 9 events, 8 packets in the network, 7 of them in ports"
    );
}

/// A fault while events are served is an error that says when and where; here it is the question,
/// asked after 65,536 events, which are over in 33 ms as above.
#[test]
fn a_panic_says_when_in_the_run_and_where_in_the_engine() {
    let mut lab = Lab::server(GBIT, fifo(UNLIMITED));
    lab.flow("load", "a", "b", cbr(800 * MBIT, 100));
    let (file, line) = (file!(), line!() + 1);
    let broken = trunkline_engine::run(&lab.network, 1, &|| panic!("a rule"));
    let Some(RunError::Panic { at, why }) = broken.err() else { panic!("broken") };
    assert!((21_000_000..33_000_000).contains(&at), "{at}");
    assert_eq!(why, format!("a rule ({file}:{line})"));
    let says = RunError::Panic { at: 1_500_000_000, why: "a rule".into() }.to_string();
    assert_eq!(
        says,
        "the engine stopped at 1.5 s of the run: a rule; this is a fault of trunkline"
    );
}
