//! The orders of a guest: a text of one order a line, words separated by spaces.
//!
//! No order holds a name that a user wrote. The host writes the text from its plan; tests run it to
//! check both sides against each other.

use std::net::Ipv4Addr;
use std::str::{FromStr, SplitWhitespace};

/// Version of the text, in its first line.
pub const FORMAT: u32 = 1;

/// A namespace and the orders in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name: `n0`, `n1`, ...
    pub name: String,
    /// Keys below `/proc/sys` and their values.
    pub sysctls: Vec<(String, String)>,
    /// Lines for `ip -batch`.
    pub ip: Vec<String>,
    /// Lines for `ip -f mpls -batch`.
    pub mpls: Vec<String>,
    /// Lines for `tc -batch`.
    pub tc: Vec<String>,
}

/// One end of a link.
#[derive(Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Index of its node.
    pub node: usize,
    /// Name of its device.
    pub device: String,
    /// MAC address.
    pub mac: [u8; 6],
}

/// Where a flow's two sockets are and how its packets are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPath {
    /// Number in the network.
    pub id: u32,
    /// Index of the sending node.
    pub source: usize,
    /// Index of the receiving node.
    pub destination: usize,
    /// Address the sender binds to.
    pub source_address: Ipv4Addr,
    /// Address the receiver binds to.
    pub destination_address: Ipv4Addr,
    /// Port of both ends.
    pub port: u16,
    /// TOS byte.
    pub tos: u8,
    /// Time to live.
    pub ttl: u8,
}

/// Datagrams at given times.
#[derive(Debug, PartialEq, Eq)]
pub struct Udp {
    /// Its sockets.
    pub path: SocketPath,
    /// File of its schedule.
    pub schedule: String,
}

