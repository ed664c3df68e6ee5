//! Label switching tables: FTN, ILM and NHLFE, and what an NHLFE does to a packet.
//!
//! Source: RFC 3031 sections 3.10 to 3.13 (the tables), RFC 3032 section 2.4 (TTL),
//! RFC 3443 (TTL of uniform and pipe tunnels), RFC 3032 section 2.1 (explicit null), RFC 3270
//! (TC at push and pop; `diffserv.rs`).

use crate::classifier::{NO_ROW, OWN_COLUMN};
use crate::ecmp::{entropy_label, Chooser};
use crate::network;
use trunkline_packet::label::{ENTROPY_INDICATOR, EXPLICIT_NULL};
use trunkline_packet::{Cause, Packet, StackEntry};

mod congestion;
mod diffserv;
mod overlay;
mod segments;
mod signalled;

pub use congestion::Congestion;
use diffserv::Marking;
pub use overlay::{Overlay, Overlays};

const NONE: u32 = u32::MAX;
/// Out-links of entries that recovery or routing has changed; every real link is below.
const OPEN: u32 = u32::MAX - 1;
const DISCARDED: u32 = u32::MAX - 2;
const UNREACHABLE: u32 = u32::MAX - 3;
const BRIDGED: u32 = u32::MAX - 4;
/// FTN values from here on: a class split by DSCP.
const SPLIT: u32 = 1 << 31;
/// Numbers of NHLFEs from here on: a set of entries of equal cost.
const SET: u32 = 1 << 30;
/// Labels in a page of an ILM.
const PAGE: usize = 256;

/// TTL of a fresh label in the pipe model: the tunnel's length does not show in it.
const PIPE_TTL: u8 = 255;

/// Where an NHLFE sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Out on this link, to be classified there by this row.
    Link(u32, u16),
    /// The label is off: look at the packet again here. `true`: its TTL has been counted down.
    /// Then the column to classify it by, [`OWN_COLUMN`] but at the end of a pipe.
    Again(bool, u8),
    /// One copy each on the two legs of this bridge.
    Bridge(u32),
}

/// A cache line, so that no entry lies on two.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Entry {
    link: u32,
    pop: bool,
    pushes: u8,
    ttl: network::Ttl,
    /// Bits of the TC that a swap keeps.
    keep: u8,
    entropy: bool,
    row: u16,
    path: u32,
    push: [u32; trunkline_packet::MAX_DEPTH],
    /// Marking of each pushed label, and of the popped one: index + 1; 0 = none.
    mark: [u16; trunkline_packet::MAX_DEPTH],
    unmark: u16,
}

/// Packets and bytes that entered each path.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathCounters {
    /// Packets.
    pub packets: u64,
    /// Their bytes, labels included.
    pub bytes: u64,
}

/// One node's incoming label map: two array look-ups, pages of 256 labels.
#[derive(Clone, Debug, Default)]
struct LabelMap {
    pages: Vec<u32>,
    entries: Vec<u32>,
}

impl LabelMap {
    fn insert(&mut self, label: u32, nhlfe: u32) {
        let page = label as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, NONE);
        }
        if self.pages[page] == NONE {
            self.pages[page] = self.entries.len() as u32;
            self.entries.resize(self.entries.len() + PAGE, NONE);
        }
        self.entries[self.pages[page] as usize + label as usize % PAGE] = nhlfe;
    }

    #[inline(always)]
    fn get(&self, label: u32) -> Option<u32> {
        let page = *self.pages.get(label as usize / PAGE)?;
        if page == NONE {
            return None;
        }
        let nhlfe = self.entries[page as usize + label as usize % PAGE];
        (nhlfe != NONE).then_some(nhlfe)
    }
}

/// The tables of every node.
#[derive(Clone, Debug)]
pub struct Tables {
    ilm: Vec<LabelMap>,
    ftn: Vec<Vec<u32>>,
    /// NHLFE by DSCP, of the classes that FTNs split.
    by_dscp: Vec<[u32; 64]>,
    nhlfe: Vec<Entry>,
    sets: Vec<Vec<u32>>,
    pub(crate) chooser: Chooser,
    diffserv: Vec<Marking>,
    /// Marking of labels that have none of their own: index + 1; 0 = none, no TC tells congestion.
    plain: u16,
    pub(crate) congestion: Congestion,
    overlays: Overlays,
    /// Entries that follow routes, by node and destination.
    followers: segments::Followers,
    /// Entries that nothing uses any more.
    spare: Vec<u32>,
    /// Sets that nothing uses any more.
    spare_sets: Vec<u32>,
    /// Traffic by path, then what LDP labels.
    pub paths: Vec<PathCounters>,
}

