//! Network namespaces without names: descriptors hold them, so they go with this process.

use crate::netlink::Netlink;
use crate::orders::{Node, Orders};
use crate::sys::process;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// The namespaces of a plan's nodes, and the one this process came from.
#[derive(Debug)]
pub struct Spaces {
    home: OwnedFd,
    nodes: Vec<OwnedFd>,
}

impl Spaces {
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
    pub fn within<T>(&self, node: usize, work: impl FnOnce() -> T) -> io::Result<T> {
        process::enter_network(&self.nodes[node])?;
        let done = work();
        process::enter_network(&self.home)?;
        Ok(done)
    }

    /// Makes the links, then does the nodes' own orders one node after the other.
    ///
    /// # Errors
    /// The line that was refused, and what the kernel said.
    pub fn prepare(&self, orders: &Orders) -> Result<(), String> {
        for (a, b) in &orders.links {
            let made = self.within(a.node, || {
                Netlink::open().and_then(|mut link| link.make_pair(a, b, &self.nodes[b.node]))
            });
            made.and_then(|result| result)
                .map_err(|why| format!("link {} to {}: {why}", a.device, b.device))?;
        }
        for (index, node) in orders.nodes.iter().enumerate() {
            let done = self.within(index, || prepare_node(node));
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
    batch("ip", &[], &node.ip)?;
    batch("ip", &["-f", "mpls"], &node.mpls)?;
    batch("tc", &[], &node.tc).map(drop)
}

/// Runs `ip` or `tc` over lines, in the namespace of this thread and without a shell; what it
/// printed.
///
/// # Errors
/// The first line that was refused, and what was said about it.
pub fn batch(program: &str, options: &[&str], lines: &[String]) -> Result<String, String> {
    if lines.is_empty() {
        return Ok(String::new());
    }
    let run = || -> io::Result<(bool, String, String)> {
        let mut input = process::memory_file()?;
        for line in lines {
            writeln!(input, "{line}")?;
        }
        input.rewind()?;
        let (mut output, mut talk) = (process::memory_file()?, process::memory_file()?);
        let status = Command::new(program)
            .args(options)
            .args(["-batch", "-"])
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(talk.try_clone()?))
            .status()?;
        Ok((status.success(), read(&mut output)?, read(&mut talk)?))
    };
    let (done, output, talk) = run().map_err(|why| format!("{program}: {why}"))?;
    if done {
        return Ok(output);
    }
    // "Command failed -:3" counts lines from one.
    let number = talk.rsplit(':').next().and_then(|tail| tail.trim().parse::<usize>().ok());
    let line = number.and_then(|number| lines.get(number.wrapping_sub(1)));
    let said: Vec<&str> = talk.lines().filter(|line| !line.starts_with("Command failed")).collect();
    let line = line.map_or("?", String::as_str);
    Err(format!("{program} {line}: {}", said.join("; ")))
}

fn read(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
