//! Delay, loss and order of the data packets on a label-switched path, where configured.
//!
//! The delay is that of the packet, from source to destination: one clock, as for flows. A packet
//! is late if it arrives after one of its own flow that was sent later (RFC 4737), and jitter takes
//! the difference to the packet of its own flow before it (RFC 3550 section 6.4.1): flows of one
//! path are not compared with each other.

use crate::counters::DelayStatistics;
use crate::histogram::Pool;
use crate::network::Path;
use crate::observer::PlaceInTime;
use trunkline_packet::{Cause, PacketId};
use trunkline_units::{Span, Time};

/// Path of a packet that rides none that is accounted for.
const NONE: u32 = u32::MAX;

/// The delay of a data packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct DeliveredDelay {
    /// When.
    pub at: Time,
    /// Place of the event.
    pub place: PlaceInTime,
    /// The delay.
    pub delay: Span,
    /// Its difference from that of the packet of its flow before it.
    pub change: Option<Span>,
    /// It arrived after one that was sent later.
    pub late: bool,
}

/// A difference of delays for the jitter of a path, whose packets may arrive in several regions.
#[derive(Clone, Copy, Debug)]
pub struct DelayChange {
    at: Time,
    place: PlaceInTime,
    path: u32,
    change: Span,
}

/// Measurements of the packets of a path since the warm-up.
#[derive(Clone, Debug, Default)]
pub struct PathAccount {
    /// Delays of those that arrived.
    pub delay: DelayStatistics,
    /// Data packets that were lost on it or behind it.
    pub dropped: u64,
}

/// Accounts of all paths that ask for one.
#[derive(Clone, Debug)]
pub struct PathAccounts {
    is_accounted: Vec<bool>,
    accounts: Vec<PathAccount>,
    /// Path by packet.
    of_packet: Vec<u32>,
    /// Of a region, by the region that has the jitter of their paths; empty in an entire network.
    pub changes_by_region: Vec<Vec<DelayChange>>,
}

impl PathAccounts {
    /// Accounts of the paths that ask for them; none if none does.
    #[must_use]
    pub fn new(paths: &[Path]) -> Option<Box<Self>> {
        // Traffic with labels of LDP is no path and is last.
        let is_accounted: Vec<bool> =
            paths.iter().map(|path| path.account).chain([false]).collect();
        let accounts = vec![PathAccount::default(); paths.len()];
        let any = is_accounted.contains(&true);
        let (of_packet, changes_by_region) = (Vec::new(), Vec::new());
        any.then(|| Box::new(Self { is_accounted, accounts, of_packet, changes_by_region }))
    }

    /// The account of a path, if it has one.
    #[must_use]
    pub fn account_of_path(&self, path: usize) -> Option<&PathAccount> {
        self.is_accounted[path].then(|| &self.accounts[path])
    }

    /// A data packet enters a path.
    #[cold]
    pub fn enter(&mut self, packet: PacketId, path: u32) {
        self.set_path(packet, Some(path).filter(|path| self.is_accounted[*path as usize]));
    }

    /// A data packet is at its destination.
    #[cold]
    pub fn deliver(&mut self, packet: PacketId, delivered: DeliveredDelay, pool: &mut Pool) {
        let Some(path) = self.take_path(packet) else { return };
        let DeliveredDelay { at, place, delay, change, late } = delivered;
        let account = &mut self.accounts[path as usize];
        account.delay.count_delay(delay, change.is_none(), pool);
        account.delay.reordered += u64::from(late);
        let Some(change) = change else { return };
        match self.changes_by_region.len() {
            0 => account.delay.smooth(change),
            regions => self.changes_by_region[path as usize % regions].push(DelayChange {
                at,
                place,
                path,
                change,
            }),
        }
    }

    /// Jitter needs all packets of a path in order: of each path one of so many regions has it.
    pub fn restrict_to_region(&mut self, regions: usize) {
        self.changes_by_region.resize_with(regions, Vec::new);
    }

    /// Enters the changes of all regions in one window of time, in the order of their events. Those from
    /// before `since` have been forgotten.
    pub fn smooth(&mut self, changes: &mut Vec<DelayChange>, since: Time) {
        changes.sort_by_key(|change| (change.at, change.place));
        for change in changes.drain(..).filter(|change| change.at >= since) {
            self.accounts[change.path as usize].delay.smooth(change.change);
        }
    }

    /// Adds the accounts of another region, whose histograms come behind `blocks` blocks of the pool.
    pub fn join(&mut self, part: &mut Self, blocks: usize, pool: &mut Pool) {
        for (own, more) in self.accounts.iter_mut().zip(&mut part.accounts) {
            more.delay.histogram.moved(blocks);
            own.delay.join(&more.delay, pool);
            own.dropped += more.dropped;
        }
    }

    /// A data packet is lost. The copy that the tail of a 1+1 path does not select is no loss.
    pub fn lose(&mut self, packet: PacketId, cause: Cause) {
        if let Some(path) = self.take_path(packet) {
            self.accounts[path as usize].dropped += u64::from(cause != Cause::Unselected);
        }
    }

    /// The path of a packet, which leaves it, if that is accounted for.
    pub fn take_path(&mut self, packet: PacketId) -> Option<u32> {
        let path = self.of_packet.get_mut(packet as usize)?;
        Some(std::mem::replace(path, NONE)).filter(|path| *path != NONE)
    }

    /// A packet that comes from another region is on an accounted path, or on none.
    pub fn set_path(&mut self, packet: PacketId, path: Option<u32>) {
        let slot = packet as usize;
        if slot >= self.of_packet.len() {
            self.of_packet.resize(slot + 1, NONE);
        }
        self.of_packet[slot] = path.unwrap_or(NONE);
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        for account in &mut self.accounts {
            account.delay.restart(pool);
            account.dropped = 0;
        }
    }
}
