//! TC at push and pop: Differentiated Services on label-switched paths.
//!
//! Source: RFC 3270 sections 2.6 (tunnelling models), 3.2 to 3.4 and 4.2 to 4.4 (maps of E-LSPs
//! and L-LSPs), RFC 5462 (EXP is called TC), RFC 5129 (`congestion.rs`).

use super::{reveal_ttl, CongestionMap, NextHop, NhlfeRow, Tables};
use crate::classifier::OWN_COLUMN;
use crate::network::{DiffServ, Tunnel};
use trunkline_packet::{Cause, Ecn, Packet, StackEntry};

/// First column of the traffic classes.
const TC_COLUMN: u8 = 64;

/// The maps of one path.
#[derive(Clone, Debug)]
pub(super) struct TcMarking {
    tc_of_dscp: [u8; 64],
    tc_of_tc: [u8; 8],
    dscp_of_tc: [Option<u8>; 8],
    tc_below: [u8; 8],
    tunnel: Tunnel,
    congestion: CongestionMap,
}

/// The first entries of a list; `fill` where it is too short.
fn table<T: Copy, const N: usize>(list: &[T], fill: T) -> [T; N] {
    let mut table = [fill; N];
    for (cell, &value) in table.iter_mut().zip(list) {
        *cell = value;
    }
    table
}

impl TcMarking {
    /// The marking of labels without their own where TCs mark congestion: TC by the first bits of the
    /// DSCP, or that of the label below.
    pub(super) fn plain(congestion: CongestionMap) -> Self {
        Self {
            tc_of_dscp: std::array::from_fn(|dscp| dscp as u8 >> 3),
            tc_of_tc: std::array::from_fn(|tc| tc as u8),
            dscp_of_tc: [None; 8],
            tc_below: std::array::from_fn(|tc| tc as u8),
            tunnel: Tunnel::ShortPipe,
            congestion,
        }
    }

    pub(super) fn new(config: &DiffServ, congestion: CongestionMap) -> Self {
        Self {
            tc_of_dscp: table(&config.tc_of_dscp, 0),
            tc_of_tc: table(&config.tc_of_tc, 0),
            dscp_of_tc: table(&config.dscp_of_tc, None),
            tc_below: table(&config.tc_below, 0),
            tunnel: config.tunnel,
            congestion,
        }
    }

    /// Whether a pop of a label with this marking changes nothing but the TTL of what it reveals.
    pub(super) fn leaves_what_a_pop_reveals(&self) -> bool {
        self.tunnel == Tunnel::ShortPipe && !self.congestion.marks_any()
    }

    /// TC of the path's label on a packet; an IP packet counts as one of this DSCP.
    #[inline]
    pub(super) fn tc(&self, packet: &Packet, dscp: u8) -> u8 {
        let Self { congestion, .. } = self;
        let Some(below) = packet.labels.top() else { return self.tc_of_header(packet, dscp) };
        let tc = self.tc_of_tc[usize::from(congestion.phb(below.tc()))];
        congestion.marked_tc(tc, congestion.says_congested(below.tc()))
    }

    /// The same on a packet without labels.
    #[inline(always)]
    pub(super) fn tc_of_header(&self, packet: &Packet, dscp: u8) -> u8 {
        let tc = self.tc_of_dscp[usize::from(dscp & 63)];
        self.congestion.marked_tc(tc, packet.ecn() == Ecn::Ce)
    }
}

impl Tables {
    /// Pops the top label by an entry with a rule for its TC, then pushes the labels of the entry. `ttl`
    /// is the label's, decreased.
    #[inline(never)]
    pub(super) fn pop_marked(
        &self,
        entry: &NhlfeRow,
        packet: &mut Packet,
        ttl: u8,
    ) -> Result<NextHop, Cause> {
        let marking = &self.diffserv[usize::from(entry.unmark) - 1];
        let Some(popped) = packet.labels.pop() else { return entry.hop(false) };
        let congestion = &marking.congestion;
        let below = packet.labels.top().map_or(0, StackEntry::tc);
        let experienced =
            congestion.says_congested(popped.tc()) || congestion.says_congested(below);
        let outer = usize::from(congestion.phb(popped.tc()));
        let counted = reveal_ttl(packet, ttl, entry.ttl);
        if entry.pushes == 0 && !experienced && marking.tunnel != Tunnel::Uniform {
            if let Ok(hop @ NextHop::Link(..)) = entry.hop(counted) {
                return Ok(hop);
            }
        }
        let phb = marking.dscp_of_tc[outer];
        let mut column = OWN_COLUMN;
        let mut dscp = packet.dscp;
        match marking.tunnel {
            Tunnel::ShortPipe => {}
            Tunnel::Uniform => match packet.labels.top() {
                Some(below) => {
                    let tc = marking.tc_below[outer];
                    packet.labels.replace_top(StackEntry::new(below.label(), tc, below.ttl()));
                }
                None => {
                    packet.dscp = phb.unwrap_or(packet.dscp);
                    dscp = packet.dscp;
                }
            },
            Tunnel::Pipe => {
                if packet.labels.is_empty() {
                    column = phb.unwrap_or(OWN_COLUMN);
                    dscp = phb.unwrap_or(dscp);
                } else {
                    // The label below has its own map, where this TC means another PHB.
                    column = phb.unwrap_or(TC_COLUMN + outer as u8);
                }
            }
        }
        congestion.mark_below(experienced, packet)?;
        entry.push_all(packet, dscp, &self.diffserv)?;
        match entry.hop(counted)? {
            NextHop::Again(counted, _) => Ok(NextHop::Again(counted, column)),
            hop => Ok(hop),
        }
    }
}
