//! Entries of node segments, which follow the routes of IP routing while the run goes on.
//!
//! Source: RFC 8402 section 3.1 (a node segment is the shortest path to the node), RFC 8660 section
//! 2.10 (what is done to its label at each router). The node before the segment's end takes the
//! label off, so that it depends on the next hop whether it stays on.

use super::{Tables, UNREACHABLE};
use crate::classifier::NO_ROW;
use crate::network::routing::NodeSegment;
use crate::network::Network;
use std::collections::BTreeMap;

/// Entries by node and by the node that their segment leads to.
pub(super) type Followers = BTreeMap<(u32, u32), Vec<NodeSegment>>;

/// The entries of a network that follow routes.
pub(super) fn followers(network: &Network) -> Followers {
    let mut found = Followers::new();
    for its in &network.routing.segments {
        found.entry((its.node, its.destination)).or_default().push(its.clone());
    }
    found
}

impl Tables {
    /// Whether an entry follows routes.
    pub fn follows(&self, entry: u32) -> bool {
        self.followers.values().flatten().any(|its| its.entry == entry)
    }

    /// Makes the labels that lead to a node follow the route of IP at `node`: its link and the node
    /// at the far end, if there is one.
    pub fn follow(&mut self, node: u32, destination: u32, route: Option<(u32, u32)>) {
        let Some(followers) = self.followers.get(&(node, destination)).cloned() else { return };
        for NodeSegment { entry, label, rows, .. } in followers {
            let plain = self.plain;
            self.change(entry, |its| {
                let top = usize::from(its.pushes);
                let labelled = top > 0 && its.push[top - 1] == label;
                let Some((link, to)) = route else {
                    its.link = UNREACHABLE;
                    return;
                };
                its.link = link;
                let row = rows.iter().find(|row| row[0] == link);
                its.row = row.map_or(NO_ROW, |row| row[1] as u16);
                if to == destination && labelled {
                    its.pushes -= 1;
                } else if to != destination && !labelled {
                    its.push[top] = label;
                    its.pushes += 1;
                }
                if its.pop {
                    its.unmark = if its.pushes == 0 { plain } else { 0 };
                }
            });
        }
    }
}
