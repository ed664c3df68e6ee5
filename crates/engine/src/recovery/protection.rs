//! The state machine of a protection: from the notice of a failure to the switch, and back.
//!
//! Source: RFC 3469 section 2.2 (recovery cycles: hold-off, switch, wait-to-restore, reversion).
//! Two failures under one protection count as one that lasts as long as either.

use super::timeline::TimelineRow;
use super::{Recovery, TimelineEvent};
use crate::clock::Clock;
use crate::data_plane::AnyDataPlane;
use crate::mpls::{EntryOverlay, Tables};
use crate::network::recovery::{Protection, ProtectionKind, Switch};
use crate::network::Network;
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

impl Recovery {
    /// Adds the overlays that a protection needs from the start.
    pub(super) fn arm_guard(&mut self, plane: &mut AnyDataPlane, index: usize) {
        if let Some(Switch { entry, alternative }) = self.guards[index].config.bridge {
            plane.tables.mpls.bridge(BRIDGE_OWNER, entry, alternative);
        }
        self.set_switched(&mut plane.tables.mpls, index, false);
    }

    /// A notice arrives at the repairing node.
    pub(super) fn on_notice(
        &mut self,
        plane: &mut AnyDataPlane,
        index: usize,
        detector: u32,
        down: bool,
    ) {
        let guard = &mut self.guards[index];
        if down {
            guard.known.insert(detector);
        } else {
            guard.known.remove(&detector);
        }
        let repaired = guard.known.is_empty();
        match (guard.state, repaired) {
            (ProtectionState::Working, false) => self.hold_off(&mut plane.clock, index),
            // A reversion without a gap can be cancelled; one with a gap must end first.
            (ProtectionState::Reverting, false) if guard.config.make_before_break => {
                self.enter(&mut plane.clock, index, ProtectionState::Protected, NEVER);
            }
            (ProtectionState::WaitingToRestore, false) => {
                self.enter(&mut plane.clock, index, ProtectionState::Protected, NEVER)
            }
            (ProtectionState::HoldingOff | ProtectionState::Stranded, true) => {
                self.enter(&mut plane.clock, index, ProtectionState::Working, NEVER);
            }
            (ProtectionState::Protected, true) => self.wait_to_restore(&mut plane.clock, index),
            _ => {}
        }
    }

    /// A protection's timer has run out.
    pub(super) fn wake_guard(&mut self, plane: &mut AnyDataPlane, index: usize) {
        let guard = &self.guards[index];
        let (switch, revert) = (guard.config.switch_ns, guard.config.make_before_break);
        match guard.state {
            ProtectionState::HoldingOff => {
                self.note(plane.clock.now, index, TimelineEvent::HeldOff);
                if can_revert(&self.guards[index]) {
                    self.compute_path(&mut plane.clock, index);
                } else {
                    let until = plane.clock.now + switch;
                    self.enter(&mut plane.clock, index, ProtectionState::Switching, until);
                }
            }
            ProtectionState::Switching => self.complete_switch(plane, index),
            ProtectionState::WaitingToRestore => {
                if !revert && switch > 0 {
                    self.break_path(&mut plane.tables.mpls, index);
                }
                let until = plane.clock.now + switch;
                self.enter(&mut plane.clock, index, ProtectionState::Reverting, until);
            }
            ProtectionState::Reverting => {
                self.set_switched(&mut plane.tables.mpls, index, false);
                self.note(plane.clock.now, index, TimelineEvent::Reverted);
                self.enter(&mut plane.clock, index, ProtectionState::Working, NEVER);
                if !self.guards[index].known.is_empty() {
                    self.hold_off(&mut plane.clock, index);
                }
            }
            ProtectionState::Working | ProtectionState::Stranded | ProtectionState::Protected => {}
        }
    }

    fn complete_switch(&mut self, plane: &mut AnyDataPlane, index: usize) {
        if can_revert(&self.guards[index]) && !self.install_path(plane, index) {
            return self.compute_path(&mut plane.clock, index);
        }
        self.set_switched(&mut plane.tables.mpls, index, true);
        self.note(plane.clock.now, index, TimelineEvent::Switched);
        self.enter(&mut plane.clock, index, ProtectionState::Protected, NEVER);
        if self.guards[index].known.is_empty() {
            self.wait_to_restore(&mut plane.clock, index);
        }
    }

    fn hold_off(&mut self, clock: &mut Clock, index: usize) {
        let until = clock.now + self.guards[index].config.hold_off_ns;
        self.enter(clock, index, ProtectionState::HoldingOff, until);
    }

    fn wait_to_restore(&mut self, clock: &mut Clock, index: usize) {
        let config = &self.guards[index].config;
        if config.revertive {
            let until = clock.now + config.wait_to_restore_ns;
            self.enter(clock, index, ProtectionState::WaitingToRestore, until);
        }
    }

    pub(super) fn enter(
        &mut self,
        clock: &mut Clock,
        index: usize,
        state: ProtectionState,
        until: Time,
    ) {
        self.guards[index].state = state;
        clock.schedule_recovery(self.parts.guards + index as u32, until);
    }

    /// Points the entries of a protection at the alternative, or at the working path.
    fn set_switched(&mut self, tables: &mut Tables, index: usize, switched: bool) {
        let owner = index as u32;
        let guard = &self.guards[index];
        tables.remove_overlays(owner);
        for &Switch { entry, alternative } in &guard.config.switches {
            match guard.config.kind {
                ProtectionKind::OnePlusOne => {
                    let other = if switched { entry } else { alternative };
                    tables.add_overlay(owner, other, EntryOverlay::Unselected);
                }
                ProtectionKind::Restoration if switched => {
                    let Some(&link) = guard.route.first() else { continue };
                    let label = guard.label;
                    tables.add_overlay(owner, entry, EntryOverlay::Via { label, link });
                }
                ProtectionKind::FacilityBypass if switched && tables.follows(entry) => {
                    let Some(&link) = guard.config.watches.first() else { continue };
                    let around = EntryOverlay::Around { other: alternative, link };
                    tables.add_overlay(owner, entry, around);
                }
                _ if switched => tables.add_overlay(owner, entry, EntryOverlay::As(alternative)),
                _ => {}
            }
        }
    }

    /// No packet passes until the switch-over is complete.
    fn break_path(&mut self, tables: &mut Tables, index: usize) {
        let owner = index as u32;
        let config = &self.guards[index].config;
        tables.remove_overlays(owner);
        for &Switch { entry, alternative } in &config.switches {
            tables.add_overlay(owner, entry, EntryOverlay::Open);
            if config.kind == ProtectionKind::OnePlusOne {
                tables.add_overlay(owner, alternative, EntryOverlay::Open);
            }
        }
    }

    pub(super) fn note(&mut self, now: Time, index: usize, moment: TimelineEvent) {
        let (at, node) = (now, self.guards[index].config.node);
        let protection = Some(index as u32);
        let row = TimelineRow { at, moment, protection, link: None, node: Some(node) };
        self.timeline.rows.push(row);
    }
}

fn can_revert(guard: &RunningProtection) -> bool {
    guard.config.kind == ProtectionKind::Restoration
}
