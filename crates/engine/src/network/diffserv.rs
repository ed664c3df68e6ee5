//! Differentiated Services on a label-switched path (RFC 3270, RFC 5462).

use super::Network;
use serde::{Deserialize, Serialize};

/// Maps between codepoints and traffic classes on one label-switched path.
///
/// An E-LSP encodes all PHBs in the TC; on an L-LSP the label gives the scheduling class, and the TC
/// only the drop precedence (RFC 3270 section 1.2). These tables have both forms.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffServ {
    /// TC of its label on an IP packet, by DSCP: 64 entries [0..8].
    pub tc_of_dscp: Vec<u8>,
    /// TC of its label on another label, by the latter's TC: 8 entries [0..8].
    pub tc_of_tc: Vec<u8>,
    /// DSCP of the PHB that each of its TCs means: 8 entries [0..64]; none = no PHB.
    pub dscp_of_tc: Vec<Option<u8>>,
    /// TC that each of its TCs becomes on the label below, in the uniform model: 8 entries [0..8].
    pub tc_below: Vec<u8>,
    /// Treatment of its TC where its label is popped.
    pub tunnel: Tunnel,
}

/// Tunnelling models of RFC 3270 section 2.6, as they concern the node that pops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tunnel {
    /// The label or header below gets the label's PHB (section 2.6.3).
    Uniform,
    /// The label or header below is not changed; the node that pops forwards by the label's PHB (section
    /// 2.6.2).
    Pipe,
    /// The label or header below is not changed, and the node that pops forwards by it (section
    /// 2.6.2.1).
    ShortPipe,
}

/// The language compiles valid maps; a network written by hand may not have them.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    for (index, maps) in network.diffserv.iter().enumerate() {
        let lengths = [maps.tc_of_dscp.len(), maps.tc_of_tc.len(), maps.tc_below.len()];
        if lengths != [64, 8, 8] || maps.dscp_of_tc.len() != 8 {
            return Err(format!("diffserv {index}: maps have 64 DSCPs or 8 TCs"));
        }
        let mut tcs = maps.tc_of_dscp.iter().chain(&maps.tc_of_tc).chain(&maps.tc_below);
        if let Some(tc) = tcs.find(|tc| **tc > 7) {
            return Err(format!("diffserv {index}: TC {tc} is above 7"));
        }
        if let Some(dscp) = maps.dscp_of_tc.iter().flatten().find(|dscp| **dscp > 63) {
            return Err(format!("diffserv {index}: DSCP {dscp} is above 63"));
        }
    }
    let mut tcs: Vec<u8> = network.ecn_in_mpls.iter().flatten().copied().collect();
    tcs.sort_unstable();
    if tcs.windows(2).any(|two| two[0] == two[1]) || tcs.last().is_some_and(|tc| *tc > 7) {
        return Err("ecn_in_mpls: pairs of different TCs, 7 at most".into());
    }
    for entry in &network.nhlfe {
        let pushed = entry.push_diffserv.iter().copied().flatten();
        if let Some(index) = pushed
            .chain(entry.pop_diffserv)
            .find(|index| *index as usize >= network.diffserv.len().min(usize::from(u16::MAX)))
        {
            let count = network.diffserv.len();
            return Err(format!("diffserv {index} does not exist, there are {count}"));
        }
    }
    match network.ftn.iter().flat_map(|entry| &entry.dscps).find(|dscp| **dscp > 63) {
        Some(dscp) => Err(format!("an FTN entry for DSCP {dscp}, above 63")),
        None => Ok(()),
    }
}
