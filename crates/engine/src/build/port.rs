//! Ports: one queue, or classes with their queues and a scheduler.

use super::invalid;
use crate::class_queue::ClassQueue;
use crate::classful::ClassfulPort;
use crate::classifier::Classifier;
use crate::dual_queue::DualQueue;
use crate::flow_queue::FlowQueues;
use crate::link::{FifoQueue, Port};
use crate::network::{Class, PortConfig};
use crate::queue::{QueueGate, QueueLimit};
use crate::simulation::RunError;
use std::sync::Arc;
use trunkline_port::aqm::{Aqm, AqmConfig, DropTail, DualPi2, DualPi2Config};
use trunkline_port::sched::{Sched, SchedulerConfig};
use trunkline_units::RandomStream;

/// Whether each packet's departure is known on its arrival.
pub(super) fn is_fifo(config: &PortConfig) -> bool {
    matches!(config.scheduler, SchedulerConfig::Fifo { .. })
        && !config.classes[0].queue.aqm.judges_heads()
        && config.classes[0].queue.flows.is_none()
}

pub(super) fn build_port(
    config: &PortConfig,
    rate: u64,
    seed: u64,
    element: &str,
    flows: &[crate::network::Flow],
) -> Result<Port, RunError> {
    if is_fifo(config) {
        return Ok(Port::Fifo(Box::new(FifoQueue::new(build_gate(
            &config.classes[0],
            rate,
            seed,
            element,
        )?))));
    }
    let classes = config
        .classes
        .iter()
        .map(|class| build_class(class, rate, seed, element, flows))
        .collect::<Result<Vec<_>, RunError>>()?;
    let scheduler = Sched::new(&config.scheduler, rate).map_err(|bad| {
        invalid(format!("{element}, port {}: {}: {}", config.name, bad.key, bad.why))
    })?;
    Ok(Port::Classful(Box::new(ClassfulPort::new(classes, scheduler))))
}

/// The classifier of all ports with a configuration; none where all packets are alike.
pub(super) fn build_classifier(config: &PortConfig) -> Option<Arc<Classifier>> {
    let rows = &config.classifier.rows;
    (!rows.is_empty()).then(|| Arc::new(Classifier::new(&config.classifier)))
}

fn build_class(
    class: &Class,
    rate: u64,
    seed: u64,
    element: &str,
    flows: &[crate::network::Flow],
) -> Result<ClassQueue, RunError> {
    if let AqmConfig::Dualpi2(config) = &class.queue.aqm {
        return build_dual(class, config, rate, seed, element);
    }
    let Some(config) = &class.queue.flows else {
        return Ok(ClassQueue::new(build_gate(class, rate, seed, element)?, None));
    };
    let (path, limit) = (format!("{element}.classes[{}]", class.name), limit_of(class));
    let of_flow = QueueLimit {
        packets: config.flow_limit_packets.unwrap_or(u32::MAX),
        bytes: u64::MAX,
        counts_in_service: false,
    };
    let aqm = build_aqm(class, rate, &path)?;
    let gates = (0..FlowQueues::count(config, flows.len()))
        .map(|queue| {
            let random = RandomStream::new(seed, &format!("{path}.flows[{queue}]"), "aqm");
            QueueGate::new(of_flow, aqm.clone(), random)
        })
        .collect();
    let mut random = RandomStream::new(seed, &path, "flows");
    let queues = FlowQueues::new(config, &class.queue.aqm, gates, random.bits(), flows);
    let tail = Aqm::DropTail(DropTail);
    Ok(ClassQueue::new(QueueGate::new(limit, tail, random), Some(queues)))
}

fn build_dual(
    class: &Class,
    config: &DualPi2Config,
    rate: u64,
    seed: u64,
    element: &str,
) -> Result<ClassQueue, RunError> {
    let path = format!("{element}.classes[{}]", class.name);
    let aqm = DualPi2::new(config, rate)
        .map_err(|bad| invalid(format!("{path}.aqm.{}: {}", bad.key, bad.why)))?;
    let stream = |purpose| RandomStream::new(seed, &path, purpose);
    let gate = QueueGate::new(limit_of(class), Aqm::DropTail(DropTail), stream("limit"));
    Ok(ClassQueue::dual(gate, DualQueue::new(aqm, stream("aqm"))))
}

fn limit_of(class: &Class) -> QueueLimit {
    let queue = &class.queue;
    QueueLimit {
        packets: queue.limit_packets.unwrap_or(u32::MAX),
        bytes: queue.limit_bytes.unwrap_or(u64::MAX),
        counts_in_service: queue.counts_in_service,
    }
}

fn build_aqm(class: &Class, rate: u64, path: &str) -> Result<Aqm, RunError> {
    Aqm::new(&class.queue.aqm, rate)
        .map_err(|bad| invalid(format!("{path}.aqm.{}: {}", bad.key, bad.why)))
}

fn build_gate(class: &Class, rate: u64, seed: u64, element: &str) -> Result<QueueGate, RunError> {
    let path = format!("{element}.classes[{}]", class.name);
    let aqm = build_aqm(class, rate, &path)?;
    Ok(QueueGate::new(limit_of(class), aqm, RandomStream::new(seed, &path, "aqm")))
}
