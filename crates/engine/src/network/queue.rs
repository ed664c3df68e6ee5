//! Queues: limit, AQM, and the queues by flow behind one limit.

use serde::{Deserialize, Serialize};
use trunkline_port::aqm::AqmConfig;

/// A queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Maximum number of packets it holds; none = no such limit.
    pub limit_packets: Option<u32>,
    /// Maximum number of bytes on the wire it holds; none = no such limit.
    pub limit_bytes: Option<u64>,
    /// Whether limit and AQM count the packet being transmitted too.
    pub counts_in_service: bool,
    /// AQM that judges its packets; of queues by flow, each has one.
    pub aqm: AqmConfig,
    /// Queues by flow behind the limit; none = one queue.
    #[serde(default)]
    pub flows: Option<Flows>,
}

/// Flow queueing: a queue for each flow that a port can distinguish.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// Queues that flows are hashed to [1..=65535]; none = each flow has a separate one.
    pub queues: Option<u32>,
    /// How labelled packets are distinguished.
    pub labelled: FlowKey,
    /// Bytes a flow may send in its turn [B, > 0].
    pub quantum_bytes: u32,
    /// Whether flows that were idle go first.
    pub new_first: bool,
    /// Maximum number of packets in one queue; none = no such limit.
    pub flow_limit_packets: Option<u32>,
    /// The packet to drop when all queues together exceed the limit.
    pub overflow: Overflow,
    /// Maximum number of packets that `head` drops at once [> 0].
    pub batch: u32,
    /// Queues that a hash may choose among: the flow's own, or else an empty one [> 0].
    #[serde(default = "default_ways")]
    pub ways: u32,
    /// Hosts with equal shares, whatever the number of their flows.
    #[serde(default)]
    pub hosts: Hosts,
}

fn default_ways() -> u32 {
    1
}

/// Hosts among which flow queueing divides before it divides among flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hosts {
    /// None: flows alone count.
    #[default]
    Flows,
    /// Those that send.
    Source,
    /// Those that receive.
    Destination,
    /// Both: a flow counts by the busier of its two.
    Both,
}

/// How labelled packets are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKey {
    /// Its label stack.
    Label,
    /// The flow behind the labels.
    FiveTuple,
}

/// The packet to drop when all queues together exceed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The arrival.
    Arrival,
    /// The newest packet of the queue with the most packets.
    Tail,
    /// The oldest packets of the queue with the most bytes: half of it, at most `batch`.
    Head,
}
