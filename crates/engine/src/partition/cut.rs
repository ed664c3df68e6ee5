//! Where to cut: regions of like weight, as far apart as they can be.

use crate::network::Link;
use trunkline_units::Span;

/// Packet-hops a window of loaded links must hold for each thread to be worth its waits.
const MIN_HOPS_PER_WINDOW: u128 = 5_000;
/// Bits of a typical packet.
const TYPICAL_BITS: u128 = 4_800;
/// The heaviest region may weigh this much more than the mean [1/8].
const MAX_EXCESS_WEIGHT_EIGHTHS: u128 = 1;
/// Distances tried between regions.
const DISTANCES_TRIED: usize = 24;

/// Region of each node in a cut into at most `max_regions` regions that may run ahead by `max_window`, if one is
/// worth it.
pub(super) fn cut_network(
    nodes: usize,
    links: &[Link],
    max_window: Span,
    max_regions: usize,
) -> Option<Vec<u8>> {
    (2..=max_regions).rev().find_map(|regions| cut_into_regions(nodes, links, max_window, regions))
}

/// The cut into `regions` whose regions are farthest apart.
fn cut_into_regions(
    nodes: usize,
    links: &[Link],
    max_window: Span,
    regions: usize,
) -> Option<Vec<u8>> {
    let mut weight = vec![0u128; nodes];
    for link in links {
        weight[link.to as usize] += u128::from(link.rate_bit_s);
    }
    let total: u128 = weight.iter().sum();
    let order = order_by_nearness(nodes, links);
    let mut delays: Vec<Span> = links.iter().map(|link| link.delay_ns).collect();
    delays.sort_unstable();
    delays.dedup();
    let step = delays.len().div_ceil(DISTANCES_TRIED).max(1);
    delays.into_iter().rev().step_by(step).find_map(|window| {
        // A run may be shorter than a link, and so may be the time that a message is handled.
        let worked = window.min(max_window);
        let hops = total * u128::from(worked) / TYPICAL_BITS / 1_000_000_000;
        if hops < MIN_HOPS_PER_WINDOW * regions as u128 {
            return None;
        }
        let of_node = fill_regions(links, window, &order, &weight, regions);
        let mut held = vec![0u128; regions];
        for (node, region) in of_node.iter().enumerate() {
            held[usize::from(*region)] += weight[node];
        }
        let heaviest = held.into_iter().max()?;
        let even = 8 * heaviest * regions as u128 <= (8 + MAX_EXCESS_WEIGHT_EIGHTHS) * total;
        even.then_some(of_node)
    })
}

/// Nodes in the order of a walk that visits near nodes first.
fn order_by_nearness(nodes: usize, links: &[Link]) -> Vec<u32> {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for link in links {
        neighbours[link.from as usize].push(link.to);
        neighbours[link.to as usize].push(link.from);
    }
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    for first in 0..nodes as u32 {
        if !std::mem::replace(&mut seen[first as usize], true) {
            order.push(first);
        }
        let mut next = order.len() - 1;
        while next < order.len() {
            for &node in &neighbours[order[next] as usize] {
                if !std::mem::replace(&mut seen[node as usize], true) {
                    order.push(node);
                }
            }
            next += 1;
        }
    }
    order
}

/// Fills region after region; nodes nearer to each other than `window` stay together.
fn fill_regions(
    links: &[Link],
    window: Span,
    order: &[u32],
    weight: &[u128],
    regions: usize,
) -> Vec<u8> {
    let mut group: Vec<u32> = (0..weight.len() as u32).collect();
    for link in links.iter().filter(|link| link.delay_ns < window) {
        let (a, b) = (find_group(&mut group, link.from), find_group(&mut group, link.to));
        group[a.max(b) as usize] = a.min(b);
    }
    let mut heavy = vec![0u128; weight.len()];
    for node in 0..weight.len() as u32 {
        heavy[find_group(&mut group, node) as usize] += weight[node as usize];
    }
    let total: u128 = weight.iter().sum();
    let mut region_of_group: Vec<Option<u8>> = vec![None; weight.len()];
    let mut filled = 0;
    for &node in order {
        let group_of_node = find_group(&mut group, node) as usize;
        if region_of_group[group_of_node].is_none() {
            // By the middle of the group's weight.
            let middle = filled + heavy[group_of_node] / 2;
            let region = middle * regions as u128 / total.max(1);
            region_of_group[group_of_node] = Some(region.min(regions as u128 - 1) as u8);
            filled += heavy[group_of_node];
        }
    }
    (0..weight.len() as u32)
        .map(|node| region_of_group[find_group(&mut group, node) as usize].unwrap_or(0))
        .collect()
}

