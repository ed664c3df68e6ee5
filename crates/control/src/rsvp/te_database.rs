//! The traffic engineering database of head ends, and constrained shortest paths over it.
//!
//! Source: RFC 3630 section 2.5.8 and RFC 4124 section 4.2 (unreserved bandwidth of eight TE-classes:
//! without class types, of eight priorities), RFC 2702 section 5.2
//! (prune, then Dijkstra). Ties: cost, then hops, then the order of nodes. With bounds or nodes to pass
//! more than one partial route a node is kept (label setting: Irnich & Desaulniers, "Shortest path
//! problems with resource constraints", in "Column generation", 2005).
//! With OSPF each node has its own database, built from the LSAs that reach it; else all share one,
//! which follows the links after the flooding time.
//! Differs: it has colours, delays and risks of links from the start, not from LSAs.

use super::admission::LinkReservations;
use crate::{LinkNews, SignalledLink};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// State of the links.
#[derive(Clone, Debug)]
pub(super) struct TeDatabase {
    up: Vec<bool>,
    unreserved: Vec<Arc<[u64; 8]>>,
}

/// Constraints of a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteRequirements<'a> {
    pub ends: (u32, u32),
    pub bandwidth: u64,
    /// The place of its class type and setup priority among the TE-classes.
    pub te_class: usize,
    /// Links that have refused.
    pub avoid: &'a BTreeSet<u32>,
    /// Links where the session holds this bandwidth already.
    pub own: (&'a [u32], u64),
    /// Cost of each link, of which the route has the least.
    pub cost: &'a [u64],
    /// Further constraints of the route.
    pub bounds: RouteBounds<'a>,
}

/// Nodes to pass, in this order, and limits of the whole route.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RouteBounds<'a> {
    pub via: &'a [u32],
    pub max_hops: Option<u32>,
    /// Greatest sum of these delays, by link.
    pub max_delay: Option<(u64, &'a [u64])>,
}

/// Partial routes after which a search with bounds gives up.
const MAX_PARTIAL_ROUTES: usize = 100_000;

/// A partial route: its last link, and the one that it continues from.
#[derive(Clone, Copy, Debug)]
struct PartialRoute {
    cost: u64,
    hops: u32,
    delay: u64,
    node: u32,
    /// Nodes to pass that it has passed.
    passed: usize,
    link: u32,
    before: usize,
}

/// `before` of a route without a link.
const NOTHING: usize = usize::MAX;

impl TeDatabase {
    pub fn new(pools: &[LinkReservations]) -> Self {
        let unreserved = pools.iter().map(|pool| Arc::new(pool.by_te_class())).collect();
        Self { up: vec![true; pools.len()], unreserved }
    }

    /// Takes in news of a link: of its state alone, or of its reservations.
    pub fn learn(&mut self, link: u32, news: LinkNews) {
        match news {
            LinkNews::Up(up) => self.up[link as usize] = up,
            LinkNews::Unreserved(bandwidth) => self.unreserved[link as usize] = bandwidth,
        }
    }

    fn fits(&self, link: u32, requirements: &RouteRequirements<'_>) -> bool {
        let (links, held) = requirements.own;
        let own = if links.contains(&link) { held } else { 0 };
        let free = self.unreserved[link as usize][requirements.te_class] + own;
        self.up[link as usize]
            && free >= requirements.bandwidth
            && !requirements.avoid.contains(&link)
    }

    /// Cost of a route, if the database has its links as up.
    pub fn cost(&self, cost: &[u64], route: &[u32]) -> Option<u64> {
        let up = route.iter().all(|link| self.up[*link as usize]);
        up.then(|| route.iter().map(|link| cost[*link as usize]).fold(0, u64::saturating_add))
    }

