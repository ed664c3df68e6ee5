//! Entries of node segments, which follow the IP routes during the run.
//!
//! Source: RFC 8402 section 3.1 (a node segment is the shortest path to the node), RFC 8660 section
//! 2.10 (the action on its label at each router). The node before the segment's end pops the label, so
//! it depends on the next hop whether it stays. With ECMP the next hops of equal cost share its packets:
//! one entry each, in a set.

use super::nhlfe::{NhlfeRow, UNREACHABLE};
use super::Tables;
use crate::classifier::NO_ROW;
use crate::network::routing::NodeSegment;
use crate::network::Network;
use std::collections::BTreeMap;

/// An entry that follows the routes of a node to another.
#[derive(Clone, Debug)]
pub(super) struct RouteFollower {
    segment: NodeSegment,
    /// Sets that it is bound by, with ECMP.
    sets: Vec<usize>,
    /// Entries of its next hops, those in use first.
    members: Vec<u32>,
}

/// Followers by node and by the node that their segment leads to.
pub(super) type Followers = BTreeMap<(u32, u32), Vec<RouteFollower>>;

/// The entries that follow routes in a network.
pub(super) fn followers(network: &Network, sets: &[Vec<u32>]) -> Followers {
    let mut followers_by_node = Followers::new();
    for segment in &network.routing.segments {
        let of_it = |(_, set): &(usize, &Vec<u32>)| set.first() == Some(&segment.entry);
        let bound: Vec<(usize, &Vec<u32>)> = sets.iter().enumerate().filter(of_it).collect();
        let members =
            bound.first().map_or_else(|| vec![segment.entry], |segment| segment.1.clone());
        let sets = bound.into_iter().map(|segment| segment.0).collect();
        let follower = RouteFollower { segment: segment.clone(), sets, members };
        followers_by_node.entry((segment.node, segment.destination)).or_default().push(follower);
    }
    followers_by_node
}

/// Sets the route of an entry: its link and the node at the far end, if there is one.
fn follow_route(
    entry: &mut NhlfeRow,
    segment: &NodeSegment,
    route: Option<(u32, u32)>,
    plain: u16,
) {
    let top = usize::from(entry.pushes);
    let labelled = top > 0 && entry.label(top - 1) == segment.label;
    let Some((link, to)) = route else {
        entry.link = UNREACHABLE;
        return;
    };
    entry.link = link;
    let row = segment.rows.iter().find(|row| row[0] == link);
    entry.row = row.map_or(NO_ROW, |row| row[1] as u16);
    if to == segment.destination && labelled {
        entry.pushes -= 1;
    } else if to != segment.destination && !labelled {
        entry.set_label(top, segment.label, plain);
        entry.pushes += 1;
    }
    if entry.pop {
        entry.unmark = if entry.pushes == 0 { plain } else { 0 };
        entry.pops_alone = entry.unmark == 0;
    }
}

impl Tables {
    /// Whether an entry follows routes.
    pub fn follows(&self, entry: u32) -> bool {
        self.followers.values().flatten().any(|follower| follower.segment.entry == entry)
    }

    /// Makes the labels that lead to a node follow the routes of IP at `node`, each a link and the
    /// node at its far end: all of them with ECMP, else the first.
    pub fn follow(&mut self, node: u32, destination: u32, routes: &[(u32, u32)]) {
        let Some(mut followers) = self.followers.remove(&(node, destination)) else { return };
        for RouteFollower { segment, sets, members } in &mut followers {
            let plain = self.plain;
            let used = if sets.is_empty() { 1 } else { routes.len().max(1) };
            while members.len() < used {
                let like = self.nhlfe[members[0] as usize].clone();
                members.push(self.store_entry(like));
            }
            for (place, member) in members[..used].iter().enumerate() {
                let route = routes.get(place).copied();
                self.change_entry(*member, |entry| follow_route(entry, segment, route, plain));
            }
            for set in sets {
                self.sets[*set] = members[..used].to_vec();
            }
        }
        self.followers.insert((node, destination), followers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Nhlfe;

    /// Sections 2.10.1 and 3.1: a head with the labels of nodes 2 and 3, the first on top, leaves out that of
    /// node 2 while node 2 is its next hop, which would pop it, and puts it on again behind another one.
    #[test]
    fn rfc8660_s2_10_the_label_of_a_segment_is_left_out_where_the_next_hop_ends_it() {
        let segment =
            NodeSegment { node: 0, destination: 2, entry: 0, label: 16_002, rows: Vec::new() };
        for below in [&[][..], &[16_003], &[16_004, 16_003]] {
            let push = [below, &[16_002]].concat();
            let mut entry = NhlfeRow::new(&Nhlfe { push, ..Nhlfe::default() }, 0, &[]);
            let labels = |entry: &NhlfeRow| -> Vec<u32> {
                (0..usize::from(entry.pushes)).map(|place| entry.label(place)).collect()
            };
            for (next_hop, is_on) in [(1, true), (2, false), (2, false), (4, true), (2, false)] {
                follow_route(&mut entry, &segment, Some((7, next_hop)), 0);
                let expected = [below, if is_on { &[16_002] } else { &[] }].concat();
                assert_eq!((entry.link, labels(&entry)), (7, expected), "{next_hop}");
            }
            follow_route(&mut entry, &segment, None, 0);
            assert_eq!((entry.link, labels(&entry)), (UNREACHABLE, below.to_vec()));
        }
    }
}
