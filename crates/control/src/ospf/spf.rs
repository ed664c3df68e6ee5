//! The next hops of one node, from its database.
//!
//! Source: RFC 2328 section 16.1: Dijkstra's algorithm; (2) (b): a link counts only if the LSA at its
//! other end has a link back. Equal cost: all next hops, in the order of the neighbours and then of
//! links; without multipath the first of them, as routes are at the start of a run.

use super::Lsa;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links towards each node; none to the node itself and where no path leads.
pub type Routes = Vec<Vec<u32>>;

/// Routes of `node` by the router-LSAs that it has, one of each node in their order.
pub fn routes(database: &[Lsa], node: u32, multipath: bool) -> Routes {
    let count = database.len();
    let mut distance = vec![u64::MAX; count];
    // Neighbour and link of each first hop.
    let mut first: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    let mut done = vec![false; count];
    distance[node as usize] = 0;
    let mut open = BinaryHeap::from([Reverse((0u64, node))]);
    while let Some(Reverse((cost, at))) = open.pop() {
        if std::mem::replace(&mut done[at as usize], true) {
            continue;
        }
        for link in database[at as usize].links() {
            let to = link.to as usize;
            if !database[to].links().iter().any(|back| back.to == at) {
                continue;
            }
            let through = cost.saturating_add(link.metric);
            if through > distance[to] || done[to] {
                continue;
            }
            if through < distance[to] {
                distance[to] = through;
                first[to].clear();
                open.push(Reverse((through, link.to)));
            }
            let hops =
                if at == node { vec![(link.to, link.line)] } else { first[at as usize].clone() };
            first[to].extend(hops);
        }
    }
    let chosen = |mut hops: Vec<(u32, u32)>| {
        hops.sort_unstable();
        hops.dedup();
        hops.truncate(if multipath { hops.len() } else { 1 });
        hops.into_iter().map(|(_, line)| line).collect()
    };
    first.into_iter().map(chosen).collect()
}

#[cfg(test)]
#[path = "spf_tests.rs"]
mod tests;
