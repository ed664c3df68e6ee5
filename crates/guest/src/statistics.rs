//! What queues, classes, filters and protocols have counted.

use crate::archive::Archive;
use crate::batch::batch;
use crate::netlink::{Counters, Netlink};
use crate::orders::Orders;
use crate::spaces::Spaces;
use std::fmt::Write;
use std::fs;
use std::io;

/// Series of the counters of one device.
#[derive(Debug)]
pub struct Series {
    name: String,
    node: usize,
    socket: Netlink,
    device: i32,
    lines: Vec<String>,
}

impl Series {
    /// Finds the device.
    ///
    /// # Errors
    /// It is not there.
    pub fn open(name: String, node: usize, device: &str, spaces: &Spaces) -> Result<Self, String> {
        let open = || -> io::Result<_> {
            let mut socket = spaces.within(node, Netlink::open)??;
            let devices = socket.devices()?;
            Ok((socket, devices))
        };
        let (socket, devices) = open().map_err(|why| format!("{name}: {why}"))?;
        let found = devices.iter().find(|(_, its)| its == device);
        let device = found.ok_or_else(|| format!("{name}: no such device"))?.0;
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
        let all: Vec<String> = counters.iter().map(json).collect();
        self.lines.push(format!("{{\"queues\":[{}],\"time_ns\":{at}}}", all.join(",")));
        Ok(())
    }

    /// Puts the series.
    pub fn finish(self, archive: &mut Archive) {
        archive.put(format!("{}.json", self.name), format!("[{}]\n", self.lines.join(",\n")));
    }
}

/// Puts the statistics of everything: for each node a file each of what `tc` prints about queues
/// and filters, of the counters of classes and of the protocols' counters.
///
/// # Errors
/// What could not be read.
pub fn snapshot(
    number: usize,
    orders: &Orders,
    spaces: &Spaces,
    archive: &mut Archive,
) -> Result<(), String> {
    for (index, node) in orders.nodes.iter().enumerate() {
        let read = spaces.within(index, || -> Result<(String, String, String), String> {
            let classes = classes().map_err(|why| why.to_string())?;
            let mut lines = vec!["qdisc show".to_owned()];
            for (device, _) in &classes {
                for side in ["ingress", "egress"] {
                    lines.push(format!("filter show dev {device} {side}"));
                }
            }
            let shown = batch("tc", &["-s", "-j"], &lines)?;
            let devices: Vec<String> =
                classes.iter().map(|(device, list)| format!("\"{device}\":[{list}]")).collect();
            let mut counters = String::new();
            for name in ["netstat", "snmp"] {
                let path = format!("/proc/thread-self/net/{name}");
                counters += &fs::read_to_string(&path).map_err(|why| format!("{path}: {why}"))?;
            }
            Ok((shown, format!("{{{}}}", devices.join(",")), counters))
        });
        let (shown, classes, counters) = read
            .map_err(|why| why.to_string())
            .and_then(|result| result)
            .map_err(|why| format!("node {}: statistics: {why}", node.name))?;
        let place = format!("snapshot-{number}/{}", node.name);
        archive.put(format!("{place}/tc"), shown);
        archive.put(format!("{place}/classes"), classes);
        archive.put(format!("{place}/counters"), counters);
    }
    Ok(())
}

/// The devices of the namespace of this thread, each with its classes as JSON.
fn classes() -> io::Result<Vec<(String, String)>> {
    let mut socket = Netlink::open()?;
    let mut all = Vec::new();
    for (index, device) in socket.devices()? {
        let counters = socket.counters(index)?;
        let list: Vec<String> =
            counters.iter().filter(|counters| counters.what == "class").map(json).collect();
        all.push((device, list.join(",")));
    }
    Ok(all)
}

/// Counters as `tc -j` would print them.
fn json(of: &Counters) -> String {
    let mut text =
        format!("{{\"{}\":\"{}\",\"handle\":\"{}\"", of.what, of.kind, handle(of.handle));
    match of.parent {
        u32::MAX => text.push_str(",\"root\":true"),
        parent => write!(text, ",\"parent\":\"{}\"", handle(parent)).expect("memory takes it"),
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
fn handle(of: u32) -> String {
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
        assert_eq!(handle(0x0001_0000), "1:");
        assert_eq!(handle(0x0001_001F), "1:1f");
        assert_eq!(handle(0xFFFF_FFF1), "ffff:fff1");
    }
}