impl Tables {
    /// Builds the tables of a network whose indices are valid.
    #[must_use]
    pub fn new(network: &network::Network, seed: u64) -> Self {
        let nodes = network.nodes.len();
        let chooser = Chooser::new(network, seed);
        // What follows routes is a set from the start: it may get more next hops of equal cost.
        let follows = |entry| network.routing.segments.iter().any(|its| its.entry == entry);
        let alone = |entry| !chooser.is_on() || !follows(entry);
        let mut sets = Vec::new();
        let mut ilm = vec![LabelMap::default(); nodes];
        for entry in &network.ilm {
            let map = &mut ilm[entry.node as usize];
            let before = map.get(entry.label).filter(|_| chooser.is_on());
            map.insert(entry.label, joined(before, entry.nhlfe, &mut sets, alone));
        }
        let mut ftn: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut by_dscp = Vec::new();
        for entry in &network.ftn {
            let row = &mut ftn[entry.node as usize];
            if row.len() <= usize::from(entry.fec) {
                row.resize(usize::from(entry.fec) + 1, NONE);
            }
            bind(&mut row[usize::from(entry.fec)], entry, &mut by_dscp, |before| {
                let before = Some(before).filter(|&its| its != NONE && chooser.is_on());
                joined(before, entry.nhlfe, &mut sets, alone)
            });
        }
        let paths = vec![PathCounters::default(); network.paths.len() + 1];
        let congestion = Congestion::new(&network.ecn_in_mpls);
        let its = network.diffserv.iter().map(|its| Marking::new(its, congestion));
        let mut diffserv: Vec<Marking> = its.collect();
        let mut plain = 0;
        if !network.ecn_in_mpls.is_empty() {
            diffserv.push(Marking::plain(congestion));
            plain = diffserv.len() as u16;
        }
        let nhlfe = network.nhlfe.iter().map(|its| Entry::new(its, plain)).collect();
        let (overlays, spare, spare_sets) = (Overlays::default(), Vec::new(), Vec::new());
        let followers = segments::followers(network, &sets);
        Self {
            ilm,
            ftn,
            by_dscp,
            nhlfe,
            sets,
            chooser,
            diffserv,
            plain,
            congestion,
            overlays,
            followers,
            spare,
            spare_sets,
            paths,
        }
    }

    /// The NHLFE an IP packet of a forwarding equivalence class takes at `node`, if it is bound
    /// to a label there.
    #[inline(always)]
    #[must_use]
    pub fn ftn(&self, node: u32, fec: u16, dscp: u8) -> Option<u32> {
        let nhlfe = *self.ftn[node as usize].get(usize::from(fec))?;
        if nhlfe < SPLIT {
            return Some(nhlfe);
        }
        let nhlfe = *self.by_dscp.get((nhlfe - SPLIT) as usize)?.get(usize::from(dscp))?;
        (nhlfe != NONE).then_some(nhlfe)
    }

    /// Puts the first label(s) on an IP packet as [`Self::label`] does, and counts it.
    ///
    /// # Errors
    /// The cause of the packet's end.
    #[inline]
    pub fn enter(
        &mut self,
        node: u32,
        nhlfe: u32,
        packet: &mut Packet,
        dscp: u8,
    ) -> Result<Hop, Cause> {
        let hop = self.label(node, nhlfe, packet, dscp)?;
        if !matches!(hop, Hop::Bridge(_)) {
            self.count(nhlfe, packet);
        }
        Ok(hop)
    }

    /// Puts the first label(s) on an IP packet whose TTL has been counted down, as if it had this
    /// DSCP: its own, or that of the PHB of a pipe it has just left.
    ///
    /// # Errors
    /// The cause of the packet's end.
    #[inline]
    pub fn label(
        &self,
        node: u32,
        nhlfe: u32,
        packet: &mut Packet,
        dscp: u8,
    ) -> Result<Hop, Cause> {
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
        let path = &mut self.paths[path];
        path.packets += 1;
        path.bytes += u64::from(packet.labelled_bytes());
    }

