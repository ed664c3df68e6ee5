//! Pending events by node, so that a node can serve many of its own in a row (`node_visits.rs`).
//!
//! A node has the next arrival by each link to it and the timers of its ports and agents. All other events are
//! common: they concern every node. The calendar has one entry for each node, its earliest event, and one for the
//! common events.

use crate::calendar::{Calendar, Source};
use crate::clock::Sources;
use crate::network::Link;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;
use trunkline_units::{prefetch, Span, Time, NEVER};

/// Number in the calendar of the common events. That of a node is its own and one: at one instant common events
/// come first, as they do by their sources.
pub(crate) const COMMON: u32 = 0;
/// No node is visited.
const NO_NODE: u32 = u32::MAX;
/// Nothing is due.
const NOTHING: (Time, Source) = (NEVER, Source::MAX);

/// Timers of a node, the earliest first.
type TimerQueue = BinaryHeap<Reverse<(Time, Source)>>;

/// Fields of a node that each visit reads.
#[derive(Clone, Copy, Debug)]
struct NodeRecord {
    /// Places of the links to it among the pending arrivals.
    first: u32,
    end: u32,
    /// The shortest delay of these links.
    look_ahead: Span,
    /// The earliest of its timers. One that was moved since may still be here.
    timer: (Time, Source),
}

/// Pending events by node.
#[derive(Debug)]
pub(crate) struct EventsByNode {
    sources: Sources,
    nodes: Box<[NodeRecord]>,
    /// When the next packet arrives by each link, those to a node side by side, in the order of its links.
    arrivals: Box<[Time]>,
    /// The link at each of these places.
    links: Box<[u32]>,
    /// Of each link its place, and its node.
    places: Box<[(u32, u32)]>,
    /// Timers by node. Those that were moved since are stale.
    timers: Box<[TimerQueue]>,
    /// When each timer is due, and the node it is of: of ports by link, of senders and of receivers by flow.
    timer_due: Box<[Time]>,
    timer_node: Box<[u32]>,
    common: BTreeSet<(Time, Source)>,
    common_due: Box<[Time]>,
    visited: u32,
}

/// How far ahead of all others each node may serve its events: the shortest delay of the links to it, [`Span::MAX`]
/// where there is none.
pub(crate) fn find_look_aheads(nodes: usize, links: &[Link]) -> Vec<Span> {
    let mut look_aheads = vec![Span::MAX; nodes];
    for link in links {
        let shortest = &mut look_aheads[link.to as usize];
        *shortest = link.delay_ns.min(*shortest);
    }
    look_aheads
}

impl EventsByNode {
    /// Of a network in which nothing is due; `ends` has the nodes of the ends of each flow.
    pub fn new(nodes: usize, links: &[Link], ends: &[[u32; 2]], sources: Sources) -> Self {
        let mut order: Vec<u32> = (0..links.len() as u32).collect();
        order.sort_by_key(|&link| links[link as usize].to);
        // A node that packets come to from nowhere need not be further ahead than others.
        let longest = links.iter().map(|link| link.delay_ns).max().unwrap_or(1);
        let new_record = |look_ahead: Span| {
            let look_ahead = look_ahead.min(longest);
            NodeRecord { first: 0, end: 0, look_ahead, timer: NOTHING }
        };
        let mut records: Box<[NodeRecord]> =
            find_look_aheads(nodes, links).into_iter().map(new_record).collect();
        let mut places = vec![(0, 0); links.len()];
        for (place, &number) in (0..).zip(&order) {
            let link = &links[number as usize];
            places[number as usize] = (place, link.to);
            let record = &mut records[link.to as usize];
            if record.end == 0 {
                record.first = place;
            }
            record.end = place + 1;
        }
        let of_ports = links.iter().map(|link| link.from);
        let timer_node: Box<[u32]> = of_ports
            .chain(ends.iter().map(|ends| ends[0]))
            .chain(ends.iter().map(|ends| ends[1]))
            .collect();
        Self {
            sources,
            nodes: records,
            arrivals: vec![NEVER; links.len()].into(),
            links: order.into(),
            places: places.into(),
            timers: vec![BinaryHeap::new(); nodes].into(),
            timer_due: vec![NEVER; timer_node.len()].into(),
            timer_node,
            common: BTreeSet::new(),
            common_due: vec![NEVER; sources.transmitters as usize].into(),
            visited: NO_NODE,
        }
    }

