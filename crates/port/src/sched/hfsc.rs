//! Hierarchical fair service curves.
//!
//! Source: Stoica, Zhang, Ng, IEEE/ACM ToN 8(2), 2000, sections IV and V; Linux 6.1
//! `net/sched/sch_hfsc.c`, restated. A class may have three curves:
//! - real time (leaves): among the classes whose eligible time has come, the earliest deadline is served
//!   first, whatever the hierarchy. If the real-time curves together fit the line, none is late by more
//!   than one largest packet;
//! - link sharing: else each level gives the line to the child with the smallest virtual time;
//! - upper limit: link sharing skips a class until the curve allows more.
//!
//! Real-time service counts as link-sharing service, not the other way round: no class is punished for
//! excess capacity of others. As Linux: a class that joins siblings starts from the mean of their
//! smallest and largest virtual times; the first of a new busy period starts from the largest ever seen.
//! Differs: classes of equal times are served in the order of the file; time is exact (Linux: 64 ns
//! ticks). Cost: O(siblings) a level and a packet for link sharing, O(log n) for real time.

use super::heap::ClassHeap;
use super::service_curve::{ServiceCurve, ShiftedCurve};
use super::tree::ClassDepths;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, NEVER, SECOND};

/// Deepest chain of parents.
const MAX_CLASS_DEPTH: u32 = 15;

/// Share of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HfscShare {
    /// Guaranteed whatever others do; leaves only.
    pub real_time: Option<ServiceCurve>,
    /// Share of the remaining capacity.
    pub link_share: Option<ServiceCurve>,
    /// Maximum rate by link sharing.
    pub upper_limit: Option<ServiceCurve>,
    /// Index of the parent class; none for a top class.
    pub parent: Option<u16>,
}

/// A class, or the root of all.
#[derive(Clone, Debug, Default)]
struct HfscNode {
    share: HfscShare,
    parent: usize,
    children: Vec<usize>,
    /// Active children; of a leaf: 1 while it has packets.
    active: u32,
    /// Among the active children of its parent.
    listed: bool,
    deadline: ShiftedCurve,
    eligible: ShiftedCurve,
    virtual_time: ShiftedCurve,
    limit: ShiftedCurve,
    /// Service by the real-time criterion, and all of it.
    real_time_service: i128,
    service: i128,
    vt: Time,
    /// By how much `vt` was put forward: a class that its limit held back does not catch up.
    vt_forward: Time,
    /// Not before this time, by its own limit, and by all limits below.
    own_fit: Time,
    fit: Time,
    /// Smallest virtual time that a child was served at, and largest one that left.
    vt_least: Time,
    vt_left: Time,
    /// Busy periods of the class, and of its parent when it last joined.
    period: u64,
    parent_period: u64,
}

/// An HFSC scheduler.
#[derive(Clone, Debug)]
pub struct Hfsc {
    /// Classes, then the root.
    nodes: Vec<HfscNode>,
    /// Real-time classes not yet eligible, by eligible time, and eligible ones, by deadline.
    early: ClassHeap<Time>,
    due: ClassHeap<Time>,
    /// A class whose head has changed since its times were set.
    stale: Option<u16>,
    backlogged: u32,
    /// The class chosen is served by the real-time criterion.
    real_time: bool,
}

impl Hfsc {
    /// An HFSC scheduler.
    ///
    /// # Errors
    /// The parameter or relation that cannot be, with its class.
    pub fn new(shares: &[HfscShare]) -> Result<Self, InvalidParameter> {
        let parents: Vec<_> = shares.iter().map(|share| share.parent).collect();
        let tree = ClassDepths::new(&parents, MAX_CLASS_DEPTH)?;
        let root = shares.len();
        let mut nodes = vec![HfscNode::default(); root + 1];
        for (class, share) in shares.iter().enumerate() {
            let curves = [share.real_time, share.link_share, share.upper_limit];
            InvalidParameter::require(
                curves
                    .iter()
                    .flatten()
                    .all(|service_curve| service_curve.m1_bit_s > 0 || service_curve.m2_bit_s > 0),
                "m2_bit_s",
                || format!("must be above 0 where m1_bit_s is 0 (class {class})"),
            )?;
            let (leaf, shares_link) = (!tree.interior[class], share.link_share.is_some());
            InvalidParameter::require(
                shares_link || (leaf && share.real_time.is_some()),
                "link_share",
                || format!("must be set, or real_time of a leaf (class {class})"),
            )?;
            InvalidParameter::require(leaf || share.real_time.is_none(), "real_time", || {
                format!("is of leaves only (class {class})")
            })?;
            InvalidParameter::require(
                shares_link || share.upper_limit.is_none(),
                "upper_limit",
                || format!("limits link sharing, which class {class} has no part in"),
            )?;
            let parent = share.parent.map_or(root, usize::from);
            nodes[parent].children.push(class);
            nodes[class].share = *share;
            nodes[class].parent = parent;
            let from_start = |curve: Option<ServiceCurve>| {
                curve.map_or_else(ShiftedCurve::default, |curve| ShiftedCurve::at(&curve, 0, 0))
            };
            nodes[class].deadline = from_start(share.real_time);
            nodes[class].virtual_time = from_start(share.link_share);
            nodes[class].limit = from_start(share.upper_limit);
        }
        let (early, due) = (ClassHeap::new(root), ClassHeap::new(root));
        Ok(Self { nodes, early, due, stale: None, backlogged: 0, real_time: false })
    }

    fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// A real-time class begins a busy period with a head of `bytes` (their figure 5, `init_ed`).
    fn begin_real_time(&mut self, class: u16, bytes: u32, now: Time) {
        let node = &mut self.nodes[usize::from(class)];
        let Some(curve) = node.share.real_time else { return };
        node.deadline.lower(&curve, now, node.real_time_service);
        node.eligible = if curve.is_convex() { node.deadline.steep() } else { node.deadline };
        self.update_deadlines(class, bytes, now);
    }

    /// Sets eligible time and deadline of a class whose head has `bytes`.
    fn update_deadlines(&mut self, class: u16, bytes: u32, now: Time) {
        let node = &self.nodes[usize::from(class)];
        if node.share.real_time.is_none() {
            return;
        }
        let eligible = node.eligible.time(node.real_time_service);
        if eligible > now {
            self.due.remove(class);
            self.early.set(class, eligible);
        } else {
            self.early.remove(class);
            self.due.set(class, node.deadline.time(node.real_time_service + service(bytes)));
        }
    }

    /// Virtual times of the active children of `parent`: the smallest fit time and the largest
    /// virtual time.
    fn children(&self, parent: usize) -> (Option<Time>, Option<Time>) {
        let children = || self.nodes[parent].children.iter().map(|&at| &self.nodes[at]);
        let listed = || children().filter(|child| child.listed);
        (listed().map(|child| child.fit).min(), listed().map(|child| child.vt).max())
    }

    /// `leaf` takes part in link sharing from `now` on, and its ancestors with it.
    fn begin_sharing(&mut self, leaf: usize, now: Time) {
        let (mut at, mut joins) = (leaf, true);
        while at != self.root() {
            let parent = self.nodes[at].parent;
            if joins {
                self.nodes[at].active += 1;
                joins = self.nodes[at].active == 1;
            }
            if joins {
                self.join(at, now);
            }
            self.set_fit(at);
            at = parent;
        }
        if joins {
            let root = &mut self.nodes[at];
            root.active += 1;
            root.period += u64::from(root.active == 1);
        }
    }

    /// Gives a class that becomes active its virtual time and limit.
    fn join(&mut self, at: usize, now: Time) {
        let parent = self.nodes[at].parent;
        let (_, largest) = self.children(parent);
        let above = &mut self.nodes[parent];
        let (least, left) = (above.vt_least, above.vt_left);
        if largest.is_none() {
            above.vt_least = 0;
        }
        let parents = (above.period, above.active);
        let node = &mut self.nodes[at];
        match largest {
            Some(largest) => {
                let vt = if least == 0 {
                    largest
                } else {
                    ((u128::from(least) + u128::from(largest)) / 2) as Time
                };
                // Within one busy period of the parent virtual time never decreases.
                if parents.0 != node.parent_period || vt > node.vt {
                    node.vt = vt;
                }
            }
            None => node.vt = left,
        }
        if let Some(curve) = node.share.link_share {
            node.virtual_time.lower(&curve, node.vt, node.service);
        }
        node.vt_forward = 0;
        node.period += 1;
        node.parent_period = parents.0 + u64::from(parents.1 == 0);
        (node.fit, node.listed) = (0, true);
        if let Some(curve) = node.share.upper_limit {
            node.limit.lower(&curve, now, node.service);
            node.own_fit = node.limit.time(node.service);
        }
    }

