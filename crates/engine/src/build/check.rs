//! Checks the consistency of a network, which may have been written by hand.

use super::invalid;
use crate::flow_queue::FlowQueues;
use crate::network::{Link, Network, Nhlfe, PortConfig, Probe};
use crate::ranges;
use crate::recovery;
use crate::simulation::RunError;
use trunkline_packet::label::MAX_LABEL;
use trunkline_packet::MAX_DEPTH;

/// The language compiles valid indices; a network written by hand may not have them.
pub(crate) fn check_indices(network: &Network) -> Result<(), RunError> {
    if network.format != crate::network::FORMAT {
        let (format_version, supported_format) = (network.format, crate::network::FORMAT);
        return Err(invalid(format!(
            "its format is {format_version}; this version runs format {supported_format}"
        )));
    }
    network.links.iter().try_for_each(|link| check_link(link, network))?;
    for flow in &network.flows {
        check_index("node", flow.src, network.nodes.len())?;
        check_index("node", flow.dst, network.nodes.len())?;
    }
    for conditioner in &network.conditioners {
        let classes = conditioner.profiles.len() + 1;
        check_classifier(&conditioner.classifier, classes, network.flows.len())
            .map_err(|what| invalid(format!("conditioner {}: {what}", conditioner.name)))?;
    }
    for port in &network.ports {
        check_port(port, network.flows.len())?;
    }
    check_label_tables(network)?;
    network.probes.iter().try_for_each(|probe| check_probe(probe, network))?;
    if network.run.warmup_ns >= network.run.duration_ns {
        return Err(invalid("the warm-up must end before the run".into()));
    }
    ranges::check(network).map_err(invalid)?;
    crate::network::diffserv::check(network).map_err(invalid)?;
    crate::network::routing::check(network).map_err(invalid)?;
    crate::network::signalling::check(network).map_err(invalid)?;
    recovery::check::check(network).map_err(invalid)
}

/// Whether there is an element with this index.
fn check_index(what: &str, index: u32, count: usize) -> Result<(), RunError> {
    if (index as usize) < count {
        Ok(())
    } else {
        Err(invalid(format!("{what} {index} does not exist, there are {count}")))
    }
}

fn check_link(link: &Link, network: &Network) -> Result<(), RunError> {
    check_index("node", link.from, network.nodes.len())?;
    check_index("node", link.to, network.nodes.len())?;
    check_index("port", link.port, network.ports.len())?;
    for loss in &link.scripted {
        check_index("flow", loss.flow, network.flows.len())?;
    }
    for conditioner in [link.conditioner, link.ingress].into_iter().flatten() {
        check_index("conditioner", conditioner, network.conditioners.len())?;
    }
    if link.rate_bit_s == 0 || link.rate_bit_s > 10_000_000_000_000 {
        return Err(invalid(format!("link {}: rate must be in 1..=10^13 bit/s", link.name)));
    }
    Ok(())
}

/// ILM, FTN and NHLFEs.
fn check_label_tables(network: &Network) -> Result<(), RunError> {
    for entry in &network.ilm {
        check_index("node", entry.node, network.nodes.len())?;
        check_index("nhlfe", entry.nhlfe, network.nhlfe.len())?;
        if entry.label > MAX_LABEL {
            return Err(invalid(format!("label {} is above 1048575", entry.label)));
        }
    }
    for entry in &network.ftn {
        check_index("node", entry.node, network.nodes.len())?;
        check_index("nhlfe", entry.nhlfe, network.nhlfe.len())?;
    }
    network.nhlfe.iter().try_for_each(|entry| check_nhlfe(entry, network))
}

fn check_nhlfe(entry: &Nhlfe, network: &Network) -> Result<(), RunError> {
    check_index("link", entry.link.unwrap_or(0), network.links.len())?;
    check_index("path", entry.path, network.paths.len())?;
    if entry.push.len() > MAX_DEPTH {
        return Err(invalid(format!("an NHLFE pushes {} labels, at most 4", entry.push.len())));
    }
    if let Some(label) = entry.push.iter().find(|label| **label > MAX_LABEL) {
        return Err(invalid(format!("label {label} is above 1048575")));
    }
    // Without a link the packet is looked at again here: with a label less, or it never ends.
    if entry.link.is_none() && !(entry.pop && entry.push.is_empty()) {
        return Err(invalid("an NHLFE without a link pops and pushes nothing".into()));
    }
    if let (Some(link), Some(row)) = (entry.link, entry.row) {
        let port = &network.ports[network.links[link as usize].port as usize];
        check_index("classifier row", row.into(), port.classifier.rows.len())?;
    }
    Ok(())
}

fn check_probe(probe: &Probe, network: &Network) -> Result<(), RunError> {
    match probe.measure.is_of_flow() {
        true => check_index("flow", probe.target, network.flows.len())?,
        false => check_index("link", probe.target, network.links.len())?,
    }
    if probe.step_ns == 0 {
        return Err(invalid("a probe's step must be above 0".into()));
    }
    if let (false, Some(class)) = (probe.measure.is_of_flow(), probe.class) {
        let port = &network.ports[network.links[probe.target as usize].port as usize];
        check_index("class", class.into(), port.classes.len())?;
    }
    Ok(())
}

fn check_port(port: &PortConfig, flows: usize) -> Result<(), RunError> {
    let fail = |what: &str| Err(invalid(format!("port {}: {what}", port.name)));
    if port.classes.is_empty() {
        return fail("needs a class");
    }
    if port.scheduler.classes() != port.classes.len() {
        return fail("the scheduler has a share for each class");
    }
    for flows_config in port.classes.iter().filter_map(|class| class.queue.flows.as_ref()) {
        if !(1..=65_535).contains(&FlowQueues::count(flows_config, flows)) {
            return fail("has 1 to 65535 queues by flow");
        }
        if flows_config.quantum_bytes == 0 || flows_config.batch == 0 {
            return fail("quantum_bytes and batch of flows are above 0");
        }
        if flows_config.ways == 0
            || flows_config.queues.unwrap_or(flows_config.ways) % flows_config.ways != 0
        {
            return fail("queues of flows are a multiple of ways, which is above 0");
        }
    }
    check_classifier(&port.classifier, port.classes.len(), flows).or_else(fail)
}

fn check_classifier(
    classifier: &crate::network::Classifier,
    classes: usize,
    flows: usize,
) -> Result<(), &'static str> {
    for row in &classifier.rows {
        if row.len() != crate::classifier::COLUMNS {
            return Err("a classifier row has 72 columns");
        }
        if row.iter().any(|cell| usize::from(cell[0]) >= classes) {
            return Err("the classifier names a class that does not exist");
        }
    }
    if !classifier.flow_rows.is_empty() && classifier.flow_rows.len() != 2 * flows {
        return Err("flow_rows has two entries per flow");
    }
    if classifier.flow_rows.iter().any(|&row| usize::from(row) >= classifier.rows.len()) {
        return Err("flow_rows names a row that does not exist");
    }
    Ok(())
}
