//! Queues by flow by the clauses of RFC 8290, worked by hand.

use super::*;
use crate::queue::{QueueLimit, SizeAndMarks};
use trunkline_packet::{flag, StackEntry};
use trunkline_port::aqm::{Aqm, DropTail, DropTailConfig};
use trunkline_units::RandomStream;

const PLAIN: Flows = Flows {
    queues: Some(1024),
    labelled: FlowKey::Label,
    quantum_bytes: 1514,
    new_first: true,
    flow_limit_packets: None,
    overflow: Overflow::Head,
    batch: 64,
    ways: 1,
    hosts: Hosts::Flows,
};

fn queues(config: &Flows, seed: u64) -> FlowQueues {
    queues_of(config, seed, 0)
}

/// For so many flows.
fn queues_of(config: &Flows, seed: u64, flows: usize) -> FlowQueues {
    let limit = QueueLimit { packets: u32::MAX, bytes: u64::MAX, counts_in_service: false };
    let gate =
        || QueueGate::new(limit, Aqm::DropTail(DropTail), RandomStream::new(1, "test", "aqm"));
    let count = FlowQueues::count(config, flows);
    let gates = (0..count).map(|_| gate()).collect();
    let aqm = AqmConfig::DropTail(DropTailConfig {});
    FlowQueues::new(config, &aqm, gates, mix_hash(seed), &[])
}

fn packet(flow: u32) -> Packet {
    Packet::new(flow, 0, 0, 1000, 0)
}

/// Lets packets of `bytes` into a queue.
fn fill(queues: &mut FlowQueues, queue: u16, bytes: u32, count: u32) {
    for _ in 0..count {
        let size = SizeAndMarks::new(bytes, 0, false);
        queues.push(queue, WaitingPacket { joined_at: 0, packet: 0, size });
    }
}

fn shed(queues: &mut FlowQueues) -> Vec<u32> {
    let mut bytes = Vec::new();
    queues.drop_overflow(0, |waiting| bytes.push(waiting.bytes()));
    bytes
}

/// Section 4.1: half the bytes of the longest queue go, at most 64 packets. Of 40 packets of 1000 B
/// that are 20; of 200 of them 64. A queue with more packets but fewer bytes is left alone.
#[test]
fn rfc8290_s4_1_half_of_the_longest_queue_is_dropped_but_no_more_than_a_batch() {
    for (count, gone) in [(40, 20), (41, 21), (200, 64)] {
        let mut flow_queues = queues(&PLAIN, 1);
        fill(&mut flow_queues, 7, 1000, count);
        fill(&mut flow_queues, 9, 100, 250);
        assert_eq!(shed(&mut flow_queues), vec![1000; gone]);
    }
}

/// Section 5.3: with n flows in 1024 queues one of them shares its queue with a probability of
/// 1 - (1 - 1/1024)^(n - 1): 0.88 % of 10, 9.22 % of 100. 4000 hashes; four standard errors.
#[test]
fn rfc8290_s5_3_flows_collide_as_often_as_a_uniform_hash_lets_them() {
    for flows in [10, 100u32] {
        let trials = 4000;
        let shared = (0..trials)
            .filter(|&seed| {
                let mut flow_queues = FlowQueues { seed: mix_hash(seed + 1), ..queues(&PLAIN, 0) };
                let first = flow_queues.queue_of(&packet(0));
                (1..flows).any(|flow| flow_queues.queue_of(&packet(flow)) == first)
            })
            .count() as f64;
        let expected = 1.0 - (1.0 - 1.0 / 1024f64).powi(flows as i32 - 1);
        let error = (expected * (1.0 - expected) / trials as f64).sqrt();
        assert!((shared / trials as f64 - expected).abs() < 4.0 * error, "{shared} of {trials}");
    }
}

/// RFC 3032: a router sees a label, and no flow behind it.
#[test]
fn rfc3032_flows_of_one_label_stack_share_a_queue() {
    let labelled = |flow, label| {
        let mut labelled_packet = packet(flow);
        assert!(labelled_packet.labels.push(StackEntry::new(label, 0, 64)));
        labelled_packet
    };
    let mut flow_queues = queues(&PLAIN, 3);
    let one = flow_queues.queue_of(&labelled(0, 16));
    assert!((1..50).all(|flow| flow_queues.queue_of(&labelled(flow, 16)) == one));
    let mut behind = queues(&Flows { labelled: FlowKey::FiveTuple, ..PLAIN }, 3);
    assert_ne!(behind.queue_of(&labelled(0, 16)), behind.queue_of(&labelled(1, 16)));
}

