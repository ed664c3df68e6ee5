//! A one-way link: a port that queues and transmits, and the packets on the wire behind it.
//!
//! Two kinds of port feed the wire. A **FIFO** port knows each packet's departure when it arrives,
//! so a hop costs one event, the arrival at the far end; its queue is read off the ring of
//! departures. A **classful** port lets later packets overtake, so the end of each transmission
//! is an event of its own.

mod cut;
mod look;

pub use cut::Lost;

use crate::area::Area;
use crate::classful::Classful;
use crate::conditioner::Conditioner;
use crate::ring::Ring;
use trunkline_packet::{Cause, PacketId};
use trunkline_port::aqm::{Aqm, Arrival, Backlog, Policy, Verdict};
use trunkline_units::{Serializer, Span, Stream, Time};

/// A packet from the moment a FIFO accepts it (or a classful port has sent it) until it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departure {
    /// When its last bit leaves.
    pub at: Time,
    /// The packet.
    pub packet: PacketId,
    /// Bytes on the wire (low 24 bits) and drop precedence (high 8).
    packed: u32,
}

impl Departure {
    /// An entry.
    #[inline(always)]
    #[must_use]
    pub fn new(at: Time, packet: PacketId, bytes: u32, precedence: u8) -> Self {
        Self { at, packet, packed: bytes | u32::from(precedence) << 24 }
    }
    /// Bytes on the wire.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.packed & 0x00ff_ffff
    }
    /// Drop precedence.
    #[inline(always)]
    #[must_use]
    pub fn precedence(&self) -> u8 {
        (self.packed >> 24) as u8
    }
}

/// How much a queue may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Whether the packet in service counts.
    pub counts_in_service: bool,
}

/// Counters of one queue since the warm-up; those of every packet come first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct QueueCounters {
    /// Packets let in.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Sum of the times from joining to first bit sent [ns].
    pub wait: u64,
    /// Longest such time [ns].
    pub wait_max: Span,
    /// Most packets waiting at once.
    pub waiting_max: u32,
    /// Packets of a class that are in the sum of times; a FIFO's sum has all those let in.
    pub started: u64,
    /// Packets refused.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets let in but lost with the link before they were sent.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
}

/// The only queue of a FIFO port.
#[derive(Clone, Debug)]
pub struct Fifo {
    bytes_in_port: u64,
    limit: Limit,
    /// None for drop-tail, which judges nothing.
    judge: Option<Box<Judge>>,
}

/// An AQM and the stream it draws from.
#[derive(Clone, Debug)]
struct Judge {
    aqm: Aqm,
    random: Stream,
}

/// What feeds the wire.
#[derive(Clone, Debug)]
pub enum Port {
    /// One queue in order of arrival.
    Fifo(Fifo),
    /// Classes and a scheduler.
    Classful(Box<Classful>),
}

/// Random loss and ingress conditioning.
#[derive(Clone, Debug)]
pub struct FarEnd {
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
    /// Draws the losses.
    pub random: Stream,
    /// Conditions what arrives.
    pub conditioner: Option<Conditioner>,
}

/// A link.
///
/// In the order of its cache lines: what an arrival reads; what an offer to a FIFO reads beside
/// that; what it counts; and what is seldom needed.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// From acceptance (FIFO) or departure (classful) to arrival.
    pub wire: Ring<Departure>,
    /// Departures of a FIFO from this number on are still in the port (waiting or being sent).
    in_port: u32,
    /// Node at the far end.
    pub to: u32,
    /// Propagation delay.
    pub delay: Span,
    /// When a FIFO's last departure leaves the transmitter free.
    free_at: Time,
    /// Link-layer bytes per packet.
    pub header: u32,
    /// Largest packet with its labels.
    pub mtu: u32,
    /// Whether anything but the port is at the near end.
    pub has_near_end: bool,
    /// Whether its far end is in another region.
    pub outbound: bool,
    has_far_end: bool,
    /// Transmission times.
    pub serializer: Serializer,
    /// Classes of packets, for classful ports.
    pub port: Port,
    /// Integral of the packets waiting over time [packet ns], for the mean queue.
    pub area: Area,
    /// Counters of a FIFO's queue.
    pub counters: QueueCounters,
    /// What happens to packets at the far end before they are forwarded, if anything does.
    pub far_end: Option<Box<FarEnd>>,
}

impl Fifo {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, aqm: Aqm, random: Stream) -> Self {
        let judge = (!matches!(aqm, Aqm::DropTail(_))).then(|| Box::new(Judge { aqm, random }));
        Self { bytes_in_port: 0, limit, judge }
    }
}

/// What became of a packet offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Queued; `true`: it also bears a congestion signal to be marked.
    Queued {
        /// Mark it CE.
        mark: bool,
    },
    /// Refused.
    Dropped(Cause),
}

impl Link {
    /// A link that has carried nothing.
    #[allow(clippy::too_many_arguments)]
    #[must_use]
    pub fn new(
        to: u32,
        delay: Span,
        serializer: Serializer,
        header: u32,
        mtu: u32,
        far_end: Option<Box<FarEnd>>,
        port: Port,
    ) -> Self {
        Self {
            wire: Ring::new(16),
            in_port: 0,
            to,
            delay,
            free_at: 0,
            header,
            mtu,
            has_near_end: false,
            outbound: false,
            has_far_end: far_end.is_some(),
            serializer,
            port,
            area: Area::default(),
            counters: QueueCounters::default(),
            far_end,
        }
    }

    /// The far end, if it does anything.
    #[inline(always)]
    pub fn far_end_mut(&mut self) -> Option<&mut FarEnd> {
        // The flag lies in the line that is read anyway.
        if self.has_far_end {
            self.far_end.as_deref_mut()
        } else {
            None
        }
    }

