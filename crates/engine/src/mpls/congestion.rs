//! Congestion marking in MPLS: the traffic classes that mark it, and its transfer to the header below.
//!
//! Source: RFC 5129 sections 3 (a domain marks without a look at ECT, its egress drops packets of
//! senders without ECN), 4.1 and 4.2 (push), 4.3 (mark), 4.5 and 4.6 (pop). One pair of codepoints for
//! each PHB, the same in the entire domain.

use trunkline_packet::{Cause, Ecn, Packet, StackEntry};

/// Pairs of traffic classes: of a PHB, and of the same PHB with congestion experienced. A class of no
/// pair has no mark.
#[derive(Clone, Copy, Debug)]
pub struct CongestionMap {
    congested_tc: [u8; 8],
    phb: [u8; 8],
}

impl CongestionMap {
    /// From pairs of a TC and the TC of the same PHB with congestion experienced.
    #[must_use]
    pub fn new(pairs: &[[u8; 2]]) -> Self {
        let same = std::array::from_fn(|tc| tc as u8);
        let mut map = Self { congested_tc: same, phb: same };
        for &[tc, congested] in pairs {
            map.congested_tc[usize::from(tc)] = congested;
            map.phb[usize::from(congested)] = tc;
        }
        map
    }

    /// The TC of the same PHB without congestion.
    #[inline]
    pub(super) fn phb(&self, tc: u8) -> u8 {
        self.phb[usize::from(tc)]
    }

    /// Whether any TC marks congestion experienced.
    pub(super) fn marks_any(&self) -> bool {
        (0..8).any(|tc| self.says_congested(tc))
    }

    /// Whether a TC marks congestion experienced.
    #[inline]
    pub(super) fn says_congested(&self, tc: u8) -> bool {
        self.phb(tc) != tc
    }

    /// `tc`, or with `experienced` the TC of the same PHB that marks congestion.
    #[inline]
    pub(super) fn marked_tc(&self, tc: u8, experienced: bool) -> u8 {
        if experienced {
            self.congested_tc[usize::from(tc)]
        } else {
            tc
        }
    }

    /// Whether a labelled packet can be marked: its TC has a pair (section 4.3).
    #[must_use]
    pub fn can_mark(&self, packet: &Packet) -> bool {
        packet
            .labels
            .top()
            .is_some_and(|top| self.congested_tc[usize::from(top.tc())] != self.phb(top.tc()))
    }

    /// Marks a packet: its outermost label (section 4.3), without one its IP header.
    pub fn mark(&self, packet: &mut Packet) {
        match packet.labels.top() {
            None => packet.set_ecn(Ecn::Ce),
            Some(top) => {
                let tc = self.marked_tc(top.tc(), true);
                packet.labels.replace_top(StackEntry::new(top.label(), tc, top.ttl()));
            }
        }
    }

    /// Copies the mark of a popped label to the label or header below, now on top (sections 4.5 and
    /// 4.6).
    ///
    /// # Errors
    /// An IP packet whose sender does not understand marks.
    pub(super) fn mark_below(&self, experienced: bool, packet: &mut Packet) -> Result<(), Cause> {
        if !experienced {
            return Ok(());
        }
        if packet.labels.is_empty() && packet.ecn() == Ecn::NotCapable {
            return Err(Cause::CongestionMarked);
        }
        self.mark(packet);
        Ok(())
    }
}
