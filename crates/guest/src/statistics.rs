//! Counters of queues, classes, filters and protocols.

use crate::archive::Archive;
use crate::batch::CommandBatch;
use crate::namespaces::NodeNamespaces;
use crate::netlink::{Netlink, QdiscCounters};
use crate::orders::GuestOrders;
use std::fmt::Write;
use std::fs;
use std::io;

/// Series of the counters of one device.
#[derive(Debug)]
pub struct CounterSeries {
    name: String,
    node: usize,
    socket: Netlink,
    device: i32,
    lines: Vec<String>,
}

impl CounterSeries {
    /// Finds the device.
    ///
    /// # Errors
    /// It is not there.
    pub fn open(
        name: String,
        node: usize,
        device: &str,
        spaces: &NodeNamespaces,
    ) -> Result<Self, String> {
        let open = || -> io::Result<_> {
            let mut socket = spaces.run_in_namespace(node, Netlink::open)??;
            let devices = socket.devices()?;
            Ok((socket, devices))
        };
        let (socket, devices) = open().map_err(|why| format!("{name}: {why}"))?;
        let device_found = devices.iter().find(|(_, device_name)| device_name == device);
        let device = device_found.ok_or_else(|| format!("{name}: no such device"))?.0;
        Ok(Self { name, node, socket, device, lines: Vec::new() })
    }

    /// Reads the counters at a time since time zero \[ns\].
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn read(&mut self, at: u64) -> Result<(), String> {
        let counters = self.socket.counters(self.device);
        let counters =
            counters.map_err(|why| format!("node {} {}: {why}", self.node, self.name))?;
        let all: Vec<String> = counters.iter().map(format_counters).collect();
        self.lines.push(format!("{{\"queues\":[{}],\"time_ns\":{at}}}", all.join(",")));
        Ok(())
    }

    /// Puts the series.
    pub fn finish(self, archive: &mut Archive) {
        archive.put(format!("{}.json", self.name), format!("[{}]\n", self.lines.join(",\n")));
    }
}

/// The statistics of everything at one time: counters, which this process reads, and what a `tc` for each
/// node prints.
#[derive(Debug)]
pub struct Snapshot {
    nodes: Vec<NodeStatistics>,
}

#[derive(Debug)]
struct NodeStatistics {
    socket: Netlink,
    devices: Vec<(i32, String)>,
    shows: Option<CommandBatch>,
    queues: Vec<String>,
    protocols: String,
}

