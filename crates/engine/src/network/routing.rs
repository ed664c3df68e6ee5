//! Routing in the compiled network.

use super::Network;
use serde::{Deserialize, Serialize};
use trunkline_packet::MAX_DEPTH;

/// How routers route; by default each has one next hop for a destination.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// Whether equal-cost paths share the traffic, and the hash input of the choice.
    pub ecmp: Option<Ecmp>,
    /// Whether routers find shortest paths; if not, they know their neighbours and static routes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_igp: bool,
    /// Static routes.
    #[serde(rename = "static", skip_serializing_if = "Vec::is_empty")]
    pub static_routes: Vec<StaticRoute>,
    /// Entries of node segments that follow OSPF's routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<NodeSegment>,
}

/// An entry whose last pushed label is that of a node (RFC 8402 section 3.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSegment {
    /// Router that has the entry.
    pub node: u32,
    /// Node that the label leads to.
    pub destination: u32,
    /// The NHLFE.
    pub entry: u32,
    /// The label; on the packet unless the next hop is the destination.
    pub label: u32,
    /// Links whose port has a row of its classifier for the entry's packets, and the row.
    pub rows: Vec<[u32; 2]>,
}

/// A route that an operator set by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticRoute {
    /// Router that has it.
    pub node: u32,
    /// Node that it leads to; none = all to which there is no other route.
    pub destination: Option<u32>,
    /// Link that packets take.
    pub link: u32,
    /// Administrative distance: the route with the lowest is used.
    pub distance: u8,
}

/// Hash input of a router to choose among paths of equal cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecmp {
    /// The flow, behind labels too.
    Flow,
    /// The label stack of a labelled packet, the flow of another.
    Label,
    /// As `label`, with entropy labels (RFC 6790) where the ingress puts them on.
    Entropy,
}

/// The first static route or entry of a node segment that cannot be.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    for route in &network.routing.static_routes {
        let fail = |why: &str| Err(format!("routing: static route of node {}: {why}", route.node));
        if route.destination.unwrap_or(0).max(route.node) as usize >= network.nodes.len() {
            return fail("its node or destination does not exist");
        }
        if network.links.get(route.link as usize).is_none_or(|link| link.from != route.node) {
            return fail("its link does not leave the node");
        }
    }
    for node_segment in &network.routing.segments {
        let fail = |why: &str| Err(format!("routing: segment label {}: {why}", node_segment.label));
        let Some(entry) = network.nhlfe.get(node_segment.entry as usize) else {
            return fail("its nhlfe does not exist");
        };
        if node_segment.node.max(node_segment.destination) as usize >= network.nodes.len() {
            return fail("its node does not exist");
        }
        if entry.push.last() != Some(&node_segment.label) && entry.push.len() == MAX_DEPTH {
            return fail("there is no room for it on a packet");
        }
    }
    Ok(())
}
