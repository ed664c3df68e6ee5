//! Forwarding entries that recovery changes for a time.
//!
//! An entry keeps its first content; overlays are added to it and removed again, the last one counts.
//! Forwarding reads the entry alone, so a switch costs the packets nothing.

use super::nhlfe::{NhlfeRow, BRIDGED, CHANGED_ENTRIES, DISCARDED};
use super::Tables;
use std::collections::BTreeMap;
use trunkline_packet::{Cause, Packet};

/// Change of an entry by an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOverlay {
    /// Does as this other entry does.
    As(u32),
    /// The same, while the entry itself still sends on the link that the other one avoids.
    Around {
        /// The other entry.
        other: u32,
        /// The link.
        link: u32,
    },
    /// As before, but with this outermost label and on this link.
    Via {
        /// Label on top.
        label: u32,
        /// Out-link.
        link: u32,
    },
    /// A switch between two positions: no packet passes.
    Open,
    /// A copy that the tail does not select.
    Unselected,
    /// One copy each by the entries of this bridge.
    Bridge(u32),
}

/// Overlays, and the entries under them.
#[derive(Clone, Debug, Default)]
pub struct Overlays {
    originals: BTreeMap<u32, NhlfeRow>,
    /// Owner, entry, overlay, in the order they were laid.
    laid: Vec<(u32, u32, EntryOverlay)>,
    bridges: Vec<[NhlfeRow; 2]>,
}

/// Overlays of overlays to follow before a cycle is suspected.
const MAX_OVERLAY_DEPTH: usize = 8;

impl Tables {
    /// Lays an overlay of `owner` on an entry.
    pub fn add_overlay(&mut self, owner: u32, entry: u32, overlay: EntryOverlay) {
        self.overlays.laid.push((owner, entry, overlay));
        let original = self.nhlfe[entry as usize].clone();
        self.overlays.originals.entry(entry).or_insert(original);
        self.refresh_entries();
    }

    /// Takes off every overlay of `owner`.
    pub fn remove_overlays(&mut self, owner: u32) {
        self.overlays.laid.retain(|laid| laid.0 != owner);
        self.refresh_entries();
    }

    /// Sends the packets of `entry` on both `entry` and `other` from now on (the head of 1+1).
    pub fn bridge(&mut self, owner: u32, entry: u32, other: u32) {
        let pair = [self.nhlfe[entry as usize].clone(), self.nhlfe[other as usize].clone()];
        self.overlays.bridges.push(pair);
        let bridge = self.overlays.bridges.len() as u32 - 1;
        self.add_overlay(owner, entry, EntryOverlay::Bridge(bridge));
    }

    /// Puts the labels of one leg of a bridge on a packet; returns its out-link and row.
    ///
    /// # Errors
    /// The cause of the packet's end: its label stack is full.
    pub fn enter_leg(
        &mut self,
        bridge: u32,
        leg: usize,
        packet: &mut Packet,
    ) -> Result<(u32, u16), Cause> {
        let entry = &self.overlays.bridges[bridge as usize][leg];
        entry.push_all(packet, packet.dscp, &self.diffserv)?;
        self.paths[entry.path as usize].count(packet);
        Ok((entry.link, entry.row))
    }

    /// Path of one leg of a bridge.
    #[must_use]
    pub fn path_of_leg(&self, bridge: u32, leg: usize) -> u32 {
        self.overlays.bridges[bridge as usize][leg].path
    }

    /// Changes the content of an entry below its overlays.
    pub(super) fn change_entry(&mut self, entry: u32, change: impl FnOnce(&mut NhlfeRow)) {
        match self.overlays.originals.get_mut(&entry) {
            Some(original) => change(original),
            None => change(&mut self.nhlfe[entry as usize]),
        }
        self.refresh_entries();
    }

    fn refresh_entries(&mut self) {
        let touched: Vec<u32> = self.overlays.originals.keys().copied().collect();
        for entry in touched {
            self.nhlfe[entry as usize] = self.effective_entry(entry, MAX_OVERLAY_DEPTH);
        }
    }

