//! Static routes: routes that operators set by hand, next to those that the IGP finds.
//!
//! Source: RFC 1812 section 7.4, whether a static route or that of a protocol is preferred is
//! configured for each; routers do it by administrative distance: the lowest is used. Before it
//! counts, the longest prefix does (section 5.2.4.3 (2)): a default route is used where there is no
//! other. A route is there while its router takes its link for up.

use crate::network::routing::StaticRoute;
use crate::network::Network;
use crate::route::Fib;
use std::collections::{BTreeMap, BTreeSet};

/// Administrative distance of the IGP's routes, as routers have it for OSPF.
pub(crate) const IGP_DISTANCE: u8 = 110;

/// Routes of both kinds, and the choice among them.
#[derive(Clone, Debug)]
pub(crate) struct StaticRoutes {
    by_node: BTreeMap<u32, Vec<StaticRoute>>,
    /// Destination of each column of the tables.
    ends: Vec<u32>,
    /// Routes of the IGP.
    found: Fib,
    /// Links that the nodes before them take for down.
    down: BTreeSet<u32>,
}

impl StaticRoutes {
    /// Those of a network; none where it has none. `found`: what the IGP finds at first.
    pub fn new(network: &Network, ends: Vec<u32>, found: Fib) -> Option<Self> {
        let mut by_node: BTreeMap<u32, Vec<StaticRoute>> = BTreeMap::new();
        for route in &network.routing.static_routes {
            by_node.entry(route.node).or_default().push(*route);
        }
        (!by_node.is_empty()).then(|| Self { by_node, ends, found, down: BTreeSet::new() })
    }

    /// Nodes that have some.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_node.keys().copied()
    }

    /// Destination of each column of the tables.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Links that a node uses towards the destination of a column.
    fn choose(&self, node: u32, column: u32) -> Vec<u32> {
        let destination = self.ends[column as usize];
        let found = self.found.links(self.found.next(node, column));
        let best_to = |destination: Option<u32>| {
            let usable = || {
                let routes = self.by_node.get(&node).into_iter().flatten();
                routes.filter(move |route| {
                    route.destination == destination && !self.down.contains(&route.link)
                })
            };
            let distance = usable().map(|route| route.distance).min()?;
            let equal = usable().filter(move |route| route.distance == distance);
            let count = if self.found.is_multipath() { usize::MAX } else { 1 };
            Some((distance, equal.take(count).map(|route| route.link).collect::<Vec<u32>>()))
        };
        match best_to(Some(destination)) {
            Some((distance, links)) if found.is_empty() || distance < IGP_DISTANCE => links,
            _ if !found.is_empty() => found,
            _ => best_to(None).map_or(Vec::new(), |(_, links)| links),
        }
    }

    /// The IGP has found other routes of a node to one destination: the links that it uses now.
    pub fn find(&mut self, node: u32, column: u32, links: &[u32]) -> Vec<u32> {
        self.found.set(node, column, links);
        self.choose(node, column)
    }

    /// The IGP has found other routes of a node.
    pub fn find_all(&mut self, node: u32, found: &Fib) {
        self.found.copy_node_routes(node, found);
    }

    /// A node takes links of its own for down or up; whether this is news to it.
    pub fn judge(&mut self, links: &[u32], down: bool) -> bool {
        let change =
            |link: &u32| if down { self.down.insert(*link) } else { self.down.remove(link) };
        links.iter().map(change).fold(false, |news, each| news | each)
    }

    /// Brings a node's routes into a table; column and entry of those that this changed.
    pub fn install(&self, node: u32, fib: &mut Fib) -> Vec<(u32, u32)> {
        let mut changed = Vec::new();
        for (column, &destination) in (0..).zip(&self.ends) {
            if node == destination {
                continue;
            }
            let before = fib.next(node, column);
            fib.set(node, column, &self.choose(node, column));
            if fib.next(node, column) != before {
                changed.push((column, fib.next(node, column)));
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteSearch;

    /// It is news if any of the links was taken for the other before.
    #[test]
    fn links_that_a_node_takes_for_down_or_up_are_news_once() {
        let found = Fib::new(0, &[], &[], RouteSearch::default());
        let (by_node, ends) = (BTreeMap::new(), Vec::new());
        let mut routes = StaticRoutes { by_node, ends, found, down: BTreeSet::new() };
        for (links, down, is_news) in [
            (&[1, 2][..], true, true),
            (&[2, 1], true, false),
            (&[1, 2, 3], true, true),
            (&[1, 3], false, true),
            (&[3, 1], false, false),
            (&[], true, false),
            (&[2], false, true),
        ] {
            assert_eq!(routes.judge(links, down), is_news, "{links:?} {down}");
        }
    }
}
