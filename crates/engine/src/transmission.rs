//! The transmitter of a port with classes: the next packet, and the end of its transmission.
//!
//! The end of a transmission is known when it begins. It has an event only if another packet waits for
//! it: else the packet is put on the wire at once, and the port detects at its next packet that it has
//! been idle.

use crate::classful::{DiscardedPacket, NextTransmission};
use crate::link::{Departure, Port};
use crate::observer::Observer;
use crate::simulation::Simulation;

impl<O: Observer> Simulation<O> {
    /// A packet has arrived at a classful port, which starts if it is idle.
    #[inline(always)]
    pub(crate) fn start_transmission(&mut self, index: usize, passes: bool) {
        let Port::Classful(port) = &mut self.links[index].port else { return };
        match &port.in_service {
            Some(service) if passes => {
                let bytes = service.bytes;
                self.transmit(index, bytes, false);
            }
            Some(service) => {
                if let (Some(until), false, true) = (service.until, port.timed, port.holds_any()) {
                    // The first that waits for its end.
                    port.timed = true;
                    self.events -= 1;
                    self.calendar.schedule(self.sources.transmitters + index as u32, until);
                }
            }
            None => self.start_next(index),
        }
        self.tell_discarded(index);
    }

    /// Lets a classful port that is at rest take its next packet.
    #[inline(always)]
    fn start_next(&mut self, index: usize) {
        let Port::Classful(port) = &mut self.links[index].port else { return };
        let source = self.sources.transmitters + index as u32;
        match port.start_next(self.now) {
            NextTransmission::Send { bytes, mark } => self.transmit(index, bytes, mark),
            NextTransmission::Wait(until) => {
                port.timed = true;
                self.calendar.schedule(source, until);
            }
            NextTransmission::Rest => {
                if std::mem::take(&mut port.timed) {
                    self.calendar.cancel(source);
                }
            }
        }
    }

    /// A classful port sends the packet that is in service.
    #[inline(always)]
    fn transmit(&mut self, index: usize, bytes: u32, mark: bool) {
        if let Port::Classful(port) = &self.links[index].port {
            if let (true, Some(service)) = (port.reports_departures, port.in_service) {
                self.leave_host_queue(service.packet);
            }
        }
        let link = &mut self.links[index];
        let until = self.now + link.serializer.span(bytes);
        let Port::Classful(port) = &mut link.port else { return };
        let Some(service) = &mut port.in_service else { return };
        if mark {
            self.tables.congestion.mark(&mut self.arena[service.packet]);
        }
        self.observer.on_transmission_start(service.packet, self.now);
        let source = self.sources.transmitters + index as u32;
        if until >= self.untimed_before {
            port.timed = true;
            return self.calendar.schedule(source, until);
        }
        service.until = Some(until);
        let departure = Departure::new(until, service.packet, bytes, service.precedence);
        let waits = port.holds_any();
        let was_timed = std::mem::replace(&mut port.timed, waits);
        if waits {
            self.calendar.schedule(source, until);
        } else {
            self.events += 1;
            if was_timed {
                self.calendar.cancel(source);
            }
        }
        self.depart(index, departure);
    }

    /// The last bit of a classful port's packet leaves, now or ahead of time.
    #[inline(always)]
    fn depart(&mut self, index: usize, departure: Departure) {
        let link = &mut self.links[index];
        if link.is_outbound() {
            return self.send_to_other_region(index as u32, departure);
        }
        link.wire.push(departure);
        if link.wire.len() == 1 {
            let due = departure.at + link.delay;
            self.calendar.schedule(self.sources.arrivals + index as u32, due);
        }
    }

    #[inline(always)]
    fn tell_discarded(&mut self, index: usize) {
        let Port::Classful(port) = &self.links[index].port else { return };
        if !port.discarded.is_empty() {
            self.lose_discarded(index as u32);
        }
    }

    /// Drops packets that a port had admitted.
    #[cold]
    fn lose_discarded(&mut self, index: u32) {
        let Port::Classful(port) = &mut self.links[index as usize].port else { return };
        let mut discarded = std::mem::take(&mut port.discarded);
        let node = self.link_from[index as usize];
        for DiscardedPacket { packet, bytes, place, cause } in discarded.drain(..) {
            let near_end = self.near_ends[index as usize].as_deref_mut();
            if let Some(accounts) = near_end.and_then(|near_end| near_end.accounts.as_mut()) {
                accounts.discard(&self.arena[packet], place, bytes);
            }
            self.drop_packet(packet, cause, Some(index), node, place);
        }
        if let Port::Classful(port) = &mut self.links[index as usize].port {
            port.discarded = discarded;
        }
    }

    /// The last bit of a classful port's packet has left, or a shaped class may send now.
    pub(crate) fn finish_transmission(&mut self, index: usize) {
        let Port::Classful(port) = &mut self.links[index].port else { return };
        port.timed = false;
        if let Some(sent) = port.finish(self.now) {
            if sent.until.is_none() {
                let at = self.now;
                self.depart(index, Departure::new(at, sent.packet, sent.bytes, sent.precedence));
            }
        }
        self.start_next(index);
        self.tell_discarded(index);
    }
}