/// Linux's `cake_hash`: flows stay in their own queue of a set while it holds packets; where every
/// queue of the set is taken, a flow takes over that of its hash, and the flow it was of moves on.
#[test]
fn cake_flows_share_a_queue_only_where_the_set_is_full() {
    let mut flow_queues = queues(&Flows { queues: Some(8), ways: 8, ..PLAIN }, 5);
    let mut of = Vec::new();
    for flow in 0..8 {
        let queue = flow_queues.queue_of(&packet(flow));
        assert!(!of.contains(&queue), "{flow} has an empty one");
        fill(&mut flow_queues, queue, 1000, 2);
        of.push(queue);
    }
    assert!((0..8).all(|flow| flow_queues.queue_of(&packet(flow)) == of[flow as usize]));
    let ninth = flow_queues.queue_of(&packet(8));
    fill(&mut flow_queues, ninth, 1000, 1);
    // Another's queue becomes empty: the former owner moves there, and may overtake its own packet.
    let other = *of.iter().find(|&&queue| queue != ninth).unwrap();
    while flow_queues.remove(other, false).is_some() {}
    assert_eq!(flow_queues.queue_of(&packet(8)), ninth);
    let owner = of.iter().position(|&queue| queue == ninth).unwrap();
    assert_eq!(flow_queues.queue_of(&packet(owner as u32)), other);
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014: the first numbers of
/// splitmix64 from 1234567 on, as published with its reference code.
#[test]
fn the_hash_is_the_finaliser_of_splitmix64() {
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    let mut state = 1_234_567_u64;
    for number in published {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        assert_eq!(mix_hash(state), number);
    }
}

fn connection(flow: u32, number: u32, flags: u8) -> Packet {
    let mut packet = packet(flow);
    packet.flags = flag::CONNECTION | flags;
    (packet.ack, packet.seq) = if flags == 0 { (number, 7) } else { (7, number) };
    packet
}

/// As many keys as queues: the share of queues that have one is 1 - 1/e, 647 of 1024, with a standard deviation
/// of 10 (Feller, "An introduction to probability theory" vol. 1, section IV.2). Flows have their own queues, two
/// each, where there is no number of queues; the others share 1024 behind them.
#[test]
fn label_stacks_and_connections_spread_over_the_queues_evenly() {
    let labelled = |label: u32| {
        let mut packet = packet(1);
        assert!(packet.labels.push(StackEntry::new(label, 0, 64)));
        packet
    };
    let below = |label: u32| {
        let mut packet = labelled(label);
        assert!(packet.labels.push(StackEntry::new(16, 0, 64)));
        packet
    };
    let kinds: [(&str, &dyn Fn(u32) -> Packet); 5] = [
        ("labels", &|number| labelled(16 + number)),
        ("labels below another", &|number| below(16 + number)),
        ("connections", &|number| connection(1, number, 0)),
        ("the way back", &|number| connection(1, number, flag::REVERSE)),
        ("flows", &|number| connection(number, 5, 0)),
    ];
    for (count, first) in [(Some(1024), 0), (None, 20)] {
        for (name, packet_of) in kinds {
            let mut flow_queues = queues_of(&Flows { queues: count, ..PLAIN }, 3, 10);
            assert_eq!(flow_queues.queues.len(), first as usize + 1024);
            let used: std::collections::BTreeSet<u16> =
                (0..1024).map(|number| flow_queues.queue_of(&packet_of(number))).collect();
            assert!(used.first() >= Some(&first), "{name}");
            assert!((607..=687).contains(&used.len()), "{name}: {}", used.len());
        }
    }
    let mut flow_queues = queues_of(&Flows { queues: None, ..PLAIN }, 3, 10);
    for flow in 0..10 {
        let mut back = packet(flow);
        back.flags = flag::REVERSE;
        assert_eq!(u32::from(flow_queues.queue_of(&packet(flow))), 2 * flow);
        assert_eq!(u32::from(flow_queues.queue_of(&back)), 2 * flow + 1);
    }
}

/// The scheduler of the classes asks for the size of the packet that the class will send.
#[test]
fn the_head_is_the_packet_that_is_taken_next() {
    let mut flow_queues = queues(&Flows { quantum_bytes: 300, ..PLAIN }, 1);
    for (queue, bytes) in [(3, 700), (9, 100), (3, 40), (9, 1500), (9, 60)] {
        fill(&mut flow_queues, queue, bytes, 2);
    }
    let mut left = QueueBacklog { packets: 10, bytes: 4800 };
    while let Some(bytes) = flow_queues.head(0) {
        assert_eq!(flow_queues.stored_backlog(), left);
        let (taken, _) = flow_queues.take(0).expect("it has a head");
        assert_eq!(taken.bytes(), bytes);
        left = QueueBacklog { packets: left.packets - 1, bytes: left.bytes - u64::from(bytes) };
    }
    assert_eq!((left, flow_queues.stored_backlog()), Default::default());
    assert!(flow_queues.take(0).is_none() && flow_queues.take_lost(0).is_none());
}

/// Flows 0 and 1 come from node 0, flows 0 and 2 go to node 1; acknowledgements the other way. CAKE divides a
/// quantum by the backlogged queues of a host, those of the end that has more of them with `Both`.
#[test]
fn cake_a_host_shares_its_quantum_among_its_queues_with_packets() {
    let mut flow_queues = queues_of(&Flows { queues: None, ..PLAIN }, 1, 3);
    flow_queues.hosts = HostLoads {
        ends: vec![[0, 1], [0, 2], [3, 1]],
        ends_of_queue: vec![[0; 2]; flow_queues.queues.len()],
        loads: vec![[0; 2]; 4],
    };
    let mut back = packet(2);
    back.flags = flag::REVERSE;
    for packet in [packet(0), packet(1), packet(2), back] {
        let queue = flow_queues.queue_of(&packet);
        fill(&mut flow_queues, queue, 1000, 2);
    }
    let loads = |flow_queues: &FlowQueues, queue| {
        [Hosts::Flows, Hosts::Source, Hosts::Destination, Hosts::Both]
            .map(|by| flow_queues.hosts.load(by, queue))
    };
    let all = [0, 2, 4, 5].map(|queue| loads(&flow_queues, queue));
    assert_eq!(all, [[1, 2, 2, 2], [1, 2, 1, 2], [1, 1, 2, 2], [1, 1, 1, 1]]);
    while flow_queues.remove(0, false).is_some() {}
    let rest = [0, 2, 4].map(|queue| loads(&flow_queues, queue));
    assert_eq!(rest, [[1, 1, 1, 1]; 3]);
    while flow_queues.remove(2, false).is_some() {}
    assert_eq!(loads(&flow_queues, 2), [1; 4], "a queue without packets counts as one");
}