    /// Path that an entry belongs to, or all entries of a set.
    #[must_use]
    pub fn path_of(&self, nhlfe: u32) -> u32 {
        let first = self.nhlfe.get(nhlfe as usize);
        first.unwrap_or_else(|| &self.nhlfe[self.sets[(nhlfe - SET) as usize][0] as usize]).path
    }

    /// The entry of this number, or the one of a set that the packet's hash chooses.
    #[inline(always)]
    fn entry(&self, node: u32, nhlfe: u32, packet: &Packet) -> &Entry {
        match self.nhlfe.get(nhlfe as usize) {
            Some(entry) => entry,
            None => self.chosen(node, nhlfe, packet),
        }
    }

    #[cold]
    fn chosen(&self, node: u32, nhlfe: u32, packet: &Packet) -> &Entry {
        let set = &self.sets[(nhlfe - SET) as usize];
        &self.nhlfe[set[self.chooser.choose(node, packet, set.len())] as usize]
    }

    /// Switches a labelled packet at `node`. `counted`: this node has already counted its TTL
    /// down, when it took an outer label off.
    ///
    /// # Errors
    /// The cause of the packet's end: no entry for the label, or its TTL ran out.
    #[inline]
    pub fn switch(&self, node: u32, packet: &mut Packet, counted: bool) -> Result<Hop, Cause> {
        let Some(top) = packet.labels.top() else { return Ok(Hop::Again(counted, OWN_COLUMN)) };
        let ttl = if counted { top.ttl() } else { top.ttl().saturating_sub(1) };
        if ttl == 0 && top.label() != ENTROPY_INDICATOR {
            return Err(Cause::TtlExpired);
        }
        let Some(nhlfe) = self.ilm[node as usize].get(top.label()) else {
            if top.label() == EXPLICIT_NULL {
                // RFC 3032 section 2.1: pop, and forward by what is below.
                packet.labels.pop();
                self.congestion.tell_below(self.congestion.is_said(top.tc()), packet)?;
                return Ok(Hop::Again(reveal(packet, ttl, network::Ttl::Uniform), OWN_COLUMN));
            }
            if top.label() == ENTROPY_INDICATOR {
                // RFC 6790 section 4.3: the indicator and the label below it come off together,
                // and the TTL is what it were without them.
                packet.labels.pop();
                packet.labels.pop();
                self.congestion.tell_below(self.congestion.is_said(top.tc()), packet)?;
                reveal(packet, top.ttl(), network::Ttl::Uniform);
                return Ok(Hop::Again(counted, OWN_COLUMN));
            }
            return Err(Cause::NoLabel);
        };
        let entry = self.entry(node, nhlfe, packet);
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
            return entry.hop(reveal(packet, ttl, entry.ttl));
        }
        // Swap: the label changes, TC stays, TTL goes down by one (RFC 3443 section 3).
        packet.labels.replace_top(StackEntry::new(entry.push[0], top.tc() & entry.keep, ttl));
        entry.push_more(packet, 1, packet.dscp, &self.diffserv)?;
        entry.hop(true)
    }
}

