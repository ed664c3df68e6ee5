//! The transmitter of a port with classes: the next packet, and the end of its transmission.
//!
//! The end of a transmission is known when it begins, so the packet is put on the wire at once. Where the
//! choice of the next packet cannot be noticed before that one arrives ([`OnwardHop::CatchesUp`]), no end
//! has an event: the port makes the choices that are due when a packet joins it and when the last one on its
//! wire arrives, or when a visit to the far end begins (`node_visits.rs`). While packets wait, one that it sent is on
//! its way, so no choice comes too late. Elsewhere an end has an event if another packet waits for it; else the port detects at its next packet that it has
//! been idle.

use crate::classful::{DiscardedPacket, NextTransmission};
use crate::data_plane::DataPlane;
use crate::link::{Departure, OnwardHop, Port};
use crate::observer::Observer;

impl<O: Observer> DataPlane<O> {
    /// A packet has arrived at a classful port, which starts if it is idle.
    #[inline(always)]
    pub(crate) fn start_transmission(&mut self, index: usize, passes: bool) {
        let link = &mut self.ports.links[index];
        let Port::Classful(port) = &mut link.port else { return };
        match &port.in_service {
            Some(service) if passes => {
                let bytes = service.size.bytes();
                self.transmit(index, bytes, false);
            }
            Some(_) if link.onward == OnwardHop::CatchesUp => {}
            Some(_) => self.ports.time_end(index, &mut self.clock),
            None => self.start_next(index),
        }
        self.tell_discarded(index);
    }

    /// Lets a classful port that is at rest take its next packet.
    #[inline(always)]
    fn start_next(&mut self, index: usize) {
        let Port::Classful(port) = &mut self.ports.links[index].port else { return };
        match port.start_next(self.clock.now) {
            NextTransmission::Send { bytes, mark } => self.transmit(index, bytes, mark),
            NextTransmission::Wait(until) => {
                port.timed = true;
                self.clock.schedule_transmitter(index as u32, until);
            }
            NextTransmission::Rest => {
                if std::mem::take(&mut port.timed) {
                    self.clock.cancel_transmitter(index as u32);
                }
            }
        }
    }

    /// A classful port sends the packet that is in service.
    #[inline(always)]
    fn transmit(&mut self, index: usize, bytes: u32, mark: bool) {
        if let Port::Classful(port) = &self.ports.links[index].port {
            if let (true, Some(service)) = (port.reports_departures, port.in_service) {
                self.notice_departure_from_host(service.packet);
            }
        }
        if mark {
            self.mark_in_service(index);
        }
        let Port::Classful(port) = &mut self.ports.links[index].port else { return };
        let Some(service) = &port.in_service else { return };
        self.observer.on_transmission_start(service.packet, self.clock.now);
        let was_timed = std::mem::take(&mut port.timed);
        let link = &mut self.ports.links[index];
        let until = self.clock.now + link.byte_time.transmission_time(bytes, &mut link.serializer);
        let Some(departure) = link.send_untimed(until, self.clock.untimed_before) else {
            return self.clock.schedule_transmitter(index as u32, until);
        };
        self.clock.events += 1;
        if link.onward != OnwardHop::CatchesUp && link.take_untimed_end().is_some() {
            self.clock.events -= 1;
            self.clock.schedule_transmitter(index as u32, until);
        } else if was_timed {
            self.clock.cancel_transmitter(index as u32);
        }
        self.depart(index, departure);
    }

    /// The class's AQM marks the packet that it lets go.
    #[cold]
    fn mark_in_service(&mut self, index: usize) {
        let Port::Classful(port) = &self.ports.links[index].port else { return };
        if let Some(service) = &port.in_service {
            let (packet, class, precedence) =
                (service.packet, service.class, service.size.precedence());
            self.mark_packet(packet, index as u32, class, precedence);
        }
    }

    /// The last bit of a classful port's packet leaves, now or ahead of time.
    #[inline(always)]
    fn depart(&mut self, index: usize, departure: Departure) {
        let link = &mut self.ports.links[index];
        match link.onward {
            OnwardHop::Announced if self.arena[departure.packet.id()].is_message() => {
                self.announce_message(index as u32, departure);
            }
            OnwardHop::Crosses => return self.send_to_other_region(index as u32, departure),
            _ => {}
        }
        let link = &mut self.ports.links[index];
        link.wire.push(departure);
        if link.wire.len() == 1 {
            let due = departure.at + link.delay;
            self.clock.schedule_arrival(index as u32, due);
        }
    }

    #[inline(always)]
    fn tell_discarded(&mut self, index: usize) {
        let Port::Classful(port) = &self.ports.links[index].port else { return };
        if !port.discarded.is_empty() {
            self.lose_discarded(index as u32);
        }
    }

    /// Drops packets that a port had admitted.
    #[cold]
    fn lose_discarded(&mut self, index: u32) {
        let Port::Classful(port) = &mut self.ports.links[index as usize].port else { return };
        let mut discarded = std::mem::take(&mut port.discarded);
        let node = self.ports.from[index as usize];
        for DiscardedPacket { packet, bytes, place, cause } in discarded.drain(..) {
            let near_end = self.ports.near_ends[index as usize].as_deref_mut();
            if let Some(accounts) = near_end.and_then(|near_end| near_end.accounts.as_mut()) {
                accounts.discard(&self.arena[packet], place, bytes);
            }
            self.drop_packet(packet, cause, Some(index), node, place);
        }
        if let Port::Classful(port) = &mut self.ports.links[index as usize].port {
            port.discarded = discarded;
        }
    }

    /// The last bit of a classful port's packet has left, or a shaped class may send now.
    pub(crate) fn finish_transmission(&mut self, index: usize) {
        let Port::Classful(port) = &mut self.ports.links[index].port else { return };
        port.timed = false;
        if let Some(sent) = port.finish(self.clock.now) {
            if !sent.on_wire {
                let at = self.clock.now;
                self.depart(index, Departure::with_size(at, sent.packet, sent.size));
            }
        }
        self.start_next(index);
        self.tell_discarded(index);
    }
}
