//! The regions of a run that has ended, joined to one simulation.
//!
//! A link's port is its near end's, its wire and far end are its far end's; a sender is its source
//! node's, a receiver and the delays its destination's. Everything else is a sum.

use crate::counters::Totals;
use crate::observer::Observer;
use crate::results::PacketsInside;
use crate::simulation::{AnySimulation, FlowAgents, RunError, Simulation};
use crate::tables::Table;
use std::mem::swap;

/// Joins the regions and reads the results.
pub(super) fn join_regions<O: Observer>(
    mut regions: Vec<Simulation<O>>,
    of_node: &[u8],
) -> Result<Vec<Table>, RunError> {
    let mut inside = PacketsInside::default();
    for region in &mut regions {
        (0..region.links.len()).for_each(|index| region.drain_link(index));
        inside.add(region)?;
    }
    let mut parts = regions.into_iter().zip(0..);
    let (mut joined, _) = parts.next().expect("a run has a region");
    let mut observers = vec![std::mem::take(&mut joined.observer)];
    for (mut part, number) in parts {
        observers.push(std::mem::take(&mut part.observer));
        joined.join(&mut part, &|node| of_node[node as usize] == number);
    }
    joined.sampler.sort();
    let (end, threads) = (joined.end, observers.len());
    let (mut tables, _) = joined.finish_with(inside)?;
    tables.extend(O::join(observers).table(end, threads));
    Ok(tables)
}

impl AnySimulation {
    /// Joins a region to those before it; `owns` tests whether a node is its own.
    fn join(&mut self, part: &mut Self, owns: &dyn Fn(u32) -> bool) {
        self.join_links(part, owns);
        let blocks = self.pool.append(std::mem::take(&mut part.pool));
        for flow in 0..self.flows.len() {
            self.totals[flow].add(&part.totals[flow]);
            let part_flow = part.at_warm_up.flow(flow);
            if let Some(own_flow) = self.at_warm_up.flows.get_mut(flow) {
                own_flow.totals.add(&part_flow.totals);
                // A receiver of another region has received nothing here.
                own_flow.goodput += part_flow.goodput;
                if owns(self.flows[flow].src) {
                    own_flow.tcp = part_flow.tcp;
                }
            }
            let plan = self.flows[flow];
            if owns(plan.dst) {
                swap(&mut self.delays[flow], &mut part.delays[flow]);
                self.delays[flow].histogram.moved(blocks);
                if let FlowAgents::Tcp(agent) = plan.agents {
                    let agent = agent as usize;
                    swap(&mut self.receivers[agent], &mut part.receivers[agent]);
                }
            }
            if owns(plan.src) {
                if let FlowAgents::Tcp(agent) = plan.agents {
                    swap(&mut self.senders[agent as usize], &mut part.senders[agent as usize]);
                }
            }
        }
        for (own_flow, part_flow) in self.echoes.iter_mut().zip(&mut part.echoes) {
            if owns(self.flows[own_flow.flow as usize].src) {
                swap(own_flow, part_flow);
                own_flow.round_trip.histogram.moved(blocks);
                own_flow.back.histogram.moved(blocks);
            }
        }
        if let (Some(own), Some(more)) = (&mut self.delivered_marks, &part.delivered_marks) {
            own.add(more);
        }
        self.sampler.join(&part.sampler);
        for (path, more) in self.tables.paths.iter_mut().zip(&part.tables.paths) {
            path.packets += more.packets;
            path.bytes += more.bytes;
        }
        self.drops.merge(&part.drops);
        self.marks.merge(&part.marks);
        for (count, more) in self.census.iter_mut().zip(&part.census) {
            *count += more;
        }
        // Each region has served the end of the warm-up and of the run, which are one event each.
        self.events += part.events - 2;
        self.at_warm_up.events += part.at_warm_up.events - 1;
        self.at_warm_up.live += part.at_warm_up.live;
    }

    fn join_links(&mut self, part: &mut Self, owns: &dyn Fn(u32) -> bool) {
        for link in 0..self.links.len() {
            let near = owns(self.link_from[link]);
            let far = owns(self.links[link].to);
            if near {
                swap(&mut self.links[link], &mut part.links[link]);
                swap(&mut self.near_ends[link], &mut part.near_ends[link]);
                let (own_baseline, part_baseline) = (&mut self.at_warm_up, &mut part.at_warm_up);
                swap(&mut own_baseline.in_port[link], &mut part_baseline.in_port[link]);
                swap(&mut own_baseline.debts[link], &mut part_baseline.debts[link]);
                let line = &mut self.recovery.lines[link];
                line.forgone = part.recovery.lines[link].forgone;
            }
            if near != far {
                let (own_baseline, part_baseline) = (&mut self.links[link], &mut part.links[link]);
                own_baseline.swap_wire(part_baseline);
                swap(&mut own_baseline.far_end, &mut part_baseline.far_end);
            }
        }
    }
}

impl Totals {
    fn add(&mut self, more: &Self) {
        self.sent_packets += more.sent_packets;
        self.sent_bytes += more.sent_bytes;
        self.delivered_packets += more.delivered_packets;
        self.delivered_bytes += more.delivered_bytes;
        self.datagram_bytes += more.datagram_bytes;
        self.late_packets += more.late_packets;
        self.dropped_packets += more.dropped_packets;
        self.acks_sent += more.acks_sent;
        self.acks_delivered += more.acks_delivered;
        self.acks_dropped += more.acks_dropped;
        self.copied_packets += more.copied_packets;
        self.acks_copied += more.acks_copied;
    }
}
