//! The state machine of a protection: from the notice of a failure to the switch, and back.
//!
//! Source: RFC 3469 section 2.2 (recovery cycles: hold-off, switch, wait-to-restore, reversion).
//! Two failures under one protection count as one that lasts as long as either.

use super::timeline::Row;
use super::Moment;
use crate::mpls::Overlay;
use crate::network::recovery::{Protection, ProtectionKind, Switch};
use crate::network::Network;
use crate::observer::Observer;
use crate::simulation::Simulation;
use std::collections::BTreeSet;
use trunkline_units::{Time, NEVER};

/// Where a protection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Traffic takes the working path.
    Working,
    /// A failure is known; it may yet pass.
    HoldingOff,
    /// The switch is under way.
    Switching,
    /// There was no path to restore to.
    Stranded,
    /// Traffic takes the alternative.
    Protected,
    /// The working path is repaired, and is being watched for a while.
    WaitingToRestore,
    /// The way back is under way.
    Reverting,
}

/// A protection as it runs.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub config: Protection,
    /// Last node of the working path.
    pub egress: u32,
    pub state: State,
    /// Detectors that say the working path failed.
    known: BTreeSet<u32>,
    /// Links of the path that restoration is setting up.
    pub route: Vec<u32>,
    /// Label of the first link of that path.
    pub label: u32,
}

/// Owner of the bridges of 1+1, which stay.
const BRIDGES: u32 = u32::MAX;

impl Guard {
    pub fn new(config: &Protection, network: &Network) -> Self {
        let last = network.paths[config.path as usize].links.last();
        let egress = last.map_or(config.node, |link| network.links[*link as usize].to);
        let (known, route) = (BTreeSet::new(), Vec::new());
        Self { config: config.clone(), egress, state: State::Working, known, route, label: 0 }
    }
}

impl<O: Observer> Simulation<O> {
    /// Lays what a protection needs from the start.
    pub(super) fn arm_guard(&mut self, index: usize) {
        if let Some(Switch { entry, alternative }) = self.recovery.guards[index].config.bridge {
            self.tables.bridge(BRIDGES, entry, alternative);
        }
        self.steer(index, false);
    }

    /// A notice arrives at the repairing node.
    pub(super) fn on_notice(&mut self, index: usize, detector: u32, down: bool) {
        let guard = &mut self.recovery.guards[index];
        if down {
            guard.known.insert(detector);
        } else {
            guard.known.remove(&detector);
        }
        let repaired = guard.known.is_empty();
        match (guard.state, repaired) {
            (State::Working, false) => self.hold_off(index),
            // A way back that leaves no gap can be called off; the other one must end first.
            (State::Reverting, false) if guard.config.make_before_break => {
                self.enter(index, State::Protected, NEVER);
            }
            (State::WaitingToRestore, false) => self.enter(index, State::Protected, NEVER),
            (State::HoldingOff | State::Stranded, true) => {
                self.enter(index, State::Working, NEVER);
            }
            (State::Protected, true) => self.wait_to_restore(index),
            _ => {}
        }
    }

    /// A protection's timer has run out.
    pub(super) fn wake_guard(&mut self, index: usize) {
        let guard = &self.recovery.guards[index];
        let (switch, revert) = (guard.config.switch_ns, guard.config.make_before_break);
        match guard.state {
            State::HoldingOff => {
                self.note(index, Moment::HeldOff);
                if guard_restores(&self.recovery.guards[index]) {
                    self.compute_path(index);
                } else {
                    self.enter(index, State::Switching, self.now + switch);
                }
            }
            State::Switching => self.complete_switch(index),
            State::WaitingToRestore => {
                if !revert && switch > 0 {
                    self.part(index);
                }
                self.enter(index, State::Reverting, self.now + switch);
            }
            State::Reverting => {
                self.steer(index, false);
                self.note(index, Moment::Reverted);
                self.enter(index, State::Working, NEVER);
                if !self.recovery.guards[index].known.is_empty() {
                    self.hold_off(index);
                }
            }
            State::Working | State::Stranded | State::Protected => {}
        }
    }

    fn complete_switch(&mut self, index: usize) {
        if guard_restores(&self.recovery.guards[index]) && !self.install_path(index) {
            return self.compute_path(index);
        }
        self.steer(index, true);
        self.note(index, Moment::Switched);
        self.enter(index, State::Protected, NEVER);
        if self.recovery.guards[index].known.is_empty() {
            self.wait_to_restore(index);
        }
    }

    fn hold_off(&mut self, index: usize) {
        let until = self.now + self.recovery.guards[index].config.hold_off_ns;
        self.enter(index, State::HoldingOff, until);
    }

    fn wait_to_restore(&mut self, index: usize) {
        let config = &self.recovery.guards[index].config;
        if config.revertive {
            let until = self.now + config.wait_to_restore_ns;
            self.enter(index, State::WaitingToRestore, until);
        }
    }

    pub(super) fn enter(&mut self, index: usize, state: State, until: Time) {
        self.recovery.guards[index].state = state;
        self.schedule_recovery(self.recovery.parts.guards + index as u32, until);
    }

    /// Points the entries of a protection at the alternative, or at the working path.
    fn steer(&mut self, index: usize, switched: bool) {
        let owner = index as u32;
        let guard = &self.recovery.guards[index];
        self.tables.lift(owner);
        for &Switch { entry, alternative } in &guard.config.switches {
            match guard.config.kind {
                ProtectionKind::OnePlusOne => {
                    let other = if switched { entry } else { alternative };
                    self.tables.lay(owner, other, Overlay::Unselected);
                }
                ProtectionKind::Restoration if switched => {
                    let Some(&link) = guard.route.first() else { continue };
                    let label = guard.label;
                    self.tables.lay(owner, entry, Overlay::Via { label, link });
                }
                ProtectionKind::FacilityBypass if switched && self.tables.follows(entry) => {
                    let Some(&link) = guard.config.watches.first() else { continue };
                    let around = Overlay::Around { other: alternative, link };
                    self.tables.lay(owner, entry, around);
                }
                _ if switched => self.tables.lay(owner, entry, Overlay::As(alternative)),
                _ => {}
            }
        }
    }

    /// Nothing passes until the way back is complete.
    fn part(&mut self, index: usize) {
        let owner = index as u32;
        let config = &self.recovery.guards[index].config;
        self.tables.lift(owner);
        for &Switch { entry, alternative } in &config.switches {
            self.tables.lay(owner, entry, Overlay::Open);
            if config.kind == ProtectionKind::OnePlusOne {
                self.tables.lay(owner, alternative, Overlay::Open);
            }
        }
    }

    pub(super) fn note(&mut self, index: usize, moment: Moment) {
        let (at, node) = (self.now, self.recovery.guards[index].config.node);
        let protection = Some(index as u32);
        let row = Row { at, moment, protection, link: None, node: Some(node) };
        self.recovery.timeline.rows.push(row);
    }
}

fn guard_restores(guard: &Guard) -> bool {
    guard.config.kind == ProtectionKind::Restoration
}
