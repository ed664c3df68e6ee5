//! Routes against those of another algorithm, on small random networks.

use super::super::lsa::{LsaContent, RouterLink};
use super::{routes, Lsa};
use std::sync::Arc;
use trunkline_units::RandomStream;

/// A one-way link: its ends and its metric.
type Link = (u32, u32, u64);

/// Router-LSAs of nodes; links are numbered in their order.
fn make_database(nodes: u32, links: &[Link]) -> Vec<Lsa> {
    let of_node = |node| {
        let own = (0..).zip(links).filter(|(_, link)| link.0 == node);
        let listed =
            own.map(|(line, (_, to, metric))| RouterLink { line, to: *to, metric: *metric });
        let content = LsaContent::Router(Arc::new(listed.collect()));
        Lsa { place: node, origin: node, sequence: 0, content }
    };
    (0..nodes).map(of_node).collect()
}

/// Minimum costs to a node by relaxing every link as often as there are nodes (Bellman 1958), over links
/// with one back (RFC 2328 section 16.1 (2) (b)).
fn relax_costs(nodes: u32, links: &[Link], to: u32) -> Vec<Option<u64>> {
    let mut costs = vec![None; nodes as usize];
    costs[to as usize] = Some(0);
    for _ in 0..nodes {
        for (from, next, metric) in links.iter().filter(|link| is_two_way(links, link)) {
            let through = costs[*next as usize].map(|cost: u64| cost + metric);
            let known = &mut costs[*from as usize];
            if through.is_some_and(|through| known.is_none_or(|known| through < known)) {
                *known = through;
            }
        }
    }
    costs
}

fn is_two_way(links: &[Link], link: &Link) -> bool {
    links.iter().any(|back| (back.0, back.1) == (link.1, link.0))
}

/// Links of a node that a route of least cost to another begins with, by neighbour and number.
fn first_links(nodes: u32, links: &[Link], node: u32, to: u32) -> Vec<u32> {
    let costs = relax_costs(nodes, links, to);
    let Some(least) = costs[node as usize].filter(|_| node != to) else { return Vec::new() };
    let begins = |link: &Link| {
        link.0 == node
            && is_two_way(links, link)
            && costs[link.1 as usize].is_some_and(|cost| cost + link.2 == least)
    };
    let mut found: Vec<(u32, u32)> = (0..)
        .zip(links)
        .filter(|(_, link)| begins(link))
        .map(|(line, link)| (link.1, line))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, line)| line).collect()
}

/// 300 networks of 2 to 8 nodes, with links in one direction alone, parallel links, equal costs, and parts
/// that nothing connects: the next hops of each node to each other, all of them or the first.
#[test]
fn rfc2328_s16_1_next_hops_are_those_of_bellman_on_random_networks() {
    let mut random = RandomStream::new(1, "spf", "networks");
    let (mut several, mut unreachable) = (0, 0);
    for _ in 0..300 {
        let nodes = 2 + random.below(7) as u32;
        let mut links: Vec<Link> = Vec::new();
        for _ in 0..random.below(3 * u64::from(nodes)) {
            let (one, other) =
                (random.below(nodes.into()) as u32, random.below(nodes.into()) as u32);
            if one != other {
                links.push((one, other, 1 + random.below(3)));
                if random.below(8) > 0 {
                    links.push((other, one, 1 + random.below(3)));
                }
            }
        }
        let database = make_database(nodes, &links);
        for node in 0..nodes {
            let [all, one] = [true, false].map(|multipath| routes(&database, node, multipath));
            for to in 0..nodes {
                let expected = first_links(nodes, &links, node, to);
                assert_eq!(all[to as usize], expected, "{node} to {to} by {links:?}");
                let first = &expected[..expected.len().min(1)];
                assert_eq!(one[to as usize], first, "{node} to {to} by {links:?}");
                several += u32::from(expected.len() > 1);
                unreachable += u32::from(expected.is_empty() && node != to);
            }
        }
    }
    assert!(several > 500 && unreachable > 500, "{several}, {unreachable}");
}
