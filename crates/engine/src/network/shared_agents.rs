//! Flows that are alike share the description of their agent: of a hundred thousand, few differ.

use super::{Agent, Flow};
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::sync::Arc;

/// Agents that a new flow is compared with: the classes of traffic of one demand.
const RECENT_AGENTS: usize = 8;

/// Reads flows, each with the agent of an earlier one where that is the same.
pub(super) fn flows<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Flow>, D::Error> {
    struct Flows;

    impl<'de> Visitor<'de> for Flows {
        type Value = Vec<Flow>;

        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("a list of flows")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut each: A) -> Result<Vec<Flow>, A::Error> {
            let mut flows = Vec::new();
            let mut recent: Vec<Arc<Agent>> = Vec::new();
            while let Some(mut flow) = each.next_element::<Flow>()? {
                match recent.iter().find(|agent| **agent == flow.agent) {
                    Some(agent) => flow.agent = Arc::clone(agent),
                    None => {
                        recent.truncate(RECENT_AGENTS - 1);
                        recent.insert(0, Arc::clone(&flow.agent));
                    }
                }
                flows.push(flow);
            }
            Ok(flows)
        }
    }

    from.deserialize_seq(Flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    /// Flows in turn of eight kinds share an agent of each; of nine, each agent is the ninth before the next like it.
    #[test]
    fn a_flow_shares_one_of_the_last_eight_agents() {
        for kinds in [1, 8, 9] {
            let flow = |index: usize| {
                json!({"name": "f", "src": 0, "dst": 1, "start_ns": 0, "stop_ns": null,
                    "start_jitter_ns": 0, "dscp": 0, "ttl": 64, "fec": 0, "fec_reverse": 0,
                    "agent": {"protocol": "control", "header_bytes": 20 + index % kinds}})
            };
            let list: Value = (0..3 * kinds).map(flow).collect();
            let read = flows(list).expect("flows");
            for (first, other) in
                (0..3 * kinds).flat_map(|first| (0..first).map(move |it| (it, first)))
            {
                let is_shared = Arc::ptr_eq(&read[first].agent, &read[other].agent);
                let is_alike = (other - first) % kinds == 0;
                assert_eq!(is_shared, is_alike && kinds < 9, "{first} and {other} of {kinds}");
                assert_eq!(read[first].agent == read[other].agent, is_alike);
            }
        }
    }
}
