//! Shortest-path IP routing: the next hops per node and destination.
//!
//! Source: Dijkstra's algorithm over link metrics. Equal cost: the next hop with the smallest node
//! index wins, then the smallest link index, so that routes depend on the network alone; with ECMP
//! all of them are next hops, in that order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use trunkline_units::prefetch;

/// Next-hop entry: the packet is for this node.
pub const LOCAL_DELIVERY: u32 = u32::MAX;
/// Next-hop entry: no path leads there.
pub const UNREACHABLE: u32 = u32::MAX - 1;
/// Next-hop entries from here on are no links: [`UNREACHABLE`], [`LOCAL_DELIVERY`], or several next hops.
pub const FIRST_SHARED: u32 = 1 << 31;

/// Destinations in a panel of the table: a cache line of entries.
const PANEL: usize = 16;

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

/// Forwarding information base: the out-link by (node, destination). Copies share their entries
/// until one changes.
#[derive(Clone, Debug)]
pub struct Fib {
    destinations: usize,
    /// Entries of a panel.
    panel_size: usize,
    /// In panels, row by row: see [`Self::place`].
    next: Arc<[u32]>,
    /// Sets of next hops; entry `SHARED + n` is the `n`th.
    sets: Vec<Vec<u32>>,
    number: BTreeMap<Vec<u32>, u32>,
    search: RouteSearch,
}

/// Limits of the search for routes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteSearch {
    /// All next hops of equal cost.
    pub multipath: bool,
    /// Those to neighbours alone, over the link between.
    pub neighbours_only: bool,
}

impl Fib {
    /// Computes the routes of `nodes` nodes to each of `destinations` (node indices).
    #[must_use]
    pub fn new(nodes: usize, edges: &[Edge], destinations: &[u32], search: RouteSearch) -> Self {
        let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (link, edge) in edges.iter().enumerate() {
            incoming[edge.to as usize].push(link as u32);
            outgoing[edge.from as usize].push(link as u32);
        }
        let panel_size = nodes * PANEL;
        let mut next = vec![UNREACHABLE; destinations.len().div_ceil(PANEL) * panel_size];
        let (sets, number) = (Vec::new(), BTreeMap::new());
        let mut fib = Self {
            destinations: destinations.len(),
            panel_size,
            next: [].into(),
            sets,
            number,
            search,
        };
        let mut distance = vec![u64::MAX; nodes];
        for (column, &destination) in destinations.iter().enumerate() {
            if search.neighbours_only {
                distance.fill(u64::MAX);
                distance[destination as usize] = 0;
            } else {
                distances_to(destination, edges, &incoming, &mut distance);
            }
            for (node, outgoing) in outgoing.iter().enumerate() {
                let at = fib.place(node as u32, column as u32);
                if node == destination as usize {
                    next[at] = LOCAL_DELIVERY;
                } else if search.multipath {
                    next[at] = fib.entry_of(&best_links(outgoing, edges, &distance));
                } else if let Some(link) = best_link(outgoing, edges, &distance) {
                    next[at] = link;
                }
            }
        }
        fib.next = next.into();
        fib
    }

    /// The entry for these next hops.
    fn entry_of(&mut self, links: &[u32]) -> u32 {
        match *links {
            [] => UNREACHABLE,
            [link] => link,
            _ => {
                let next = self.sets.len() as u32;
                let number = *self.number.entry(links.to_vec()).or_insert(next);
                if number == next {
                    self.sets.push(links.to_vec());
                }
                FIRST_SHARED + number
            }
        }
    }

    /// Out-links of an entry of the table: none if it is [`LOCAL_DELIVERY`] or [`UNREACHABLE`].
    #[must_use]
    pub fn links(&self, entry: u32) -> Vec<u32> {
        match entry {
            LOCAL_DELIVERY | UNREACHABLE => Vec::new(),
            FIRST_SHARED.. => self.shared(entry).to_vec(),
            link => vec![link],
        }
    }

    /// Out-links of an entry with several; else none.
    #[must_use]
    pub fn shared(&self, entry: u32) -> &[u32] {
        let set = self.sets.get(entry.wrapping_sub(FIRST_SHARED) as usize);
        set.map_or(&[], |links| links)
    }

    /// Limits of the search that made it.
    #[must_use]
    pub fn search(&self) -> RouteSearch {
        self.search
    }

    /// Whether it has all next hops of equal cost.
    #[must_use]
    pub fn is_multipath(&self) -> bool {
        self.search.multipath
    }

    /// Out-link at `node` towards the destination in `column`, or [`LOCAL_DELIVERY`] or [`UNREACHABLE`].
    #[inline(always)]
    #[must_use]
    pub fn next(&self, node: u32, column: u32) -> u32 {
        self.next[self.place(node, column)]
    }

    /// Place of an entry. Panels of neighbouring destinations have a cache line for each node, so that neighbouring
    /// routers of a large network whose traffic is mostly local share pages.
    #[inline(always)]
    fn place(&self, node: u32, column: u32) -> usize {
        let (node, column) = (node as usize, column as usize);
        node * PANEL + column % PANEL + column / PANEL * self.panel_size
    }

    /// Prefetches the entry that [`Self::next`] reads.
    #[inline(always)]
    pub fn fetch(&self, node: u32, column: u32) {
        if let Some(next) = self.next.get(self.place(node, column)) {
            prefetch::all_lines(next);
        }
    }

    /// Sets the next hops towards one destination; none = unreachable.
    pub fn set(&mut self, node: u32, column: u32, links: &[u32]) {
        let next = self.entry_of(links);
        let place = self.place(node, column);
        Arc::make_mut(&mut self.next)[place] = next;
    }

