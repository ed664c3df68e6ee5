//! Queues by flow by the clauses of RFC 8290, worked by hand.

use super::*;
use crate::queue::{QueueLimit, SizeAndMarks};
use trunkline_packet::StackEntry;
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
    let limit = QueueLimit { packets: u32::MAX, bytes: u64::MAX, counts_in_service: false };
    let gate =
        || QueueGate::new(limit, Aqm::DropTail(DropTail), RandomStream::new(1, "test", "aqm"));
    let count = FlowQueues::count(config, 0);
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