    fn effective_entry(&self, entry: u32, depth: usize) -> NhlfeRow {
        let original = self.overlays.originals.get(&entry).unwrap_or(&self.nhlfe[entry as usize]);
        let top = self.overlays.laid.iter().rev().find(|laid| laid.1 == entry);
        let mut changed = original.clone();
        match top.map(|laid| laid.2) {
            None => {}
            Some(EntryOverlay::Around { link, .. }) if original.link != link => {}
            Some(EntryOverlay::As(other) | EntryOverlay::Around { other, .. }) if depth > 0 => {
                return self.effective_entry(other, depth - 1);
            }
            Some(EntryOverlay::Via { label, link }) => {
                changed.link = link;
                changed.row = crate::classifier::NO_ROW;
                let top = usize::from(changed.pushes).saturating_sub(1);
                changed.set_label(top, label, self.plain);
                changed.pushes = changed.pushes.max(1);
            }
            Some(EntryOverlay::Open | EntryOverlay::As(_) | EntryOverlay::Around { .. }) => {
                changed.link = CHANGED_ENTRIES
            }
            Some(EntryOverlay::Unselected) => changed.link = DISCARDED,
            Some(EntryOverlay::Bridge(bridge)) => {
                changed.pushes = 0;
                changed.link = BRIDGED;
                changed.path = bridge;
            }
        }
        changed
    }

    /// Adds an entry that swaps `label` at `node` for another one sent on `link`, or takes it off.
    pub fn install(&mut self, node: u32, label: u32, out: Option<(u32, u32)>, path: u32) {
        let entry = crate::network::Nhlfe {
            link: out.map(|(_, link)| link),
            pop: true,
            push: out.map(|(label, _)| label).into_iter().collect(),
            path,
            ..Default::default()
        };
        self.nhlfe.push(NhlfeRow::new(&entry, self.plain, &self.diffserv));
        self.ilm[node as usize].insert(label, self.nhlfe.len() as u32 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Network, Nhlfe};
    use serde_json::json;

    /// Entries 0, 1, ... that send on the links of the same numbers.
    fn tables(entries: u32) -> Tables {
        let run = json!({"duration_ns": 1, "warmup_ns": 0, "seed": 1, "trace": false,
            "waits": false, "delivered_marks": false, "events_per_instant": 1});
        let empty = json!({"format": 2, "name": "", "nodes": [], "links": [], "ports": [],
            "flows": [], "paths": [], "ftn": [], "ilm": [], "nhlfe": [], "probes": [], "run": run});
        let mut network: Network = serde_json::from_value(empty).expect("an empty network");
        network.nhlfe =
            (0..entries).map(|link| Nhlfe { link: Some(link), ..Nhlfe::default() }).collect();
        Tables::new(&network, 1)
    }

    /// An entry may do as another one does that does as a third, over eight of them. What leads farther, or
    /// round in a circle, is no way for a packet.
    #[test]
    fn overlays_lead_over_eight_entries_at_most() {
        let mut tables = tables(10);
        for entry in 0..8 {
            tables.add_overlay(entry, entry, EntryOverlay::As(entry + 1));
        }
        assert!((0..8).all(|entry| tables.nhlfe[entry].link == 8));
        tables.add_overlay(8, 8, EntryOverlay::As(9));
        let links: Vec<u32> = (0..10).map(|entry| tables.nhlfe[entry].link).collect();
        assert_eq!(links, [&[CHANGED_ENTRIES][..], &[9; 9]].concat());
        tables.add_overlay(9, 9, EntryOverlay::As(0));
        assert!((0..10).all(|entry| tables.nhlfe[entry].link == CHANGED_ENTRIES));
        (0..10).for_each(|owner| tables.remove_overlays(owner));
        assert!((0..10).all(|entry| tables.nhlfe[entry].link == entry as u32));
    }
}
