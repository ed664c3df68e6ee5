//! The regions of a run that has ended, joined to one simulation.
//!
//! A link's port is its near end's, its wire and far end are its far end's; a sender is its source
//! node's, a receiver and the delays its destination's. Everything else is a sum.

use crate::counters::{DeliveredTotals, Totals};
use crate::data_plane::AnyDataPlane;
use crate::hosts::{FlowAgents, Hosts};
use crate::measurements::Measurements;
use crate::observer::Observer;
use crate::results::PacketsInside;
use crate::simulation::{RunError, Simulation};
use crate::tables::Table;
use std::mem::swap;

/// Joins the regions and reads the results.
pub(super) fn join_regions<O: Observer>(
    mut regions: Vec<Simulation<O>>,
    of_node: &[u8],
) -> Result<Vec<Table>, RunError> {
    let mut inside = PacketsInside::default();
    for region in &mut regions {
        (0..region.hosts.plane.ports.links.len())
            .for_each(|index| region.hosts.plane.drain_link(index));
        inside.add(region)?;
        region.hosts.close_all();
    }
    let mut parts = regions.into_iter().zip(0..);
    let (mut joined, _) = parts.next().expect("a run has a region");
    let mut observers = vec![std::mem::take(&mut joined.hosts.plane.observer)];
    for (mut part, number) in parts {
        observers.push(std::mem::take(&mut part.hosts.plane.observer));
        joined.join(&mut part, &|node| of_node[node as usize] == number);
    }
    joined.sampler.sort();
    for (flow, delays) in joined.control.iter_mut().flat_map(|control| control.joined_delays()) {
        joined.hosts.plane.measured.deliveries[flow as usize].delays = delays;
    }
    let (end, threads) = (joined.limits.end, observers.len());
    let (mut tables, _) = joined.finish_with(inside)?;
    tables.extend(O::join(observers).table(end, threads));
    Ok(tables)
}

impl<O: Observer> Simulation<O> {
    /// Joins a region to those before it; `owns` tests whether a node is its own.
    fn join(&mut self, part: &mut Self, owns: &dyn Fn(u32) -> bool) {
        self.hosts.join(&mut part.hosts, owns);
        self.sampler.join(&part.sampler);
        for (count, more) in self.census.iter_mut().zip(&part.census) {
            *count += more;
        }
    }
}

impl<O: Observer> Hosts<O> {
    fn join(&mut self, part: &mut Self, owns: &dyn Fn(u32) -> bool) {
        self.plane.join_links(&mut part.plane, owns);
        let (measured, part_measured) = (&mut self.plane.measured, &mut part.plane.measured);
        let blocks = measured.join_sums(part_measured);
        let pool = &mut measured.pool;
        self.workloads.join(&mut part.workloads, &self.flows, owns, blocks, pool);
        for (flow, plan) in self.flows.iter().enumerate() {
            if owns(plan.dst) && !matches!(plan.agents, FlowAgents::Control(_)) {
                let own_delays = &mut measured.deliveries[flow].delays;
                swap(own_delays, &mut part_measured.deliveries[flow].delays);
                own_delays.histogram.moved(blocks);
            }
            if let (true, Some(own_flow)) =
                (owns(plan.src), measured.at_warm_up.flows.get_mut(flow))
            {
                own_flow.tcp = part_measured.at_warm_up.flow(flow).tcp;
            }
            let FlowAgents::Tcp(agent) = plan.agents else { continue };
            let agent = agent as usize;
            if owns(plan.dst) {
                swap(&mut self.receivers[agent], &mut part.receivers[agent]);
            }
            if owns(plan.src) {
                swap(&mut self.senders[agent], &mut part.senders[agent]);
            }
        }
        for (own_flow, part_flow) in self.echoes.iter_mut().zip(&mut part.echoes) {
            if owns(self.flows[own_flow.flow as usize].src) {
                swap(own_flow, part_flow);
                own_flow.round_trip.histogram.moved(blocks);
                own_flow.back.histogram.moved(blocks);
            }
        }
    }
}