    /// Takes over the routes of one node from a table with the same nodes and destinations;
    /// column and entry of those that this changed.
    pub fn copy_node_routes(&mut self, node: u32, other: &Self) -> Vec<(u32, u32)> {
        let mut changed = Vec::new();
        for column in 0..self.destinations as u32 {
            let mut new = other.next(node, column);
            if (FIRST_SHARED..UNREACHABLE).contains(&new) {
                new = self.entry_of(other.shared(new));
            }
            let at = self.place(node, column);
            if self.next[at] != new {
                Arc::make_mut(&mut self.next)[at] = new;
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

/// Cost by each out-link that leads there, with the node and the link that break ties.
fn cost_by_link<'a>(
    outgoing: &'a [u32],
    edges: &'a [Edge],
    distance: &'a [u64],
) -> impl Iterator<Item = (u64, u32, u32)> + 'a {
    outgoing.iter().filter_map(|&link| {
        let edge = edges[link as usize];
        let beyond = distance[edge.to as usize];
        let cost = edge.metric.filter(|_| beyond != u64::MAX)?.saturating_add(beyond);
        Some((cost, edge.to, link))
    })
}

fn best_link(outgoing: &[u32], edges: &[Edge], distance: &[u64]) -> Option<u32> {
    cost_by_link(outgoing, edges, distance).min().map(|(_, _, link)| link)
}

fn best_links(outgoing: &[u32], edges: &[Edge], distance: &[u64]) -> Vec<u32> {
    let mut all: Vec<_> = cost_by_link(outgoing, edges, distance).collect();
    all.sort_unstable();
    let least = all.first().map_or(0, |best| best.0);
    all.iter().take_while(|each| each.0 == least).map(|each| each.2).collect()
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
        let fib = Fib::new(4, &edges, &[3], RouteSearch::default());
        assert_eq!(fib.next(0, 0), 2);
        assert_eq!(fib.next(1, 0), 1);
        assert_eq!(fib.next(3, 0), LOCAL_DELIVERY);
    }

    #[test]
    fn equal_cost_chooses_the_smallest_next_node_and_then_link() {
        let edges = [edge(0, 2, 1), edge(0, 1, 1), edge(0, 1, 1), edge(1, 3, 1), edge(2, 3, 1)];
        assert_eq!(Fib::new(4, &edges, &[3], RouteSearch::default()).next(0, 0), 1);
    }

    #[test]
    fn one_way_links_and_links_that_are_down_are_not_taken() {
        let mut edges = [edge(0, 1, 1), edge(1, 2, 1)];
        assert_eq!(Fib::new(3, &edges, &[0], RouteSearch::default()).next(2, 0), UNREACHABLE);
        edges[1].metric = None;
        assert_eq!(Fib::new(3, &edges, &[2], RouteSearch::default()).next(0, 0), UNREACHABLE);
    }

    #[test]
    fn without_an_igp_a_node_knows_its_neighbours_by_the_link_of_least_metric() {
        let edges = [edge(0, 1, 5), edge(0, 1, 2), edge(1, 2, 1), edge(0, 2, 9)];
        let search = RouteSearch { neighbours_only: true, ..RouteSearch::default() };
        let fib = Fib::new(4, &edges, &[1, 2, 3], search);
        assert_eq!([fib.next(0, 0), fib.next(0, 1), fib.next(0, 2)], [1, 3, UNREACHABLE]);
        assert_eq!([fib.next(1, 1), fib.next(2, 0)], [2, UNREACHABLE]);
    }

    /// Next hops of equal cost are a set, which another table may have under another number.
    #[test]
    fn next_hops_of_equal_cost_are_the_same_set_in_every_table() {
        let edges = [edge(0, 1, 1), edge(0, 2, 1), edge(1, 3, 1), edge(2, 3, 1), edge(1, 2, 2)];
        let search = RouteSearch { multipath: true, ..RouteSearch::default() };
        let mut fib = Fib::new(4, &edges, &[3, 1], search);
        let links = |fib: &Fib, node, column| fib.links(fib.next(node, column));
        assert_eq!(links(&fib, 0, 0), [0, 1]);
        assert_eq!(fib.shared(fib.next(0, 0)), [0, 1]);
        assert_eq!((links(&fib, 0, 1), fib.shared(fib.next(0, 1))), (vec![0], &[][..]));
        assert_eq!((fib.next(1, 1), links(&fib, 1, 1)), (LOCAL_DELIVERY, vec![]));
        assert_eq!((fib.next(3, 1), links(&fib, 3, 1)), (UNREACHABLE, vec![]));
        assert!(fib.is_multipath() && fib.search().multipath && !fib.search().neighbours_only);
        let before = fib.clone();
        fib.set(1, 0, &[2, 4]);
        fib.set(0, 1, &[0, 1]);
        assert_eq!((links(&fib, 1, 0), fib.next(0, 1)), (vec![2, 4], fib.next(0, 0)));
        fib.set(2, 0, &[]);
        assert_eq!(fib.next(2, 0), UNREACHABLE);
        let mut other = Fib::new(4, &edges, &[3, 1], RouteSearch::default());
        for set in [[4, 2], [2, 4]] {
            other.set(3, 0, &set);
        }
        let copied: Vec<_> = (0..3).flat_map(|node| other.copy_node_routes(node, &fib)).collect();
        for (node, column) in (0..3).flat_map(|node| [(node, 0), (node, 1)]) {
            assert_eq!(links(&other, node, column), links(&fib, node, column), "{node} {column}");
        }
        let shared = [(0, other.next(0, 0)), (1, other.next(0, 1)), (0, other.next(1, 0))];
        assert_eq!(copied, [&shared[..], &[(0, UNREACHABLE)]].concat());
        assert_eq!(links(&before, 1, 0), [2], "a copy does not change with the first");
    }
}
