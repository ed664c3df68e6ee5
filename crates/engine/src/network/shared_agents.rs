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
