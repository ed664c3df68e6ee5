//! The state machine of a protection: from the notice of a failure to the switch, and back.
//!
//! Source: RFC 3469 section 2.2 (recovery cycles: hold-off, switch, wait-to-restore, reversion).
//! Two failures under one protection count as one that lasts as long as either.

use super::timeline::TimelineRow;
use super::TimelineEvent;
use crate::mpls::EntryOverlay;
use crate::network::recovery::{Protection, ProtectionKind, Switch};
use crate::network::Network;
use crate::observer::Observer;
use crate::simulation::Simulation;
use std::collections::BTreeSet;
use trunkline_units::{Time, NEVER};

/// State of a protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtectionState {
    /// Traffic takes the working path.
    Working,
    /// A failure is known; the hold-off timer runs.
    HoldingOff,
    /// The switch-over runs.
    Switching,
    /// There was no path to restore to.
    Stranded,
    /// Traffic takes the alternative.
    Protected,
    /// The working path is repaired, and is being watched for a while.
    WaitingToRestore,
    /// The reversion runs.
    Reverting,
}

/// A protection as it runs.
#[derive(Clone, Debug)]
pub(super) struct RunningProtection {
    pub config: Protection,
    /// Last node of the working path.
    pub egress: u32,
    pub state: ProtectionState,
    /// Detectors that report the working path failed.
    known: BTreeSet<u32>,
    /// Links of the path that restoration is setting up.
    pub route: Vec<u32>,
    /// Label of the first link of that path.
    pub label: u32,
}

/// Owner of the bridges of 1+1, which stay.
const BRIDGE_OWNER: u32 = u32::MAX;

impl RunningProtection {
    pub fn new(config: &Protection, network: &Network) -> Self {
        let last = network.paths[config.path as usize].links.last();
        let egress = last.map_or(config.node, |link| network.links[*link as usize].to);
        let (known, route) = (BTreeSet::new(), Vec::new());
        Self {
            config: config.clone(),
            egress,
            state: ProtectionState::Working,
            known,
            route,
            label: 0,
        }
    }
}

impl<O: Observer> Simulation<O> {
    /// Adds the overlays that a protection needs from the start.
    pub(super) fn arm_guard(&mut self, index: usize) {
        if let Some(Switch { entry, alternative }) = self.recovery.guards[index].config.bridge {
            self.tables.bridge(BRIDGE_OWNER, entry, alternative);
        }
        self.set_switched(index, false);
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
            (ProtectionState::Working, false) => self.hold_off(index),
            // A reversion without a gap can be cancelled; one with a gap must end first.
            (ProtectionState::Reverting, false) if guard.config.make_before_break => {
                self.enter(index, ProtectionState::Protected, NEVER);
            }
            (ProtectionState::WaitingToRestore, false) => {
                self.enter(index, ProtectionState::Protected, NEVER)
            }
            (ProtectionState::HoldingOff | ProtectionState::Stranded, true) => {
                self.enter(index, ProtectionState::Working, NEVER);
            }
            (ProtectionState::Protected, true) => self.wait_to_restore(index),
            _ => {}
        }
    }

    /// A protection's timer has run out.
    pub(super) fn wake_guard(&mut self, index: usize) {
        let guard = &self.recovery.guards[index];
        let (switch, revert) = (guard.config.switch_ns, guard.config.make_before_break);
        match guard.state {
            ProtectionState::HoldingOff => {
                self.note(index, TimelineEvent::HeldOff);
                if can_revert(&self.recovery.guards[index]) {
                    self.compute_path(index);
                } else {
                    self.enter(index, ProtectionState::Switching, self.now + switch);
                }
            }
            ProtectionState::Switching => self.complete_switch(index),
            ProtectionState::WaitingToRestore => {
                if !revert && switch > 0 {
                    self.break_path(index);
                }
                self.enter(index, ProtectionState::Reverting, self.now + switch);
            }
            ProtectionState::Reverting => {
                self.set_switched(index, false);
                self.note(index, TimelineEvent::Reverted);
                self.enter(index, ProtectionState::Working, NEVER);
                if !self.recovery.guards[index].known.is_empty() {
                    self.hold_off(index);
                }
            }
            ProtectionState::Working | ProtectionState::Stranded | ProtectionState::Protected => {}
        }
    }

    fn complete_switch(&mut self, index: usize) {
        if can_revert(&self.recovery.guards[index]) && !self.install_path(index) {
            return self.compute_path(index);
        }
        self.set_switched(index, true);
        self.note(index, TimelineEvent::Switched);
        self.enter(index, ProtectionState::Protected, NEVER);
        if self.recovery.guards[index].known.is_empty() {
            self.wait_to_restore(index);
        }
    }

    fn hold_off(&mut self, index: usize) {
        let until = self.now + self.recovery.guards[index].config.hold_off_ns;
        self.enter(index, ProtectionState::HoldingOff, until);
    }

    fn wait_to_restore(&mut self, index: usize) {
        let config = &self.recovery.guards[index].config;
        if config.revertive {
            let until = self.now + config.wait_to_restore_ns;
            self.enter(index, ProtectionState::WaitingToRestore, until);
        }
    }

    pub(super) fn enter(&mut self, index: usize, state: ProtectionState, until: Time) {
        self.recovery.guards[index].state = state;
        self.schedule_recovery(self.recovery.parts.guards + index as u32, until);
    }

    /// Points the entries of a protection at the alternative, or at the working path.
    fn set_switched(&mut self, index: usize, switched: bool) {
        let owner = index as u32;
        let guard = &self.recovery.guards[index];
        self.tables.remove_overlays(owner);
        for &Switch { entry, alternative } in &guard.config.switches {
            match guard.config.kind {
                ProtectionKind::OnePlusOne => {
                    let other = if switched { entry } else { alternative };
                    self.tables.add_overlay(owner, other, EntryOverlay::Unselected);
                }
                ProtectionKind::Restoration if switched => {
                    let Some(&link) = guard.route.first() else { continue };
                    let label = guard.label;
                    self.tables.add_overlay(owner, entry, EntryOverlay::Via { label, link });
                }
                ProtectionKind::FacilityBypass if switched && self.tables.follows(entry) => {
                    let Some(&link) = guard.config.watches.first() else { continue };
                    let around = EntryOverlay::Around { other: alternative, link };
                    self.tables.add_overlay(owner, entry, around);
                }
                _ if switched => {
                    self.tables.add_overlay(owner, entry, EntryOverlay::As(alternative))
                }
                _ => {}
            }
        }
    }

    /// No packet passes until the switch-over is complete.
    fn break_path(&mut self, index: usize) {
        let owner = index as u32;
        let config = &self.recovery.guards[index].config;
        self.tables.remove_overlays(owner);
        for &Switch { entry, alternative } in &config.switches {
            self.tables.add_overlay(owner, entry, EntryOverlay::Open);
            if config.kind == ProtectionKind::OnePlusOne {
                self.tables.add_overlay(owner, alternative, EntryOverlay::Open);
            }
        }
    }

    pub(super) fn note(&mut self, index: usize, moment: TimelineEvent) {
        let (at, node) = (self.now, self.recovery.guards[index].config.node);
        let protection = Some(index as u32);
        let row = TimelineRow { at, moment, protection, link: None, node: Some(node) };
        self.recovery.timeline.rows.push(row);
    }
}

fn can_revert(guard: &RunningProtection) -> bool {
    guard.config.kind == ProtectionKind::Restoration
}
