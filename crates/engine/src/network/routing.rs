//! Routing in the compiled network.

use serde::{Deserialize, Serialize};

/// How routers route; by default each has one next hop for a destination.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// Whether equal-cost paths share the traffic, and what is hashed to choose one.
    pub ecmp: Option<Ecmp>,
}

/// What a router hashes to choose among paths of equal cost.
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
