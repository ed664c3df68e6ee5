//! IP rerouting: link-state routing that follows failures.
//!
//! Source: the sequence detection, flooding, SPF of OSPF (RFC 2328 sections 13, 16). Every node has a
//! separate database and installs its own routes, so routes may loop for a while; a link counts as up
//! only if both its directions do (RFC 2328 section 16.1 (2) (b)).
//! Differs: an update carries the full database of its sender, newest first by order of detection, so
//! that two parts of a network that are joined again agree at once.

use super::timeline::TimelineRow;
use super::{notification, routes, Recovery, RoutingReport, TimelineEvent};
use crate::clock::Clock;
use crate::data_plane::AnyDataPlane;
use crate::network::recovery::Rerouting;
use crate::network::Network;
use crate::route::{Edge, Fib};
use std::collections::{BTreeMap, BTreeSet};
use trunkline_units::{Time, NEVER};

/// Metric of a drained link: used only where there is no other way (RFC 6987 section 2).
const DRAINED_METRIC: u64 = u32::MAX as u64;

/// A link as routers advertise it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkCondition {
    /// With its metric.
    #[default]
    Up,
    /// With the largest metric.
    Drained,
    /// Not at all.
    Down,
}

/// A node's view of links: the condition of each, and the number of the last update about it.
type LinkStateDatabase = BTreeMap<u32, (u64, LinkCondition)>;

/// Links that are not up, with their conditions.
type ImpairedLinks = BTreeMap<u32, LinkCondition>;

/// Something a router does at its time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RoutingStep {
    /// An update arrives.
    Learn { node: u32, update: LinkStateDatabase },
    /// The node computes and installs its routes.
    Compute { node: u32 },
}

/// Link-state routing of the network.
#[derive(Clone, Debug)]
pub(super) struct LinkStateRouting {
    config: Rerouting,
    ends: Vec<u32>,
    databases: Vec<LinkStateDatabase>,
    last_update_number: u64,
    order: u64,
    steps: BTreeMap<(Time, u64), RoutingStep>,
    computing: BTreeSet<u32>,
    /// The last view computed from, and its routes: neighbours mostly share it.
    last_routes: Option<(ImpairedLinks, Fib)>,
}

impl LinkStateRouting {
    pub fn new(config: Rerouting, network: &Network) -> Self {
        Self {
            config,
            ends: crate::build::end_nodes(network),
            databases: vec![LinkStateDatabase::new(); network.nodes.len()],
            last_update_number: 0,
            order: 0,
            steps: BTreeMap::new(),
            computing: BTreeSet::new(),
            last_routes: None,
        }
    }

    fn plan(&mut self, at: Time, step: RoutingStep) {
        self.order += 1;
        self.steps.insert((at, self.order), step);
    }

    fn due(&self) -> Time {
        self.steps.keys().next().map_or(NEVER, |key| key.0)
    }

    /// Merges an update; true if it brought news.
    fn learn(&mut self, node: u32, update: &LinkStateDatabase) -> bool {
        let database = &mut self.databases[node as usize];
        let mut changed = false;
        for (link, news) in update {
            let known = database.entry(*link).or_insert((0, LinkCondition::Up));
            if news.0 > known.0 {
                changed |= known.1 != news.1;
                *known = *news;
            }
        }
        changed
    }
}

impl Recovery {
    /// A node floods the condition of a link.
    pub(super) fn flood(
        &mut self,
        clock: &mut Clock,
        link: u32,
        node: u32,
        condition: LinkCondition,
    ) {
        let Some(routing) = &mut self.routing else { return };
        routing.last_update_number += 1;
        let mut update = routing.databases[node as usize].clone();
        update.insert(link, (routing.last_update_number, condition));
        let processing = routing.config.processing_ns;
        let nodes = self.nodes;
        let times = notification::notice_times(&self.lines, nodes, node, processing);
        for (node, travel) in (0..).zip(times) {
            if travel != NEVER {
                let at = clock.now.saturating_add(travel);
                routing.plan(at, RoutingStep::Learn { node, update: update.clone() });
            }
        }
        let due = routing.due();
        clock.schedule_recovery(self.parts.routing, due);
    }

