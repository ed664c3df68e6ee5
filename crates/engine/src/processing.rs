//! Processing: a node's delay from a packet's arrival to its output port.
//!
//! Source: RFC 3031 section 3.12 (a label is looked up in the ILM, an IP destination for its FEC);
//! RFC 2544 section 26.2 measures the sum as latency.
//! Differs: a pipeline: packets do not wait for each other, so a packet with shorter look-ups may
//! overtake; those for the node itself take no time, unless they bear a label.
//! Absent: a rate of packets that a node can look up.

use crate::data_plane::{DataPlane, NextStep};
use crate::mpls::NextHop;
use crate::network::{Network, Processing};
use crate::observer::Observer;
use crate::route::LOCAL_DELIVERY;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_packet::PacketId;
use trunkline_units::{Span, Time};

/// Packets that a node is processing.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    pub node: u32,
    times: Processing,
    /// When each is done, in which order they arrived, their index.
    packets: BinaryHeap<Reverse<(Time, u64, PacketId)>>,
    arrived: u64,
}

/// A processor for each node that takes time.
pub(crate) fn processors_of(network: &Network) -> Vec<Processor> {
    let nodes = (0..).zip(&network.nodes);
    let timed =
        nodes.filter_map(|(node, node_config)| node_config.processing.map(|times| (node, times)));
    timed
        .map(|(node, times)| Processor { node, times, packets: BinaryHeap::new(), arrived: 0 })
        .collect()
}

impl Processor {
    /// Packets inside.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.packets.iter().map(|Reverse((.., id))| *id)
    }
}

impl<O: Observer> DataPlane<O> {
    /// A packet from a link is at a node that takes time.
    #[cold]
    #[inline(never)]
    pub(crate) fn process(&mut self, processor: u32, id: PacketId) -> NextStep {
        let Processor { node, times, .. } = self.stages.processors[processor as usize];
        let span = self.processing_time(node, times, id);
        if span == 0 {
            return self.receive(node, id);
        }
        let processor_state = &mut self.stages.processors[processor as usize];
        let due = self.clock.now.saturating_add(span);
        processor_state.packets.push(Reverse((due, processor_state.arrived, id)));
        processor_state.arrived += 1;
        let source = self.clock.sources.stages + processor;
        self.clock.bring_forward(source, due);
        NextStep::Forwarded
    }

    fn processing_time(&self, node: u32, times: Processing, id: PacketId) -> Span {
        let mut packet = self.arena[id];
        if packet.labels.is_empty() && self.tables.fib.next(node, packet.dst) == LOCAL_DELIVERY {
            return 0;
        }
        let mut span = times.fixed_ns;
        let mut counted = false;
        while !packet.labels.is_empty() {
            span = span.saturating_add(times.label_lookup_ns);
            match self.tables.mpls.switch(node, &mut packet, counted) {
                Ok(NextHop::Again(done, _)) => counted = done,
                _ => return span,
            }
        }
        span.saturating_add(times.ip_lookup_ns)
    }

    /// The next packet that a node is done with by now, or that arrives late on a wire; none if the
    /// stage has no more. Where more are to come later, their event is scheduled.
    #[cold]
    pub(crate) fn release_from_stage(&mut self, stage: u32) -> Option<NextStep> {
        let processors = self.stages.processors.len() as u32;
        match stage < processors {
            true => self.release_processed(stage),
            false => self.release_late_packet(stage - processors),
        }
    }

    fn release_processed(&mut self, processor: u32) -> Option<NextStep> {
        let processor_state = &mut self.stages.processors[processor as usize];
        let &Reverse((due, _, id)) = processor_state.packets.peek()?;
        if due > self.clock.now {
            self.clock.schedule(self.clock.sources.stages + processor, due);
            return None;
        }
        let node = processor_state.node;
        processor_state.packets.pop();
        Some(self.receive(node, id))
    }
}
