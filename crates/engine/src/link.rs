//! A one-way link: a port that queues and transmits, and the packets on the wire behind it.
//!
//! Two kinds of port feed the wire. A **FIFO** port knows each packet's departure when it arrives,
//! so a hop costs one event, the arrival at the far end; its queue is read off the ring of
//! departures. A **classful** port lets later packets overtake, so the end of each transmission
//! has a separate event.

mod departure;
mod event_free;
mod failure;
mod inspection;
mod lagging;
mod plain;

pub use departure::{Departure, PacketOnWire};
pub use failure::LostPacket;

use crate::classful::ClassfulPort;
use crate::classifier::{Assignment, Classifier};
use crate::conditioner::Conditioner;
use crate::network::Scripted;
use crate::queue::{FifoCounts, QueueCounters, QueueDecision, QueueGate};
use crate::ring::Ring;
use crate::time_integral::TimeIntegral;
use std::sync::Arc;
use trunkline_packet::{flag, Packet, PacketId};
use trunkline_port::aqm::{Arrival, QueueBacklog};
use trunkline_units::{ByteTime, RandomStream, Span, Time, TransmissionClock, NEVER};

/// The only queue of a FIFO port.
#[derive(Clone, Debug)]
pub struct FifoQueue {
    bytes_in_port: u64,
    gate: QueueGate,
}

/// The port that feeds the wire.
#[derive(Clone, Debug)]
pub enum Port {
    /// One queue in order of arrival.
    Fifo(Box<FifoQueue>),
    /// Classes and a scheduler.
    Classful(Box<ClassfulPort>),
}

/// The next hop of packets between the port and the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnwardHop {
    /// Each has an event when it reaches the far end.
    Arrives,
    /// The same, and other regions must know beforehand of messages of protocols among them.
    Announced,
    /// The far end is in another region.
    Crosses,
    /// Each is offered at once to the queue that it will join there, if no other packet can.
    EventFree,
    /// Each has an event when it reaches the far end; the port makes the choices due by then if no other
    /// packet is on the wire, or those due by the begin of a visit.
    CatchesUp,
}

impl OnwardHop {
    /// Whether each packet has an event here when it reaches the far end.
    #[inline(always)]
    #[must_use]
    pub fn has_arrivals(self) -> bool {
        matches!(self, Self::Arrives | Self::Announced)
    }
}

/// The short ways through common ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Any port: the long way.
    Full,
    /// A FIFO where only a full queue, counted in packets, drops (`plain.rs`).
    PlainFifo,
    /// Plain classes (`classful/plain.rs`), and nothing else at the near end.
    PlainClasses,
}

/// Random loss, ingress conditioning and processing.
#[derive(Clone, Debug)]
pub struct FarEnd {
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
    /// Packets lost by script, and how many times more.
    pub scripted: Vec<Scripted>,
    /// Draws the losses.
    pub random: RandomStream,
    /// Conditions the packets that arrive.
    pub conditioner: Option<Conditioner>,
    /// The wire reorders: number of the stage that holds late packets.
    pub reorders: Option<u32>,
    /// Forwarding takes time: number of the node's processor.
    pub processor: Option<u32>,
}

impl FarEnd {
    /// Whether the script loses a packet here; counts the loss.
    #[cold]
    pub fn loses(&mut self, packet: &Packet) -> bool {
        let scripted_loss = self.scripted.iter_mut().find(|scripted_loss| {
            scripted_loss.times > 0
                && (scripted_loss.flow, scripted_loss.seq) == (packet.flow, packet.seq)
                && packet.flags & (flag::REVERSE | flag::BARE) == 0
        });
        scripted_loss.is_some_and(|scripted_loss| {
            scripted_loss.times -= 1;
            true
        })
    }
}

/// A link.
///
/// In the order of its cache lines: fields read by an arrival; fields read or changed in addition by an offer; and
/// fields that are seldom needed.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// From acceptance (FIFO) or departure (classful) to arrival.
    pub wire: Ring<Departure>,
    /// The port that feeds the wire.
    pub port: Port,
    /// Propagation delay.
    pub delay: Span,
    /// When a FIFO's last departure leaves the transmitter free. Of a port with classes, the end of its
    /// transmission, if that has no event; else [`NEVER`].
    pub free_at: Time,
    /// Node at the far end.
    pub to: u32,
    /// Short way through the port.
    pub kind: PortKind,
    /// The next hop of a packet that a FIFO has accepted.
    pub onward: OnwardHop,
    /// Whether anything but the port is at the near end.
    pub has_near_end: bool,
    /// Whether anything but the node is at the far end.
    pub has_far_end: bool,
    /// Link-layer bytes per packet.
    pub header: u32,
    /// Largest packet with its labels.
    pub mtu: u32,
    /// Departures of a FIFO from this number on are still in the port (waiting or being sent).
    in_port: u32,
    /// Maximum number of packets waiting at once in a FIFO.
    waiting_max: u32,
    /// Transmission time of a byte, if that is a whole number of nanoseconds.
    pub byte_time: ByteTime,
    /// Finds the class of a packet, or its drop precedence in a FIFO; ports that are alike share it. None:
    /// all packets are alike.
    pub classifier: Option<Arc<Classifier>>,
    /// Counters of a FIFO's queue that each packet changes.
    entered: FifoCounts,
    /// Transmission times of any rate.
    pub serializer: TransmissionClock,
    /// Entries of the wire before this one were forwarded ahead of time ([`OnwardHop::EventFree`]).
    pub forwarded: u32,
    /// Packets that fit in a plain FIFO, the one in service included.
    capacity: u32,
    /// Whether its port marks labelled packets too (RFC 5129).
    pub marks_labelled: bool,
    /// The other counters of a FIFO's queue, and what has overflowed of its waits.
    pub counters: QueueCounters,
    /// Integral of the packets waiting over time [packet ns], for the mean queue.
    pub area: TimeIntegral,
    /// Treatment of packets at the far end before they are forwarded, if any.
    pub far_end: Option<Box<FarEnd>>,
}