impl Snapshot {
    /// Opens what is needed to read the counters at their time; each `tc` too, `with_programs`: to start
    /// them takes an emulated machine as long as some packets.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn open(
        orders: &GuestOrders,
        spaces: &NodeNamespaces,
        with_programs: bool,
    ) -> Result<Self, String> {
        let mut nodes = Vec::with_capacity(orders.nodes.len());
        for (index, node) in orders.nodes.iter().enumerate() {
            let open = || -> Result<_, String> {
                let mut socket = Netlink::open().map_err(|why| why.to_string())?;
                let devices = socket.devices().map_err(|why| why.to_string())?;
                let shows = with_programs.then(start_last).transpose()?;
                Ok(NodeStatistics {
                    socket,
                    devices,
                    shows,
                    queues: Vec::new(),
                    protocols: String::new(),
                })
            };
            nodes.push(run_in_namespace(spaces, index, &node.name, open)?);
        }
        Ok(Self { nodes })
    }

    /// Reads the counters of a node's disciplines, classes and protocols.
    ///
    /// # Errors
    /// The counters that could not be read.
    pub fn read(
        &mut self,
        node: usize,
        orders: &GuestOrders,
        spaces: &NodeNamespaces,
    ) -> Result<(), String> {
        let NodeStatistics { socket, devices, queues, protocols, .. } = &mut self.nodes[node];
        for (number, device) in devices.iter() {
            let counters = socket.counters(*number).map_err(|why| why.to_string())?;
            let list: Vec<String> = counters.iter().map(format_counters).collect();
            queues.push(format!("\"{device}\":[{}]", list.join(",")));
        }
        *protocols = run_in_namespace(spaces, node, &orders.nodes[node].name, || {
            let read = |file: &str| {
                let path = format!("/proc/thread-self/net/{file}");
                fs::read_to_string(&path).map_err(|why| format!("{path}: {why}"))
            };
            Ok(read("netstat")? + &read("snmp")?)
        })?;
        for (number, mpls_errors) in socket.labelled().map_err(|why| why.to_string())? {
            if let Some((_, device)) = devices.iter().find(|each| each.0 == number) {
                writeln!(
                    protocols,
                    "Mpls-{device}: ttl_expired no_label too_big\nMpls-{device}: {} {} {}",
                    mpls_errors.expired, mpls_errors.unknown, mpls_errors.too_big
                )
                .expect("memory takes it");
            }
        }
        Ok(())
    }

    /// Has `tc` print the rest. That takes long on an emulated machine, so packets are first; and it
    /// holds the lock that reading takes, so it is last.
    ///
    /// # Errors
    /// A `tc` does not start, or has ended.
    pub fn print_statistics(
        &mut self,
        orders: &GuestOrders,
        spaces: &NodeNamespaces,
    ) -> Result<(), String> {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let shows = match &mut node.shows {
                Some(ready) => ready,
                missing => missing.insert(run_in_namespace(
                    spaces,
                    index,
                    &orders.nodes[index].name,
                    start_last,
                )?),
            };
            let filters = |(_, device): &(i32, String)| {
                ["ingress", "egress"].map(|side| format!("filter show dev {device} {side}"))
            };
            let mut lines = vec!["qdisc show".to_owned()];
            lines.extend(node.devices.iter().flat_map(filters));
            shows.send_lines(lines)?;
        }
        Ok(())
    }

    /// Stores for each node one file each with the output of `tc` about queues and filters, the counters
    /// of classes and the protocols' counters.
    ///
    /// # Errors
    /// A command that `tc` refused.
    pub fn finish(
        self,
        number: usize,
        orders: &GuestOrders,
        archive: &mut Archive,
    ) -> Result<(), String> {
        for (node, node_orders) in self.nodes.into_iter().zip(&orders.nodes) {
            let place = format!("snapshot-{number}/{}", node_orders.name);
            let shown = node.shows.map(CommandBatch::finish).transpose()?;
            archive.put(format!("{place}/tc"), shown.unwrap_or_default());
            archive.put(format!("{place}/queues"), format!("{{{}}}", node.queues.join(",")));
            archive.put(format!("{place}/counters"), node.protocols);
        }
        Ok(())
    }
}

/// Starts a `tc` that works only while nothing else has work.
fn start_last() -> Result<CommandBatch, String> {
    CommandBatch::start("tc", &["-s", "-j"])?.put_last()
}

fn run_in_namespace<T>(
    spaces: &NodeNamespaces,
    node: usize,
    name: &str,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    spaces
        .run_in_namespace(node, work)
        .map_err(|why| why.to_string())
        .and_then(|result| result)
        .map_err(|why| format!("node {name}: statistics: {why}"))
}

/// Counters as `tc -j` would print them.
fn format_counters(of: &QdiscCounters) -> String {
    let mut text = format!(
        "{{\"{}\":\"{}\",\"handle\":\"{}\"",
        of.kind_name,
        of.kind,
        format_handle(of.handle)
    );
    match of.parent {
        u32::MAX => text.push_str(",\"root\":true"),
        parent => {
            write!(text, ",\"parent\":\"{}\"", format_handle(parent)).expect("memory takes it")
        }
    }
    write!(
        text,
        ",\"bytes\":{},\"packets\":{},\"drops\":{},\"overlimits\":{},\"backlog\":{},\"qlen\":{}}}",
        of.bytes, of.packets, of.drops, of.overlimits, of.backlog, of.queued
    )
    .expect("memory takes it");
    text
}

/// `1:` is a discipline, `1:a` a class: numbers are hexadecimal.
fn format_handle(of: u32) -> String {
    match (of >> 16, of & 0xFFFF) {
        (major, 0) => format!("{major:x}:"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_written_as_tc_writes_them() {
        assert_eq!(format_handle(0x0001_0000), "1:");
        assert_eq!(format_handle(0x0001_001F), "1:1f");
        assert_eq!(format_handle(0xFFFF_FFF1), "ffff:fff1");
    }
}
