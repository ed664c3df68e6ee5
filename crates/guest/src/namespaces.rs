//! Network namespaces without names: descriptors hold them, so they end with this process.

use crate::batch::run_batch;
use crate::netlink::Netlink;
use crate::orders::{GuestOrders, Node};
use crate::sys::process;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;

/// The namespaces of a plan's nodes, and the one this process came from.
#[derive(Debug)]
pub struct NodeNamespaces {
    home: OwnedFd,
    nodes: Vec<OwnedFd>,
}

impl NodeNamespaces {
    /// Makes a namespace for each node.
    ///
    /// # Errors
    /// The kernel refuses one.
    pub fn new(count: usize) -> io::Result<Self> {
        let home = current()?;
        let mut nodes = Vec::with_capacity(count);
        for _ in 0..count {
            process::new_network()?;
            nodes.push(current()?);
            Netlink::open()?.loopback_up()?;
        }
        process::enter_network(&home)?;
        Ok(Self { home, nodes })
    }

    /// Does something in the namespace of a node; sockets that it opens stay there.
    pub fn run_in_namespace<T>(&self, node: usize, work: impl FnOnce() -> T) -> io::Result<T> {
        process::enter_network(&self.nodes[node])?;
        let done = work();
        process::enter_network(&self.home)?;
        Ok(done)
    }

    /// Makes the links, then executes the nodes' own orders one node after the other.
    ///
    /// # Errors
    /// The line that was refused, and the kernel's message.
    pub fn prepare(&self, orders: &GuestOrders) -> Result<(), String> {
        for (a, b) in &orders.links {
            let link_result = self.run_in_namespace(a.node, || {
                Netlink::open().and_then(|mut link| link.make_pair(a, b, &self.nodes[b.node]))
            });
            link_result
                .and_then(|result| result)
                .map_err(|why| format!("link {} to {}: {why}", a.device, b.device))?;
        }
        for (index, node) in orders.nodes.iter().enumerate() {
            let done = self.run_in_namespace(index, || prepare_node(node));
            done.map_err(|why| why.to_string())
                .and_then(|result| result)
                .map_err(|why| format!("node {}: {why}", node.name))?;
        }
        Ok(())
    }
}

fn current() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

fn prepare_node(node: &Node) -> Result<(), String> {
    for (key, value) in &node.sysctls {
        fs::write(format!("/proc/sys/{key}"), value)
            .map_err(|why| format!("sysctl {key} = {value}: {why}"))?;
    }
    run_batch("ip", &node.ip)?;
    run_batch("mpls", &node.mpls)?;
    run_batch("tc", &node.tc)
}