fn find_group(group: &mut [u32], node: u32) -> u32 {
    let mut node = node;
    while group[node as usize] != node {
        group[node as usize] = group[group[node as usize] as usize];
        node = group[node as usize];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: u64 = 1_000_000_000;
    const SECOND: Span = 1_000_000_000;

    fn link(from: u32, to: u32, rate_bit_s: u64, delay_ns: Span) -> Link {
        Link {
            name: format!("{from}->{to}"),
            from,
            to,
            rate_bit_s,
            delay_ns,
            header_bytes: 0,
            mtu_bytes: 1500,
            metric: 1,
            loss: 0.0,
            reorder: None,
            scripted: Vec::new(),
            port: 0,
            conditioner: None,
            ingress: None,
            account: false,
        }
    }

    /// Two rings of six nodes with links of 0.1 ms, joined by two links of 5 ms, at a rate.
    fn two_rings(rate_bit_s: u64) -> Vec<Link> {
        let mut links = Vec::new();
        let mut join = |a: u32, b: u32, delay_ns: Span| {
            links.extend([(a, b), (b, a)].map(|(from, to)| link(from, to, rate_bit_s, delay_ns)));
        };
        for node in 0..6 {
            join(node, (node + 1) % 6, 100_000);
            join(6 + node, 6 + (node + 1) % 6, 100_000);
        }
        join(0, 6, 5_000_000);
        join(3, 9, 5_000_000);
        links
    }

    #[test]
    fn regions_are_cut_where_links_are_long() {
        let regions = cut_network(12, &two_rings(GBIT), SECOND, 2).expect("worth it");
        assert!(regions[..6].iter().all(|region| *region == regions[0]));
        assert!(regions[6..].iter().all(|region| *region == 1 - regions[0]));
    }

    /// 28 links of 1 Gbit/s and 5 ms: 29,000 packets of 600 B; of 100 Mbit/s: 2,900.
    #[test]
    fn a_window_with_little_work_is_not_worth_a_cut() {
        assert_eq!(cut_network(12, &two_rings(GBIT / 10), SECOND, 2), None);
    }

    /// The same links for a tenth of their delay: 2,900 packets again.
    #[test]
    fn a_run_shorter_than_a_link_is_not_worth_a_cut() {
        assert_eq!(cut_network(12, &two_rings(GBIT), 500_000, 2), None);
    }

    /// Two threads are worth it from 10,000 packets a window on: 2 Tbit/s bring 600 B in 2.4 ns, and so 10,000
    /// packets in 24 us.
    #[test]
    fn two_regions_need_a_window_of_ten_thousand_packets() {
        let joined = [link(0, 1, 1000 * GBIT, 25_000), link(1, 0, 1000 * GBIT, 25_000)];
        assert_eq!(cut_network(2, &joined, 24_000, 2), Some(vec![0, 1]));
        assert_eq!(cut_network(2, &joined, 23_999, 2), None);
        let near = [link(0, 1, 1000 * GBIT, 23_999), link(1, 0, 1000 * GBIT, 23_999)];
        assert_eq!(cut_network(2, &near, SECOND, 2), None);
    }

    /// The heavier of two regions may have 9/8 of the mean: 9 of 16 Gbit/s, and not a bit more.
    #[test]
    fn a_region_may_have_an_eighth_more_than_the_mean() {
        let weights =
            |to_first, to_second| [link(0, 1, to_second, SECOND), link(1, 0, to_first, SECOND)];
        for more in [0, 1] {
            let expected = (more == 0).then(|| vec![0, 1]);
            let (light, heavy) = (7 * GBIT, 9 * GBIT + more);
            assert_eq!(cut_network(2, &weights(light, heavy), SECOND, 2), expected);
            assert_eq!(cut_network(2, &weights(heavy, light), SECOND, 2), expected);
        }
    }

    /// A chain of four nodes, whose inner ones have two links each: in the middle it divides evenly, and at an end
    /// into parts of one and five links.
    #[test]
    fn a_shorter_link_is_cut_where_the_longest_divides_unevenly() {
        let chain = |delays: [Span; 3]| -> Vec<Link> {
            let both_ways = |(a, delay): (u32, Span)| {
                [link(a, a + 1, GBIT, delay), link(a + 1, a, GBIT, delay)]
            };
            (0..).zip(delays).flat_map(both_ways).collect()
        };
        let (long, short) = (SECOND, SECOND / 2);
        assert_eq!(cut_network(4, &chain([short, long, short]), SECOND, 2), Some(vec![0, 0, 1, 1]));
        assert_eq!(cut_network(4, &chain([long, short, short]), SECOND, 2), Some(vec![0, 0, 1, 1]));
        assert_eq!(cut_network(4, &chain([1, 1, long]), SECOND, 2), None);
    }

    /// The walk goes by links, not by the numbers of nodes.
    #[test]
    fn near_nodes_are_in_one_region_whatever_their_numbers() {
        let way = [0u32, 2, 4, 1, 3, 5];
        let links: Vec<Link> = way
            .windows(2)
            .flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])])
            .map(|(from, to)| link(from, to, GBIT, SECOND))
            .collect();
        assert_eq!(cut_network(6, &links, SECOND, 2), Some(vec![0, 1, 0, 1, 0, 1]));
    }

    /// Weights of 7, 2 and 7: the middle of the second is that of all, where the second region begins.
    #[test]
    fn a_node_is_in_the_region_of_the_middle_of_its_weight() {
        let links = [(1, 0, 7), (0, 1, 1), (2, 1, 1), (1, 2, 7)]
            .map(|(from, to, gbit)| link(from, to, gbit * GBIT, SECOND));
        assert_eq!(cut_network(3, &links, SECOND, 2), Some(vec![0, 1, 1]));
    }

    /// Three regions of four nodes must cut rings, whose links allow windows of 0.1 ms alone.
    #[test]
    fn more_regions_than_islands_need_shorter_windows() {
        let regions = cut_network(12, &two_rings(100 * GBIT), SECOND, 3).expect("worth it");
        for region in 0..3 {
            let nodes = regions.iter().filter(|other| **other == region).count();
            assert!((3..=5).contains(&nodes), "{regions:?}");
        }
    }
}
