//! Forwarding: a node's actions on a packet from a link or from one of its own agents.

use crate::classifier::{Assignment, NO_ROW, OWN_COLUMN};
use crate::counters::{DropKey, MarkKey};
use crate::data_plane::{DataPlane, NextStep, PacketNotice};
use crate::link::{Departure, OnwardHop, PacketOnWire, Port};
use crate::mpls::NextHop;
use crate::observer::{Event, Observer};
use crate::queue::{QueueDecision, SizeAndMarks};
use crate::route::{FIRST_SHARED, LOCAL_DELIVERY};
use trunkline_packet::{Cause, Ecn, PacketId};
use trunkline_units::NEVER;

/// How far behind the head of a wire its entries are fetched: a cache line of them, and those that are read.
const ENTRIES_AHEAD: u32 = 5;

impl<O: Observer> DataPlane<O> {
    /// The packet at the head of a wire reaches the far end.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, index: usize) -> NextStep {
        let link = &mut self.ports.links[index];
        if !link.onward.has_arrivals() {
            if link.onward == OnwardHop::Crosses {
                return self.note_message_elsewhere(index as u32);
            } else if link.onward == OnwardHop::EventFree {
                link.arrive(self.clock.now);
            } else if link.wire.len() == 1 && link.is_behind(self.clock.now) {
                // No other packet is on the wire: the port may have one to send.
                if let Some(until) =
                    link.catch_up(self.clock.now, self.clock.untimed_before, &mut self.clock.events)
                {
                    self.clock.schedule_transmitter(index as u32, until);
                }
            }
        }
        let Some(departure) = link.wire.pop() else { return NextStep::Forwarded };
        if let Some(next) = link.wire.front() {
            let due = next.at + link.delay;
            let head = link.wire.head();
            if !self.carries_headers {
                // The one behind it, if any, is read from this link's next event on.
                self.arena.prefetch(link.wire.get(head.wrapping_add(1)).packet.id_without_header());
            }
            // The entries behind were written a delay of the link ago: a line of them is asked for before the first
            // of it is read.
            link.wire.fetch(head.wrapping_add(ENTRIES_AHEAD.min(link.wire.len())));
            self.clock.schedule_following_arrival(index as u32, due);
        }
        let to = link.to;
        if departure.packet.has_header() {
            return self.receive_header(to, departure.packet);
        }
        let id = departure.packet.id_without_header();
        // The flag lies in the line that is read anyway.
        if link.has_far_end {
            return self.meet_far_end(index, departure);
        }
        self.observer.record(
            self.clock.now,
            Event::Arrived { link: index as u32 },
            id,
            &self.arena,
        );
        self.receive(to, id)
    }

    /// A packet comes off a wire that may lose or reorder it, or with functions behind it.
    #[inline(never)]
    fn meet_far_end(&mut self, index: usize, departure: Departure) -> NextStep {
        let link = &mut self.ports.links[index];
        let (to, id) = (link.to, departure.packet.id_without_header());
        if let Some(far_end) = &mut link.far_end {
            let lost = far_end.loss > 0.0 && far_end.random.uniform() < far_end.loss
                || !far_end.scripted.is_empty() && far_end.loses(&self.arena[id]);
            if lost {
                let place = Assignment::outside(departure.packet.size().precedence());
                self.drop_packet(id, Cause::Corrupted, Some(index as u32), to, place);
                return NextStep::Forwarded;
            }
            if let Some(stage) = far_end.reorders {
                if self.hold_late_packet(stage, departure) {
                    return NextStep::Forwarded;
                }
            }
        }
        self.enter_far_end(index, departure)
    }

    /// A packet that was not lost on its wire meets the functions at the far end.
    pub(crate) fn enter_far_end(&mut self, index: usize, departure: Departure) -> NextStep {
        let link = &mut self.ports.links[index];
        let (to, id) = (link.to, departure.packet.id_without_header());
        let mut processor = None;
        if let Some(far_end) = &mut link.far_end {
            processor = far_end.processor;
            let packet = &mut self.arena[id];
            let conditioner = far_end.conditioner.as_mut();
            let refused = conditioner.and_then(|part| part.condition(self.clock.now, packet));
            if let Some(cause) = refused {
                let place = Assignment::outside(departure.packet.size().precedence());
                self.drop_packet(id, cause, Some(index as u32), to, place);
                return NextStep::Forwarded;
            }
        }
        self.observer.record(
            self.clock.now,
            Event::Arrived { link: index as u32 },
            id,
            &self.arena,
        );
        match processor {
            Some(processor) => self.process(processor, id),
            None => self.receive(to, id),
        }
    }

    /// An unlabelled packet with its header is at `node`.
    #[inline(never)]
    fn receive_header(&mut self, node: u32, packet: PacketOnWire) -> NextStep {
        let Some(header) = packet.header() else { return NextStep::Forwarded };
        let next = self.tables.fib.next(node, header.destination);
        if let Some(link) = self.ports.links.get(next as usize) {
            if header.ttl > 1 && link.takes_header(header.ip_bytes) {
                self.output_header(next, packet.count_ttl_down(), header.ip_bytes);
                return NextStep::Forwarded;
            }
        }
        let id = packet.id();
        self.arena[id].ttl = header.ttl;
        self.receive_unlabelled(node, id, false, OWN_COLUMN)
    }

    /// Offers an unlabelled packet with its header to a plain port.
    #[inline(always)]
    fn output_header(&mut self, index: u32, packet: PacketOnWire, ip_bytes: u32) {
        let link = &mut self.ports.links[index as usize];
        if !link.has_room(self.clock.now) {
            return self.drop_at_full_queue(index, packet.id());
        }
        let departs = link.enter_plain(self.clock.now, packet, ip_bytes + link.header);
        if link.wire.len() == 1 {
            // Not pending: no packet was on the wire.
            let due = departs + link.delay;
            self.clock.schedule_new_arrival(index, due);
        }
    }

    /// Offers a packet to the port of its next link, with its header if that takes it.
    #[inline(never)]
    fn output_with_header(&mut self, index: u32, column: u8, id: PacketId) {
        let packet = &self.arena[id];
        let ip_bytes = u32::from(packet.ip_bytes);
        if self.ports.links[index as usize].takes_header(ip_bytes) {
            if let Some(packet) = PacketOnWire::with_header(id, packet) {
                return self.output_header(index, packet, ip_bytes);
            }
        }
        self.output(index, NO_ROW, column, id);
    }

    /// A packet from a link is at `node`.
    #[inline(always)]
    pub(crate) fn receive(&mut self, node: u32, id: PacketId) -> NextStep {
        let packet = &mut self.arena[id];
        let Some(top) = packet.labels.top() else {
            return self.receive_unlabelled(node, id, false, OWN_COLUMN);
        };
        match self.tables.mpls.switch_to_link(node, packet, top) {
            Some((link, row)) => {
                self.output_on_path(link, row, id);
                NextStep::Forwarded
            }
            None => self.receive_labelled(node, id),
        }
    }

    /// The same of a packet whose label is not just changed or taken off.
    #[inline(never)]
    fn receive_labelled(&mut self, node: u32, id: PacketId) -> NextStep {
        let packet = &mut self.arena[id];
        let mut counted = false;
        let mut column = OWN_COLUMN;
        while !packet.labels.is_empty() {
            match self.tables.mpls.switch(node, packet, counted) {
                Ok(NextHop::Again(done, by)) => {
                    (counted, column) = (done, by);
                    continue;
                }
                Ok(NextHop::Link(link, row)) => self.output(link, row, column, id),
                Ok(NextHop::Bridge(bridge)) => self.send_both(bridge, node, id),
                Err(cause) => self.drop_at_node(id, cause, node),
            }
            return NextStep::Forwarded;
        }
        self.receive_unlabelled(node, id, counted, column)
    }

    /// An unlabelled packet from a link is at `node`, which has perhaps `counted` its TTL down.
    #[inline(always)]
    fn receive_unlabelled(
        &mut self,
        node: u32,
        id: PacketId,
        counted: bool,
        column: u8,
    ) -> NextStep {
        let packet = &mut self.arena[id];
        let next = self.tables.fib.next(node, packet.dst);
        if next == LOCAL_DELIVERY {
            return NextStep::Deliver { node, id };
        }
        if !counted {
            // RFC 1812 section 5.3.1: a router that would make the TTL zero discards the packet.
            if packet.ttl <= 1 {
                self.drop_at_node(id, Cause::TtlExpired, node);
                return NextStep::Forwarded;
            }
            packet.ttl -= 1;
        }
        self.route(node, id, Some(next), column);
        NextStep::Forwarded
    }

    /// Sends an unlabelled packet on from `node`: into a path if its class is bound to one here,
    /// else to the next hop, which is looked up if it is not given.
    #[inline(always)]
    fn route(&mut self, node: u32, id: PacketId, next: Option<u32>, column: u8) {
        let packet = &mut self.arena[id];
        if packet.fec != 0 {
            if let Some(nhlfe) = self.tables.mpls.ftn(node, packet.fec, packet.dscp) {
                let dscp = if column == OWN_COLUMN { packet.dscp } else { column };
                match self.tables.mpls.enter(node, nhlfe, packet, dscp) {
                    Ok(NextHop::Link(link, row)) => {
                        if self.measured.path_accounts.is_some() {
                            self.account_path(id, self.tables.mpls.path_of(nhlfe));
                        }
                        return self.output_on_path(link, row, id);
                    }
                    Ok(NextHop::Again(..)) => {}
                    Ok(NextHop::Bridge(bridge)) => return self.send_both(bridge, node, id),
                    Err(cause) => return self.drop_at_node(id, cause, node),
                }
            }
        }
        let next = match next {
            Some(next) => next,
            None => self.tables.fib.next(node, self.arena[id].dst),
        };
        if next >= FIRST_SHARED {
            return self.send_on_equal_cost_link(node, id, next, column);
        }
        if !O::ACTIVE && self.carries_headers && self.arena[id].fec == 0 {
            return self.output_with_header(next, column, id);
        }
        self.output(next, NO_ROW, column, id);
    }

    /// Sends a packet on one of several links of equal cost, or drops it without a route.
    #[cold]
    #[inline(never)]
    fn send_on_equal_cost_link(&mut self, node: u32, id: PacketId, next: u32, column: u8) {
        let links = self.tables.fib.shared(next);
        if links.is_empty() {
            return self.drop_at_node(id, Cause::NoRoute, node);
        }
        let link = links[self.tables.mpls.chooser.choose(node, &self.arena[id], links.len())];
        self.output(link, NO_ROW, column, id);
    }

    /// A packet has entered a path.
    #[cold]
    #[inline(never)]
    fn account_path(&mut self, id: PacketId, path: u32) {
        if let (Some(accounts), false) =
            (&mut self.measured.path_accounts, self.arena[id].is_reverse())
        {
            accounts.enter(id, path);
        }
    }

    /// The head of a 1+1 path: sends the packet on one leg and a copy of it on the other.
    #[cold]
    #[inline(never)]
    fn send_both(&mut self, bridge: u32, node: u32, id: PacketId) {
        let original = self.arena[id];
        let totals = &mut self.measured.totals[original.flow as usize];
        if original.is_reverse() {
            totals.acks_copied += 1;
        } else {
            totals.copied_packets += 1;
        }
        if original.connection().is_some() {
            self.notices.push(PacketNotice::Copied(original));
        }
        let details = self.arena.details(id);
        let copy = self.arena.insert(original);
        self.arena.set_details(copy, details);
        self.observer.record(self.clock.now, Event::Copied { node }, copy, &self.arena);
        for (leg, id) in [id, copy].into_iter().enumerate() {
            match self.tables.mpls.enter_leg(bridge, leg, &mut self.arena[id]) {
                Ok((link, row)) => {
                    self.account_path(id, self.tables.mpls.path_of_leg(bridge, leg));
                    self.output(link, row, OWN_COLUMN, id);
                }
                Err(cause) => self.drop_at_node(id, cause, node),
            }
        }
    }

    /// A fresh packet is sent at `node`, which is not its destination.
    #[inline]
    pub(crate) fn originate(&mut self, node: u32, id: PacketId) {
        self.route(node, id, None, OWN_COLUMN);
    }

    /// Offers a message to the port of the link it is for.
    pub(crate) fn output_message(&mut self, link: u32, id: PacketId) {
        self.output(link, NO_ROW, OWN_COLUMN, id);
    }

    /// Sends a message into a path by the entry of its first node.
    pub(crate) fn output_labelled(&mut self, node: u32, entry: u32, id: PacketId) {
        let packet = &mut self.arena[id];
        match self.tables.mpls.label(node, entry, packet, packet.dscp) {
            Ok(NextHop::Link(link, row)) => self.output(link, row, OWN_COLUMN, id),
            Ok(_) => self.drop_at_node(id, Cause::NoLabel, node),
            Err(cause) => self.drop_at_node(id, cause, node),
        }
    }

    /// Offers a packet to the port of a link that its label led to: networks with labels mostly have classes.
    #[inline(always)]
    fn output_on_path(&mut self, index: u32, row: u16, id: PacketId) {
        if self.ports.links[index as usize].has_plain_classes() {
            self.output_to_plain_classes(index, row, OWN_COLUMN, id);
        } else {
            self.output(index, row, OWN_COLUMN, id);
        }
    }

    /// Offers a packet to the port of a link, to be classified there by a row and a column.
    #[inline(always)]
    fn output(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let link = &mut self.ports.links[index as usize];
        if link.is_bare() {
            return self.output_to_plain_port(index, id);
        }
        if link.has_plain_classes() {
            return self.output_apart_to_plain_classes(index, row, column, id);
        }
        self.output_to_full_port(index, row, column, id);
    }

    /// Offers a packet to a port with plain classes, where few do.
    #[inline(never)]
    fn output_apart_to_plain_classes(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        self.output_to_plain_classes(index, row, column, id);
    }

    /// Offers a packet to a port with plain classes.
    #[inline(always)]
    fn output_to_plain_classes(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let now = self.clock.now;
        let packet = &self.arena[id];
        let link = &mut self.ports.links[index as usize];
        let size = packet.labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        let place = link.classify(packet, row, column);
        let size = SizeAndMarks::new(size + link.header, place.precedence, false);
        if link.is_late(now) {
            let untimed_before = self.clock.untimed_before;
            if let Some(until) = link.catch_up_plain(now, untimed_before, &mut self.clock.events) {
                self.clock.schedule_transmitter(index, until);
            }
        }
        let in_service = if link.is_clear(now) { None } else { link.in_service() };
        let Port::Classful(port) = &mut link.port else { return };
        let Some(in_service) = in_service else {
            if !port.pass_plain(id, size, place.class) {
                return self.drop_at_full_class(index, id, place);
            }
            let until = now + link.byte_time.transmission_time(size.bytes(), &mut link.serializer);
            if until >= self.clock.untimed_before {
                port.time_service();
                link.free_at = NEVER;
                return self.clock.schedule_transmitter(index, until);
            }
            link.free_at = until;
            self.clock.events += 1;
            link.wire.push(Departure::with_size(until, id, size));
            if link.wire.len() == 1 {
                self.clock.schedule_new_arrival(index, until + link.delay);
            }
            return;
        };
        if !port.join_plain(now, id, size, place.class, in_service) {
            self.drop_at_full_class(index, id, place);
        }
    }

    /// The queue of a class is full.
    #[cold]
    #[inline(never)]
    fn drop_at_full_class(&mut self, index: u32, id: PacketId, place: Assignment) {
        let node = self.ports.from[index as usize];
        self.drop_packet(id, Cause::QueueFull, Some(index), node, place);
    }

    /// Offers a packet to a port where only a full queue can hold it back.
    #[inline(always)]
    fn output_to_plain_port(&mut self, index: u32, id: PacketId) {
        let link = &mut self.ports.links[index as usize];
        let size = self.arena[id].labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        if !link.has_room(self.clock.now) {
            return self.drop_at_full_queue(index, id);
        }
        let starts = if O::ACTIVE { link.idle_from(self.clock.now) } else { 0 };
        let bytes = size + link.header;
        let packet = PacketOnWire::new(id, bytes, 0);
        let departs = link.enter_plain(self.clock.now, packet, bytes);
        let onward = link.onward;
        if onward.has_arrivals() {
            if link.wire.len() == 1 {
                // Not pending: no packet was on the wire.
                let due = departs + link.delay;
                self.clock.schedule_new_arrival(index, due);
            }
        } else {
            link.forget_departed();
        }
        self.observer.record(self.clock.now, Event::Queued { link: index }, id, &self.arena);
        let place = Assignment::default();
        self.observer.set_port_class(place.class, place.precedence);
        if O::ACTIVE {
            self.observer.on_transmission_start(id, starts);
        }
        if onward != OnwardHop::Arrives {
            self.go_on_from_fifo(onward, index, id);
        }
    }

    /// The queue of such a port is full.
    #[cold]
    #[inline(never)]
    fn drop_at_full_queue(&mut self, index: u32, id: PacketId) {
        let link = &mut self.ports.links[index as usize];
        link.counters.refuse(self.arena[id].labelled_bytes() + link.header);
        let node = self.ports.from[index as usize];
        self.drop_packet(id, Cause::QueueFull, Some(index), node, Assignment::default());
    }

    /// Offers a packet to a port that needs more fields of it.
    #[inline(never)]
    fn output_to_full_port(&mut self, index: u32, row: u16, column: u8, id: PacketId) {
        let packet = &mut self.arena[id];
        let link = &mut self.ports.links[index as usize];
        let mut near_end = None;
        if link.has_near_end {
            near_end = self.ports.near_ends[index as usize].as_deref_mut();
        }
        if let Some(near_end) = &mut near_end {
            if let Some(conditioner) = &mut near_end.conditioner {
                if let Some(cause) = conditioner.condition(self.clock.now, packet) {
                    let node = self.ports.from[index as usize];
                    return self.drop_packet(id, cause, Some(index), node, Assignment::outside(0));
                }
            }
        }
        let place = link.classify(packet, row, column);
        let size = packet.labelled_bytes();
        if size > link.mtu {
            return self.drop_before_port(id, index);
        }
        let bytes = size + link.header;
        // A label hides the ECN field: Linux and most LSRs drop the packets that they would mark.
        let capable = match packet.labels.is_empty() {
            true => packet.ecn() != Ecn::NotCapable,
            false => link.marks_labelled && self.tables.mpls.congestion.can_mark(packet),
        };
        let classful = matches!(link.port, Port::Classful(_));
        if classful && link.is_behind(self.clock.now) {
            if let Some(until) =
                link.catch_up(self.clock.now, self.clock.untimed_before, &mut self.clock.events)
            {
                self.clock.schedule_transmitter(index, until);
            }
        }
        let (mut starts, mut passes) = (None, false);
        let offer = if let Port::Classful(port) = &mut link.port {
            passes = port.pass(id, bytes, place);
            match passes {
                true => QueueDecision::Queued { mark: false },
                false => port.offer(self.clock.now, (id, packet), bytes, place, capable),
            }
        } else {
            if O::ACTIVE {
                starts = Some(link.idle_from(self.clock.now));
            }
            let offer = link.offer_fifo(self.clock.now, id, bytes, place.precedence, capable);
            if !link.onward.has_arrivals() {
                link.forget_departed();
            } else if let (QueueDecision::Queued { .. }, 1) = (offer, link.wire.len()) {
                let due = link.wire.get(link.wire.head()).at + link.delay;
                self.clock.schedule_arrival(index, due);
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
                self.observer.record(
                    self.clock.now,
                    Event::Queued { link: index },
                    id,
                    &self.arena,
                );
                self.observer.set_port_class(place.class, place.precedence);
                if let Some(at) = starts {
                    self.observer.on_transmission_start(id, at);
                }
                if classful {
                    self.start_transmission(index as usize, passes);
                } else {
                    let onward = self.ports.links[index as usize].onward;
                    self.go_on_from_fifo(onward, index, id);
                }
            }
            QueueDecision::Dropped(cause) => {
                let node = self.ports.from[index as usize];
                self.drop_packet(id, cause, Some(index), node, place);
            }
        }
    }

    /// Does with the packet that a FIFO has accepted last what need not wait for its arrival.
    #[inline(always)]
    fn go_on_from_fifo(&mut self, onward: OnwardHop, index: u32, id: PacketId) {
        match onward {
            OnwardHop::Arrives => {}
            OnwardHop::Announced if !self.arena[id].is_message() => {}
            OnwardHop::Announced => self.announce_accepted_message(index),
            OnwardHop::Crosses => self.send_accepted_to_other_region(index),
            OnwardHop::EventFree | OnwardHop::CatchesUp => self.forward_without_event(index),
        }
    }

    /// A port writes a congestion signal into a packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark_packet(&mut self, id: PacketId, link: u32, class: u16, precedence: u8) {
        let packet = &mut self.arena[id];
        self.tables.mpls.congestion.mark(packet);
        let (flow, reverse) = (packet.flow, packet.is_reverse());
        let key = MarkKey { flow, reverse, link, class, precedence };
        self.measured.marks.add(key, u64::from(packet.ip_bytes));
    }

    /// A packet that is too big for a link, or for which any is: the link is down.
    #[cold]
    #[inline(never)]
    fn drop_before_port(&mut self, id: PacketId, link: u32) {
        let node = self.ports.from[link as usize];
        let cause = self.ports.refusals[link as usize];
        self.drop_packet(id, cause, Some(link), node, Assignment::outside(0));
    }

    /// A packet no longer waits in its sender's host, if it did.
    #[cold]
    #[inline(never)]
    pub(crate) fn notice_departure_from_host(&mut self, id: PacketId) {
        let packet = &mut self.arena[id];
        if packet.is_in_host_queue() {
            packet.set_in_host_queue(false);
            self.notices.push(PacketNotice::LeftHost(*packet));
        }
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
        let packet = &self.arena[id];
        self.observer.record(self.clock.now, Event::Dropped { cause, link, node }, id, &self.arena);
        if place.is_in_queue() {
            self.observer.set_port_class(place.class, place.precedence);
        }
        let totals = &mut self.measured.totals[packet.flow as usize];
        if packet.is_reverse() {
            totals.acks_dropped += 1;
        } else {
            totals.dropped_packets += 1;
            if let Some(accounts) = &mut self.measured.path_accounts {
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
        self.measured.drops.add(key, 1, u64::from(packet.ip_bytes));
        let lost = *packet;
        self.arena.remove(id);
        if self.notices_all_losses || lost.connection().is_some() || lost.is_in_host_queue() {
            self.notices.push(PacketNotice::Lost(lost));
        }
    }
}
