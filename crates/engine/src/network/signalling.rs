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
    pub ldp: Option<ldp::LdpConfig>,
    /// OSPF.
    #[serde(default)]
    pub ospf: Option<ospf::OspfConfig>,
    /// RSVP-TE.
    #[serde(default)]
    pub rsvp: Option<rsvp::RsvpConfig>,
}

/// Whether signalling holds together.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    let Some(signalling) = &network.signalling else { return Ok(()) };
    signalling.ldp.as_ref().map_or(Ok(()), |config| check_ldp(config, network))?;
    signalling.ospf.as_ref().map_or(Ok(()), |config| check_ospf(config, network))?;
    signalling.rsvp.as_ref().map_or(Ok(()), |config| check_rsvp(config, network))
}

fn check_ldp(config: &ldp::LdpConfig, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    check_index("flow", config.flow, network.flows.len())?;
    if !matches!(network.flows[config.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("the flow of LDP is one of messages");
    }
    if [config.hello_ns, config.keepalive_ns / 3, config.resend_ns, config.retry_ns].contains(&0) {
        return fail("intervals of LDP must be above 0");
    }
    if config.hello_ns >= config.hello_hold_ns {
        return fail("hello_hold_ns must be above hello_ns");
    }
    if usize::from(config.first_fec) + network.nodes.len() > usize::from(u16::MAX) {
        return fail("classes of LDP are numbered in 16 bits");
    }
    Ok(())
}

fn check_ospf(config: &ospf::OspfConfig, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    check_index("flow", config.flow, network.flows.len())?;
    if !matches!(network.flows[config.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("the flow of OSPF is one of messages");
    }
    if config.fib_update_ns.len() != network.nodes.len() {
        return fail("fib_update_ns has an entry for each node");
    }
    if config.resend_ns == 0 || config.hello_ns == Some(0) {
        return fail("intervals of OSPF must be above 0");
    }
    if config.hello_ns.is_some_and(|hello| hello >= config.dead_ns) {
        return fail("dead_ns must be above hello_ns");
    }
    if config.te.as_ref().is_some_and(|te| te.len() != network.links.len()) {
        return fail("te has an entry for each link");
    }
    if config.ldp_sync && network.signalling.as_ref().is_none_or(|each| each.ldp.is_none()) {
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

fn check_index(what: &str, index: u32, count: usize) -> Result<(), String> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(format!("signalling: {what} {index} does not exist, there are {count}"))
}

fn check_rsvp(rsvp_config: &rsvp::RsvpConfig, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    check_index("flow", rsvp_config.flow, network.flows.len())?;
    if !matches!(network.flows[rsvp_config.flow as usize].agent.as_ref(), Agent::Control(_)) {
        return fail("its flow is one of messages");
    }
    if rsvp_config.reservable.len() != network.links.len() {
        return fail("reservable has an entry for each link");
    }
    let ospf = network.signalling.as_ref().and_then(|each| each.ospf.as_ref());
    if rsvp_config.flooding_ns.is_none() && ospf.is_none_or(|ospf| ospf.te.is_none()) {
        return fail("without flooding_ns OSPF must have te");
    }
    if rsvp_config.refresh_ns == 0
        || rsvp_config.multiplier == 0
        || rsvp_config.resend_limit == 0
        || rsvp_config.attempts == 0
    {
        return fail("refresh_ns, multiplier, resend_limit and attempts must be above 0");
    }
    if rsvp_config.hello_ns == Some(0)
        || rsvp_config.resend_ns == Some(0)
        || rsvp_config.reoptimise_ns == Some(0)
    {
        return fail("intervals must be above 0");
    }
    if !rsvp_config.attributes.is_empty() && rsvp_config.attributes.len() != network.links.len() {
        return fail("attributes has an entry for each link");
    }
    if rsvp_config.summary && rsvp_config.resend_ns.is_none() {
        return fail("a summary refresh needs resend_ns");
    }
    check_class_types(&rsvp_config.class_types, network)?;
    for session in &rsvp_config.sessions {
        check_session(session, network)
            .and_then(|()| check_constraints(session, rsvp_config, network))
            .map_err(|why| format!("{}: {why}", session.name))?;
    }
    for order in &rsvp_config.orders {
        check_index("session", order.session, rsvp_config.sessions.len())?;
        if let rsvp::config::Action::Move { route: Some(route) } = &order.action {
            check_route(route, network)?;
        }
    }
    for process in &rsvp_config.requests {
        check_index("node", process.head.max(process.tail), network.nodes.len())?;
        if process.every_ns == 0 || process.holding_ns == 0 || process.head == process.tail {
            return fail("mean times of requests are above 0, and their ends differ");
        }
        check_priorities(process.setup, process.hold)?;
        process.route.as_ref().map_or(Ok(()), |route| check_route(route, network))?;
    }
    Ok(())
}

fn check_class_types(
    class_types: &rsvp::config::ClassTypes,
    network: &Network,
) -> Result<(), String> {
    let fail = |why: &str| Err(format!("signalling: {why}"));
    let is_type = |class_type: &u8| *class_type < 8;
    let classes = &class_types.te_classes;
    let known = classes.iter().all(|each| is_type(&each.class_type) && each.priority < 8);
    if !(1..=8).contains(&classes.len()) || !known {
        return fail("there are 1 to 8 TE-classes, of class types and priorities below 8");
    }
    if !class_types.bounds.is_empty() && class_types.bounds.len() != network.links.len() {
        return fail("bounds of class types have an entry for each link");
    }
    if !class_types.bounds.iter().flatten().all(|bound| bound.class_types.iter().all(is_type)) {
        return fail("class types are below 8");
    }
    Ok(())
}

fn check_session(session: &rsvp::config::Session, network: &Network) -> Result<(), String> {
    check_index("path", session.path, network.paths.len())?;
    check_priorities(session.setup, session.hold)?;
    if session.class_type > 7 {
        return Err("signalling: class_type < 8".into());
    }
    check_route(&session.route, network)?;
    if session.hops.len() != session.route.len() + 1 {
        return Err("signalling: hops has an entry for each node of the route".into());
    }
    for entry in session.hops.iter().filter_map(|hop| hop.entry) {
        check_index("nhlfe", entry, network.nhlfe.len())?;
    }
    for diffserv in session.diffserv.into_iter().flatten() {
        check_index("diffserv", diffserv, network.diffserv.len())?;
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

fn check_constraints(
    session: &rsvp::config::Session,
    rsvp_config: &rsvp::RsvpConfig,
    network: &Network,
) -> Result<(), String> {
    let Some(constraints) = &session.constraints else { return Ok(()) };
    constraints
        .barred
        .iter()
        .try_for_each(|link| check_index("link", *link, network.links.len()))?;
    constraints.via.iter().try_for_each(|node| check_index("node", *node, network.nodes.len()))?;
    for apart in &constraints.apart {
        check_index("session", apart.session, rsvp_config.sessions.len())?;
    }
    let costs = constraints.minimise != Default::default() || constraints.max_delay_ns.is_some();
    if costs && rsvp_config.attributes.is_empty() {
        return Err("signalling: costs and delays of routes need attributes".into());
    }
    Ok(())
}

fn check_priorities(setup: u8, hold: u8) -> Result<(), String> {
    if hold <= setup && setup < 8 {
        return Ok(());
    }
    Err("signalling: hold <= setup < 8".into())
}

fn check_route(route: &[u32], network: &Network) -> Result<(), String> {
    for &link in route {
        check_index("link", link, network.links.len())?;
    }
    let link = |index: u32| &network.links[index as usize];
    let joined = route.windows(2).all(|pair| link(pair[0]).to == link(pair[1]).from);
    if route.is_empty() || !joined {
        return Err("signalling: a route is links that follow each other".into());
    }
    Ok(())
}
