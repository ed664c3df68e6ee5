//! Signalling in the compiled network.

use super::recovery::Detection;
use super::{Agent, Network};
use serde::{Deserialize, Serialize};
use trunkline_control::{ldp, ospf, rsvp};

/// Protocols between nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signalling {
    /// How nodes notice that a link to them failed.
    pub detection: Detection,
    /// LDP.
    #[serde(default)]
    pub ldp: Option<ldp::Config>,
    /// OSPF.
    #[serde(default)]
    pub ospf: Option<ospf::Config>,
    /// RSVP-TE.
    #[serde(default)]
    pub rsvp: Option<rsvp::Config>,
}

/// Whether signalling holds together.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    let Some(signalling) = &network.signalling else { return Ok(()) };
    signalling.ldp.as_ref().map_or(Ok(()), |its| check_ldp(its, network))?;
    signalling.ospf.as_ref().map_or(Ok(()), |its| check_ospf(its, network))?;
    signalling.rsvp.as_ref().map_or(Ok(()), |its| check_rsvp(its, network))
}

fn check_ldp(its: &ldp::Config, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    inside("flow", its.flow, network.flows.len())?;
    if !matches!(network.flows[its.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("the flow of LDP is one of messages");
    }
    if [its.hello_ns, its.keepalive_ns / 3, its.resend_ns, its.retry_ns].contains(&0) {
        return fail("intervals of LDP must be above 0");
    }
    if its.hello_ns >= its.hello_hold_ns {
        return fail("hello_hold_ns must be above hello_ns");
    }
    if usize::from(its.first_fec) + network.nodes.len() > usize::from(u16::MAX) {
        return fail("classes of LDP are numbered in 16 bits");
    }
    Ok(())
}

fn check_ospf(its: &ospf::Config, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    inside("flow", its.flow, network.flows.len())?;
    if !matches!(network.flows[its.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("the flow of OSPF is one of messages");
    }
    if its.fib_update_ns.len() != network.nodes.len() {
        return fail("fib_update_ns has an entry for each node");
    }
    if its.resend_ns == 0 || its.hello_ns == Some(0) {
        return fail("intervals of OSPF must be above 0");
    }
    if its.hello_ns.is_some_and(|hello| hello >= its.dead_ns) {
        return fail("dead_ns must be above hello_ns");
    }
    if its.te.as_ref().is_some_and(|te| te.len() != network.links.len()) {
        return fail("te has an entry for each link");
    }
    if its.ldp_sync && network.signalling.as_ref().is_none_or(|each| each.ldp.is_none()) {
        return fail("ldp_sync needs LDP");
    }
    if network.recovery.rerouting.is_some() {
        return fail("OSPF and rerouting exclude each other");
    }
    if network.links.iter().any(|link| link.metric > 65_535) {
        return fail("a metric of OSPF is 16 bits");
    }
    Ok(())
}

fn inside(what: &str, index: u32, count: usize) -> Result<(), String> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(format!("signalling: {what} {index} does not exist, there are {count}"))
}

fn check_rsvp(its: &rsvp::Config, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    inside("flow", its.flow, network.flows.len())?;
    if !matches!(network.flows[its.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("its flow is one of messages");
    }
    if its.reservable.len() != network.links.len() {
        return fail("reservable has an entry for each link");
    }
    let ospf = network.signalling.as_ref().and_then(|each| each.ospf.as_ref());
    if its.flooding_ns.is_none() && ospf.is_none_or(|ospf| ospf.te.is_none()) {
        return fail("without flooding_ns OSPF must have te");
    }
    if its.refresh_ns == 0 || its.multiplier == 0 || its.resend_limit == 0 || its.attempts == 0 {
        return fail("refresh_ns, multiplier, resend_limit and attempts must be above 0");
    }
    if its.hello_ns == Some(0) || its.resend_ns == Some(0) || its.reoptimise_ns == Some(0) {
        return fail("intervals must be above 0");
    }
    if its.summary && its.resend_ns.is_none() {
        return fail("a summary refresh needs resend_ns");
    }
    for session in &its.sessions {
        check_session(session, network).map_err(|why| format!("{}: {why}", session.name))?;
    }
    for order in &its.orders {
        inside("session", order.session, its.sessions.len())?;
        if let rsvp::config::Action::Move { route: Some(route) } = &order.action {
            check_route(route, network)?;
        }
    }
    for process in &its.requests {
        inside("node", process.head.max(process.tail), network.nodes.len())?;
        if process.every_ns == 0 || process.holding_ns == 0 || process.head == process.tail {
            return fail("mean times of requests are above 0, and their ends differ");
        }
        check_priorities(process.setup, process.hold)?;
        process.route.as_ref().map_or(Ok(()), |route| check_route(route, network))?;
    }
    Ok(())
}

fn check_session(session: &rsvp::config::Session, network: &Network) -> Result<(), String> {
    inside("path", session.path, network.paths.len())?;
    check_priorities(session.setup, session.hold)?;
    check_route(&session.route, network)?;
    if session.hops.len() != session.route.len() + 1 {
        return Err("signalling: hops has an entry for each node of the route".into());
    }
    for entry in session.hops.iter().filter_map(|hop| hop.entry) {
        inside("nhlfe", entry, network.nhlfe.len())?;
    }
    for diffserv in session.diffserv.into_iter().flatten() {
        inside("diffserv", diffserv, network.diffserv.len())?;
    }
    match session.auto_bandwidth {
        Some(auto) if auto.sample_ns == 0 || auto.adjust_ns < auto.sample_ns => {
            Err("signalling: 0 < sample_ns <= adjust_ns".into())
        }
        Some(auto) if auto.minimum_bit_s > auto.maximum_bit_s => {
            Err("signalling: minimum_bit_s <= maximum_bit_s".into())
        }
        _ => Ok(()),
    }
}

fn check_priorities(setup: u8, hold: u8) -> Result<(), String> {
    if hold <= setup && setup < 8 {
        return Ok(());
    }
    Err("signalling: hold <= setup < 8".into())
}

fn check_route(route: &[u32], network: &Network) -> Result<(), String> {
    for &link in route {
        inside("link", link, network.links.len())?;
    }
    let link = |index: u32| &network.links[index as usize];
    let joined = route.windows(2).all(|pair| link(pair[0]).to == link(pair[1]).from);
    if route.is_empty() || !joined {
        return Err("signalling: a route is links that follow each other".into());
    }
    Ok(())
}