    /// When a FIFO port sends the first bit of a packet that joins it at `now`.
    #[must_use]
    pub fn free_from(&self, now: Time) -> Time {
        match &self.port {
            Port::Fifo(_) => self.free_at.max(now),
            Port::Classful(_) => now,
        }
    }

    /// Puts a packet on the wire whose port is in another region.
    pub fn take_in(&mut self, departure: Departure) {
        self.wire.push(departure);
        self.in_port = self.wire.tail();
    }

    /// Forgets what has departed: another region keeps the wire.
    pub fn forget_departed(&mut self) {
        self.wire.forget_to(self.in_port);
    }

    /// Offers a packet to a FIFO port.
    #[inline(always)]
    pub fn offer_fifo(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        precedence: u8,
        ecn_capable: bool,
    ) -> Offer {
        self.drain(now);
        let Port::Fifo(fifo) = &mut self.port else { unreachable!("a FIFO port was asked for") };
        let in_port = self.wire.tail().wrapping_sub(self.in_port);
        let waiting = in_port.saturating_sub(1);
        let backlog = if fifo.limit.counts_in_service {
            Backlog { packets: in_port, bytes: fifo.bytes_in_port }
        } else if in_port > 0 {
            let in_service = self.wire.get(self.in_port).bytes();
            Backlog { packets: waiting, bytes: fifo.bytes_in_port - u64::from(in_service) }
        } else {
            Backlog::default()
        };
        let mut mark = false;
        if let Some(judge) = &mut fifo.judge {
            let arrival = Arrival { now, bytes, precedence, backlog };
            match judge.aqm.on_arrival(&arrival, &mut judge.random) {
                Verdict::Pass => {}
                Verdict::Signal(_) if ecn_capable => mark = true,
                Verdict::Signal(cause) | Verdict::Refuse(cause) => {
                    return self.refuse(bytes, cause);
                }
            }
        }
        // A limit that counts only waiting packets never holds back one that is sent at once.
        let at_once = in_port == 0 && !fifo.limit.counts_in_service;
        let room = backlog.packets < fifo.limit.packets
            && backlog.bytes + u64::from(bytes) <= fifo.limit.bytes;
        if !room && !at_once {
            return self.refuse(bytes, Cause::QueueFull);
        }
        let start = self.free_at.max(now);
        let depart = start + self.serializer.span(bytes);
        self.free_at = depart;
        fifo.bytes_in_port += u64::from(bytes);
        self.area.add(waiting, now);
        // All those that were in the port wait but one, and this one does: as many.
        self.counters.waiting_max = self.counters.waiting_max.max(in_port);
        self.wire.push(Departure::new(depart, packet, bytes, precedence));
        let wait = start - now;
        self.counters.packets += 1;
        self.counters.bytes += u64::from(bytes);
        self.counters.wait += wait;
        self.counters.wait_max = self.counters.wait_max.max(wait);
        if let Some(judge) = &mut fifo.judge {
            judge.aqm.on_enqueue(bytes, precedence);
            if in_port == 0 && !fifo.limit.counts_in_service {
                judge.aqm.on_departure(now, bytes, precedence, Backlog::default());
            }
        }
        Offer::Queued { mark }
    }

    #[cold]
    fn refuse(&mut self, bytes: u32, cause: Cause) -> Offer {
        self.counters.dropped_packets += 1;
        self.counters.dropped_bytes += u64::from(bytes);
        Offer::Dropped(cause)
    }

    /// Brings a FIFO's queue up to `now`: what has been sent by then is no longer in the port.
    /// At one instant a departure comes before an arrival.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        let Port::Fifo(fifo) = &mut self.port else { return };
        let tail = self.wire.tail();
        while self.in_port != tail {
            let entry = *self.wire.get(self.in_port);
            if entry.at > now {
                return;
            }
            self.in_port = self.in_port.wrapping_add(1);
            fifo.bytes_in_port -= u64::from(entry.bytes());
            let left = tail.wrapping_sub(self.in_port);
            // One packet, if any is left, went from waiting to being sent: `left` waited until then.
            self.area.add(left, entry.at);
            if fifo.judge.is_some() {
                tell_departure(fifo, &self.wire, self.in_port, entry, left);
            }
        }
    }

    /// Packets in the port, the one in service included, after `drain(now)`.
    #[must_use]
    pub fn in_port(&self) -> Backlog {
        match &self.port {
            Port::Fifo(fifo) => Backlog {
                packets: self.wire.tail().wrapping_sub(self.in_port),
                bytes: fifo.bytes_in_port,
            },
            Port::Classful(port) => port.in_port(),
        }
    }
}

/// Tells a FIFO's AQM what left "the queue" as its limit counts it: the packet itself when its
/// last bit is gone, or the next one when its first bit is sent.
#[inline]
fn tell_departure(fifo: &mut Fifo, wire: &Ring<Departure>, next: u32, gone: Departure, left: u32) {
    let Some(judge) = &mut fifo.judge else { return };
    if fifo.limit.counts_in_service {
        let rest = Backlog { packets: left, bytes: fifo.bytes_in_port };
        judge.aqm.on_departure(gone.at, gone.bytes(), gone.precedence(), rest);
    } else if left > 0 {
        let next = wire.get(next);
        let bytes = fifo.bytes_in_port - u64::from(next.bytes());
        let rest = Backlog { packets: left - 1, bytes };
        judge.aqm.on_departure(gone.at, next.bytes(), next.precedence(), rest);
    }
    if left == 0 {
        judge.aqm.on_idle(gone.at);
    }
}
