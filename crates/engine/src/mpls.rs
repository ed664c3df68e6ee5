//! Label switching: the tables FTN, ILM and NHLFE, and the forwarding of packets by them.
//!
//! Source: RFC 3031 sections 3.10 to 3.13 (the tables), RFC 3032 section 2.4 (TTL),
//! RFC 3443 (TTL of uniform and pipe tunnels), RFC 3032 section 2.1 (explicit null), RFC 3270
//! (TC at push and pop; `diffserv.rs`).

use crate::classifier::OWN_COLUMN;
use crate::ecmp::{entropy_label, EcmpHasher};
use crate::network;
use trunkline_packet::label::{ENTROPY_INDICATOR, EXPLICIT_NULL};
use trunkline_packet::{Cause, Packet, StackEntry};
use trunkline_units::prefetch;

mod build;
mod congestion;
mod diffserv;
mod label_map;
mod nhlfe;
mod overlay;
mod segments;
mod signalled;

pub use congestion::CongestionMap;
use diffserv::TcMarking;
use label_map::LabelMap;
pub use nhlfe::NextHop;
use nhlfe::NhlfeRow;
pub use overlay::{EntryOverlay, Overlays};

const NO_ENTRY: u32 = u32::MAX;
/// FTN values from here on: a class split by DSCP.
const FIRST_SPLIT: u32 = 1 << 31;
/// Numbers of NHLFEs from here on: a set of entries of equal cost.
const FIRST_SET: u32 = 1 << 30;

/// Packets and bytes that entered each path.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathCounters {
    /// Packets.
    pub packets: u64,
    /// Their bytes, labels included.
    pub bytes: u64,
}

impl PathCounters {
    /// Counts a packet that has its labels.
    #[inline(always)]
    fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.labelled_bytes());
    }
}

/// The tables of every node.
#[derive(Clone, Debug)]
pub struct Tables {
    ilm: Vec<LabelMap>,
    ftn: Vec<Vec<u32>>,
    /// NHLFE by DSCP, of the classes that FTNs split.
    by_dscp: Vec<[u32; 64]>,
    nhlfe: Vec<NhlfeRow>,
    sets: Vec<Vec<u32>>,
    pub(crate) chooser: EcmpHasher,
    diffserv: Vec<TcMarking>,
    /// Marking of labels without their own: index + 1; 0 = none, no TC marks congestion.
    plain: u16,
    pub(crate) congestion: CongestionMap,
    overlays: Overlays,
    /// Entries that follow routes, by node and destination.
    followers: segments::Followers,
    /// Unused entries.
    spare: Vec<u32>,
    /// Unused sets.
    spare_sets: Vec<u32>,
    /// Traffic by path, then the traffic with labels of LDP.
    pub paths: Vec<PathCounters>,
}

impl Tables {
    /// The NHLFE an IP packet of a forwarding equivalence class takes at `node`, if it is bound
    /// to a label there.
    #[inline(always)]
    #[must_use]
    pub fn ftn(&self, node: u32, fec: u16, dscp: u8) -> Option<u32> {
        let nhlfe = *self.ftn[node as usize].get(usize::from(fec))?;
        if nhlfe < FIRST_SPLIT {
            return Some(nhlfe);
        }
        let nhlfe = *self.by_dscp.get((nhlfe - FIRST_SPLIT) as usize)?.get(usize::from(dscp))?;
        (nhlfe != NO_ENTRY).then_some(nhlfe)
    }

    /// Fetches what a packet of a class will need to enter its path at `node`: the entry, which is read, so that
    /// work that does not depend on it should follow, and the counters of the path.
    #[inline(always)]
    pub fn fetch_entry_to_path(&self, node: u32, fec: u16, dscp: u8) {
        if fec != 0 {
            let nhlfe = self.ftn(node, fec, dscp).unwrap_or(NO_ENTRY);
            if let Some(entry) = self.nhlfe.get(nhlfe as usize) {
                prefetch::element(&self.paths, entry.path);
            }
        }
    }

    /// Puts the first label(s) on an unlabelled packet as [`Self::label`] does, and counts it.
    ///
    /// # Errors
    /// The cause of the packet's end.
    #[inline(always)]
    pub fn enter(
        &mut self,
        node: u32,
        nhlfe: u32,
        packet: &mut Packet,
        dscp: u8,
    ) -> Result<NextHop, Cause> {
        match self.nhlfe.get(nhlfe as usize) {
            Some(entry) if entry.link < nhlfe::BRIDGED && !entry.entropy => {
                entry.push_first(packet, dscp, &self.diffserv)?;
                self.paths[entry.path as usize].count(packet);
                Ok(NextHop::Link(entry.link, entry.row))
            }
            _ => self.enter_seldom(node, nhlfe, packet, dscp),
        }
    }