    /// Links of the route of least cost that fits.
    pub fn route(
        &self,
        lines: &[SignalledLink],
        requirements: &RouteRequirements<'_>,
    ) -> Option<Arc<[u32]>> {
        let nodes = lines.iter().map(|line| line.from.max(line.to) + 1).max().unwrap_or(0);
        let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
        for (link, line) in (0..).zip(lines) {
            if line.reverse.is_some() && self.fits(link, requirements) {
                outgoing[line.from as usize].push(link);
            }
        }
        let RouteBounds { via, max_hops, max_delay } = requirements.bounds;
        let (head, tail) = requirements.ends;
        let stops: Vec<u32> = via.iter().copied().chain([tail]).collect();
        let mut search = ConstrainedSearch {
            lines,
            bounds: requirements.bounds,
            all: Vec::new(),
            at: vec![Vec::new(); nodes as usize * (stops.len() + 1)],
            open: BinaryHeap::new(),
        };
        let passed = pass(&stops, 0, head);
        let (link, before) = (0, NOTHING);
        search.keep(PartialRoute { cost: 0, hops: 0, delay: 0, node: head, passed, link, before });
        while let Some(Reverse((.., index))) = search.open.pop() {
            let partial = search.all[index];
            if partial.passed == stops.len() {
                return Some(search.links(index).into());
            }
            if search.is_worse(index) {
                continue;
            }
            if search.all.len() > MAX_PARTIAL_ROUTES {
                return None;
            }
            for &link in &outgoing[partial.node as usize] {
                let to = lines[link as usize].to;
                // A node to pass is passed in its turn, and no node twice.
                let early = stops[partial.passed] != to && stops[partial.passed..].contains(&to);
                if early || search.has_met(index, to) {
                    continue;
                }
                let delay = max_delay.map_or(0, |(_, delays)| delays[link as usize]);
                let longer = PartialRoute {
                    cost: partial.cost.saturating_add(requirements.cost[link as usize]),
                    hops: partial.hops + 1,
                    delay: partial.delay.saturating_add(delay),
                    node: to,
                    passed: pass(&stops, partial.passed, to),
                    link,
                    before: index,
                };
                let short = max_hops.is_none_or(|most| longer.hops <= most)
                    && max_delay.is_none_or(|(most, _)| longer.delay <= most);
                if short {
                    search.keep(longer);
                }
            }
        }
        None
    }
}

/// How many stops a route has passed when it has come to a node.
fn pass(stops: &[u32], mut passed: usize, node: u32) -> usize {
    while stops.get(passed) == Some(&node) {
        passed += 1;
    }
    passed
}

/// Partial routes of a search.
struct ConstrainedSearch<'a> {
    lines: &'a [SignalledLink],
    bounds: RouteBounds<'a>,
    all: Vec<PartialRoute>,
    /// Those that end at each node, by how many stops they have passed.
    at: Vec<Vec<usize>>,
    open: BinaryHeap<Reverse<(u64, u32, u32, usize)>>,
}

impl ConstrainedSearch<'_> {
    fn place(&self, partial: &PartialRoute) -> usize {
        let stops = self.bounds.via.len() + 2;
        partial.node as usize * stops + partial.passed
    }

    /// Keeps a partial route, unless another makes it needless.
    fn keep(&mut self, partial: PartialRoute) {
        let place = self.place(&partial);
        let index = self.all.len();
        self.all.push(partial);
        if self.at[place].iter().any(|other| self.covers(*other, index)) {
            self.all.pop();
            return;
        }
        self.at[place].push(index);
        self.open.push(Reverse((partial.cost, partial.hops, partial.node, index)));
    }

    /// Whether another has come since that makes a partial route needless.
    fn is_worse(&self, index: usize) -> bool {
        let others = &self.at[self.place(&self.all[index])];
        others.iter().any(|other| *other != index && self.covers(*other, index))
    }

    /// Whether whatever completes one partial route completes another that is no worse.
    fn covers(&self, one: usize, other: usize) -> bool {
        let (first, second) = (&self.all[one], &self.all[other]);
        (first.cost, first.hops) <= (second.cost, second.hops)
            && (self.bounds.max_hops.is_none() || first.hops <= second.hops)
            && first.delay <= second.delay
            && (self.bounds.via.is_empty()
                || self.nodes(one).iter().all(|node| self.has_met(other, *node)))
    }

    /// Whether a partial route has been at a node.
    fn has_met(&self, index: usize, node: u32) -> bool {
        let mut at = index;
        while at != NOTHING {
            if self.all[at].node == node {
                return true;
            }
            at = self.all[at].before;
        }
        false
    }

    fn nodes(&self, index: usize) -> Vec<u32> {
        let first = self.links(index).first().map(|link| self.lines[*link as usize].from);
        let after = self.links(index).into_iter().map(|link| self.lines[link as usize].to);
        first.into_iter().chain(after).collect()
    }

    fn links(&self, index: usize) -> Vec<u32> {
        let (mut at, mut links) = (index, Vec::new());
        while self.all[at].before != NOTHING {
            links.push(self.all[at].link);
            at = self.all[at].before;
        }
        links.reverse();
        links
    }
}

#[cfg(test)]
#[path = "te_database_tests.rs"]
mod tests;