    /// Serves the next routing step that is due; false if none is, and the next one is scheduled.
    pub(super) fn serve_routing_step(&mut self, plane: &mut AnyDataPlane) -> bool {
        let Some(routing) = &mut self.routing else { return false };
        let now = plane.clock.now;
        if routing.due() > now {
            plane.clock.schedule_recovery(self.parts.routing, routing.due());
            return false;
        }
        match routing.steps.pop_first() {
            Some((_, RoutingStep::Learn { node, update })) => {
                let has_news = routing.learn(node, &update);
                if has_news && routing.computing.insert(node) {
                    let at = now + routing.config.spf_delay_ns;
                    routing.plan(at, RoutingStep::Compute { node });
                }
            }
            Some((_, RoutingStep::Compute { node })) => {
                routing.computing.remove(&node);
                self.reroute(plane, node);
            }
            None => {}
        }
        true
    }

    /// A node installs the routes that follow from its database.
    fn reroute(&mut self, plane: &mut AnyDataPlane, node: u32) {
        let lines = &self.lines;
        let Some(routing) = &mut self.routing else { return };
        let mut impaired = ImpairedLinks::new();
        for (&link, &(_, condition)) in &routing.databases[node as usize] {
            if condition == LinkCondition::Up {
                continue;
            }
            for link in std::iter::once(link).chain(lines[link as usize].reverse) {
                let worst = impaired.entry(link).or_default();
                *worst = condition.max(*worst);
            }
        }
        let known = routing.last_routes.take().filter(|(view, _)| *view == impaired);
        let (view, fib) = known.unwrap_or_else(|| {
            let edge = |(index, line): (u32, &super::RecoveryLink)| Edge {
                from: line.from,
                to: line.to,
                metric: match impaired.get(&index) {
                    Some(LinkCondition::Down) => None,
                    Some(LinkCondition::Drained) => Some(DRAINED_METRIC.max(line.metric)),
                    _ => Some(line.metric),
                },
            };
            let edges: Vec<Edge> = (0..).zip(lines).map(edge).collect();
            let fib = Fib::new(self.nodes, &edges, &routing.ends, plane.tables.fib.search());
            (impaired, fib)
        });
        let changed = if let Some(all) = &mut plane.tables.static_routes {
            all.find_all(node, &fib);
            all.install(node, &mut plane.tables.fib)
        } else {
            plane.tables.fib.copy_node_routes(node, &fib)
        };
        let rows = rows_of(&plane.tables.fib, &routing.ends, &changed);
        routing.last_routes = Some((view, fib));
        self.record_routes(plane, node, rows);
        self.reports.push(RoutingReport::Routes { node });
    }

    /// A node takes a link of its own for down or up: its static routes over it go or come back.
    pub(super) fn judge_static_routes(
        &mut self,
        plane: &mut AnyDataPlane,
        node: u32,
        link: u32,
        down: bool,
    ) {
        let Some(all) = &mut plane.tables.static_routes else { return };
        let lines = &self.lines;
        let both = std::iter::once(link).chain(lines[link as usize].reverse);
        let own: Vec<u32> = both.filter(|link| lines[*link as usize].from == node).collect();
        if !all.judge(&own, down) {
            return;
        }
        let changed = all.install(node, &mut plane.tables.fib);
        let rows = rows_of(&plane.tables.fib, all.ends(), &changed);
        if !rows.is_empty() {
            self.record_routes(plane, node, rows);
            self.reports.push(RoutingReport::Routes { node });
        }
    }

    /// Records routes of a node that came into use: destinations and links.
    fn record_routes(
        &mut self,
        plane: &mut AnyDataPlane,
        node: u32,
        changed: Vec<(u32, Option<u32>)>,
    ) {
        if changed.is_empty() {
            return;
        }
        if let Some(routes) = &mut self.routes {
            let at = plane.clock.now;
            routes.rows.extend(changed.into_iter().map(|(destination, link)| routes::RouteRow {
                at,
                protection: None,
                node,
                destination: Some(destination),
                link,
            }));
        }
        self.timeline.rows.push(TimelineRow {
            at: plane.clock.now,
            moment: TimelineEvent::Rerouted,
            protection: None,
            link: None,
            node: Some(node),
        });
    }
}

/// Destination and first link of entries of a table, by column.
fn rows_of(fib: &Fib, ends: &[u32], changed: &[(u32, u32)]) -> Vec<(u32, Option<u32>)> {
    let row =
        |&(column, next): &(u32, u32)| (ends[column as usize], fib.links(next).first().copied());
    changed.iter().map(row).collect()
}