    /// The same by an entry that does more than to put labels on, or by a set.
    #[cold]
    #[inline(never)]
    fn enter_seldom(
        &mut self,
        node: u32,
        nhlfe: u32,
        packet: &mut Packet,
        dscp: u8,
    ) -> Result<NextHop, Cause> {
        let hop = self.label(node, nhlfe, packet, dscp)?;
        if !matches!(hop, NextHop::Bridge(_)) {
            self.count(nhlfe, packet);
        }
        Ok(hop)
    }

    /// Puts the first label(s) on an IP packet whose TTL has been counted down, as if it had this
    /// DSCP: its own, or that of the PHB of a pipe it has just left.
    ///
    /// # Errors
    /// The cause of the packet's end.
    #[inline(always)]
    pub fn label(
        &self,
        node: u32,
        nhlfe: u32,
        packet: &mut Packet,
        dscp: u8,
    ) -> Result<NextHop, Cause> {
        let entry = self.entry(node, nhlfe, packet);
        if entry.entropy {
            push_entropy(packet, dscp)?;
        }
        entry.push_all(packet, dscp, &self.diffserv)?;
        entry.hop(false)
    }

    /// Counts a packet that has got the first labels of a path.
    #[inline(always)]
    pub fn count(&mut self, nhlfe: u32, packet: &Packet) {
        let path = self.path_of(nhlfe) as usize;
        self.paths[path].count(packet);
    }

    /// Path that an entry belongs to, or all entries of a set.
    #[inline(always)]
    #[must_use]
    pub fn path_of(&self, nhlfe: u32) -> u32 {
        let first = self.nhlfe.get(nhlfe as usize);
        first
            .unwrap_or_else(|| &self.nhlfe[self.sets[(nhlfe - FIRST_SET) as usize][0] as usize])
            .path
    }

    /// The entry of this number, or the one of a set that the packet's hash chooses.
    #[inline(always)]
    fn entry(&self, node: u32, nhlfe: u32, packet: &Packet) -> &NhlfeRow {
        match self.nhlfe.get(nhlfe as usize) {
            Some(entry) => entry,
            None => self.entry_of_set(node, nhlfe, packet),
        }
    }

    #[cold]
    fn entry_of_set(&self, node: u32, nhlfe: u32, packet: &Packet) -> &NhlfeRow {
        let set = &self.sets[(nhlfe - FIRST_SET) as usize];
        &self.nhlfe[set[self.chooser.choose(node, packet, set.len())] as usize]
    }

    /// Prefetches the entry by which [`Self::switch_to_link`] will switch a packet with this top label.
    #[inline(always)]
    pub fn fetch(&self, node: u32, label: u32) {
        prefetch::element(&self.nhlfe, self.ilm[node as usize].get(label));
    }

    /// Switches a labelled packet at `node`. `counted`: this node has already counted its TTL
    /// down, when it took an outer label off.
    ///
    /// # Errors
    /// The cause of the packet's end: no entry for the label, or its TTL ran out.
    #[inline(always)]
    pub fn switch(&self, node: u32, packet: &mut Packet, counted: bool) -> Result<NextHop, Cause> {
        let Some(top) = packet.labels.top() else { return Ok(NextHop::Again(counted, OWN_COLUMN)) };
        if !counted {
            if let Some((link, row)) = self.switch_to_link(node, packet, top) {
                return Ok(NextHop::Link(link, row));
            }
        }
        let ttl = top.ttl().saturating_sub(u8::from(!counted));
        match self.nhlfe.get(self.ilm[node as usize].get(top.label()) as usize) {
            Some(entry) if ttl > 0 => self.switch_by(entry, packet, top, ttl),
            _ => self.switch_seldom(node, packet, counted),
        }
    }

    /// The out-link and row of a packet whose label `top` is only changed or taken off here, and is so.
    /// None, and no change, if there is more to it.
    #[inline(always)]
    pub fn switch_to_link(
        &self,
        node: u32,
        packet: &mut Packet,
        top: StackEntry,
    ) -> Option<(u32, u16)> {
        let entry = self.nhlfe.get(self.ilm[node as usize].get(top.label()) as usize)?;
        if top.ttl() <= 1 || !entry.only_switches() {
            return None;
        }
        let ttl = top.ttl() - 1;
        let swaps = entry.pushes != 0;
        if packet.labels.is_single() {
            // Whether the label changes or goes is hard to predict: selections, not branches.
            let new = StackEntry::new(entry.label(0), top.tc() & entry.keep, ttl);
            packet.labels.set_single(swaps, new);
            let shows = !swaps & (entry.ttl == network::Ttl::Uniform);
            packet.ttl = if shows { ttl } else { packet.ttl };
        } else if swaps {
            // The label changes, TC stays, TTL decreases by one (RFC 3443 section 3).
            let tc = top.tc() & entry.keep;
            packet.labels.replace_top(StackEntry::new(entry.label(0), tc, ttl));
        } else {
            packet.labels.pop();
            reveal_ttl(packet, ttl, entry.ttl);
        }
        Some((entry.link, entry.row))
    }

