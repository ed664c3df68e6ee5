//! Echo flows: the receiver of a request answers at once; the sender measures the replies.
//!
//! Source: RFC 2681 (round-trip delay), RFC 6673 (round-trip loss: no reply within a waiting time),
//! RFC 4737 (reordering), RFC 5357 section 4.2 (the reflector answers each test packet, with a separate
//! number).
//! Differs: a reply leaves at the instant of its request's arrival; processing is a parameter of nodes.

use crate::counters::DelayStatistics;
use crate::delay_columns::{self, DelayKind};
use crate::histogram::Pool;
use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::network::{Echo, Network};
use crate::observer::Observer;
use crate::tables::Table;
use trunkline_packet::{Packet, PacketId};
use trunkline_units::Time;

/// Measurements of an echo flow's sender.
#[derive(Clone, Debug)]
pub(crate) struct EchoSender {
    pub flow: u32,
    config: Echo,
    /// Of the replies that arrived in time, from request to reply.
    pub round_trip: DelayStatistics,
    /// Of the same, from the reflector.
    pub back: DelayStatistics,
    /// Replies that arrived too late.
    late: u64,
}

/// Those of a network, by flow.
pub(crate) fn echo_senders(network: &Network) -> Vec<EchoSender> {
    let flows = (0..).zip(&network.flows);
    let with_echo = flows.filter_map(|(flow, flow_config)| {
        flow_config.echo.as_deref().map(|&config| (flow, config))
    });
    let new = |(flow, config)| EchoSender {
        flow,
        config,
        round_trip: DelayStatistics::default(),
        back: DelayStatistics::default(),
        late: 0,
    };
    with_echo.map(new).collect()
}

impl EchoSender {
    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.round_trip.restart(pool);
        self.back.restart(pool);
        self.late = 0;
    }

    /// A reply has arrived.
    fn measure_reply(&mut self, reply: &Packet, now: Time, pool: &mut Pool) {
        let round_trip = now - reply.echo;
        if round_trip > self.config.timeout_ns {
            self.late += 1;
            return;
        }
        // The number of the request gives the order over both directions, that of the reply the order of
        // the way back.
        let mut round_trip_packet = *reply;
        (round_trip_packet.seq, round_trip_packet.sent_at) = (reply.ack, reply.echo);
        self.round_trip.measure(&round_trip_packet, now, pool);
        self.back.measure(reply, now, pool);
    }
}

impl<O: Observer> Hosts<O> {
    fn echo_of(&mut self, flow: u32) -> Option<&mut EchoSender> {
        let index = self.echoes.binary_search_by_key(&flow, |sender| sender.flow).ok()?;
        Some(&mut self.echoes[index])
    }

    /// A datagram that arrived after its flow's limit: late to its call, or a request to answer.
    #[cold]
    #[inline(never)]
    pub(crate) fn handle_late_datagram(&mut self, flow: u32, plan: &FlowPlan, id: PacketId) {
        if let FlowAgents::Adaptive(agent) = plan.agents {
            return self.take_adaptive_datagram(flow, plan, agent, id);
        }
        let Some(Echo { reply_bytes, .. }) = self.echo_of(flow).map(|sender| sender.config) else {
            self.plane.measured.totals[flow as usize].late_packets += 1;
            self.plane.arena.remove(id);
            return;
        };
        let request = self.plane.arena[id];
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.acks_sent as u32;
        totals.acks_sent += 1;
        let bytes = reply_bytes as u16;
        let mut reply = plan.reverse_packet(flow, number, bytes, self.plane.clock.now);
        reply.ack = request.seq;
        reply.echo = request.sent_at;
        self.plane.arena[id] = reply;
        self.send_stored(plan.dst, id);
    }

    /// A packet has returned to a flow that is not of TCP.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_reply(&mut self, reply: &Packet) {
        let now = self.plane.clock.now;
        let index = self.echoes.binary_search_by_key(&reply.flow, |sender| sender.flow);
        if let Ok(index) = index {
            self.echoes[index].measure_reply(reply, now, &mut self.plane.measured.pool);
        }
    }

    /// The measurements of echo flows.
    pub(crate) fn echo_table(&self) -> Table {
        let ints = |value: fn(&EchoSender) -> u64| {
            self.echoes.iter().map(move |sender| value(sender) as i64)
        };
        let back = self.echoes.iter().map(|sender| {
            let flow = sender.flow as usize;
            let (now, before) = (
                &self.plane.measured.totals[flow],
                self.plane.measured.at_warm_up.flow(flow).totals,
            );
            [now.acks_sent - before.acks_sent, now.acks_dropped - before.acks_dropped]
        });
        let table = Table::new("echoes")
            .ints("flow", ints(|sender| sender.flow.into()))
            .ints("replies_sent", back.clone().map(|[sent, _]| sent as i64))
            .ints("replies_dropped", back.map(|[_, dropped]| dropped as i64))
            .ints("replies", ints(|sender| sender.round_trip.count))
            .ints("replies_late", ints(|sender| sender.late))
            .ints("reordered", ints(|sender| sender.round_trip.reordered))
            .ints("reordered_back", ints(|sender| sender.back.reordered));
        let round_trips: Vec<&DelayStatistics> =
            self.echoes.iter().map(|sender| &sender.round_trip).collect();
        let backs: Vec<&DelayStatistics> = self.echoes.iter().map(|sender| &sender.back).collect();
        let table = delay_columns::add_columns_of(
            table,
            DelayKind::RoundTrip,
            &round_trips,
            &self.plane.measured.pool,
        );
        delay_columns::add_columns_of(table, DelayKind::Back, &backs, &self.plane.measured.pool)
    }
}