    /// A class fits when its own limit and that of some child below allow it.
    fn set_fit(&mut self, at: usize) {
        let below = self.children(at).0.unwrap_or(0);
        let node = &mut self.nodes[at];
        node.fit = node.own_fit.max(below);
    }

    /// `leaf` got `bytes` of service; the last of them where it `leaves`.
    fn share(&mut self, leaf: usize, bytes: u32, leaves: bool) {
        let mut leaves = leaves && self.nodes[leaf].share.link_share.is_some();
        let mut at = leaf;
        while at != self.root() {
            let parent = self.nodes[at].parent;
            let least = self.nodes[parent].vt_least;
            let node = &mut self.nodes[at];
            node.service += service(bytes);
            if node.share.link_share.is_some() && node.active > 0 {
                if leaves {
                    node.active -= 1;
                    leaves = node.active == 0;
                }
                node.vt = node.virtual_time.time(node.service).saturating_add(node.vt_forward);
                if node.vt < least {
                    node.vt_forward += least - node.vt;
                    node.vt = least;
                }
                if leaves {
                    node.listed = false;
                    let vt = node.vt;
                    self.nodes[parent].vt_left = self.nodes[parent].vt_left.max(vt);
                } else {
                    if node.share.upper_limit.is_some() {
                        node.own_fit = node.limit.time(node.service);
                    }
                    self.set_fit(at);
                }
            }
            at = parent;
        }
        if leaves {
            self.nodes[at].active -= 1;
        }
    }

    /// The leaf of the smallest virtual times that limits let pass.
    fn choose_least_virtual_time(&mut self, now: Time) -> Option<u16> {
        let mut at = self.root();
        loop {
            let fitting =
                |&&child: &&usize| self.nodes[child].listed && self.nodes[child].fit <= now;
            let next = *self.nodes[at]
                .children
                .iter()
                .filter(fitting)
                .min_by_key(|&&child| self.nodes[child].vt)?;
            let vt = self.nodes[next].vt;
            self.nodes[at].vt_least = self.nodes[at].vt_least.max(vt);
            if self.nodes[next].children.is_empty() {
                return Some(next as u16);
            }
            at = next;
        }
    }

    fn retire(&mut self, class: u16) {
        self.backlogged -= 1;
        self.early.remove(class);
        self.due.remove(class);
        self.stale = self.stale.filter(|&stale| stale != class);
    }
}

/// Service of a packet of `bytes`.
fn service(bytes: u32) -> i128 {
    i128::from(bytes) * 8 * i128::from(SECOND)
}

impl Discipline for Hfsc {
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time) {
        if was_empty {
            self.backlogged += 1;
            self.begin_real_time(class, bytes, now);
            if self.nodes[usize::from(class)].share.link_share.is_some() {
                self.begin_sharing(usize::from(class), now);
            }
        }
    }

    fn choose(&mut self, heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        if self.backlogged == 0 {
            return SchedulerChoice::Idle;
        }
        if let Some((class, bytes)) = self.stale.take().and_then(|at| Some((at, heads.head(at)?))) {
            self.update_deadlines(class, bytes, now);
        }
        while let Some((_, class)) = self.early.first().filter(|&(at, _)| at <= now) {
            match heads.head(class) {
                Some(bytes) => self.update_deadlines(class, bytes, now),
                None => self.early.remove(class),
            }
        }
        self.real_time = self.due.first().is_some();
        if let Some((_, class)) = self.due.first() {
            return SchedulerChoice::Class(class);
        }
        if let Some(class) = self.choose_least_virtual_time(now) {
            return SchedulerChoice::Class(class);
        }
        let fit = self.children(self.root()).0.unwrap_or(NEVER);
        match self.early.first().map_or(NEVER, |(at, _)| at).min(fit) {
            NEVER => SchedulerChoice::Idle,
            until => SchedulerChoice::Wait(until),
        }
    }

    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, _now: Time) {
        if self.real_time {
            self.nodes[usize::from(class)].real_time_service += service(bytes);
        }
        self.share(usize::from(class), bytes, now_empty);
        if now_empty {
            self.retire(class);
        } else {
            self.stale = Some(class);
        }
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        if now_empty {
            self.share(usize::from(class), 0, true);
            self.retire(class);
        } else {
            self.stale = Some(class);
        }
    }
}

#[cfg(test)]
#[path = "hfsc_tests.rs"]
mod tests;
