//! Routing daemons that run with the experiment, and their changes of the kernel's routes.

use crate::archive::Archive;
use crate::namespaces::NodeNamespaces;
use crate::orders::{Daemon, GuestOrders};
use crate::sys::process;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `ip monitor` in a node with daemons: each change of its routes, with the time.
#[derive(Debug)]
pub struct RouteMonitor {
    node: usize,
    child: Child,
    output: File,
}

impl RouteMonitor {
    /// Starts a monitor in each node that has daemons, then the daemons.
    ///
    /// # Errors
    /// The program that did not start, and its message.
    pub fn start(orders: &GuestOrders, spaces: &NodeNamespaces) -> Result<Vec<Self>, String> {
        let mut nodes: Vec<usize> = orders.daemons.iter().map(|each| each.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut watches = Vec::with_capacity(nodes.len());
        for node in nodes {
            let watch =
                spaces.run_in_namespace(node, || Self::open(node)).and_then(|result| result);
            watches.push(watch.map_err(|why| format!("ip monitor: {why}"))?);
        }
        for daemon in &orders.daemons {
            if let Some((log, folder)) =
                daemon.log.as_ref().and_then(|log| Some((log, Path::new(log).parent()?)))
            {
                fs::create_dir_all(folder).map_err(|why| format!("{log}: {why}"))?;
            }
            let started = spaces.run_in_namespace(daemon.node, || start_daemon(&daemon.command));
            started.and_then(|result| result).map_err(|why| {
                format!("node {}: {}: {why}", orders.nodes[daemon.node].name, daemon.command[0])
            })?;
        }
        Ok(watches)
    }

    fn open(node: usize) -> io::Result<Self> {
        let output = process::memory_file()?;
        let child = Command::new("ip")
            .args(["-4", "-o", "-ts", "monitor", "route"])
            .stdin(Stdio::null())
            .stdout(Stdio::from(output.try_clone()?))
            .spawn()?;
        Ok(Self { node, child, output })
    }

    /// Stores the changes, each with its time of the clock, and the routes and labels at the end.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn finish(
        mut self,
        zero: u64,
        orders: &GuestOrders,
        spaces: &NodeNamespaces,
        archive: &mut Archive,
    ) -> Result<(), String> {
        let name = &orders.nodes[self.node].name;
        let mut read = || -> io::Result<_> {
            self.child.kill()?;
            self.child.wait()?;
            let mut changes = String::new();
            self.output.rewind()?;
            self.output.read_to_string(&mut changes)?;
            let show = |family: &str| {
                let arguments = ["-f", family, "-o", "route", "show"];
                spaces.run_in_namespace(self.node, || Command::new("ip").args(arguments).output())
            };
            Ok((changes, show("inet")??, show("mpls")??))
        };
        let (changes, routes_text, labels) =
            read().map_err(|why| format!("node {name}: routes: {why}"))?;
        archive.put(format!("{name}.changes"), format!("{zero}\n{changes}"));
        archive.put(format!("{name}.routes"), routes_text.stdout);
        archive.put(format!("{name}.labels"), labels.stdout);
        Ok(())
    }
}

/// Stores the log of a daemon, if it has one.
///
/// # Errors
/// The log cannot be read.
pub fn store_daemon_log(
    daemon: &Daemon,
    orders: &GuestOrders,
    archive: &mut Archive,
) -> Result<(), String> {
    let Some(file) = &daemon.log else { return Ok(()) };
    let log = fs::read(file).map_err(|why| format!("{file}: {why}"))?;
    archive.put(format!("{}.{}.log", orders.nodes[daemon.node].name, daemon.command[0]), log);
    Ok(())
}

/// Starts a program that puts itself into the background.
fn start_daemon(command: &[String]) -> io::Result<()> {
    let mut error_output = process::memory_file()?;
    let status = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::from(error_output.try_clone()?))
        .stderr(Stdio::from(error_output.try_clone()?))
        .status()?;
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    error_output.rewind()?;
    error_output.read_to_string(&mut text)?;
    Err(io::Error::other(format!("{status}: {}", text.trim().replace('\n', "; "))))
}
