//! The label tables of a network: bindings of classes, and entries of equal cost as sets.

use super::diffserv::TcMarking;
use super::label_map::LabelMap;
use super::nhlfe::NhlfeRow;
use super::{
    segments, CongestionMap, Overlays, PathCounters, Tables, FIRST_SET, FIRST_SPLIT, NO_ENTRY,
};
use crate::ecmp::EcmpHasher;
use crate::network;

impl Tables {
    /// Builds the tables of a network whose indices are valid.
    #[must_use]
    pub fn new(network: &network::Network, seed: u64) -> Self {
        let nodes = network.nodes.len();
        let chooser = EcmpHasher::new(network, seed);
        // An entry that follows routes is a set from the start: it may get more next hops of equal cost.
        let follows = |entry| network.routing.segments.iter().any(|segment| segment.entry == entry);
        let alone = |entry| !chooser.is_on() || !follows(entry);
        let mut sets = Vec::new();
        let mut ilm = vec![LabelMap::default(); nodes];
        for entry in &network.ilm {
            let map = &mut ilm[entry.node as usize];
            let before = Some(map.get(entry.label));
            let before = before.filter(|&before| before != NO_ENTRY && chooser.is_on());
            map.insert(entry.label, join_entry(before, entry.nhlfe, &mut sets, alone));
        }
        let mut ftn: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut by_dscp = Vec::new();
        for entry in &network.ftn {
            let row = &mut ftn[entry.node as usize];
            if row.len() <= usize::from(entry.fec) {
                row.resize(usize::from(entry.fec) + 1, NO_ENTRY);
            }
            bind(&mut row[usize::from(entry.fec)], entry, &mut by_dscp, |before| {
                let before = Some(before).filter(|&segment| segment != NO_ENTRY && chooser.is_on());
                join_entry(before, entry.nhlfe, &mut sets, alone)
            });
        }
        let paths = vec![PathCounters::default(); network.paths.len() + 1];
        let congestion = CongestionMap::new(&network.ecn_in_mpls);
        let segment = network.diffserv.iter().map(|segment| TcMarking::new(segment, congestion));
        let mut diffserv: Vec<TcMarking> = segment.collect();
        let mut plain = 0;
        if !network.ecn_in_mpls.is_empty() {
            diffserv.push(TcMarking::plain(congestion));
            plain = diffserv.len() as u16;
        }
        let entries = network.nhlfe.iter();
        let nhlfe = entries.map(|config| NhlfeRow::new(config, plain, &diffserv)).collect();
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
}

/// Binds a class to an entry, for all DSCPs or for some.
pub(super) fn bind(
    slot: &mut u32,
    entry: &network::Ftn,
    by_dscp: &mut Vec<[u32; 64]>,
    mut join: impl FnMut(u32) -> u32,
) {
    if entry.dscps.is_empty() {
        *slot = join(*slot);
        return;
    }
    if *slot < FIRST_SPLIT || *slot == NO_ENTRY {
        by_dscp.push([*slot; 64]);
        *slot = FIRST_SPLIT + by_dscp.len() as u32 - 1;
    }
    for &dscp in &entry.dscps {
        let slot = &mut by_dscp[(*slot - FIRST_SPLIT) as usize][usize::from(dscp)];
        *slot = join(*slot);
    }
}

/// The number of the set of an entry or set and one entry more; a single entry that stays `alone` has
/// its own.
fn join_entry(
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
        return FIRST_SET + sets.len() as u32 - 1;
    };
    if before >= FIRST_SET {
        sets[(before - FIRST_SET) as usize].push(nhlfe);
        return before;
    }
    sets.push(vec![before, nhlfe]);
    FIRST_SET + sets.len() as u32 - 1
}
