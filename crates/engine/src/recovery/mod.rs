//! Failures and recovery, as control events of the run.
//!
//! A failure takes links down; detectors at their ends notice; notices travel to the node that repairs;
//! its protection switches forwarding entries, or IP routing computes new routes. All of these precede
//! the packets of the same instant, in that order.

pub(crate) mod check;
mod detector;
mod failure;
mod notification;
mod protection;
mod rerouting;
mod restoration;
mod routes;
mod timeline;

pub(crate) use detector::Detector;
pub(crate) use timeline::Timeline;
pub use timeline::{TimelineEvent, TIMELINE_EVENT_NAMES};

use crate::data_plane::AnyDataPlane;
use crate::network::Network;
use crate::observer::Observer;
use crate::simulation::Simulation;
use crate::tables::Table;
use failure::{LinkChange, RunningFailure};
use protection::RunningProtection;
use rerouting::LinkStateRouting;
use routes::RouteLog;
use trunkline_control::ProtocolNotice;
use trunkline_packet::Cause;
use trunkline_units::{Span, Time};

/// A link as recovery sees it.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryLink {
    pub from: u32,
    pub to: u32,
    pub delay: Span,
    pub metric: u64,
    /// The link of the other direction.
    pub reverse: Option<u32>,
    mtu: u32,
    /// Failures it is under now.
    failures: u32,
    /// Those of them that are failures of a node.
    node_failures: u32,
    /// It is about to be taken out of service: no new path takes it.
    is_drained: bool,
}

impl RecoveryLink {
    fn is_up(&self) -> bool {
        self.failures == 0
    }

    /// Why a packet that fits no port of this link is lost.
    fn refusal(&self) -> Cause {
        match self.node_failures {
            _ if self.is_up() => Cause::TooBig,
            0 => Cause::LinkDown,
            _ => Cause::NodeDown,
        }
    }
}

/// Where the sources of each kind begin, counted from the first of recovery.
#[derive(Clone, Copy, Debug)]
struct SourceRanges {
    detectors: u32,
    notices: u32,
    guards: u32,
    routing: u32,
    end: u32,
}

/// State of failures and recovery in a run.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub lines: Vec<RecoveryLink>,
    breakages: Vec<RunningFailure>,
    detectors: Vec<Detector>,
    guards: Vec<RunningProtection>,
    routing: Option<LinkStateRouting>,
    pub timeline: Timeline,
    /// Recorded in traced runs.
    routes: Option<RouteLog>,
    parts: SourceRanges,
    nodes: usize,
    /// Not yet delivered to the protocols.
    reports: Vec<RoutingReport>,
    /// Label for the next entry that restoration installs, from the last one down.
    next_label: u32,
}

impl Recovery {
    pub fn new(network: &Network, seed: u64) -> Self {
        let lines = recovery_links(network);
        let config = &network.recovery;
        let breakages: Vec<RunningFailure> =
            config.failures.iter().map(|failure| RunningFailure::new(failure, seed)).collect();
        let detectors = detector::all_detectors(network, &lines, seed);
        let guards: Vec<RunningProtection> = config
            .protections
            .iter()
            .map(|protection| RunningProtection::new(protection, network))
            .collect();
        let routing = config.rerouting.map(|config| LinkStateRouting::new(config, network));
        let first = breakages.len() as u32;
        let count = detectors.len() as u32;
        let parts = SourceRanges {
            detectors: first,
            notices: first + count,
            guards: first + 2 * count,
            routing: first + 2 * count + guards.len() as u32,
            end: first + 2 * count + guards.len() as u32 + u32::from(routing.is_some()),
        };
        Self {
            lines,
            breakages,
            detectors,
            guards,
            routing,
            timeline: Timeline::default(),
            routes: network.run.trace.then(RouteLog::default),
            parts,
            nodes: network.nodes.len(),
            reports: Vec::new(),
            next_label: trunkline_packet::label::MAX_LABEL,
        }
    }

    fn arm(&mut self, plane: &mut AnyDataPlane) {
        for guard in 0..self.guards.len() {
            self.arm_guard(plane, guard);
        }
        for index in 0..self.breakages.len() {
            plane.clock.schedule_recovery(index as u32, self.breakages[index].next_at());
        }
    }

    /// Number of its event sources.
    pub fn sources(&self) -> u32 {
        self.parts.end
    }

