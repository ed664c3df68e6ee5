//! The counts and delays of a run, by flow and by place.

use crate::counters::{CongestionMarks, DeliveredTotals, Deliveries, Drops, Totals};
use crate::delivered_marks::DeliveredMarks;
use crate::histogram::Pool;
use crate::observer::PlaceInTime;
use crate::path_account::{DeliveredDelay, PathAccounts};
use trunkline_agent::tcp::Counters;
use trunkline_packet::{Packet, PacketId};
use trunkline_units::{Span, Time};

/// Counters at the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub at: Time,
    /// By flow; empty where there was no warm-up, so that all counters were 0.
    pub flows: Vec<FlowCounters>,
    /// Packets and bytes in each class of each port.
    pub in_port: Vec<Vec<(u64, u64)>>,
    /// Waits by class of each port that were not counted alike by then (see `results::debts`).
    pub debts: Vec<Vec<i128>>,
    pub events: u64,
    pub live: u64,
}

/// Counters of a flow since the run began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounters {
    pub totals: Totals,
    pub delivered: DeliveredTotals,
    pub tcp: Counters,
    pub goodput: u64,
}

impl Baseline {
    /// That of a flow.
    pub fn flow(&self, flow: usize) -> FlowCounters {
        self.flows.get(flow).copied().unwrap_or_default()
    }
}

/// Measurements of all flows, ports and paths.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// By flow.
    pub totals: Vec<Totals>,
    /// By flow.
    pub deliveries: Vec<Deliveries>,
    /// Memory of all histograms.
    pub pool: Pool,
    pub drops: Drops,
    pub marks: CongestionMarks,
    pub path_accounts: Option<Box<PathAccounts>>,
    pub delivered_marks: Option<Box<DeliveredMarks>>,
    /// Flow, probe, and the greatest delay since it last looked [ns].
    pub watched_delays: Vec<(u32, u32, Span)>,
    pub at_warm_up: Baseline,
}

impl Measurements {
    /// Counts data of a flow that has arrived, and measures its delay, which it returns.
    #[inline(always)]
    pub fn count_data(
        &mut self,
        packet: &Packet,
        id: PacketId,
        now: Time,
        place: PlaceInTime,
    ) -> Span {
        let flow = packet.flow;
        self.count_delivered(packet);
        if self.path_accounts.is_some() {
            self.account_delivery(packet, id, now, place);
        }
        let delay = now - packet.sent_at;
        self.deliveries[flow as usize].delays.measure(packet, now, &mut self.pool);
        if !self.watched_delays.is_empty() {
            self.note_delay(flow, delay);
        }
        delay
    }

    /// Counts a packet from the source of a flow that has arrived.
    #[inline(always)]
    pub fn count_delivered(&mut self, packet: &Packet) {
        let totals = &mut self.deliveries[packet.flow as usize].totals;
        totals.packets += 1;
        totals.bytes += u64::from(packet.ip_bytes);
    }

    /// Measures a data packet for its path, before its flow does.
    #[cold]
    #[inline(never)]
    pub fn account_delivery(
        &mut self,
        packet: &Packet,
        id: PacketId,
        now: Time,
        place: PlaceInTime,
    ) {
        let delays = &self.deliveries[packet.flow as usize].delays;
        let delay = now - packet.sent_at;
        let (change, late) = (delays.delay_variation(delay), delays.is_late(packet));
        if let Some(accounts) = &mut self.path_accounts {
            let delivered = DeliveredDelay { at: now, place, delay, change, late };
            accounts.deliver(id, delivered, &mut self.pool);
        }
    }

    /// Notes the delay of a packet for the probes that ask for the greatest.
    #[cold]
    fn note_delay(&mut self, flow: u32, delay: Span) {
        for (of, _, max) in &mut self.watched_delays {
            if *of == flow {
                *max = delay.max(*max);
            }
        }
    }

    /// Counts a delivered packet by its marks.
    #[cold]
    #[inline(never)]
    pub fn count_mark(&mut self, packet: &Packet) {
        if let Some(marks) = &mut self.delivered_marks {
            marks.count(packet);
        }
    }

    /// Starts afresh at the end of the warm-up. Totals keep their values, which the results subtract.
    pub fn restart(&mut self, now: Time) {
        let pool = &mut self.pool;
        self.deliveries.iter_mut().for_each(|arrived| arrived.delays.restart(pool));
        self.drops.clear();
        self.marks.clear();
        if let Some(accounts) = &mut self.path_accounts {
            accounts.restart(pool);
        }
        if let Some(marks) = &mut self.delivered_marks {
            marks.restart();
        }
        self.at_warm_up.at = now;
    }
}
