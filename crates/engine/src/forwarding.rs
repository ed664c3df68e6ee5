//! Forwarding: a node's actions on a packet from a link or from one of its own agents.

use crate::classifier::{Assignment, NO_ROW, OWN_COLUMN};
use crate::counters::{DropKey, MarkKey};
use crate::link::{Departure, OnwardHop, Port};
use crate::mpls::NextHop;
use crate::observer::{Event, Observer};
use crate::queue::{QueueDecision, SizeAndMarks};
use crate::route::{FIRST_SHARED, LOCAL_DELIVERY};
use crate::simulation::Simulation;
use trunkline_packet::{Cause, Ecn, Packet, PacketId};

impl<O: Observer> Simulation<O> {
    /// The packet at the head of a wire reaches the far end.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, index: usize) {
        let link = &mut self.links[index];
        if matches!(link.onward, OnwardHop::EventFree | OnwardHop::CatchesUp) {
            if link.onward == OnwardHop::EventFree {
                link.arrive(self.now);
            } else if link.is_behind(self.now) {
                if let Some(until) = link.catch_up(self.now, self.untimed_before, &mut self.events)
                {
                    self.calendar.schedule(self.sources.transmitters + index as u32, until);
                }
            }
        }
        let Some(departure) = link.wire.pop() else { return };
        if let Some(next) = link.wire.front() {
            // It is read at this link's next event, in about one transmission time.
            self.arena.prefetch(next.packet);
            let due = next.at + link.delay;
            self.calendar.schedule_new(self.sources.arrivals + index as u32, due);
        }
        let (to, id) = (link.to, departure.packet);
        // The flag lies in the line that is read anyway.
        if link.has_far_end {
            return self.meet_far_end(index, departure);
        }
        self.observer.record(self.now, Event::Arrived { link: index as u32 }, id, &self.arena);
        self.receive(to, id);
    }

    /// A packet comes off a wire that may lose or reorder it, or with functions behind it.
    #[inline(never)]
    fn meet_far_end(&mut self, index: usize, departure: Departure) {
        let link = &mut self.links[index];
        let (to, id) = (link.to, departure.packet);
        if let Some(far_end) = &mut link.far_end {
            let lost = far_end.loss > 0.0 && far_end.random.uniform() < far_end.loss
                || !far_end.scripted.is_empty() && far_end.loses(&self.arena[id]);
            if lost {
                let place = Assignment::outside(departure.precedence());
                return self.drop_packet(id, Cause::Corrupted, Some(index as u32), to, place);
            }
            if let Some(stage) = far_end.reorders {
                if self.hold_late_packet(stage, departure) {
                    return;
                }
            }
        }
        self.enter_far_end(index, departure);
    }

    /// A packet that was not lost on its wire meets the functions at the far end.
    pub(crate) fn enter_far_end(&mut self, index: usize, departure: Departure) {
        let link = &mut self.links[index];
        let (to, id) = (link.to, departure.packet);
        let mut processor = None;
        if let Some(far_end) = &mut link.far_end {
            processor = far_end.processor;
            let packet = &mut self.arena[id];
            let conditioner = far_end.conditioner.as_mut();
            let refused = conditioner.and_then(|part| part.condition(self.now, packet));
            if let Some(cause) = refused {
                let place = Assignment::outside(departure.precedence());
                return self.drop_packet(id, cause, Some(index as u32), to, place);
            }
        }
        self.observer.record(self.now, Event::Arrived { link: index as u32 }, id, &self.arena);
        match processor {
            Some(processor) => self.process(processor, id),
            None => self.receive(to, id),
        }
    }

    /// A packet from a link is at `node`.
    #[inline(always)]
    pub(crate) fn receive(&mut self, node: u32, id: PacketId) {
        let packet = &mut self.arena[id];
        if packet.labels.is_empty() {
            return self.receive_unlabelled(node, id, false, OWN_COLUMN);
        }
        match self.tables.switch_to_link(node, packet) {
            Some((link, row)) => self.output(link, row, OWN_COLUMN, id),
            None => self.receive_labelled(node, id),
        }
    }

    /// The same of a packet whose label is not just changed or taken off.
    #[inline(never)]
    fn receive_labelled(&mut self, node: u32, id: PacketId) {
        let packet = &mut self.arena[id];
        let mut counted = false;
        let mut column = OWN_COLUMN;
        while !packet.labels.is_empty() {
            match self.tables.switch(node, packet, counted) {
                Ok(NextHop::Link(link, row)) => return self.output(link, row, column, id),
                Ok(NextHop::Again(done, by)) => (counted, column) = (done, by),
                Ok(NextHop::Bridge(bridge)) => return self.send_both(bridge, node, id),
                Err(cause) => return self.drop_at_node(id, cause, node),
            }
        }
        self.receive_unlabelled(node, id, counted, column);
    }

    /// An unlabelled packet from a link is at `node`, which has perhaps `counted` its TTL down.
    #[inline(always)]
    fn receive_unlabelled(&mut self, node: u32, id: PacketId, counted: bool, column: u8) {
        let packet = &mut self.arena[id];
        let next = self.fib.next(node, packet.dst);
        if next == LOCAL_DELIVERY {
            return self.deliver(node, id);
        }
        if !counted {
            // RFC 1812 section 5.3.1: a router that would make the TTL zero discards the packet.
            if packet.ttl <= 1 {
                return self.drop_at_node(id, Cause::TtlExpired, node);
            }
            packet.ttl -= 1;
        }
        self.route(node, id, next, column);
    }

    /// Sends an unlabelled packet on from `node`: into a path if its class is bound to one here,
    /// else to the next hop.
    #[inline(always)]
    fn route(&mut self, node: u32, id: PacketId, next: u32, column: u8) {
        let packet = &mut self.arena[id];
        if packet.fec != 0 {
            if let Some(nhlfe) = self.tables.ftn(node, packet.fec, packet.dscp) {
                let dscp = if column == OWN_COLUMN { packet.dscp } else { column };
                match self.tables.enter(node, nhlfe, packet, dscp) {
                    Ok(NextHop::Link(link, row)) => {
                        if self.path_accounts.is_some() {
                            self.account_path(id, self.tables.path_of(nhlfe));
                        }
                        return self.output(link, row, OWN_COLUMN, id);
                    }
                    Ok(NextHop::Again(..)) => {}
                    Ok(NextHop::Bridge(bridge)) => return self.send_both(bridge, node, id),
                    Err(cause) => return self.drop_at_node(id, cause, node),
                }
            }
        }
        if next >= FIRST_SHARED {
            return self.send_on_equal_cost_link(node, id, next, column);
        }
        self.output(next, NO_ROW, column, id);
    }

    /// Sends a packet on one of several links of equal cost, or drops it without a route.
    #[cold]
    #[inline(never)]
    fn send_on_equal_cost_link(&mut self, node: u32, id: PacketId, next: u32, column: u8) {
        let links = self.fib.shared(next);
        if links.is_empty() {
            return self.drop_at_node(id, Cause::NoRoute, node);
        }
        let link = links[self.tables.chooser.choose(node, &self.arena[id], links.len())];
        self.output(link, NO_ROW, column, id);
    }

    /// A packet has entered a path.
    #[cold]
    #[inline(never)]
    fn account_path(&mut self, id: PacketId, path: u32) {
        if let (Some(accounts), false) = (&mut self.path_accounts, self.arena[id].is_reverse()) {
            accounts.enter(id, path);
        }
    }

    /// The head of a 1+1 path: sends the packet on one leg and a copy of it on the other.
    #[cold]
    #[inline(never)]
    fn send_both(&mut self, bridge: u32, node: u32, id: PacketId) {
        let original = self.arena[id];
        let totals = &mut self.totals[original.flow as usize];
        if original.is_reverse() {
            totals.acks_copied += 1;
        } else {
            totals.copied_packets += 1;
        }
        if let Some(connection) = original.connection() {
            self.workloads.enter(connection);
        }
        let details = self.arena.details(id);
        let copy = self.arena.insert(original);
        self.arena.set_details(copy, details);
        self.observer.record(self.now, Event::Copied { node }, copy, &self.arena);
        for (leg, id) in [id, copy].into_iter().enumerate() {
            match self.tables.enter_leg(bridge, leg, &mut self.arena[id]) {
                Ok((link, row)) => {
                    self.account_path(id, self.tables.path_of_leg(bridge, leg));
                    self.output(link, row, OWN_COLUMN, id);
                }
                Err(cause) => self.drop_at_node(id, cause, node),
            }
        }
    }

    /// A fresh packet leaves its agent at `node`.
    #[inline(always)]
    pub(crate) fn send(&mut self, node: u32, packet: Packet) {
        let id = self.arena.insert(packet);
        self.observer.record(self.now, Event::Sent { node }, id, &self.arena);
        self.originate(node, id);
    }

    #[inline]
    pub(crate) fn originate(&mut self, node: u32, id: PacketId) {
        let next = self.fib.next(node, self.arena[id].dst);
        if next == LOCAL_DELIVERY {
            return self.deliver(node, id);
        }
        self.route(node, id, next, OWN_COLUMN);
    }

    /// Offers a message to the port of the link it is for.
    pub(crate) fn output_message(&mut self, link: u32, id: PacketId) {
        self.output(link, NO_ROW, OWN_COLUMN, id);
    }

    /// Sends a message into a path by the entry of its first node.
    pub(crate) fn output_labelled(&mut self, node: u32, entry: u32, id: PacketId) {
        let packet = &mut self.arena[id];
        match self.tables.label(node, entry, packet, packet.dscp) {
            Ok(NextHop::Link(link, row)) => self.output(link, row, OWN_COLUMN, id),
            Ok(_) => self.drop_at_node(id, Cause::NoLabel, node),
            Err(cause) => self.drop_at_node(id, cause, node),
        }
    }

    /// Offers a packet to the port of a link, to be classified there by a row and a column.
    #[inline(always)]
    fn output(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let link = &mut self.links[index as usize];
        if link.is_bare() {
            return self.output_to_plain_port(index, id);
        }
        if link.onward == OnwardHop::CatchesUp && link.has_plain_classes {
            return self.output_to_plain_classes(index, row, column, id);
        }
        self.output_to_full_port(index, row, column, id);
    }

    /// Offers a packet to a port with plain classes.
    #[inline(never)]
    fn output_to_plain_classes(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let now = self.now;
        let packet = &self.arena[id];
        let link = &mut self.links[index as usize];
        let size = packet.labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        let transmitter = self.sources.transmitters + index;
        if link.is_behind(now) {
            if let Some(until) = link.catch_up(now, self.untimed_before, &mut self.events) {
                self.calendar.schedule(transmitter, until);
            }
        }
        let Port::Classful(port) = &mut link.port else { return };
        let place = port.classifier.assign_as(packet, row, column);
        let size = SizeAndMarks::new(size + link.header, place.precedence, false);
        let rests = port.in_service.is_none();
        if !port.offer_plain(now, id, size, place.class) {
            let node = self.link_from[index as usize];
            return self.drop_packet(id, Cause::QueueFull, Some(index), node, place);
        }
        if rests {
            let until = now + link.serializer.span(size.bytes());
            if until >= self.untimed_before {
                port.time_service();
                return self.calendar.schedule(transmitter, until);
            }
            link.free_at = until;
            self.events += 1;
            link.wire.push(Departure::with_size(until, id, size));
            if link.wire.len() == 1 {
                self.calendar.schedule_new(self.sources.arrivals + index, until + link.delay);
            }
        }
    }

    /// Offers a packet to a port where only a full queue can hold it back.
    #[inline(always)]
    fn output_to_plain_port(&mut self, index: u32, id: PacketId) {
        let link = &mut self.links[index as usize];
        let size = self.arena[id].labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        if !link.has_room(self.now) {
            return self.drop_at_full_queue(index, id);
        }
        let starts = if O::ACTIVE { link.idle_from(self.now) } else { 0 };
        let departs = link.enter_plain(self.now, id, size + link.header, 0);
        let onward = link.onward;
        if onward == OnwardHop::Arrives {
            if link.wire.len() == 1 {
                // Not pending: no packet was on the wire.
                let due = departs + link.delay;
                self.calendar.schedule_new(self.sources.arrivals + index, due);
            }
        } else {
            link.forget_departed();
        }
        self.observer.record(self.now, Event::Queued { link: index }, id, &self.arena);
        let place = Assignment::default();
        self.observer.set_port_class(place.class, place.precedence);
        if O::ACTIVE {
            self.observer.on_transmission_start(id, starts);
        }
        if onward != OnwardHop::Arrives {
            self.forward_without_event_from(index);
        }
    }

    /// The queue of such a port is full.
    #[cold]
    #[inline(never)]
    fn drop_at_full_queue(&mut self, index: u32, id: PacketId) {
        let link = &mut self.links[index as usize];
        link.counters.refuse(self.arena[id].labelled_bytes() + link.header);
        let node = self.link_from[index as usize];
        self.drop_packet(id, Cause::QueueFull, Some(index), node, Assignment::default());
    }

    /// Offers a packet to a port that needs more fields of it.
    #[inline(never)]
    fn output_to_full_port(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let packet = &mut self.arena[id];
        let link = &mut self.links[index as usize];
        let mut near_end = None;
        if link.has_near_end {
            near_end = self.near_ends[index as usize].as_deref_mut();
        }
        let mut place = Assignment::default();
        if let Some(near_end) = &mut near_end {
            if let Some(conditioner) = &mut near_end.conditioner {
                if let Some(cause) = conditioner.condition(self.now, packet) {
                    let node = self.link_from[index as usize];
                    let place = Assignment::outside(place.precedence);
                    return self.drop_packet(id, cause, Some(index), node, place);
                }
            }
            if let Some(classifier) = &near_end.classifier {
                place = classifier.assign_as(packet, row, column);
            }
        }
        let size = packet.labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        let bytes = size + link.header;
        // A label hides the ECN field: Linux and most LSRs drop the packets that they would mark.
        let capable = match packet.labels.is_empty() {
            true => packet.ecn() != Ecn::NotCapable,
            false => link.marks_labelled && self.tables.congestion.can_mark(packet),
        };
        let classful = matches!(link.port, Port::Classful(_));
        if classful && link.is_behind(self.now) {
            if let Some(until) = link.catch_up(self.now, self.untimed_before, &mut self.events) {
                self.calendar.schedule(self.sources.transmitters + index, until);
            }
        }
        let (mut starts, mut passes) = (None, false);
        let offer = if let Port::Classful(port) = &mut link.port {
            place = port.classifier.assign_as(packet, row, column);
            passes = port.pass(id, bytes, place);
            match passes {
                true => QueueDecision::Queued { mark: false },
                false => port.offer(self.now, (id, packet), bytes, place, capable),
            }
        } else {
            if O::ACTIVE {
                starts = Some(link.idle_from(self.now));
            }
            let offer = link.offer_fifo(self.now, id, bytes, place.precedence, capable);
            if link.onward != OnwardHop::Arrives {
                link.forget_departed();
            } else if let (QueueDecision::Queued { .. }, 1) = (offer, link.wire.len()) {
                let due = link.wire.get(link.wire.head()).at + link.delay;
                self.calendar.schedule(self.sources.arrivals + index, due);
            }
            offer
        };
        if let Some(accounts) = near_end.and_then(|near_end| near_end.accounts.as_mut()) {
            accounts.add(packet, place, bytes, offer);
        }
        match offer {
            QueueDecision::Queued { mark } => {
                if mark {
                    self.mark_packet(id, index, place.class, place.precedence);
                }
                self.observer.record(self.now, Event::Queued { link: index }, id, &self.arena);
                self.observer.set_port_class(place.class, place.precedence);
                if let Some(at) = starts {
                    self.observer.on_transmission_start(id, at);
                }
                if classful {
                    self.start_transmission(index as usize, passes);
                } else if self.links[index as usize].onward != OnwardHop::Arrives {
                    self.forward_without_event_from(index);
                }
            }
            QueueDecision::Dropped(cause) => {
                let node = self.link_from[index as usize];
                self.drop_packet(id, cause, Some(index), node, place);
            }
        }
    }

    /// Forwards the last packet that a FIFO accepted without an event here.
    #[inline(never)]
    fn forward_without_event_from(&mut self, index: u32) {
        if self.links[index as usize].is_outbound() {
            self.send_accepted_to_other_region(index);
        } else {
            self.forward_without_event(index);
        }
    }

    /// A port writes a congestion signal into a packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark_packet(&mut self, id: PacketId, link: u32, class: u16, precedence: u8) {
        let packet = &mut self.arena[id];
        self.tables.congestion.mark(packet);
        let (flow, reverse) = (packet.flow, packet.is_reverse());
        let key = MarkKey { flow, reverse, link, class, precedence };
        self.marks.add(key, u64::from(packet.ip_bytes));
    }

    /// A packet that is too big for a link, or for which any is: the link is down.
    #[cold]
    #[inline(never)]
    fn drop_before_port(&mut self, id: PacketId, link: u32) {
        let node = self.link_from[link as usize];
        let cause = self.recovery.cause_at(link);
        self.drop_packet(id, cause, Some(link), node, Assignment::outside(0));
    }

    #[cold]
    #[inline(never)]
    fn drop_at_node(&mut self, id: PacketId, cause: Cause, node: u32) {
        self.drop_packet(id, cause, None, node, Assignment::outside(0));
    }

    /// A packet is lost before its destination.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_packet(
        &mut self,
        id: PacketId,
        cause: Cause,
        link: Option<u32>,
        node: u32,
        place: Assignment,
    ) {
        if self.arena[id].is_in_host_queue() {
            self.leave_host_queue(id);
        }
        let packet = &self.arena[id];
        self.observer.record(self.now, Event::Dropped { cause, link, node }, id, &self.arena);
        if place.is_in_queue() {
            self.observer.set_port_class(place.class, place.precedence);
        }
        let totals = &mut self.totals[packet.flow as usize];
        if packet.is_reverse() {
            totals.acks_dropped += 1;
        } else {
            totals.dropped_packets += 1;
            if let Some(accounts) = &mut self.path_accounts {
                accounts.lose(id, cause);
            }
        }
        let key = DropKey {
            flow: packet.flow,
            reverse: packet.is_reverse(),
            link: link.unwrap_or(u32::MAX),
            node,
            class: place.class,
            precedence: place.precedence,
            cause,
        };
        self.drops.add(key, 1, u64::from(packet.ip_bytes));
        let connection = packet.connection();
        if self.control.is_some() {
            self.lose_message(id);
        }
        self.arena.remove(id);
        if let Some(connection) = connection {
            self.workloads.count_lost_packet(connection, &self.senders);
        }
    }
}
