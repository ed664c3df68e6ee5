//! Port configurations.

use trunkline_engine::network::{Class, Classifier, PortConfig, Queue};
use trunkline_port::aqm::{AqmConfig, DropTailConfig};
use trunkline_port::sched::{ClassShare, SchedulerKind};

/// A queue without a limit.
pub const UNLIMITED: Queue = Queue {
    limit_packets: None,
    limit_bytes: None,
    counts_in_service: false,
    aqm: AqmConfig::DropTail(DropTailConfig {}),
};

/// A drop-tail queue of `packets`.
pub fn queue(packets: u32, counts_in_service: bool) -> Queue {
    Queue { limit_packets: Some(packets), counts_in_service, ..UNLIMITED }
}

pub fn class(name: &str, queue: Queue) -> Class {
    Class { name: name.into(), queue, share: ClassShare::default() }
}

/// One queue in order of arrival.
pub fn fifo(queue: Queue) -> PortConfig {
    port(SchedulerKind::Fifo, &queue, vec![ClassShare::default()])
}

/// Strict priority over `classes` classes: class 0 first.
pub fn priority(classes: u32, queue: &Queue) -> PortConfig {
    let share = |priority| ClassShare { priority, ..ClassShare::default() };
    port(SchedulerKind::Priority, queue, (0..classes).map(share).collect())
}

/// Deficit round robin by quantum [B].
pub fn drr(quanta: &[u32], queue: &Queue) -> PortConfig {
    let share = |&quantum_bytes| ClassShare { quantum_bytes, ..ClassShare::default() };
    port(SchedulerKind::Drr, queue, quanta.iter().map(share).collect())
}

/// Weighted fair queueing by weight.
pub fn wfq(weights: &[u32], queue: &Queue) -> PortConfig {
    let share = |&weight| ClassShare { weight, ..ClassShare::default() };
    port(SchedulerKind::Wfq, queue, weights.iter().map(share).collect())
}

/// A port whose class `i` has share `i`; without a classifier all packets join class 0.
pub fn port(scheduler: SchedulerKind, queue: &Queue, shares: Vec<ClassShare>) -> PortConfig {
    let classes = shares.into_iter().enumerate().map(|(index, share)| Class {
        name: format!("class{index}"),
        queue: queue.clone(),
        share,
    });
    PortConfig {
        name: format!("{scheduler:?}"),
        classifier: Classifier { rows: vec![], flow_rows: vec![] },
        classes: classes.collect(),
        scheduler,
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
