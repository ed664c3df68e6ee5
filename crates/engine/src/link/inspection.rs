//! State of a link for probes, results and failures; no packet pays for it.

use super::{Departure, Link, Port};
use trunkline_port::aqm::QueueBacklog;
use trunkline_units::Time;

impl Link {
    /// Packets of one drop precedence (none: any) waiting in a class (none: any), after
    /// `drain(now)`. Walks the queue: for probes, not for packets.
    #[must_use]
    pub fn waiting_with_precedence(
        &self,
        class: Option<u16>,
        precedence: Option<u8>,
    ) -> QueueBacklog {
        let mut sum = QueueBacklog::default();
        let mut add = |bytes: u32, packet_precedence: u8| {
            if precedence.is_none_or(|selected| selected == packet_precedence) {
                sum.packets += 1;
                sum.bytes += u64::from(bytes);
            }
        };
        match &self.port {
            // The first is being sent.
            Port::Fifo(_) => {
                let waiting = self.undeparted().skip(1).map(|it| it.packet);
                waiting.for_each(|it| add(it.bytes(self.header), it.precedence()));
            }
            Port::Classful(port) => port.visit_waiting(class, add),
        }
        sum
    }

    /// Packets waiting in the port, the one in service left out, after `drain(now)`.
    #[must_use]
    pub fn waiting(&self) -> QueueBacklog {
        let mut held = self.in_port();
        let in_service = match &self.port {
            Port::Fifo(_) => self.undeparted().next().map(|it| it.packet.bytes(self.header)),
            Port::Classful(port) => port.in_service.map(|service| service.size.bytes()),
        };
        if let Some(bytes) = in_service {
            held.packets -= 1;
            held.bytes -= u64::from(bytes);
        }
        held
    }

    /// Average of the AQM of a class, or of one of its precedences, if it has one.
    #[must_use]
    pub fn average(&self, class: u16, precedence: Option<u8>) -> Option<f64> {
        match &self.port {
            Port::Fifo(fifo) => fifo.gate.average(precedence),
            Port::Classful(port) => port.average(class, precedence),
        }
    }

    /// Brings the integral of waiting packets up to `now`, after `drain(now)`.
    pub fn close_area(&mut self, now: Time) {
        if self.is_fifo() && !self.is_plain_fifo() {
            self.area.add(self.waiting().packets, now);
        }
    }

    /// Begins the integral of waiting packets at `now`, after `drain(now)` and `close_area(now)`.
    pub fn restart_area(&mut self, now: Time) {
        self.area.sum = if self.is_plain_fifo() { self.waits_to_come(now) } else { 0 };
    }

    /// The integral of waiting packets up to the end of the run, after `drain(now)`.
    pub fn end_area(&mut self, now: Time) {
        self.close_area(now);
        if self.is_plain_fifo() {
            self.area.sum += self.fifo_counters().wait - self.waits_to_come(now);
        }
    }

    /// Departures of a FIFO that are still to come at `now`, after `drain(now)`.
    pub fn undeparted(&self) -> impl Iterator<Item = &Departure> + '_ {
        let first = match &self.port {
            Port::Fifo(_) => self.in_port,
            Port::Classful(_) => self.wire.tail(),
        };
        let skip = first.wrapping_sub(self.wire.head()) as usize;
        self.wire.iter().skip(skip)
    }
}