    /// The timeline.
    pub fn timeline_table(&self) -> Table {
        let paths: Vec<u32> = self.guards.iter().map(|guard| guard.config.path).collect();
        self.timeline.table(&paths)
    }

    /// The routes that a traced run took into use; empty if it was not traced.
    pub fn routes_table(&self) -> Table {
        self.routes.as_ref().map_or_else(|| RouteLog::default().table(), RouteLog::table)
    }

    /// Adds a row for an action of a router in routing.
    pub fn mark(&mut self, at: Time, moment: TimelineEvent, node: u32, link: Option<u32>) {
        let row = timeline::TimelineRow { at, moment, protection: None, link, node: Some(node) };
        self.timeline.rows.push(row);
    }

    /// A row for a route that a router took into use.
    pub fn route(&mut self, at: Time, node: u32, destination: u32, link: Option<u32>) {
        if let Some(routes) = &mut self.routes {
            let destination = Some(destination);
            routes.rows.push(routes::RouteRow { at, protection: None, node, destination, link });
        }
    }
}

/// The links; the `n`th from one node to another and the `n`th back are one connection.
fn recovery_links(network: &Network) -> Vec<RecoveryLink> {
    let mut lines: Vec<RecoveryLink> = Vec::with_capacity(network.links.len());
    let mut waiting: std::collections::BTreeMap<(u32, u32), std::collections::VecDeque<u32>> =
        std::collections::BTreeMap::new();
    for (index, link) in (0..).zip(&network.links) {
        let reverse = waiting.get_mut(&(link.to, link.from)).and_then(|links| links.pop_front());
        match reverse {
            Some(other) => lines[other as usize].reverse = Some(index),
            None => waiting.entry((link.from, link.to)).or_default().push_back(index),
        }
        lines.push(RecoveryLink {
            from: link.from,
            to: link.to,
            delay: link.delay_ns,
            metric: link.metric,
            reverse,
            mtu: link.mtu_bytes,
            failures: 0,
            node_failures: 0,
            is_drained: false,
        });
    }
    lines
}

/// Changes of links and routes that the protocols of routers must know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoutingReport {
    /// A node installed other routes.
    Routes { node: u32 },
    /// Both ends of a link drain it, or use it again.
    Drain { link: u32, is_drained: bool },
    /// A node notices a change of a link that it is at.
    LinkChange { node: u32, link: u32, down: bool },
}

impl<O: Observer> Simulation<O> {
    /// Adds the overlays of the start and schedules the first failures.
    pub(crate) fn arm_recovery(&mut self) {
        self.recovery.arm(&mut self.hosts.plane);
    }

    /// Serves one event of recovery, by its number among them.
    #[cold]
    pub(crate) fn recover(&mut self, source: u32) {
        let (recovery, plane) = (&mut self.recovery, &mut self.hosts.plane);
        // Every region serves these, for its own tables: they count once.
        plane.clock.events -= u64::from(!plane.region.is_first());
        let SourceRanges { detectors, notices, guards, routing, .. } = recovery.parts;
        if source < detectors {
            self.change_failure(source as usize);
        } else if source < notices {
            recovery.detect(plane, (source - detectors) as usize);
        } else if source < guards {
            recovery.deliver_notices(plane, (source - notices) as usize);
        } else if source < routing {
            recovery.wake_guard(plane, (source - guards) as usize);
        } else {
            while self.recovery.serve_routing_step(&mut self.hosts.plane) {
                self.deliver_reports();
            }
        }
        self.deliver_reports();
    }

    /// A failure begins or ends, or the drain before it begins: link by link, as a protocol may send over
    /// the next one.
    fn change_failure(&mut self, index: usize) {
        let (links, change) = self.recovery.advance_failure(&mut self.hosts.plane.clock, index);
        for link in links {
            if let LinkChange::Up { ends_drain: true, .. } = change {
                self.report_drain(link, false);
            }
            self.recovery.change_link(&mut self.hosts.plane, link, change);
            self.settle_notices();
            self.deliver_reports();
        }
    }

    /// Delivers the reports to the protocols.
    fn deliver_reports(&mut self) {
        for report in std::mem::take(&mut self.recovery.reports) {
            match report {
                RoutingReport::Routes { node } => {
                    self.broadcast_notice(&ProtocolNotice::Routes { node });
                }
                RoutingReport::Drain { link, is_drained } => self.report_drain(link, is_drained),
                RoutingReport::LinkChange { node, link, down } => {
                    self.report_link_change(node, link, down);
                }
            }
        }
    }
}