/// After a pop: the uniform model writes the outer TTL into what is now on top; the pipe model
/// leaves it (RFC 3443 sections 3.1 to 3.3). True if the packet's TTL has thereby been counted.
#[inline]
fn reveal(packet: &mut Packet, ttl: u8, model: network::Ttl) -> bool {
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

/// Binds a class to an entry, for all DSCPs or for some.
fn bind(
    slot: &mut u32,
    entry: &network::Ftn,
    by_dscp: &mut Vec<[u32; 64]>,
    mut join: impl FnMut(u32) -> u32,
) {
    if entry.dscps.is_empty() {
        *slot = join(*slot);
        return;
    }
    if *slot < SPLIT || *slot == NONE {
        by_dscp.push([*slot; 64]);
        *slot = SPLIT + by_dscp.len() as u32 - 1;
    }
    for &dscp in &entry.dscps {
        let slot = &mut by_dscp[(*slot - SPLIT) as usize][usize::from(dscp)];
        *slot = join(*slot);
    }
}

/// The number of the set of what stands there and one entry more; of one entry its own, where it
/// stays `alone`.
fn joined(
    before: Option<u32>,
    nhlfe: u32,
    sets: &mut Vec<Vec<u32>>,
    alone: impl Fn(u32) -> bool,
) -> u32 {
    let Some(before) = before else {
        if alone(nhlfe) {
            return nhlfe;
        }
        sets.push(vec![nhlfe]);
        return SET + sets.len() as u32 - 1;
    };
    if before >= SET {
        sets[(before - SET) as usize].push(nhlfe);
        return before;
    }
    sets.push(vec![before, nhlfe]);
    SET + sets.len() as u32 - 1
}

/// Puts an entropy label and its indicator on (RFC 6790 section 4.2): the label's TTL is 0, so that
/// it forwards nothing should it be on top by mistake. The indicator carries the TTL of the packet
/// in both models: what takes it off gives it back.
fn push_entropy(packet: &mut Packet, dscp: u8) -> Result<(), Cause> {
    let (tc, ttl, label) = (dscp >> 3, packet.ttl, entropy_label(packet));
    let both = packet.labels.push(StackEntry::new(label, tc, 0))
        && packet.labels.push(StackEntry::new(ENTROPY_INDICATOR, tc, ttl));
    both.then_some(()).ok_or(Cause::TooBig)
}

impl Entry {
    /// `plain`: the marking of labels that have none of their own.
    fn new(config: &network::Nhlfe, plain: u16) -> Self {
        let mut push = [0; trunkline_packet::MAX_DEPTH];
        push[..config.push.len()].copy_from_slice(&config.push);
        let index = |diffserv: Option<u32>| diffserv.map_or(plain, |index| index as u16 + 1);
        let mut mark = [plain; trunkline_packet::MAX_DEPTH];
        for (mark, &diffserv) in mark.iter_mut().zip(&config.push_diffserv) {
            *mark = index(diffserv);
        }
        Self {
            link: config.link.unwrap_or(NONE),
            pop: config.pop,
            pushes: config.push.len() as u8,
            ttl: config.ttl,
            keep: if config.zero_tc { 0 } else { 7 },
            entropy: config.entropy,
            row: config.row.unwrap_or(NO_ROW),
            path: config.path,
            push,
            mark,
            unmark: if config.push.is_empty() || config.pop_diffserv.is_some() {
                index(config.pop_diffserv)
            } else {
                0 // a swap
            },
        }
    }

    #[inline(always)]
    fn hop(&self, counted: bool) -> Result<Hop, Cause> {
        if self.link < BRIDGED {
            Ok(Hop::Link(self.link, self.row))
        } else {
            self.hop_nowhere(counted)
        }
    }

    fn hop_nowhere(&self, counted: bool) -> Result<Hop, Cause> {
        match self.link {
            BRIDGED => Ok(Hop::Bridge(self.path)),
            DISCARDED => Err(Cause::Unselected),
            OPEN => Err(Cause::Switching),
            UNREACHABLE => Err(Cause::NoRoute),
            _ => Ok(Hop::Again(counted, OWN_COLUMN)),
        }
    }

    #[inline(always)]
    fn push_all(&self, packet: &mut Packet, dscp: u8, markings: &[Marking]) -> Result<(), Cause> {
        self.push_more(packet, 0, dscp, markings)
    }

    /// Pushes labels from the `from`th on. TC: by the label's marking; without one that of the
    /// label below, or the DSCP's class selector bits on the first label. TTL by the model.
    #[inline(always)]
    fn push_more(
        &self,
        packet: &mut Packet,
        from: usize,
        dscp: u8,
        markings: &[Marking],
    ) -> Result<(), Cause> {
        let pushed = from..usize::from(self.pushes);
        for (&label, &mark) in self.push[pushed.clone()].iter().zip(&self.mark[pushed]) {
            let (mut tc, below) = match packet.labels.top() {
                Some(inner) => (inner.tc(), inner.ttl()),
                None => (dscp >> 3, packet.ttl),
            };
            if mark != 0 {
                tc = markings[usize::from(mark) - 1].tc(packet, dscp);
            }
            let ttl = if self.ttl == network::Ttl::Uniform { below } else { PIPE_TTL };
            if !packet.labels.push(StackEntry::new(label, tc, ttl)) {
                return Err(Cause::TooBig);
            }
        }
        Ok(())
    }
}