impl Measurements {
    /// Adds the counts of a region; the blocks of its histograms come behind as many as it returns.
    fn join_sums(&mut self, part: &mut Self) -> usize {
        for (own, more) in self.totals.iter_mut().zip(&part.totals) {
            own.add(more);
        }
        for (own, more) in self.deliveries.iter_mut().zip(&part.deliveries) {
            own.totals.add(&more.totals);
        }
        for (own, more) in self.at_warm_up.flows.iter_mut().zip(&part.at_warm_up.flows) {
            own.totals.add(&more.totals);
            own.delivered.add(&more.delivered);
            // A receiver of another region has received nothing here.
            own.goodput += more.goodput;
        }
        if let (Some(own), Some(more)) = (&mut self.delivered_marks, &part.delivered_marks) {
            own.add(more);
        }
        self.drops.merge(&part.drops);
        self.marks.merge(&part.marks);
        self.at_warm_up.events += part.at_warm_up.events - 1;
        self.at_warm_up.live += part.at_warm_up.live;
        let blocks = self.pool.append(std::mem::take(&mut part.pool));
        if let (Some(own), Some(more)) = (&mut self.path_accounts, &mut part.path_accounts) {
            own.join(more, blocks, &mut self.pool);
        }
        blocks
    }
}

impl AnyDataPlane {
    fn join_links(&mut self, part: &mut Self, owns: &dyn Fn(u32) -> bool) {
        let (ports, part_ports) = (&mut self.ports, &mut part.ports);
        let (baseline, part_baseline) =
            (&mut self.measured.at_warm_up, &mut part.measured.at_warm_up);
        for link in 0..ports.links.len() {
            let near = owns(ports.from[link]);
            let far = owns(ports.links[link].to);
            if near {
                swap(&mut ports.links[link], &mut part_ports.links[link]);
                swap(&mut ports.near_ends[link], &mut part_ports.near_ends[link]);
                swap(&mut baseline.in_port[link], &mut part_baseline.in_port[link]);
                swap(&mut baseline.debts[link], &mut part_baseline.debts[link]);
                ports.forgone[link] = part_ports.forgone[link];
            }
            if near != far {
                let (own, other) = (&mut ports.links[link], &mut part_ports.links[link]);
                own.swap_wire(other);
                swap(&mut own.far_end, &mut other.far_end);
            }
        }
        let (paths, part_paths) = (&mut self.tables.mpls.paths, &part.tables.mpls.paths);
        for (path, more) in paths.iter_mut().zip(part_paths) {
            path.packets += more.packets;
            path.bytes += more.bytes;
        }
        // Each region has served the end of the warm-up and of the run, which are one event each.
        self.clock.events += part.clock.events - 2;
    }
}

impl Totals {
    fn add(&mut self, more: &Self) {
        self.sent_packets += more.sent_packets;
        self.sent_bytes += more.sent_bytes;
        self.late_packets += more.late_packets;
        self.dropped_packets += more.dropped_packets;
        self.acks_sent += more.acks_sent;
        self.acks_delivered += more.acks_delivered;
        self.acks_dropped += more.acks_dropped;
        self.copied_packets += more.copied_packets;
        self.acks_copied += more.acks_copied;
    }
}

impl DeliveredTotals {
    fn add(&mut self, more: &Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
        self.datagram_bytes += more.datagram_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet is counted in one region, so that each count of the network is a sum of its own kind.
    #[test]
    fn each_count_of_a_flow_is_added_to_its_own_kind() {
        let counts = |first: u64| Totals {
            sent_packets: first,
            sent_bytes: 2 * first,
            acks_sent: 3 * first,
            acks_delivered: 4 * first,
            late_packets: 5 * first,
            dropped_packets: 6 * first,
            acks_dropped: 7 * first,
            copied_packets: 8 * first,
            acks_copied: 9 * first,
        };
        let delivered = |first: u64| DeliveredTotals {
            packets: first,
            bytes: 2 * first,
            datagram_bytes: 3 * first,
        };
        let (mut totals, mut delivered_totals) = (counts(100), delivered(100));
        totals.add(&counts(23));
        delivered_totals.add(&delivered(23));
        assert_eq!(format!("{totals:?}"), format!("{:?}", counts(123)));
        assert_eq!(format!("{delivered_totals:?}"), format!("{:?}", delivered(123)));
    }
}