impl FifoQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(gate: QueueGate) -> Self {
        Self { bytes_in_port: 0, gate }
    }

    /// Backlog by the gate's count of the departures from `first` on, which are in the port.
    #[inline(always)]
    fn backlog(&self, wire: &Ring<Departure>, first: u32) -> QueueBacklog {
        let packets = wire.tail().wrapping_sub(first);
        if self.gate.counts_in_service() {
            QueueBacklog { packets, bytes: self.bytes_in_port }
        } else if packets > 0 {
            let in_service = wire.get(first).packet.size().bytes();
            QueueBacklog { packets: packets - 1, bytes: self.bytes_in_port - u64::from(in_service) }
        } else {
            QueueBacklog::default()
        }
    }
}

impl Link {
    /// A link that has carried nothing.
    #[allow(clippy::too_many_arguments)]
    #[must_use]
    pub fn new(
        to: u32,
        delay: Span,
        serializer: TransmissionClock,
        header: u32,
        mtu: u32,
        far_end: Option<Box<FarEnd>>,
        port: Port,
    ) -> Self {
        let capacity = match &port {
            Port::Fifo(fifo) => fifo.gate.capacity(),
            Port::Classful(_) => None,
        };
        Self {
            wire: Ring::new(16),
            in_port: 0,
            to,
            delay,
            free_at: if matches!(port, Port::Classful(_)) { NEVER } else { 0 },
            header,
            mtu,
            kind: if capacity.is_some() { PortKind::PlainFifo } else { PortKind::Full },
            onward: OnwardHop::Arrives,
            has_near_end: false,
            has_far_end: far_end.is_some(),
            waiting_max: 0,
            byte_time: ByteTime::new(&serializer),
            classifier: None,
            entered: FifoCounts::default(),
            serializer,
            forwarded: 0,
            marks_labelled: false,
            capacity: capacity.unwrap_or(0),
            port,
            counters: QueueCounters::default(),
            area: TimeIntegral::default(),
            far_end,
        }
    }

    /// Counts a packet of so many bytes that a FIFO let in, and how long it will wait.
    #[inline(always)]
    fn count_entry(&mut self, bytes: u32, wait: Span) {
        if self.entered.enter(bytes, wait) {
            self.counters.wait += 1 << 64;
        }
    }

    /// Counters of a FIFO's queue.
    #[must_use]
    pub fn fifo_counters(&self) -> QueueCounters {
        let FifoCounts { packets, bytes, wait, wait_max } = self.entered;
        QueueCounters {
            packets,
            bytes,
            wait: self.counters.wait + i128::from(wait),
            wait_max,
            waiting_max: self.waiting_max,
            ..self.counters
        }
    }

    /// The counters of a FIFO's queue start again.
    pub fn restart_counters(&mut self) {
        self.waiting_max = self.waiting().packets;
        self.entered = FifoCounts::default();
        self.counters = QueueCounters::default();
    }

    /// Class and drop precedence of a packet that an NHLFE with this `row` forwarded.
    #[inline(always)]
    #[must_use]
    pub fn classify(&self, packet: &Packet, row: u16, column: u8) -> Assignment {
        match &self.classifier {
            Some(classifier) => classifier.assign_as(packet, row, column),
            None => Assignment::default(),
        }
    }

    /// When a FIFO port sends the first bit of a packet that joins it at `now`.
    #[must_use]
    pub fn idle_from(&self, now: Time) -> Time {
        match &self.port {
            Port::Fifo(_) => self.free_at.max(now),
            Port::Classful(_) => now,
        }
    }

    /// Puts a packet on the wire whose port is in another region.
    pub fn accept_crossing(&mut self, departure: Departure) {
        self.wire.push(departure);
        self.in_port = self.wire.tail();
    }

    /// Exchanges wires with another region's copy, which numbers its entries differently. As many of the
    /// newest are in the port.
    pub fn swap_wire(&mut self, other: &mut Self) {
        let in_port = self.wire.tail().wrapping_sub(self.in_port);
        std::mem::swap(&mut self.wire, &mut other.wire);
        self.in_port = self.wire.tail().wrapping_sub(in_port);
    }

