//! Links: the port, and the parts at both ends.

use super::invalid;
use super::port::build_port;
use crate::account::Accounts;
use crate::conditioner::Conditioner;
use crate::link::{FarEnd, Link};
use crate::network::Network;
use crate::ports::NearEnd;
use crate::simulation::RunError;
use trunkline_units::{RandomStream, TransmissionClock};

pub(super) fn build_link(
    network: &Network,
    link: &crate::network::Link,
    seed: u64,
) -> Result<Link, RunError> {
    let config = &network.ports[link.port as usize];
    let element = format!("links[{}]", link.name);
    let port = build_port(config, link.rate_bit_s, seed, &element, &network.flows)?;
    let end = build_far_end(network, link, seed)?;
    let serializer = TransmissionClock::new(link.rate_bit_s);
    let (to, delay, header) = (link.to, link.delay_ns, link.header_bytes);
    let mut built = Link::new(to, delay, serializer, header, link.mtu_bytes, end, port);
    built.marks_labelled = config.ecn_in_mpls;
    Ok(built)
}

/// A conditioner with separate meters at one end of a link.
fn build_conditioner(
    network: &Network,
    index: Option<u32>,
    seed: u64,
    element: &str,
) -> Result<Option<Conditioner>, RunError> {
    let Some(index) = index else { return Ok(None) };
    let config = &network.conditioners[index as usize];
    Conditioner::new(config, RandomStream::new(seed, element, "meters"))
        .map(Some)
        .map_err(|bad| invalid(format!("conditioner {}: {}: {}", config.name, bad.key, bad.why)))
}

pub(super) fn build_near_end(
    network: &Network,
    link: &crate::network::Link,
    seed: u64,
) -> Result<Option<Box<NearEnd>>, RunError> {
    let element = format!("links[{}].conditioner", link.name);
    let conditioner = build_conditioner(network, link.conditioner, seed, &element)?;
    let accounts = link.account.then(Accounts::default);
    let any = conditioner.is_some() || accounts.is_some();
    Ok(any.then(|| Box::new(NearEnd { conditioner, accounts })))
}

/// Number of a node's processor among those of the nodes that take time.
fn processor_of(network: &Network, node: u32) -> Option<u32> {
    network.nodes[node as usize].processing?;
    let before = &network.nodes[..node as usize];
    Some(before.iter().filter(|node_before| node_before.processing.is_some()).count() as u32)
}

fn build_far_end(
    network: &Network,
    link: &crate::network::Link,
    seed: u64,
) -> Result<Option<Box<FarEnd>>, RunError> {
    let element = format!("links[{}]", link.name);
    let ingress = format!("{element}.ingress");
    let conditioner = build_conditioner(network, link.ingress, seed, &ingress)?;
    let processor = processor_of(network, link.to);
    let lossy = link.loss > 0.0 || !link.scripted.is_empty();
    let before = network.links.iter().take_while(|other| other.name != link.name);
    let stage = before.filter(|other| other.reorder.is_some()).count() as u32;
    let reorders = link.reorder.map(|_| stage);
    let any = conditioner.is_some() || lossy || processor.is_some() || reorders.is_some();
    let scripted = link.scripted.clone();
    let random = RandomStream::new(seed, &element, "loss");
    let loss = link.loss;
    let end = FarEnd { loss, scripted, random, conditioner, reorders, processor };
    Ok(any.then(|| Box::new(end)))
}
