//! Port configurations.

use trunkline_engine::network::{Class, Classifier, PortConfig, Queue};
use trunkline_port::aqm::{AqmConfig, DropTailConfig};
use trunkline_port::sched::{
    CakeShare, DrrShare, FifoShare, HfscShare, PriorityShare, SchedulerConfig, ServiceCurve,
    TbfShare, WfqShare, WrrShare,
};

/// A queue without a limit.
pub const UNLIMITED: Queue = Queue {
    limit_packets: None,
    limit_bytes: None,
    counts_in_service: false,
    aqm: AqmConfig::DropTail(DropTailConfig {}),
    flows: None,
};

/// A drop-tail queue of `packets`.
pub fn queue(packets: u32, counts_in_service: bool) -> Queue {
    Queue { limit_packets: Some(packets), counts_in_service, ..UNLIMITED }
}

pub fn class(name: &str, queue: Queue) -> Class {
    Class { name: name.into(), queue }
}

/// One queue in order of arrival.
pub fn fifo(queue: Queue) -> PortConfig {
    port(SchedulerConfig::Fifo { shares: vec![FifoShare {}] }, &queue)
}

/// Strict priority over `classes` classes: class 0 first.
pub fn priority(classes: u32, queue: &Queue) -> PortConfig {
    let shares = (0..classes).map(|priority| PriorityShare { priority }).collect();
    port(SchedulerConfig::Priority { shares }, queue)
}

/// Deficit round robin by quantum [B].
pub fn drr(quanta: &[u32], queue: &Queue) -> PortConfig {
    let share = |&quantum_bytes| DrrShare { quantum_bytes, weight: 1 };
    port(SchedulerConfig::Drr { shares: quanta.iter().map(share).collect() }, queue)
}

/// Weighted fair queueing by weight.
pub fn wfq(weights: &[u32], queue: &Queue) -> PortConfig {
    let shares = weights.iter().map(|&weight| WfqShare { weight }).collect();
    port(SchedulerConfig::Wfq { shares }, queue)
}

/// Weighted round robin by packets in a turn.
pub fn wrr(weights: &[u32], queue: &Queue) -> PortConfig {
    let shares = weights.iter().map(|&weight| WrrShare { weight }).collect();
    port(SchedulerConfig::Wrr { shares }, queue)
}

/// CAKE's shaper, tins by weight, the last first.
pub fn cake(weights: &[u32], queue: &Queue) -> PortConfig {
    let share = |(&weight, priority): (&u32, u32)| CakeShare {
        priority: weights.len() as u32 - priority,
        rate_bit_s: u64::from(weight) * 300_000,
    };
    port(SchedulerConfig::Cake { shares: weights.iter().zip(0..).map(share).collect() }, queue)
}

/// One class shaped to a rate, bursts at twice the rate.
pub fn tbf(rate_bit_s: u64, burst_bytes: u64, queue: &Queue) -> PortConfig {
    let share = TbfShare {
        rate_bit_s,
        burst_bytes,
        peak_rate_bit_s: 2 * rate_bit_s,
        min_burst_bytes: 1600,
    };
    port(SchedulerConfig::Tbf { shares: vec![share] }, queue)
}

/// Fair service curves: the link by weight, class 0 with a concave real-time curve too, the last
/// class limited.
pub fn hfsc(weights: &[u32], queue: &Queue) -> PortConfig {
    let curve = |m1, d_ns, m2| Some(ServiceCurve { m1_bit_s: m1, d_ns, m2_bit_s: m2 });
    let share = |(class, &weight): (usize, &u32)| HfscShare {
        real_time: curve(300_000, 20_000_000, 50_000).filter(|_| class == 0),
        link_share: curve(0, 0, u64::from(weight) * 100_000),
        upper_limit: curve(0, 0, 400_000).filter(|_| class + 1 == weights.len()),
        parent: None,
    };
    port(SchedulerConfig::Hfsc { shares: weights.iter().enumerate().map(share).collect() }, queue)
}

/// A port with a class for each share; without a classifier all packets join class 0.
pub fn port(scheduler: SchedulerConfig, queue: &Queue) -> PortConfig {
    PortConfig {
        name: "port".into(),
        classifier: Classifier { rows: vec![], flow_rows: vec![] },
        classes: (0..scheduler.classes())
            .map(|at| class(&format!("class{at}"), queue.clone()))
            .collect(),
        scheduler,
        ecn_in_mpls: false,
    }
}

/// Flow `i` and its acknowledgements join class `i`, whatever their DSCP or TC.
pub fn by_flow(flows: usize) -> Classifier {
    let row = |flow: usize| vec![[flow as u16, 0]; 72];
    Classifier {
        rows: (0..flows).map(row).collect(),
        flow_rows: (0..2 * flows).map(|direction| (direction / 2) as u16).collect(),
    }
}