    /// Forgets departed packets, where another region has the wire.
    #[inline(never)]
    pub fn forget_departed(&mut self) {
        if self.onward == OnwardHop::Crosses {
            self.wire.forget_to(self.in_port);
        }
    }

    /// Offers a packet to a FIFO port.
    #[inline(always)]
    pub fn offer_fifo(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        precedence: u8,
        can_mark: bool,
    ) -> QueueDecision {
        if self.is_plain_fifo() {
            return self.offer_plain(now, packet, bytes, precedence);
        }
        self.drain(now);
        let Port::Fifo(fifo) = &mut self.port else { unreachable!("a FIFO port was asked for") };
        let in_port = self.wire.tail().wrapping_sub(self.in_port);
        let backlog = fifo.backlog(&self.wire, self.in_port);
        let arrival = Arrival { now, bytes, precedence, backlog };
        let offer = fifo.gate.admit(&arrival, in_port == 0, can_mark);
        if let QueueDecision::Dropped(_) = offer {
            self.counters.refuse(bytes);
            return offer;
        }
        self.enter_fifo(now, packet, bytes, precedence, in_port);
        offer
    }

    /// Lets a packet into a FIFO port that has room for it and holds `in_port` others.
    #[inline(always)]
    fn enter_fifo(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        precedence: u8,
        in_port: u32,
    ) {
        let start = self.free_at.max(now);
        let depart = start + self.byte_time.transmission_time(bytes, &mut self.serializer);
        self.free_at = depart;
        self.count_entry(bytes, start - now);
        let Port::Fifo(fifo) = &mut self.port else { return };
        fifo.bytes_in_port += u64::from(bytes);
        self.area.add(in_port.saturating_sub(1), now);
        // All those that were in the port wait but one, and this one does: as many.
        self.waiting_max = self.waiting_max.max(in_port);
        let packet = PacketOnWire::new(packet, bytes, precedence);
        self.wire.push(Departure { at: depart, packet });
        fifo.gate.on_enqueue(bytes, precedence);
        if in_port == 0 && !fifo.gate.counts_in_service() {
            fifo.gate.on_departure(now, bytes, precedence, QueueBacklog::default());
        }
    }

    /// Brings a FIFO's queue up to `now`: packets sent by then are no longer in the port. At one instant
    /// a departure precedes an arrival.
    #[inline]
    pub fn drain(&mut self, now: Time) {
        if self.is_plain_fifo() {
            return self.drain_plain(now);
        }
        let fifo = match &mut self.port {
            Port::Fifo(fifo) => fifo,
            Port::Classful(_) => return,
        };
        let tail = self.wire.tail();
        while self.in_port != tail {
            let entry = *self.wire.get(self.in_port);
            if entry.at > now {
                return;
            }
            self.in_port = self.in_port.wrapping_add(1);
            fifo.bytes_in_port -= u64::from(entry.packet.size().bytes());
            let left = tail.wrapping_sub(self.in_port);
            // One packet, if any is left, went from waiting to being sent: `left` waited until then.
            self.area.add(left, entry.at);
            if fifo.gate.has_aqm() {
                report_departure(fifo, &self.wire, self.in_port, entry, left);
            }
        }
    }

    /// Packets in the port, the one in service included, after `drain(now)`.
    #[must_use]
    pub fn in_port(&self) -> QueueBacklog {
        match &self.port {
            Port::Fifo(fifo) => QueueBacklog {
                packets: self.wire.tail().wrapping_sub(self.in_port),
                bytes: match self.is_plain_fifo() {
                    true => {
                        self.undeparted().map(|it| u64::from(it.packet.bytes(self.header))).sum()
                    }
                    false => fifo.bytes_in_port,
                },
            },
            Port::Classful(port) => port.port_backlog(),
        }
    }
}

/// Reports to a FIFO's AQM the packets that left "the queue" as its limit counts it: the packet itself
/// after its last bit, or the next one at its first bit.
#[inline]
fn report_departure(
    fifo: &mut FifoQueue,
    wire: &Ring<Departure>,
    next: u32,
    gone: Departure,
    left: u32,
) {
    if fifo.gate.counts_in_service() {
        let size = gone.packet.size();
        let rest = QueueBacklog { packets: left, bytes: fifo.bytes_in_port };
        fifo.gate.on_departure(gone.at, size.bytes(), size.precedence(), rest);
    } else if left > 0 {
        let next = wire.get(next).packet.size();
        let bytes = fifo.bytes_in_port - u64::from(next.bytes());
        let rest = QueueBacklog { packets: left - 1, bytes };
        fifo.gate.on_departure(gone.at, next.bytes(), next.precedence(), rest);
    }
    if left == 0 {
        fifo.gate.on_idle(gone.at);
    }
}

#[cfg(test)]
mod tests {
    use super::Link;
    use std::mem::offset_of;

    #[test]
    fn an_arrival_reads_one_cache_line_and_an_offer_to_a_fifo_two() {
        let seldom = offset_of!(Link, serializer);
        assert_eq!((offset_of!(Link, header), seldom), (64, 128));
        for first_line in [offset_of!(Link, wire), offset_of!(Link, free_at), offset_of!(Link, to)]
        {
            assert!(first_line < 64);
        }
    }
}