/// A bulk transfer.
#[derive(Debug, PartialEq, Eq)]
pub struct TcpOrders {
    /// Its sockets.
    pub path: SocketPath,
    /// When it connects \[ns\].
    pub start_ns: u64,
    /// When it writes no more \[ns\].
    pub stop_ns: Option<u64>,
    /// Maximum number of bytes it writes \[B\].
    pub bytes: Option<u64>,
    /// `TCP_CONGESTION`.
    pub congestion_control: String,
    /// `TCP_MAXSEG` \[B\].
    pub mss: u32,
    /// `SO_SNDBUF` \[B\].
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` \[B\].
    pub receive_buffer: Option<u32>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// Step of its samples \[ns\].
    pub sample_ns: u64,
}

/// Transfers at given times, a connection each.
#[derive(Debug, PartialEq, Eq)]
pub struct Transfers {
    /// File of its schedule.
    pub schedule: String,
    /// Options of all connections; the sender's port is any.
    pub tcp: TcpOrders,
}

/// Writes of an application over the one connection of a TCP flow, at given times.
#[derive(Debug, PartialEq, Eq)]
pub struct Writes {
    /// Place of the flow among those of TCP.
    pub flow: usize,
    /// File of its schedule.
    pub schedule: String,
}

/// Requests over the connection of one TCP flow, and answers over that of another.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Place of the flow of requests among those of TCP.
    pub requests: usize,
    /// Place of the flow of answers.
    pub answers: usize,
    /// File of its steps.
    pub schedule: String,
}

/// A device whose queues are read in steps.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// Index of its node.
    pub node: usize,
    /// Its device.
    pub device: String,
    /// Step \[ns, > 0\].
    pub step_ns: u64,
}

/// A device whose queues are read once.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// When \[ns\].
    pub at_ns: u64,
    /// Index of its node.
    pub node: usize,
    /// Its device.
    pub device: String,
}

/// A change in a node during the run, by one program.
#[derive(Debug, PartialEq, Eq)]
pub struct TimedChange {
    /// When \[ns\].
    pub at_ns: u64,
    /// Index of its node.
    pub node: usize,
    /// `ip`, `mpls` or `tc`.
    pub program: &'static str,
    /// Its lines.
    pub lines: Vec<String>,
}

/// A program that runs with the experiment, in a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Daemon {
    /// Index of its node.
    pub node: usize,
    /// File that it writes, to hand back; none: nothing.
    pub log: Option<String>,
    /// Program and arguments; it ends when its background process, or its work, is ready.
    pub command: Vec<String>,
}

/// Everything the guest has to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GuestOrders {
    /// Of the guest's random numbers.
    pub seed: u64,
    /// Length of the run \[ns\].
    pub duration_ns: u64,
    /// From the start of the daemons to time zero \[ns\].
    pub settle_ns: u64,
    /// Namespaces.
    pub nodes: Vec<Node>,
    /// Pairs of ends.
    pub links: Vec<(LinkEnd, LinkEnd)>,
    /// UDP flows.
    pub udp: Vec<Udp>,
    /// TCP flows.
    pub tcp: Vec<TcpOrders>,
    /// Transfers.
    pub transfers: Vec<Transfers>,
    /// Applications that write over connections of `tcp`.
    pub writes: Vec<Writes>,
    /// Requests and answers over connections of `tcp`.
    pub exchanges: Vec<Exchange>,
    /// Devices read in steps.
    pub samples: Vec<QueueSample>,
    /// Devices read once.
    pub counts: Vec<QueueCount>,
    /// Changes during the run; those of one time in this order, after the counts.
    pub changes: Vec<TimedChange>,
    /// When all statistics are read \[ns\].
    pub snapshots: Vec<u64>,
    /// Started in this order before time zero.
    pub daemons: Vec<Daemon>,
}

impl GuestOrders {
    /// Reads the text.
    ///
    /// # Errors
    /// The line that is no order, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(&format!("trunkline {FORMAT}")) {
            return Err(format!("these orders are not of format {FORMAT}"));
        }
        let mut orders = Self::default();
        for (number, line) in lines.enumerate() {
            orders.take(line).map_err(|why| format!("order {}: {why}: {line}", number + 2))?;
        }
        Ok(orders)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').ok_or("one word")?;
        let mut words = WordReader(rest.split_whitespace());
        match word {
            "seed" => self.seed = words.number()?,
            "duration" => self.duration_ns = words.number()?,
            "node" => self.nodes.push(Node { name: words.word()?, ..Node::default() }),
            "sysctl" => {
                let (key, value) = rest.split_once(' ').ok_or("no value")?;
                self.last()?.sysctls.push((key.to_owned(), value.to_owned()));
            }
            "ip" => self.last()?.ip.push(rest.to_owned()),
            "mpls" => self.last()?.mpls.push(rest.to_owned()),
            "tc" => self.last()?.tc.push(rest.to_owned()),
            "link" => {
                let ends = (self.end(&mut words)?, self.end(&mut words)?);
                self.links.push(ends);
            }
            "udp" => {
                let path = self.path(&mut words)?;
                self.udp.push(Udp { path, schedule: words.word()? });
            }
            "tcp" => {
                let flow = self.tcp(&mut words)?;
                self.tcp.push(flow);
            }
            "transfers" => {
                let schedule = words.word()?;
                let tcp = self.tcp(&mut words)?;
                self.transfers.push(Transfers { schedule, tcp });
            }
            "writes" => {
                let flow = self.tcp_flow(&mut words)?;
                self.writes.push(Writes { flow, schedule: words.word()? });
            }
            "exchange" => {
                let (requests, answers) = (self.tcp_flow(&mut words)?, self.tcp_flow(&mut words)?);
                self.exchanges.push(Exchange { requests, answers, schedule: words.word()? });
            }
            "sample" => {
                let node = self.node(&mut words)?;
                let (device, step_ns) = (words.word()?, words.number()?);
                if step_ns == 0 {
                    return Err("a step of zero".to_owned());
                }
                self.samples.push(QueueSample { node, device, step_ns });
            }
            "count" => {
                let (at_ns, node) = (words.number()?, self.node(&mut words)?);
                self.counts.push(QueueCount { at_ns, node, device: words.word()? });
            }
            "change" => self.change(rest)?,
            "snapshot" => self.snapshots.push(words.number()?),
            "settle" => self.settle_ns = words.number()?,
            "daemon" => {
                let (node, log) = (self.node(&mut words)?, words.option()?);
                let command: Vec<String> = words.0.map(str::to_owned).collect();
                if command.is_empty() {
                    return Err("no program".to_owned());
                }
                self.daemons.push(Daemon { node, log, command });
            }
            _ => return Err("no such order".to_owned()),
        }
        Ok(())
    }

    /// One line more for the change before it, if that is of the same time, node and program.
    fn change(&mut self, rest: &str) -> Result<(), String> {
        let parts: Vec<&str> = rest.splitn(4, ' ').collect();
        let [at, node, program, line] = parts[..] else { return Err("too few words".to_owned()) };
        let at_ns = at.parse().map_err(|_| format!("{at} is out of place"))?;
        let node = self.node(&mut WordReader(node.split_whitespace()))?;
        let program = ["ip", "mpls", "tc"].into_iter().find(|&known| known == program);
        let program = program.ok_or("no such program")?;
        match self.changes.last_mut() {
            Some(last) if (last.at_ns, last.node, last.program) == (at_ns, node, program) => {
                last.lines.push(line.to_owned());
            }
            _ => self.changes.push(TimedChange {
                at_ns,
                node,
                program,
                lines: vec![line.to_owned()],
            }),
        }
        Ok(())
    }

    fn last(&mut self) -> Result<&mut Node, String> {
        self.nodes.last_mut().ok_or_else(|| "before any node".to_owned())
    }

    fn node(&self, words: &mut WordReader<'_>) -> Result<usize, String> {
        let name = words.word()?;
        let found = self.nodes.iter().position(|node| node.name == name);
        found.ok_or_else(|| format!("no node {name}"))
    }

    fn tcp_flow(&self, words: &mut WordReader<'_>) -> Result<usize, String> {
        let id: u32 = words.number()?;
        let found = self.tcp.iter().position(|flow| flow.path.id == id);
        found.ok_or_else(|| format!("no TCP flow {id}"))
    }

    fn end(&self, words: &mut WordReader<'_>) -> Result<LinkEnd, String> {
        let (node, device) = (self.node(words)?, words.word()?);
        let mut mac = [0; 6];
        let text = words.word()?;
        let mut parts = text.split(':');
        for byte in &mut mac {
            let part = parts.next().unwrap_or_default();
            *byte =
                u8::from_str_radix(part, 16).map_err(|_| format!("{text} is no MAC address"))?;
        }
        Ok(LinkEnd { node, device, mac })
    }

    fn path(&self, words: &mut WordReader<'_>) -> Result<SocketPath, String> {
        Ok(SocketPath {
            id: words.number()?,
            source: self.node(words)?,
            destination: self.node(words)?,
            source_address: words.number()?,
            destination_address: words.number()?,
            port: words.number()?,
            tos: words.number()?,
            ttl: words.number()?,
        })
    }

    fn tcp(&self, words: &mut WordReader<'_>) -> Result<TcpOrders, String> {
        let flow = TcpOrders {
            path: self.path(words)?,
            start_ns: words.number()?,
            stop_ns: words.option()?,
            bytes: words.option()?,
            congestion_control: words.word()?,
            mss: words.number()?,
            send_buffer: words.option()?,
            receive_buffer: words.option()?,
            nodelay: words.number()?,
            sample_ns: words.number()?,
        };
        if flow.sample_ns == 0 {
            return Err("a step of zero".to_owned());
        }
        Ok(flow)
    }
}

struct WordReader<'a>(SplitWhitespace<'a>);

impl WordReader<'_> {
    fn word(&mut self) -> Result<String, String> {
        self.0.next().map(str::to_owned).ok_or_else(|| "too few words".to_owned())
    }

    fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word} is out of place"))
    }

    /// A number, or `-` for none.
    fn option<T: FromStr>(&mut self) -> Result<Option<T>, String> {
        let word = self.word()?;
        if word == "-" {
            return Ok(None);
        }
        word.parse().map(Some).map_err(|_| format!("{word} is out of place"))
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
