//! Delay, loss and order of the data packets on a label-switched path, where configured.
//!
//! The delay is that of the packet, from source to destination: one clock, as for flows. A packet
//! is late if it arrives after one of its own flow that was sent later (RFC 4737), and jitter takes
//! the difference to the packet of its own flow before it (RFC 3550 section 6.4.1): flows of one
//! path are not compared with each other.

use crate::counters::DelayStatistics;
use crate::histogram::Pool;
use crate::network::Path;
use trunkline_packet::{Cause, PacketId};

/// Path of a packet that rides none that is accounted for.
const NONE: u32 = u32::MAX;

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
        any.then(|| Box::new(Self { is_accounted, accounts, of_packet: Vec::new() }))
    }

    /// The account of a path, if it has one.
    #[must_use]
    pub fn account_of_path(&self, path: usize) -> Option<&PathAccount> {
        self.is_accounted[path].then(|| &self.accounts[path])
    }

    /// A data packet enters a path.
    #[cold]
    pub fn enter(&mut self, packet: PacketId, path: u32) {
        let slot = packet as usize;
        if slot >= self.of_packet.len() {
            self.of_packet.resize(slot + 1, NONE);
        }
        self.of_packet[slot] = if self.is_accounted[path as usize] { path } else { NONE };
    }

    /// A data packet is at its destination. `change`: how its delay differs from that of the packet
    /// of its flow before it.
    #[cold]
    pub fn deliver(
        &mut self,
        packet: PacketId,
        delay: u64,
        change: Option<u64>,
        late: bool,
        pool: &mut Pool,
    ) {
        if let Some(account) = self.leave(packet) {
            account.delay.record(delay, change, pool);
            account.delay.reordered += u64::from(late);
        }
    }

    /// A data packet is lost. The copy that the tail of a 1+1 path does not select is no loss.
    pub fn lose(&mut self, packet: PacketId, cause: Cause) {
        if let Some(account) = self.leave(packet) {
            account.dropped += u64::from(cause != Cause::Unselected);
        }
    }

    fn leave(&mut self, packet: PacketId) -> Option<&mut PathAccount> {
        let path = self.of_packet.get_mut(packet as usize)?;
        self.accounts.get_mut(std::mem::replace(path, NONE) as usize)
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        for account in &mut self.accounts {
            account.delay.restart(pool);
            account.dropped = 0;
        }
    }
}