    /// Switches a packet with a label that has no entry of its own, or whose TTL runs out.
    #[cold]
    fn switch_seldom(
        &self,
        node: u32,
        packet: &mut Packet,
        counted: bool,
    ) -> Result<NextHop, Cause> {
        let Some(top) = packet.labels.top() else { return Ok(NextHop::Again(counted, OWN_COLUMN)) };
        let ttl = top.ttl().saturating_sub(u8::from(!counted));
        if ttl == 0 && top.label() != ENTROPY_INDICATOR {
            return Err(Cause::TtlExpired);
        }
        let nhlfe = self.ilm[node as usize].get(top.label());
        if nhlfe != NO_ENTRY {
            return self.switch_by(self.entry(node, nhlfe, packet), packet, top, ttl);
        }
        if top.label() == EXPLICIT_NULL {
            // RFC 3032 section 2.1: pop, and forward by the label or header below.
            packet.labels.pop();
            self.congestion.mark_below(self.congestion.says_congested(top.tc()), packet)?;
            return Ok(NextHop::Again(reveal_ttl(packet, ttl, network::Ttl::Uniform), OWN_COLUMN));
        }
        if top.label() == ENTROPY_INDICATOR {
            // RFC 6790 section 4.3: the indicator and the label below it are popped together, and
            // the TTL is as without them.
            packet.labels.pop();
            packet.labels.pop();
            self.congestion.mark_below(self.congestion.says_congested(top.tc()), packet)?;
            reveal_ttl(packet, top.ttl(), network::Ttl::Uniform);
            return Ok(NextHop::Again(counted, OWN_COLUMN));
        }
        Err(Cause::NoLabel)
    }

    /// Switches a packet with this top label by an entry; `ttl` is that of the label, decreased.
    #[inline(never)]
    fn switch_by(
        &self,
        entry: &NhlfeRow,
        packet: &mut Packet,
        top: StackEntry,
        ttl: u8,
    ) -> Result<NextHop, Cause> {
        if !entry.pop {
            packet.labels.replace_top(StackEntry::new(top.label(), top.tc(), ttl));
            entry.push_all(packet, packet.dscp, &self.diffserv)?;
            return entry.hop(true);
        }
        if entry.unmark != 0 {
            return self.pop_marked(entry, packet, ttl);
        }
        if entry.pushes == 0 {
            packet.labels.pop();
            return entry.hop(reveal_ttl(packet, ttl, entry.ttl));
        }
        packet.labels.replace_top(StackEntry::new(entry.label(0), top.tc() & entry.keep, ttl));
        entry.push_more(packet, 1, packet.dscp, &self.diffserv)?;
        entry.hop(true)
    }
}

/// After a pop: the uniform model writes the outer TTL into the new top label or header; the pipe model
/// does not (RFC 3443 sections 3.1 to 3.3). True if the packet's TTL has thereby been counted.
#[inline]
fn reveal_ttl(packet: &mut Packet, ttl: u8, model: network::Ttl) -> bool {
    if model == network::Ttl::Pipe {
        return false;
    }
    match packet.labels.top() {
        Some(inner) => {
            packet.labels.replace_top(StackEntry::new(inner.label(), inner.tc(), ttl));
        }
        None => packet.ttl = ttl,
    }
    true
}

/// Pushes an entropy label and its indicator (RFC 6790 section 4.2): the label's TTL is 0, so that it is
/// not forwarded by mistake. The indicator carries the TTL of the packet in both models: the router that
/// pops it restores it.
fn push_entropy(packet: &mut Packet, dscp: u8) -> Result<(), Cause> {
    let (tc, ttl, label) = (dscp >> 3, packet.ttl, entropy_label(packet));
    let has_room = packet.labels.push(StackEntry::new(label, tc, 0))
        && packet.labels.push(StackEntry::new(ENTROPY_INDICATOR, tc, ttl));
    has_room.then_some(()).ok_or(Cause::TooBig)
}
