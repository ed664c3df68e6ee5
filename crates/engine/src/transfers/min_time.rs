//! The minimum time of a transfer: without other traffic, its window never the limit.
//!
//! Source: store and forward of a train of packets over links in a row: all of it at the slowest
//! link, its first packet at the links before, its last at those after, and the propagation.
//! Differs: label stack words are left out; a node's processing counts with its shorter look-up.

use crate::hosts::FlowPlan;
use crate::network::{Flow, Network};
use crate::route::{Fib, LOCAL_DELIVERY, UNREACHABLE};
use trunkline_agent::tcp::TcpConfig;
use trunkline_units::Span;

/// The route of a flow's data packets without failures.
#[derive(Clone, Debug)]
pub struct MinTransferTime {
    /// Rate [bit/s] and header [B] of each link; empty where no route leads.
    links: Vec<(u64, u32)>,
    propagation: Span,
    mss: u64,
    header: u64,
    /// A SYN and its answer, where the connection opens by them.
    opening: Span,
}

impl MinTransferTime {
    /// Follows the paths that the flow is bound to, else the routes.
    pub fn new(
        network: &Network,
        flow: &Flow,
        plan: &FlowPlan,
        fib: &Fib,
        tcp: &TcpConfig,
    ) -> Self {
        let forth =
            FlowDirection { from: flow.src, to: flow.dst, fec: flow.fec, column: plan.dst_column };
        let back = FlowDirection {
            from: flow.dst,
            to: flow.src,
            fec: flow.fec_reverse,
            column: plan.src_column,
        };
        let links = forth.links(network, flow.dscp, fib);
        let opening = match tcp.connect {
            true => [&links, &back.links(network, flow.dscp, fib)]
                .map(|links| packet_time(network, links, tcp.syn_bytes()))
                .into_iter()
                .fold(0, Span::saturating_add),
            false => 0,
        };
        let processing = min_processing(network, &links);
        let links = links.iter().map(|index| &network.links[*index as usize]);
        Self {
            propagation: links
                .clone()
                .map(|link| link.delay_ns)
                .fold(processing, Span::saturating_add),
            links: links.map(|link| (link.rate_bit_s, link.header_bytes)).collect(),
            mss: u64::from(tcp.mss_bytes),
            header: u64::from(tcp.header_bytes),
            opening,
        }
    }

    /// Minimum time of a transfer [ns]; 0 where it is unknown. `opens`: its connection opens for it.
    pub fn time_for(&self, bytes: u64, opens: bool) -> Span {
        let packets = bytes.div_ceil(self.mss).max(1);
        let first = bytes.min(self.mss) + self.header;
        let last = bytes - (packets - 1) * self.mss + self.header;
        let span = |bytes: u64, (rate, header): &(u64, u32), packets: u64| {
            let bits = 8 * (u128::from(bytes) + u128::from(*header) * u128::from(packets));
            time_at(bits, *rate)
        };
        let transmission_time = |link| span(bytes + packets * self.header, link, packets);
        let slowest =
            (0..self.links.len()).rev().max_by_key(|index| transmission_time(&self.links[*index]));
        let Some(slowest) = slowest else { return 0 };
        let each = (0..).zip(&self.links).map(|(index, link)| match index {
            _ if index == slowest => transmission_time(link),
            _ if index < slowest => span(first, link, 1),
            _ => span(last, link, 1),
        });
        let opening = if opens { self.opening } else { 0 };
        each.chain([opening, self.propagation]).fold(0, Span::saturating_add)
    }
}

/// Time of `bits` bits at a rate, limited to the largest value of the type.
fn time_at(bits: u128, rate_bit_s: u64) -> Span {
    Span::try_from(bits * 1_000_000_000 / u128::from(rate_bit_s)).unwrap_or(Span::MAX)
}

/// Minimum processing at the nodes between a flow's links.
fn min_processing(network: &Network, links: &[u32]) -> Span {
    let before_last = links.split_last().map_or(&[][..], |(_, rest)| rest);
    let nodes = before_last.iter().map(|link| network.links[*link as usize].to);
    let times = nodes.filter_map(|node| network.nodes[node as usize].processing);
    let each = times.map(|node_times| {
        node_times.fixed_ns + node_times.ip_lookup_ns.min(node_times.label_lookup_ns)
    });
    each.fold(0, Span::saturating_add)
}

/// Time of one packet over links in a row.
fn packet_time(network: &Network, links: &[u32], bytes: u16) -> Span {
    let processing = min_processing(network, links);
    let links = links.iter().map(|index| &network.links[*index as usize]);
    let each = links.map(|link| {
        let bits = 8 * (u128::from(bytes) + u128::from(link.header_bytes));
        link.delay_ns.saturating_add(time_at(bits, link.rate_bit_s))
    });
    each.fold(processing, Span::saturating_add)
}

/// One direction of a flow.
struct FlowDirection {
    from: u32,
    to: u32,
    fec: u16,
    /// Of the routing table.
    column: u32,
}

impl FlowDirection {
    /// Its links, in order.
    fn links(&self, network: &Network, dscp: u8, fib: &Fib) -> Vec<u32> {
        let mut links = Vec::new();
        let mut node = self.from;
        // Each step leads nearer, or a table is wrong: no route is longer than all nodes.
        for _ in 0..network.nodes.len() {
            let bound = network.ftn.iter().find(|entry| {
                entry.fec == self.fec
                    && entry.node == node
                    && self.fec != 0
                    && (entry.dscps.is_empty() || entry.dscps.contains(&dscp))
            });
            let path = bound
                .map(|entry| &network.paths[network.nhlfe[entry.nhlfe as usize].path as usize]);
            match (path.filter(|path| !path.links.is_empty()), fib.next(node, self.column)) {
                (_, LOCAL_DELIVERY) => return links,
                (Some(path), _) => links.extend(&path.links),
                (None, UNREACHABLE) => return Vec::new(),
                (None, next) => links.extend(fib.links(next).first()),
            }
            node = links.last().map_or(node, |link| network.links[*link as usize].to);
        }
        if node == self.to {
            links
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(links: Vec<(u64, u32)>) -> MinTransferTime {
        MinTransferTime { links, propagation: 1_000_000, mss: 1460, header: 40, opening: 0 }
    }

    /// 3000 B are segments of 1460, 1460 and 80 B, packets of 1500, 1500 and 120 B. 10 Mbit/s: 1.2,
    /// 1.2 and 0.096 ms; behind 100 Mbit/s the first arrives after 0.12 ms, and the last leaves another
    /// link of 100 Mbit/s after 0.0096 ms. With 1 ms: 0.12 + 2.496 + 0.0096 + 1 = 3.6256 ms.
    #[test]
    fn a_train_of_packets_takes_the_slowest_link_and_one_packet_at_the_others() {
        let fast = (100_000_000, 0);
        let links = floor(vec![fast, (10_000_000, 0), fast]);
        assert_eq!(links.time_for(3000, true), 3_625_600);
    }

    /// 100 B and 40 B of headers and 20 B of the link's: 160 B at 1 Mbit/s, 1.28 ms, and 1 ms.
    #[test]
    fn a_small_transfer_is_one_packet() {
        assert_eq!(floor(vec![(1_000_000, 20)]).time_for(100, true), 2_280_000);
        // At 1 kbit/s 1.28 s and 1 ms.
        assert_eq!(floor(vec![(1_000, 20)]).time_for(100, true), 1_281_000_000);
        assert_eq!(floor(vec![]).time_for(100, true), 0);
    }
}
