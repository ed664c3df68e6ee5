//! Forwarding entries and bindings that signalling makes and takes away.

use super::build::bind;
use super::nhlfe::{NhlfeRow, BRIDGED, CHANGED_ENTRIES};
use super::{Tables, FIRST_SET, NO_ENTRY};
use crate::network::{Ftn, Nhlfe, Ttl};
use trunkline_control as control;

impl Tables {
    /// Adds an entry, in the place of an unused one if there is any; returns its index.
    pub fn add_entry(&mut self, signalled_entry: control::ForwardingEntry) -> u32 {
        let [on, off] = signalled_entry.diffserv;
        let config = Nhlfe {
            link: signalled_entry.link,
            pop: signalled_entry.pop,
            push: signalled_entry.inner.into_iter().chain(signalled_entry.push).collect(),
            ttl: if signalled_entry.pipe { Ttl::Pipe } else { Ttl::Uniform },
            push_diffserv: vec![on],
            pop_diffserv: off,
            path: signalled_entry.path,
            ..Nhlfe::default()
        };
        let mut entry = NhlfeRow::new(&config, self.plain, &self.diffserv);
        if signalled_entry.closed {
            entry.link = CHANGED_ENTRIES;
        }
        self.store_entry(entry)
    }

    pub(super) fn store_entry(&mut self, entry: NhlfeRow) -> u32 {
        match self.spare.pop() {
            Some(index) => {
                self.nhlfe[index as usize] = entry;
                index
            }
            None => {
                self.nhlfe.push(entry);
                self.nhlfe.len() as u32 - 1
            }
        }
    }

    /// Adds a set of entries of equal cost, in the place of an unused one if there is any; returns its
    /// index.
    pub fn add_set(&mut self, entries: &[u32]) -> u32 {
        match self.spare_sets.pop() {
            Some(index) => {
                self.sets[(index - FIRST_SET) as usize] = entries.to_vec();
                index
            }
            None => {
                self.sets.push(entries.to_vec());
                FIRST_SET + self.sets.len() as u32 - 1
            }
        }
    }

    /// Link that an entry sends on, if it sends at all.
    #[must_use]
    pub fn link_of(&self, entry: u32) -> Option<u32> {
        Some(self.nhlfe.get(entry as usize)?.link).filter(|link| *link < BRIDGED)
    }

    /// Gives an entry or a set back.
    pub fn free_entry(&mut self, entry: u32) {
        let is_bound = || self.ftn.iter().any(|row| row.contains(&entry));
        debug_assert!(!is_bound(), "classes leave an entry before it is freed");
        if entry < FIRST_SET {
            self.spare.push(entry);
        } else {
            self.spare_sets.push(entry);
        }
    }

    /// Binds an incoming label at a node, or unbinds it.
    pub fn bind_label(&mut self, node: u32, label: u32, entry: Option<u32>) {
        self.ilm[node as usize].insert(label, entry.unwrap_or(NO_ENTRY));
    }

    /// Binds a class at a node, or unbinds it; no DSCP = all.
    pub fn bind_class(&mut self, node: u32, fec: u16, dscps: &[u8], entry: Option<u32>) {
        let row = &mut self.ftn[node as usize];
        if row.len() <= usize::from(fec) {
            row.resize(usize::from(fec) + 1, NO_ENTRY);
        }
        let nhlfe = entry.unwrap_or(NO_ENTRY);
        let config = Ftn { node, fec, nhlfe, dscps: dscps.to_vec() };
        bind(&mut row[usize::from(fec)], &config, &mut self.by_dscp, |_| nhlfe);
    }

    /// Bytes that have entered each path since the counters started.
    #[must_use]
    pub fn bytes_by_path(&self) -> Vec<u64> {
        self.paths.iter().map(|path| path.bytes).collect()
    }

    /// Bytes that have entered a path since the counters started.
    #[must_use]
    pub fn bytes_of(&self, path: u32) -> u64 {
        self.paths[path as usize].bytes
    }
}
