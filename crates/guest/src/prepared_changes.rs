//! Changes of routes, queues and filters during the run, as requests that are ready to be sent.
//!
//! `ip` or `tc` makes each request before the traffic begins and is ended before it sends it. A program that
//! works at the time of the change keeps an emulated processor from packets for milliseconds.

use crate::batch::{name_program, read_from_start};
use crate::netlink::Netlink;
use crate::orders::TimedChange;
use crate::sys::{process, tracing};
use std::process::{Command, Stdio};

/// The requests of the lines of one change.
#[derive(Debug)]
pub struct PreparedChange {
    socket: Netlink,
    requests: Vec<PreparedRequest>,
}

/// The request of a line.
#[derive(Debug)]
struct PreparedRequest {
    line: String,
    message: Vec<u8>,
}

impl PreparedChange {
    /// Has the requests made, in the namespace of this thread.
    ///
    /// # Errors
    /// A line that the program refuses, and its message.
    pub fn prepare(change: &TimedChange) -> Result<Self, String> {
        let socket = Netlink::open().map_err(|why| why.to_string())?;
        let requests = change.lines.iter().map(|line| make_request(change.program, line));
        Ok(Self { socket, requests: requests.collect::<Result<_, _>>()? })
    }

    /// Sends the requests, each after the answer to the one before.
    ///
    /// # Errors
    /// The first line that the kernel refuses, and why.
    pub fn send(&mut self) -> Result<(), String> {
        for PreparedRequest { line, message } in &self.requests {
            self.socket.send_message(message).map_err(|why| format!("{line}: {why}"))?;
        }
        Ok(())
    }
}

fn make_request(program: &'static str, words: &str) -> Result<PreparedRequest, String> {
    let line = format!("{program} {words}");
    let make = || -> std::io::Result<Result<Vec<u8>, String>> {
        let mut talk = process::memory_file()?;
        let (name, family) = name_program(program);
        let mut command = Command::new(name);
        command.args(family).args(words.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(talk.try_clone()?));
        let message = tracing::take_change_request(&mut command)?;
        let refusal = read_from_start(&mut talk)?;
        Ok(message.ok_or(refusal))
    };
    match make().map_err(|why| why.to_string()).and_then(|made| made) {
        Ok(message) => Ok(PreparedRequest { line, message }),
        Err(why) => Err(format!("{line}: {}", why.trim())),
    }
}
