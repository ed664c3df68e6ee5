//! UDP flows: datagrams at the times of a schedule, and a log of those that arrive.

use crate::archive::Archive;
use crate::namespaces::NodeNamespaces;
use crate::orders::{SocketPath, Udp};
use crate::sys::socket;
use std::io;
use std::os::fd::OwnedFd;

/// A payload begins with flow (u32), sequence number (u32) and time of sending (u64).
const HEAD_BYTES: u32 = 16;
const TOS: i32 = 1;
const TTL: i32 = 2;
const MTU_DISCOVER: i32 = 10;
/// Packets leave with DF, whatever path MTU ICMP reports: no router fragments them.
const MTU_DISCOVER_PROBE: u32 = 3;
const TTL_OF_ARRIVALS: i32 = 12;
const TOS_OF_ARRIVALS: i32 = 13;
const RECEIVE_BUFFER_FORCED: i32 = 33;
const SEND_BUFFER_FORCED: i32 = 32;
const RECEIVE_BUFFER: i32 = 8;
const SEND_BUFFER: i32 = 7;
const TIMESTAMP_NS: i32 = 35;

/// A flow under way.
#[derive(Debug)]
pub struct UdpFlow {
    path: SocketPath,
    sender: OwnedFd,
    receiver: OwnedFd,
    schedule: Vec<(u64, u32)>,
    next: usize,
    sent: u32,
    log: Vec<u8>,
}

/// Sets the size of a socket's buffer, beyond the system's limit where that is allowed.
pub fn set_buffer(fd: &OwnedFd, forced: i32, plain: i32, bytes: u32) -> io::Result<()> {
    socket::set(fd, socket::SOCKET, forced, bytes)
        .or_else(|_| socket::set(fd, socket::SOCKET, plain, bytes))
}

/// Sets how a socket's packets are marked.
pub fn set_marks(fd: &OwnedFd, path: &SocketPath) -> io::Result<()> {
    socket::set(fd, socket::IP, TOS, u32::from(path.tos))?;
    socket::set(fd, socket::IP, TTL, u32::from(path.ttl))
}

impl UdpFlow {
    /// Opens a flow's sockets; `schedule` holds its records of time \[ns\] (u64) and payload \[B\]
    /// (u32).
    ///
    /// # Errors
    /// The refused call.
    pub fn open(orders: Udp, schedule: &[u8], spaces: &NodeNamespaces) -> Result<Self, String> {
        let path = orders.path;
        let opened = || -> io::Result<(OwnedFd, OwnedFd)> {
            let sender = spaces
                .run_in_namespace(path.source, || socket::inet_socket(socket::DATAGRAM))??;
            set_marks(&sender, &path)?;
            socket::set(&sender, socket::IP, MTU_DISCOVER, MTU_DISCOVER_PROBE)?;
            set_buffer(&sender, SEND_BUFFER_FORCED, SEND_BUFFER, 16 << 20)?;
            socket::bind_to(&sender, path.source_address, path.port)?;
            let receiver = spaces
                .run_in_namespace(path.destination, || socket::inet_socket(socket::DATAGRAM))??;
            set_buffer(&receiver, RECEIVE_BUFFER_FORCED, RECEIVE_BUFFER, 64 << 20)?;
            socket::set(&receiver, socket::SOCKET, TIMESTAMP_NS, 1)?;
            socket::set(&receiver, socket::IP, TOS_OF_ARRIVALS, 1)?;
            socket::set(&receiver, socket::IP, TTL_OF_ARRIVALS, 1)?;
            socket::bind_to(&receiver, path.destination_address, path.port)?;
            Ok((sender, receiver))
        };
        let (sender, receiver) = opened().map_err(|why| format!("flow {}: {why}", path.id))?;
        let schedule = read_schedule(schedule).map_err(|why| format!("flow {}: {why}", path.id))?;
        Ok(Self { path, sender, receiver, schedule, next: 0, sent: 0, log: Vec::new() })
    }

    /// When the next datagram is due \[ns since time zero\].
    pub fn due(&self) -> Option<u64> {
        self.schedule.get(self.next).map(|record| record.0)
    }

    /// Sends the next datagram; `payload` is at least as large as any of the schedule's.
    pub fn send(&mut self, payload: &mut [u8]) {
        let (at, bytes) = self.schedule[self.next];
        let number = u32::try_from(self.next).expect("a schedule has below 2**32 records");
        self.next += 1;
        payload[..4].copy_from_slice(&self.path.id.to_le_bytes());
        payload[4..8].copy_from_slice(&number.to_le_bytes());
        payload[8..16].copy_from_slice(&at.to_le_bytes());
        let (to, port) = (self.path.destination_address, self.path.port);
        let sent = socket::send_to(&self.sender, &payload[..bytes as usize], to, port);
        // A local queue that is full drops the packet, which the queue counts.
        self.sent += u32::from(sent.is_ok());
    }

    /// Logs the datagrams that have arrived; `zero` is the clock at time zero, arrivals later than
    /// `until` are left out.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn drain(&mut self, zero: u64, until: u64) -> io::Result<()> {
        let Self { path, log, .. } = self;
        loop {
            let count = socket::receive(&self.receiver, |arrival| {
                let received = arrival.at.saturating_sub(zero);
                if arrival.head[..4] != path.id.to_le_bytes() || received > until {
                    return;
                }
                log.extend_from_slice(&arrival.head[4..8]);
                log.extend_from_slice(&[arrival.tos, arrival.ttl, 0, 0]);
                log.extend_from_slice(&arrival.head[8..16]);
                log.extend_from_slice(&received.to_le_bytes());
            })?;
            if count == 0 {
                return Ok(());
            }
        }
    }

    /// Stores the results of the flow.
    pub fn finish(self, archive: &mut Archive) {
        archive.put(format!("udp-{}.sent", self.path.id), format!("{}\n", self.sent));
        archive.put(format!("udp-{}.bin", self.path.id), self.log);
    }
}

fn read_schedule(bytes: &[u8]) -> Result<Vec<(u64, u32)>, String> {
    let records = bytes.chunks_exact(12);
    if !records.remainder().is_empty() {
        return Err("the schedule ends within a record".to_owned());
    }
    let mut schedule = Vec::with_capacity(records.len());
    let mut last = 0;
    for record in records {
        let at = u64::from_le_bytes(*record.first_chunk().expect("12 bytes"));
        let bytes = u32::from_le_bytes(*record.last_chunk().expect("12 bytes"));
        if at < last {
            return Err(format!("the schedule goes back in time at {at} ns"));
        }
        if !(HEAD_BYTES..=65_507).contains(&bytes) {
            return Err(format!("a payload of {bytes} bytes; it takes 16 to 65507"));
        }
        last = at;
        schedule.push((at, bytes));
    }
    Ok(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(of: &[(u64, u32)]) -> Vec<u8> {
        of.iter()
            .flat_map(|(at, bytes)| [&at.to_le_bytes()[..], &bytes.to_le_bytes()[..]].concat())
            .collect()
    }

    #[test]
    fn a_schedule_is_read_in_its_order() {
        let wanted = [(0, 16), (1_000_000, 1472), (1_000_000, 65_507)];
        assert_eq!(read_schedule(&records(&wanted)).expect("it is in order"), wanted);
    }

    #[test]
    fn a_schedule_that_decreases_is_cut_off_or_has_no_room_is_refused() {
        assert!(read_schedule(&records(&[(5, 16), (4, 16)])).is_err());
        assert!(read_schedule(&records(&[(5, 16)])[..11]).is_err());
        assert!(read_schedule(&records(&[(5, 15)])).is_err());
    }
}
