//! The traffic engineering database of head ends, and constrained shortest paths over it.
//!
//! Source: RFC 3630 section 2.5.8 (unreserved bandwidth at eight priorities), RFC 2702 section 5.2
//! (prune, then Dijkstra). Ties: metric, then hops, then the order of nodes.
//! With OSPF each node has its own database, built from the LSAs that reach it; else all share one,
//! which follows the links after the flooding time.
//! Absent: colours, delay and shared risks; a route that needs them is configured, not computed.

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
    pub setup: u8,
    /// Links that have refused.
    pub avoid: &'a BTreeSet<u32>,
    /// Links where the session holds this bandwidth already.
    pub own: (&'a [u32], u64),
}

impl TeDatabase {
    pub fn new(pools: &[LinkReservations]) -> Self {
        let unreserved = pools.iter().map(|pool| Arc::new(pool.by_priority())).collect();
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
        let free = self.unreserved[link as usize][usize::from(requirements.setup)] + own;
        self.up[link as usize]
            && free >= requirements.bandwidth
            && !requirements.avoid.contains(&link)
    }

    /// Metric of a route, if the database has its links as up.
    pub fn metric(&self, lines: &[SignalledLink], route: &[u32]) -> Option<u64> {
        let up = route.iter().all(|link| self.up[*link as usize]);
        up.then(|| route.iter().map(|link| lines[*link as usize].metric).sum())
    }

    /// Links of the shortest route that fits.
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
        let (head, tail) = requirements.ends;
        let mut best = vec![(u64::MAX, u32::MAX, u32::MAX); nodes as usize];
        best[head as usize] = (0, 0, u32::MAX);
        let mut open = BinaryHeap::from([Reverse((0u64, 0u32, head))]);
        while let Some(Reverse((metric, hops, node))) = open.pop() {
            if (metric, hops) > (best[node as usize].0, best[node as usize].1) {
                continue;
            }
            for &link in &outgoing[node as usize] {
                let line = &lines[link as usize];
                let cost_at_neighbour = (metric + line.metric, hops + 1);
                let known = &mut best[line.to as usize];
                if cost_at_neighbour < (known.0, known.1) {
                    *known = (cost_at_neighbour.0, cost_at_neighbour.1, link);
                    open.push(Reverse((cost_at_neighbour.0, cost_at_neighbour.1, line.to)));
                }
            }
        }
        let (mut node, mut route) = (tail, Vec::new());
        while node != head {
            let link = best[node as usize].2;
            route.push(lines.get(link as usize).map(|_| link)?);
            node = lines[link as usize].from;
        }
        route.reverse();
        Some(route.into())
    }
}