    /// A calendar for the earliest events of these nodes, each of which has one once in its look-ahead or less often.
    pub fn new_calendar(&self) -> Calendar {
        let entries = self.nodes.len() + 1;
        let sum: u128 = self.nodes.iter().map(|node| u128::from(node.look_ahead)).sum();
        let gap = sum / (entries * entries) as u128;
        Calendar::new(entries, entries, Span::try_from(gap).unwrap_or(Span::MAX))
    }

    /// Begins a visit at the earliest event of all, that of this `node`. Returns the end of the visit: until then no
    /// event of another node leads to one here, and no common event is due.
    #[inline(always)]
    pub fn begin_visit(&mut self, calendar: &Calendar, node: u32, begin: Time) -> Time {
        self.visited = node;
        let end = begin.saturating_add(self.nodes[node as usize].look_ahead);
        end.min(calendar.due(COMMON))
    }

    /// Ends the visit of `node`, whose next event is due at `next`.
    #[inline(always)]
    pub fn end_visit(&mut self, calendar: &mut Calendar, node: u32, next: Time) {
        self.visited = NO_NODE;
        if next != NEVER {
            calendar.schedule_new(node + 1, next);
        }
    }

    /// The link whose next arrival is at this place.
    #[inline(always)]
    pub fn link_at(&self, place: usize) -> u32 {
        self.links[place]
    }

    #[inline(always)]
    pub fn fetch_record(&self, node: u32) {
        prefetch::element(&self.nodes, node);
    }

    #[inline(always)]
    pub fn fetch_places(&self, node: u32) {
        let first = self.nodes[node as usize].first;
        prefetch::element(&self.arrivals, first);
        prefetch::element(&self.links, first);
    }

    /// Places of the links to a node.
    #[inline(always)]
    pub fn places_of(&self, node: u32) -> Range<usize> {
        let NodeRecord { first, end, .. } = self.nodes[node as usize];
        first as usize..end as usize
    }

    /// The earliest event of a node: the least (time, source).
    #[inline(always)]
    pub fn find_next(&mut self, node: u32) -> (Time, Source) {
        let places = self.places_of(node);
        let (mut due, mut first) = (NEVER, places.start);
        for place in places {
            let at = self.arrivals[place];
            // Selections: which link is next is hard to predict.
            first = if at < due { place } else { first };
            due = due.min(at);
        }
        // A timer is seldom the first.
        if self.nodes[node as usize].timer.0 > due {
            return (due, self.sources.arrivals + self.links[first]);
        }
        let link = self.links.get(first).filter(|_| due != NEVER);
        let arrival = link.map_or(NOTHING, |link| (due, self.sources.arrivals + link));
        self.find_next_timer(node, arrival)
    }

    /// The same where a timer seems to be due before the first `arrival`.
    #[inline(never)]
    fn find_next_timer(&mut self, node: u32, arrival: (Time, Source)) -> (Time, Source) {
        loop {
            let timer = self.nodes[node as usize].timer;
            if timer >= arrival {
                return arrival;
            }
            if self.timer_due[self.index_of_timer(timer.1)] == timer.0 {
                return timer;
            }
            self.drop_first_timer(node);
        }
    }

    /// Takes out the next arrival by a link.
    #[inline(always)]
    pub fn take_arrival(&mut self, link: u32) {
        self.set_arrival(link, NEVER);
    }

    /// Makes the next arrival by a link to the node that is visited due at `at`.
    #[inline(always)]
    pub fn set_arrival(&mut self, link: u32, at: Time) {
        self.arrivals[self.places[link as usize].0 as usize] = at;
    }

    /// Takes out the earliest timer of a node, `source`.
    #[inline(always)]
    pub fn take_timer(&mut self, node: u32, source: Source) {
        self.drop_first_timer(node);
        self.timer_due[self.index_of_timer(source)] = NEVER;
    }

