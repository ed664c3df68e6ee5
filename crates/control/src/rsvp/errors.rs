//! Errors and tears: the actions of every node when a path is refused or removed.
//!
//! Source: RFC 2205 sections 3.1.5 to 3.1.8 (tears and errors), RFC 3473 section 4.4 (an error that
//! removes the state of the path).
//! Differs: a node that refuses a reservation also sends a PathErr to the head, as routers do.

use super::message::{Error, Kind, PathKey, PathRequest, RsvpMessage, NO_BANDWIDTH};
use super::state::PathState;
use super::Rsvp;
use crate::NetworkPlane;
use std::sync::Arc;

impl Rsvp {
    /// Sends the head the reason why a path without state here is refused.
    pub(super) fn refuse(
        &mut self,
        node: u32,
        key: PathKey,
        request: Arc<PathRequest>,
        hop: usize,
        (error, link): (Error, u32),
        plane: &mut dyn NetworkPlane,
    ) {
        let mut message = RsvpMessage::for_path(Kind::PathErr, key, request, hop.saturating_sub(1));
        message.error = Some((error, node, link));
        message.tunnel = self.tunnel_of(node, key);
        if hop == 0 {
            self.on_error_at_head(key, error, link, plane);
        } else {
            self.send_up(message, plane);
        }
    }

    /// The bandwidth was given to another path: sends an error to the tail and to the head.
    pub(super) fn reject(
        &mut self,
        node: u32,
        key: PathKey,
        link: u32,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let (request, hop) = (state.request.clone(), state.hop);
        self.share_error(node, key, ((NO_BANDWIDTH, link), false), plane);
        let mut down = RsvpMessage::for_path(Kind::ResvErr, key, request.clone(), hop + 1);
        down.error = Some((NO_BANDWIDTH, node, link));
        self.send(link, down, plane);
        self.refuse(node, key, request, hop, (NO_BANDWIDTH, link), plane);
    }

    /// A reservation ends at a node, and by a ResvTear at those before it (RFC 2205 section 3.1.6); the
    /// head, which has no reservation left, tears the path down.
    pub(super) fn unreserve(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        if !self.states.get(&(node, key)).is_some_and(|state| state.reserved) {
            return;
        }
        let Some(mut state) = self.states.remove(&(node, key)) else { return };
        self.release(node, key, &mut state, plane);
        let (request, hop, tunnel) = (state.request.clone(), state.hop, state.tunnel.clone());
        self.states.insert((node, key), state);
        self.end_detour(node, key, plane);
        for each in self.merged(node, key) {
            self.unreserve(node, each, plane);
        }
        match hop.checked_sub(1) {
            Some(before) => {
                let message = RsvpMessage::for_path(Kind::ResvTear, key, request, before);
                self.send_up(RsvpMessage { tunnel, ..message }, plane);
            }
            None => self.on_lost_reservation(key, plane),
        }
    }

    /// Sends the head a report that does not change the path.
    pub(super) fn report(
        &mut self,
        node: u32,
        key: PathKey,
        about: (Error, u32),
        plane: &mut dyn NetworkPlane,
    ) {
        if let Some(state) = self.states.get(&(node, key)) {
            let (request, hop) = (state.request.clone(), state.hop);
            self.refuse(node, key, request, hop, about, plane);
        }
    }

    /// A path ends at a node: the part behind it is torn down, the part before it receives the error.
    pub(super) fn drop_path(
        &mut self,
        node: u32,
        key: PathKey,
        (error, link): (Error, u32),
        plane: &mut dyn NetworkPlane,
    ) {
        self.share_error(node, key, ((error, link), true), plane);
        let around = self.tear_around(node, key, plane);
        let Some(state) = self.close(node, key, plane) else { return };
        if !around {
            self.tear_down(key, &state, plane);
        }
        if let Some(into) = state.into {
            self.leave_merged(node, into, plane);
        }
        if state.hop == 0 {
            return self.on_error_at_head(key, error, link, plane);
        }
        let mut message = RsvpMessage::for_path(Kind::PathErr, key, state.request, state.hop - 1);
        (message.error, message.removes) = (Some((error, node, link)), true);
        message.tunnel = state.tunnel;
        self.send_up(message, plane);
    }

    pub(super) fn tear_down(
        &mut self,
        key: PathKey,
        state: &PathState,
        plane: &mut dyn NetworkPlane,
    ) {
        if let Some(link) = state.out_link().filter(|_| state.into.is_none()) {
            let request = state.request.clone();
            self.send(
                link,
                RsvpMessage::for_path(Kind::PathTear, key, request, state.hop + 1),
                plane,
            );
        }
    }

    pub(super) fn on_path_err(
        &mut self,
        node: u32,
        message: &RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let (key, Some((error, at, link))) = (message.key, message.error) else { return };
        let Some(request) = &message.request else { return };
        let tunnel = self.tunnel_of(node, key);
        self.share_error(node, key, ((error, link), message.removes), plane);
        if message.removes && message.hop > 0 && self.close(node, key, plane).is_none() {
            return;
        }
        if message.hop == 0 {
            return self.on_error_at_head(key, error, link, plane);
        }
        let mut on = RsvpMessage::for_path(Kind::PathErr, key, request.clone(), message.hop - 1);
        (on.error, on.removes, on.tunnel) = (Some((error, at, link)), message.removes, tunnel);
        self.send_up(on, plane);
    }

    pub(super) fn on_resv_err(
        &mut self,
        node: u32,
        message: &RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, message.key)) else { return };
        if let Some(link) = state.out_link() {
            let request = state.request.clone();
            let mut on = RsvpMessage::for_path(Kind::ResvErr, message.key, request, state.hop + 1);
            on.error = message.error;
            self.send(link, on, plane);
        }
    }

    /// A path is torn down from a node on.
    pub(super) fn on_path_tear(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        if self.stays_merged(node, key, plane) {
            return;
        }
        let around = self.tear_around(node, key, plane);
        let Some(state) = self.close(node, key, plane) else { return };
        if !around {
            self.tear_down(key, &state, plane);
        }
        if let Some(into) = state.into {
            self.leave_merged(node, into, plane);
        }
        if state.request.detour.is_some() && state.out_link().is_none() {
            self.end_merged(node, key, plane);
        }
    }
}
