//! Shortest-path IP routing: one next hop per node and destination.
//!
//! Source: Dijkstra's algorithm over link metrics. Equal cost: the next hop with the smallest node
//! index wins, then the smallest link index, so that routes depend on the network alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::fetch;

/// Next-hop entry: the packet is for this node.
pub const LOCAL: u32 = u32::MAX;
/// Next-hop entry: no path leads there.
pub const UNREACHABLE: u32 = u32::MAX - 1;

/// A link as routing sees it.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Cost; a link that is down has none.
    pub metric: Option<u64>,
}

/// Forwarding information base: the out-link by (node, destination).
#[derive(Clone, Debug)]
pub struct Fib {
    destinations: usize,
    next: Vec<u32>,
}

impl Fib {
    /// Computes the routes of `nodes` nodes to each of `destinations` (node indices).
    #[must_use]
    pub fn new(nodes: usize, edges: &[Edge], destinations: &[u32]) -> Self {
        let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (link, edge) in edges.iter().enumerate() {
            incoming[edge.to as usize].push(link as u32);
            outgoing[edge.from as usize].push(link as u32);
        }
        let mut next = vec![UNREACHABLE; nodes * destinations.len()];
        let mut distance = vec![u64::MAX; nodes];
        for (column, &destination) in destinations.iter().enumerate() {
            distances_to(destination, edges, &incoming, &mut distance);
            for node in 0..nodes {
                next[node * destinations.len() + column] = if node == destination as usize {
                    LOCAL
                } else {
                    best_link(&outgoing[node], edges, &distance).unwrap_or(UNREACHABLE)
                };
            }
        }
        Self { destinations: destinations.len(), next }
    }

    /// Out-link at `node` towards the destination in `column`, or [`LOCAL`] or [`UNREACHABLE`].
    #[inline(always)]
    #[must_use]
    pub fn next(&self, node: u32, column: u32) -> u32 {
        self.next[node as usize * self.destinations + column as usize]
    }

    /// Asks the processor to fetch the entry that [`Self::next`] reads.
    #[inline(always)]
    pub fn fetch(&self, node: u32, column: u32) {
        if let Some(next) = self.next.get(node as usize * self.destinations + column as usize) {
            fetch::ahead(next);
        }
    }

    /// Sets one route; none = unreachable.
    pub fn set(&mut self, node: u32, column: u32, link: Option<u32>) {
        let next = link.unwrap_or(UNREACHABLE);
        self.next[node as usize * self.destinations + column as usize] = next;
    }

    /// Takes over the routes of one node from a table with the same nodes and destinations;
    /// column and entry of those that this changed.
    pub fn adopt(&mut self, node: u32, other: &Self) -> Vec<(u32, u32)> {
        let row = node as usize * self.destinations..(node as usize + 1) * self.destinations;
        let mut changed = Vec::new();
        for (column, (mine, &new)) in
            (0..).zip(self.next[row.clone()].iter_mut().zip(&other.next[row]))
        {
            if *mine != new {
                *mine = new;
                changed.push((column, new));
            }
        }
        changed
    }
}

fn distances_to(target: u32, edges: &[Edge], incoming: &[Vec<u32>], distance: &mut [u64]) {
    distance.fill(u64::MAX);
    distance[target as usize] = 0;
    let mut open = BinaryHeap::from([Reverse((0u64, target))]);
    while let Some(Reverse((cost, node))) = open.pop() {
        if cost > distance[node as usize] {
            continue;
        }
        for &link in &incoming[node as usize] {
            let edge = edges[link as usize];
            let Some(metric) = edge.metric else { continue };
            let through = cost.saturating_add(metric);
            if through < distance[edge.from as usize] {
                distance[edge.from as usize] = through;
                open.push(Reverse((through, edge.from)));
            }
        }
    }
}

fn best_link(outgoing: &[u32], edges: &[Edge], distance: &[u64]) -> Option<u32> {
    outgoing
        .iter()
        .filter_map(|&link| {
            let edge = edges[link as usize];
            let beyond = distance[edge.to as usize];
            let cost = edge.metric.filter(|_| beyond != u64::MAX)?.saturating_add(beyond);
            Some((cost, edge.to, link))
        })
        .min()
        .map(|(_, _, link)| link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32, metric: u64) -> Edge {
        Edge { from, to, metric: Some(metric) }
    }

    /// 0-1-3 costs 1 + 5, 0-2-3 costs 2 + 2: the second is shorter though its first hop is longer.
    #[test]
    fn takes_the_path_of_least_total_metric() {
        let edges = [edge(0, 1, 1), edge(1, 3, 5), edge(0, 2, 2), edge(2, 3, 2)];
        let fib = Fib::new(4, &edges, &[3]);
        assert_eq!(fib.next(0, 0), 2);
        assert_eq!(fib.next(1, 0), 1);
        assert_eq!(fib.next(3, 0), LOCAL);
    }

    #[test]
    fn equal_cost_goes_to_the_smallest_next_node_and_then_link() {
        let edges = [edge(0, 2, 1), edge(0, 1, 1), edge(0, 1, 1), edge(1, 3, 1), edge(2, 3, 1)];
        assert_eq!(Fib::new(4, &edges, &[3]).next(0, 0), 1);
    }

    #[test]
    fn one_way_links_and_links_that_are_down_are_not_taken() {
        let mut edges = [edge(0, 1, 1), edge(1, 2, 1)];
        assert_eq!(Fib::new(3, &edges, &[0]).next(2, 0), UNREACHABLE);
        edges[1].metric = None;
        assert_eq!(Fib::new(3, &edges, &[2]).next(0, 0), UNREACHABLE);
    }
}
