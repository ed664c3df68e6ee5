//! One flow of transfers: the process that opens them, and the counters of those that are over.

use super::connections::{ConnectionSlots, ConnectionTimers, RECEIVER_END, SENDER_END};
use super::measures::TransferMeasures;
use super::min_time::MinTransferTime;
use crate::hosts::FlowPlan;
use crate::network::{Flow, Opened};
use std::collections::{BTreeMap, VecDeque};
use trunkline_agent::tcp::{Counters, TcpConfig};
use trunkline_agent::workload::{OpenSource, Pages, Video};
use trunkline_units::{RandomStream, Time, NEVER};

/// The process that opens transfers.
#[derive(Clone, Debug)]
pub enum Opener {
    /// They arrive by themselves.
    Arrivals(OpenSource),
    /// Users request pages; `requests` is the workload of their requests.
    Pages { users: Pages, requests: u32, request_bytes: u64 },
    /// Players ask for chunks.
    Video { players: Video, requests: u32, request_bytes: u64 },
    /// The users or players of another workload.
    Requests { of: u32 },
}

/// Connections that stay open.
#[derive(Clone, Debug, Default)]
pub struct KeptConnections {
    /// Slots of those without a transfer, by user.
    pub idle: BTreeMap<u32, Vec<u32>>,
    /// Of arrivals, which have one: its slot, and the transfers behind the one that it carries.
    pub only: Option<u32>,
    pub waiting: VecDeque<StartedTransfer>,
}

/// A transfer that has started.
#[derive(Clone, Copy, Debug)]
pub struct StartedTransfer {
    pub bytes: u64,
    pub started: Time,
    /// Number it is recorded by.
    pub number: u32,
    /// A connection opened for it.
    pub opens: bool,
    /// Its user, and of a request: the bytes requested [B].
    pub user: u32,
    pub requested_bytes: u64,
}

/// A flow of transfers.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Index of the flow.
    pub flow: u32,
    /// From here on it requests nothing more.
    pub stop: Time,
    /// Parameters of each connection, their size apart.
    pub tcp: TcpConfig,
    pub opener: Opener,
    pub measures: TransferMeasures,
    pub floor: MinTransferTime,
    /// Connections stay open for the next transfer; none: each transfer has its own.
    pub kept: Option<KeptConnections>,
    pub slots: ConnectionSlots,
    /// Timers of its connections, of senders and of receivers.
    pub timers: [ConnectionTimers; 2],
    /// Connections whose senders have still something to do.
    pub open: u64,
    /// Application bytes and counters of those that are closed.
    pub closed_bytes: u64,
    pub closed: Counters,
}

impl Workload {
    /// The workload of a flow; none if it has no transfers. `index_of` is the workload by flow.
    pub fn new(
        index: u32,
        flow: &Flow,
        tcp: TcpConfig,
        floor: MinTransferTime,
        plan: &FlowPlan,
        ([start, duration], seed): ([Time; 2], u64),
        index_of: &[u32],
    ) -> Option<Self> {
        let transfers = flow.transfers.as_ref()?;
        let end = plan.stop.min(duration);
        let stream = |purpose| RandomStream::new(seed, &format!("flows[{}]", flow.name), purpose);
        let opener = match &transfers.opened {
            Opened::Arrivals(config) => {
                let times = (start, end);
                Opener::Arrivals(OpenSource::new(
                    config,
                    times,
                    stream("arrivals"),
                    stream("sizes"),
                ))
            }
            Opened::Pages { users, requests, request_bytes } => Opener::Pages {
                users: Pages::new(users, start, stream("times"), stream("sizes")),
                requests: index_of[*requests as usize],
                request_bytes: *request_bytes,
            },
            Opened::Video { players, requests, request_bytes } => Opener::Video {
                players: Video::new(players, start, stream("times")),
                requests: index_of[*requests as usize],
                request_bytes: *request_bytes,
            },
            Opened::Requests => Opener::Requests { of: 0 },
        };
        let pages = matches!(opener, Opener::Pages { .. });
        Some(Self {
            flow: index,
            stop: plan.stop,
            tcp,
            opener,
            measures: TransferMeasures::new(&transfers.bins_bytes, transfers.record, pages),
            floor,
            kept: transfers.kept.then(KeptConnections::default),
            slots: ConnectionSlots::default(),
            timers: Default::default(),
            open: 0,
            closed_bytes: 0,
            closed: Counters::default(),
        })
    }

    /// End of its flow at which the process that opens transfers is: users and players are at the receivers.
    pub fn wakes_end(&self) -> usize {
        match self.opener {
            Opener::Pages { .. } | Opener::Video { .. } => RECEIVER_END,
            Opener::Arrivals(_) | Opener::Requests { .. } => SENDER_END,
        }
    }

    /// When one of its ends has something to do: a connection, or the process that opens transfers.
    pub fn next_at_end(&self, end: usize) -> Time {
        let opens_at = if self.wakes_end() == end { self.next_at() } else { NEVER };
        self.timers[end].first_at().min(opens_at)
    }

    /// When it opens its next transfer by itself; [`NEVER`] if it would after it has stopped.
    pub fn next_at(&self) -> Time {
        let next = match &self.opener {
            Opener::Arrivals(source) => source.next_at(),
            Opener::Pages { users, .. } => users.next_at(),
            Opener::Video { players, .. } => players.next_at(),
            Opener::Requests { .. } => NEVER,
        };
        if next < self.stop {
            next
        } else {
            NEVER
        }
    }
}
