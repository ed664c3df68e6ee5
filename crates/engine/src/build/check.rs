//! Checks the consistency of a network, which may have been written by hand.

use super::invalid;
use crate::flow_queue::FlowQueues;
use crate::network::{Network, PortConfig};
use crate::ranges;
use crate::recovery;
use crate::simulation::RunError;
use trunkline_packet::MAX_DEPTH;

/// The language compiles valid indices; a network written by hand may not have them.
pub(crate) fn check_indices(network: &Network) -> Result<(), RunError> {
    if network.format != crate::network::FORMAT {
        let (format_version, supported_format) = (network.format, crate::network::FORMAT);
        return Err(invalid(format!(
            "its format is {format_version}; this version runs format {supported_format}"
        )));
    }
    let inside = |what: &str, index: u32, count: usize| {
        if (index as usize) < count {
            Ok(())
        } else {
            Err(invalid(format!("{what} {index} does not exist, there are {count}")))
        }
    };
    let (nodes, links) = (network.nodes.len(), network.links.len());
    for link in &network.links {
        inside("node", link.from, nodes)?;
        inside("node", link.to, nodes)?;
        inside("port", link.port, network.ports.len())?;
        for format_version in &link.scripted {
            inside("flow", format_version.flow, network.flows.len())?;
        }
        for conditioner in [link.conditioner, link.ingress].into_iter().flatten() {
            inside("conditioner", conditioner, network.conditioners.len())?;
        }
        if link.rate_bit_s == 0 || link.rate_bit_s > 10_000_000_000_000 {
            return Err(invalid(format!("link {}: rate must be in 1..=10^13 bit/s", link.name)));
        }
    }
    for flow in &network.flows {
        inside("node", flow.src, nodes)?;
        inside("node", flow.dst, nodes)?;
    }
    for conditioner in &network.conditioners {
        let classes = conditioner.profiles.len() + 1;
        check_classifier(&conditioner.classifier, classes, network.flows.len())
            .map_err(|what| invalid(format!("conditioner {}: {what}", conditioner.name)))?;
    }
    for port in &network.ports {
        check_port(port, network.flows.len())?;
    }
    for entry in &network.ilm {
        inside("node", entry.node, nodes)?;
        inside("nhlfe", entry.nhlfe, network.nhlfe.len())?;
        if entry.label > trunkline_packet::label::MAX_LABEL {
            return Err(invalid(format!("label {} is above 1048575", entry.label)));
        }
    }
    for entry in &network.ftn {
        inside("node", entry.node, nodes)?;
        inside("nhlfe", entry.nhlfe, network.nhlfe.len())?;
    }
    for entry in &network.nhlfe {
        inside("link", entry.link.unwrap_or(0), links)?;
        inside("path", entry.path, network.paths.len())?;
        if entry.push.len() > MAX_DEPTH {
            return Err(invalid(format!("an NHLFE pushes {} labels, at most 4", entry.push.len())));
        }
        if let Some(label) =
            entry.push.iter().find(|label| **label > trunkline_packet::label::MAX_LABEL)
        {
            return Err(invalid(format!("label {label} is above 1048575")));
        }
        // Without a link the packet is looked at again here: with a label less, or it never ends.
        if entry.link.is_none() && !(entry.pop && entry.push.is_empty()) {
            return Err(invalid("an NHLFE without a link pops and pushes nothing".into()));
        }
        if let (Some(link), Some(row)) = (entry.link, entry.row) {
            let port = &network.ports[network.links[link as usize].port as usize];
            inside("classifier row", row.into(), port.classifier.rows.len())?;
        }
    }
    for probe in &network.probes {
        let flows = probe.measure.is_of_flow();
        let count = if flows { network.flows.len() } else { links };
        inside(if flows { "flow" } else { "link" }, probe.target, count)?;
        if probe.step_ns == 0 {
            return Err(invalid("a probe's step must be above 0".into()));
        }
        if let (false, Some(class)) = (flows, probe.class) {
            let port = &network.ports[network.links[probe.target as usize].port as usize];
            inside("class", class.into(), port.classes.len())?;
        }
    }
    if network.run.warmup_ns >= network.run.duration_ns {
        return Err(invalid("the warm-up must end before the run".into()));
    }
    ranges::check(network).map_err(invalid)?;
    crate::network::diffserv::check(network).map_err(invalid)?;
    crate::network::routing::check(network).map_err(invalid)?;
    crate::network::signalling::check(network).map_err(invalid)?;
    recovery::check::check(network).map_err(invalid)
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