    fn drop_first_timer(&mut self, node: u32) {
        let timers = &mut self.timers[node as usize];
        timers.pop();
        self.nodes[node as usize].timer = timers.peek().map_or(NOTHING, |first| first.0);
    }

    /// Takes out the earliest common event.
    pub fn take_common(&mut self, calendar: &mut Calendar) -> Option<Source> {
        let (_, source) = self.common.pop_first()?;
        self.common_due[source as usize] = NEVER;
        self.enter_common(calendar);
        Some(source)
    }

    /// When `source` is due; `NEVER` if it is not pending.
    #[inline(always)]
    pub fn due(&self, source: Source) -> Time {
        if self.is_common(source) {
            self.common_due[source as usize]
        } else if let Some(link) = self.link_of(source) {
            self.arrivals[self.places[link as usize].0 as usize]
        } else {
            self.timer_due[self.index_of_timer(source)]
        }
    }

    /// Makes the next arrival by a link due at `at`.
    #[inline(always)]
    pub fn schedule_arrival(&mut self, calendar: &mut Calendar, link: u32, at: Time) {
        let (place, node) = self.places[link as usize];
        self.arrivals[place as usize] = at;
        self.bring_forward(calendar, node, at);
    }

    /// Makes `source` due at `at`, moving a pending event.
    #[inline(never)]
    pub fn schedule(&mut self, calendar: &mut Calendar, source: Source, at: Time) {
        if self.is_common(source) {
            return self.schedule_common(calendar, source, at);
        }
        if let Some(link) = self.link_of(source) {
            return self.schedule_arrival(calendar, link, at);
        }
        let timer = self.index_of_timer(source);
        self.timer_due[timer] = at;
        let node = self.timer_node[timer];
        self.timers[node as usize].push(Reverse((at, source)));
        let first = &mut self.nodes[node as usize].timer;
        *first = (*first).min((at, source));
        self.bring_forward(calendar, node, at);
    }

    /// Removes the pending event of `source`, if any.
    #[inline(never)]
    pub fn cancel(&mut self, calendar: &mut Calendar, source: Source) {
        if self.is_common(source) {
            self.schedule_common(calendar, source, NEVER);
        } else if let Some(link) = self.link_of(source) {
            self.take_arrival(link);
        } else {
            self.timer_due[self.index_of_timer(source)] = NEVER;
        }
    }

    /// A node has an event at this time.
    #[inline(always)]
    fn bring_forward(&self, calendar: &mut Calendar, node: u32, at: Time) {
        if node != self.visited {
            Self::bring_visit_forward(calendar, node, at);
        }
    }

    /// The next visit to a node begins at this time at the latest. If its event is moved, that visit finds none.
    #[inline(never)]
    fn bring_visit_forward(calendar: &mut Calendar, node: u32, at: Time) {
        if at < calendar.due(node + 1) {
            calendar.schedule(node + 1, at);
        }
    }

    /// Makes a common event due at `at`, moving a pending one, or never.
    fn schedule_common(&mut self, calendar: &mut Calendar, source: Source, at: Time) {
        let before = std::mem::replace(&mut self.common_due[source as usize], at);
        self.common.remove(&(before, source));
        if at != NEVER {
            self.common.insert((at, source));
        }
        self.enter_common(calendar);
    }

    fn enter_common(&self, calendar: &mut Calendar) {
        match self.common.first() {
            Some(&(at, _)) => calendar.schedule(COMMON, at),
            None => calendar.cancel(COMMON),
        }
    }

    #[inline(always)]
    fn is_common(&self, source: Source) -> bool {
        source < self.sources.transmitters
    }

    /// The link of a source of arrivals.
    #[inline(always)]
    fn link_of(&self, source: Source) -> Option<u32> {
        let Sources { arrivals, senders, .. } = self.sources;
        (source >= arrivals && source < senders).then(|| source - arrivals)
    }

    #[inline(always)]
    fn index_of_timer(&self, source: Source) -> usize {
        let Sources { transmitters, arrivals, senders, .. } = self.sources;
        // Between the timers of ports and those of agents the sources of arrivals are left out.
        let left_out = if source < arrivals { 0 } else { senders - arrivals };
        (source - transmitters - left_out) as usize
    }
}
