//! Equal-cost multipath: the choice among several next hops.
//!
//! Source: RFC 2992 section 2 (hash-threshold: the hash space is divided into equal regions, one a next
//! hop, in their order); RFC 6790 (entropy labels), RFC 6391 section 1 (why a flow stays on one path).
//! Differs: the number of the flow, its direction, and of transfers the connection stand for the
//! 5-tuple. Each router has a separate salt, so that the choices of two are independent.
//! Absent: weights, and hashes that depend on load.

use crate::flow_queue;
use crate::network::{Ecmp, Network};
use trunkline_packet::label::{ENTROPY_INDICATOR, FIRST_UNRESERVED_LABEL, MAX_LABEL};
use trunkline_packet::{Packet, StackEntry};
use trunkline_units::RandomStream;

/// The hash functions of a network's routers; none without ECMP.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcmpHasher {
    mode: Option<Ecmp>,
    salts: Vec<u64>,
}

impl EcmpHasher {
    pub fn new(network: &Network, seed: u64) -> Self {
        let mode = network.routing.ecmp;
        let salt = |node: &crate::network::Node| {
            RandomStream::new(seed, &format!("nodes[{}]", node.name), "ecmp").bits()
        };
        let salts = mode.iter().flat_map(|_| network.nodes.iter().map(salt)).collect();
        Self { mode, salts }
    }

    pub fn is_on(&self) -> bool {
        self.mode.is_some()
    }

    /// Chooses one of `next_hop_count` next hops for a packet at `node`, from 0.
    #[cold]
    pub fn choose(&self, node: u32, packet: &Packet, next_hop_count: usize) -> usize {
        let salt = self.salts.get(node as usize).copied().unwrap_or(0);
        // Hash-threshold: the region that the hash is in.
        ((u128::from(nonzero_mix(self.key(packet) ^ salt)) * next_hop_count as u128) >> 64) as usize
    }

    /// Hash key of a packet at a router.
    fn key(&self, packet: &Packet) -> u64 {
        if packet.labels.is_empty() || self.mode == Some(Ecmp::Flow) {
            return flow_key(packet);
        }
        // RFC 6790 section 4.3: labels below 16 are no keys; behind an indicator the entropy label
        // is one, and need be the only one.
        let labels = || packet.labels.iter().map(StackEntry::label);
        if let Some(entropy) = labels().skip_while(|&label| label != ENTROPY_INDICATOR).nth(1) {
            return nonzero_mix(u64::from(entropy));
        }
        labels()
            .filter(|&label| label >= FIRST_UNRESERVED_LABEL)
            .fold(1, |key, label| nonzero_mix(key ^ u64::from(label)))
    }
}

/// Key that distinguishes the flows of IP packets.
fn flow_key(packet: &Packet) -> u64 {
    let flow = 2 * u64::from(packet.flow) + u64::from(packet.is_reverse());
    packet.connection().map_or(nonzero_mix(flow), |connection| {
        nonzero_mix(nonzero_mix(flow) ^ u64::from(connection))
    })
}

/// The entropy label that an ingress gives a packet: of its flow alone, never a reserved label
/// (RFC 6790 section 4.2).
pub(crate) fn entropy_label(packet: &Packet) -> u32 {
    let space = u64::from(MAX_LABEL - FIRST_UNRESERVED_LABEL + 1);
    FIRST_UNRESERVED_LABEL + (nonzero_mix(flow_key(packet) ^ 0x6790) % space) as u32
}

/// Moves the key away from 0, which the other function does not change.
fn nonzero_mix(key: u64) -> u64 {
    flow_queue::mix_hash(key.wrapping_add(0x9e37_79b9_7f4a_7c15))
}
