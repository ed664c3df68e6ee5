//! A port with classes whose transmissions end without an event.

use super::{Departure, Link, OnwardHop, Port, PortKind};
use crate::classful::{InService, NextTransmission};
use trunkline_units::{Time, NEVER};

impl Link {
    /// Lets a classful port choose late, where that makes no difference.
    pub fn let_port_lag(&mut self) {
        let Port::Classful(port) = &self.port else { return };
        if port.may_lag {
            self.onward = OnwardHop::CatchesUp;
            if port.is_plain() && !self.has_near_end {
                self.kind = PortKind::PlainClasses;
            }
        }
    }

    /// Whether it has plain classes whose transmissions end without an event.
    #[inline(always)]
    #[must_use]
    pub fn has_plain_classes(&self) -> bool {
        self.onward == OnwardHop::CatchesUp && self.kind == PortKind::PlainClasses
    }

    /// Whether a classful port has a choice to make that was due by `now`.
    #[inline(always)]
    #[must_use]
    pub fn is_behind(&self, now: Time) -> bool {
        self.free_at <= now
    }

    /// Whether the transmission of a classful port, which has no event, has ended by `now`, and no packet waits.
    // One question, as its answer is hard to predict.
    #[inline(always)]
    #[must_use]
    pub fn is_clear(&self, now: Time) -> bool {
        let Port::Classful(port) = &self.port else { return false };
        (self.free_at <= now) & !port.holds_any()
    }

    /// Whether the transmission of a classful port, which has no event, has ended by `now`, and packets wait.
    #[inline(always)]
    #[must_use]
    pub fn is_late(&self, now: Time) -> bool {
        let Port::Classful(port) = &self.port else { return false };
        (self.free_at <= now) & port.holds_any()
    }

    /// The packet that a classful port sends.
    #[inline(always)]
    #[must_use]
    pub fn in_service(&self) -> Option<InService> {
        let Port::Classful(port) = &self.port else { return None };
        port.in_service
    }

    /// Makes the choices of a classful port that are due by `now` and have no events; counts the ends of the
    /// transmissions that begin. If the last of them does not end before `untimed_before`, returns its end,
    /// which needs an event.
    #[inline(always)]
    pub fn catch_up(&mut self, now: Time, untimed_before: Time, ends: &mut u64) -> Option<Time> {
        if self.free_at > now {
            return None;
        }
        let Port::Classful(port) = &mut self.port else { return None };
        // The kind lies in a line that is read anyway.
        if self.kind != PortKind::PlainClasses && !port.is_plain() {
            return self.catch_up_with_aqm(now, untimed_before, ends);
        }
        if port.holds_any() {
            let until = self.catch_up_plain(now, untimed_before, ends);
            if until.is_some() {
                return until;
            }
        }
        if self.is_clear(now) {
            self.rest();
        }
        None
    }

    /// A port that is clear has nothing in service.
    #[inline(always)]
    fn rest(&mut self) {
        if let Port::Classful(port) = &mut self.port {
            port.in_service = None;
            self.free_at = NEVER;
        }
    }

    /// The same of a port with plain classes that is behind and in which packets wait; afterwards it may be clear.
    #[inline(never)]
    pub fn catch_up_plain(
        &mut self,
        now: Time,
        untimed_before: Time,
        ends: &mut u64,
    ) -> Option<Time> {
        let Port::Classful(port) = &mut self.port else { return None };
        loop {
            let at = self.free_at;
            let next = port.start_next_plain(at);
            let until = at + self.byte_time.transmission_time(next.bytes(), &mut self.serializer);
            if until >= untimed_before {
                self.free_at = NEVER;
                port.time_service();
                return Some(until);
            }
            debug_assert!(!self.wire.is_empty(), "the packet before it is on its way");
            self.free_at = until;
            *ends += 1;
            self.wire.push(Departure::with_size(until, next.packet, next.size));
            // One question, as its answer is hard to predict.
            if (until > now) | !port.holds_any() {
                return None;
            }
        }
    }

    #[inline(never)]
    fn catch_up_with_aqm(
        &mut self,
        now: Time,
        untimed_before: Time,
        ends: &mut u64,
    ) -> Option<Time> {
        let Port::Classful(port) = &mut self.port else { return None };
        while self.free_at <= now {
            let at = std::mem::replace(&mut self.free_at, NEVER);
            port.finish(at);
            if !port.has_choice() {
                return None;
            }
            let NextTransmission::Send { .. } = port.start_next(at) else { return None };
            let service = port.in_service?;
            let until =
                at + self.byte_time.transmission_time(service.size.bytes(), &mut self.serializer);
            if until >= untimed_before {
                port.time_service();
                return Some(until);
            }
            debug_assert!(!self.wire.is_empty(), "the packet before it is on its way");
            port.put_on_wire();
            self.free_at = until;
            *ends += 1;
            self.wire.push(Departure::with_size(until, service.packet, service.size));
        }
        None
    }

    /// The packet in service leaves a classful port at `until`: its departure, if that is before
    /// `untimed_before`, so that it is known to come; else its end needs an event.
    #[inline(always)]
    pub fn send_untimed(&mut self, until: Time, untimed_before: Time) -> Option<Departure> {
        let Port::Classful(port) = &mut self.port else { return None };
        if until >= untimed_before {
            port.time_service();
            return None;
        }
        let service = port.in_service?;
        port.put_on_wire();
        self.free_at = until;
        Some(Departure::with_size(until, service.packet, service.size))
    }

    /// The end of a transmission that has no event, if a packet waits for it: from now on it has one.
    #[inline(always)]
    pub fn take_untimed_end(&mut self) -> Option<Time> {
        let Port::Classful(port) = &mut self.port else { return None };
        if self.free_at == NEVER || !port.holds_any() {
            return None;
        }
        port.timed = true;
        Some(std::mem::replace(&mut self.free_at, NEVER))
    }
}
