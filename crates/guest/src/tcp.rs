//! TCP flows: one connection each by the kernel's own TCP, with samples of its state. It carries a bulk
//! transfer, or what an application writes to it (`application.rs`).

use crate::application::WrittenData;
use crate::archive::Archive;
use crate::namespaces::NodeNamespaces;
use crate::orders::TcpOrders;
use crate::sys::socket::LastSegment;
use crate::sys::time::Waiter;
use crate::sys::{socket, time};
use crate::udp::{set_buffer, set_marks};
use std::io;
use std::os::fd::OwnedFd;

const NODELAY: i32 = 1;
const MAXIMUM_SEGMENT: i32 = 2;
const INFO: i32 = 11;
const CONGESTION: i32 = 13;
const REUSE_ADDRESS: i32 = 2;
const TIMESTAMPING: i32 = 37;

/// The payload of all flows.
pub static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A socket that listens for connections of a flow, `backlog` at once.
///
/// # Errors
/// Those of the kernel.
pub fn open_listener(
    orders: &TcpOrders,
    spaces: &NodeNamespaces,
    backlog: i32,
) -> io::Result<OwnedFd> {
    let path = &orders.path;
    let fd =
        spaces.run_in_namespace(path.destination, || socket::inet_socket(socket::STREAM))??;
    socket::set(&fd, socket::SOCKET, REUSE_ADDRESS, 1)?;
    set_marks(&fd, path)?;
    // Both ends: a SYN of DCTCP is ECN-capable, which another listener answers by refusing ECN, and its
    // receiver echoes each mark.
    socket::set_bytes(&fd, socket::TCP, CONGESTION, orders.congestion_control.as_bytes())?;
    socket::set(&fd, socket::TCP, MAXIMUM_SEGMENT, orders.mss)?;
    if let Some(bytes) = orders.receive_buffer {
        set_buffer(&fd, 33, 8, bytes)?;
    }
    socket::bind_to(&fd, path.destination_address, path.port)?;
    socket::listen_on(&fd, backlog)?;
    Ok(fd)
}

/// A socket that connects for a flow, from a port (0: any); with `stamped` it gives the time at which
/// its last byte was acknowledged.
///
/// # Errors
/// Those of the kernel.
pub fn open_connection(
    orders: &TcpOrders,
    spaces: &NodeNamespaces,
    port: u16,
    stamped: bool,
) -> io::Result<OwnedFd> {
    let path = &orders.path;
    let fd = spaces.run_in_namespace(path.source, || socket::inet_socket(socket::STREAM))??;
    socket::set(&fd, socket::SOCKET, REUSE_ADDRESS, 1)?;
    set_marks(&fd, path)?;
    socket::set_bytes(&fd, socket::TCP, CONGESTION, orders.congestion_control.as_bytes())?;
    socket::set(&fd, socket::TCP, MAXIMUM_SEGMENT, orders.mss)?;
    socket::set(&fd, socket::TCP, NODELAY, u32::from(orders.nodelay))?;
    if let Some(bytes) = orders.send_buffer {
        set_buffer(&fd, 32, 7, bytes)?;
    }
    if stamped {
        // Software stamps, without the packet: SOF_TIMESTAMPING_SOFTWARE and OPT_TSONLY.
        socket::set(&fd, socket::SOCKET, TIMESTAMPING, 1 << 4 | 1 << 11)?;
    }
    socket::bind_to(&fd, path.source_address, port)?;
    socket::connect_to(&fd, path.destination_address, path.port)?;
    Ok(fd)
}

/// Number of zeros to write: full segments of a connection, so that no write ends in a small one.
pub fn write_size(fd: &OwnedFd) -> usize {
    let segment = TcpInfo::read(fd).map_or(1, |info| info.word(16).max(1) as usize);
    (ZEROS.len() / segment).max(1) * segment.min(ZEROS.len())
}

/// Checks whether a connection is broken.
///
/// # Errors
/// The kernel's error code.
pub fn check_socket_error(fd: &OwnedFd) -> io::Result<()> {
    let mut code = [0; 4];
    socket::get_bytes(fd, socket::SOCKET, 4, &mut code)?;
    match i32::from_ne_bytes(code) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// The event that a socket of a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketRole {
    /// The one that listens.
    Listener,
    /// The one that writes.
    Sender,
    /// The one that reads.
    Receiver,
}

/// A flow under way.
#[derive(Debug)]
pub struct TcpFlow {
    orders: TcpOrders,
    listener: OwnedFd,
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    written: u64,
    chunk: usize,
    read: u64,
    quiet: bool,
    /// Writes of an application; none: a bulk transfer.
    application: Option<WrittenData>,
    established_at: Option<u64>,
    finished_at: Option<u64>,
    samples: Vec<u8>,
    goodput: Vec<u8>,
}

impl TcpFlow {
    /// Opens the socket that listens.
    ///
    /// # Errors
    /// The refused call.
    pub fn open(orders: TcpOrders, spaces: &NodeNamespaces) -> Result<Self, String> {
        let listener = open_listener(&orders, spaces, 8)
            .map_err(|why| format!("flow {}: {why}", orders.path.id))?;
        Ok(Self {
            orders,
            listener,
            sender: None,
            receiver: None,
            written: 0,
            chunk: 0,
            read: 0,
            quiet: false,
            application: None,
            established_at: None,
            finished_at: None,
            samples: Vec::new(),
            goodput: Vec::new(),
        })
    }

    /// The orders of the flow.
    pub fn orders(&self) -> &TcpOrders {
        &self.orders
    }

    /// Waits for the connection.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn watch(&self, index: usize, waiter: &Waiter) -> io::Result<()> {
        waiter.add(&self.listener, time::READABLE, token(index, SocketRole::Listener))
    }

    /// Connects.
    ///
    /// # Errors
    /// The refused call.
    pub fn start(
        &mut self,
        index: usize,
        spaces: &NodeNamespaces,
        waiter: &Waiter,
    ) -> Result<(), String> {
        let orders = &self.orders;
        let opened = || -> io::Result<OwnedFd> {
            let fd = open_connection(orders, spaces, orders.path.port, orders.bytes.is_some())?;
            waiter.add(&fd, time::WRITABLE, token(index, SocketRole::Sender))?;
            Ok(fd)
        };
        let control = &orders.congestion_control;
        self.sender =
            Some(opened().map_err(|why| format!("flow {} ({control}): {why}", orders.path.id))?);
        Ok(())
    }

    /// Writes no more.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn stop(&mut self, index: usize, waiter: &Waiter) -> io::Result<()> {
        self.quiet = true;
        self.sender
            .as_ref()
            .map_or(Ok(()), |fd| waiter.change(fd, 0, token(index, SocketRole::Sender)))
    }

    /// An application will write; the connection opens with its first bytes.
    pub fn accept_writes(&mut self) {
        self.application = Some(WrittenData::default());
    }

    /// Whether an application writes.
    pub fn is_written(&self) -> bool {
        self.application.is_some()
    }

    /// Writes of the application that have arrived in full.
    pub fn arrived_writes(&self) -> usize {
        self.application.as_ref().map_or(0, WrittenData::arrived_writes)
    }

    /// The application writes.
    ///
    /// # Errors
    /// The refused call.
    pub fn add_write(
        &mut self,
        bytes: u64,
        index: usize,
        spaces: &NodeNamespaces,
        waiter: &Waiter,
    ) -> Result<(), String> {
        self.application.get_or_insert_default().begin_write(bytes, time::clock());
        if self.sender.is_none() {
            return self.start(index, spaces, waiter);
        }
        if self.established_at.is_none() {
            return Ok(()); // it is written once the connection is open
        }
        self.write(index, waiter).map_err(|why| format!("flow {}: {why}", self.orders.path.id))
    }

    /// Handles an event of one of its sockets.
    ///
    /// # Errors
    /// The connection broke.
    pub fn on_event(
        &mut self,
        index: usize,
        role: SocketRole,
        events: u32,
        waiter: &Waiter,
    ) -> io::Result<()> {
        match role {
            SocketRole::Listener => {
                let fd = socket::accept_from(&self.listener)?;
                waiter.add(&fd, time::READABLE, token(index, SocketRole::Receiver))?;
                self.receiver = Some(fd);
            }
            SocketRole::Receiver => {
                if let Some(fd) = &self.receiver {
                    let count = socket::discard(fd)?;
                    if count == 0 {
                        // All has arrived. Its counters are read at the end.
                        socket::send_fin(fd)?;
                        return waiter.remove(fd);
                    }
                    self.read += count as u64;
                    if let Some(application) = &mut self.application {
                        application.note_arrival(self.read, time::clock());
                    }
                }
            }
            SocketRole::Sender => {
                if events & time::SOCKET_ERROR != 0 {
                    self.on_error()?;
                }
                if events & time::HUNG_UP != 0 {
                    // Both ends have closed.
                    return self.sender.as_ref().map_or(Ok(()), |fd| waiter.remove(fd));
                }
                if events & time::WRITABLE != 0 {
                    self.write(index, waiter)?;
                }
            }
        }
        Ok(())
    }

    /// An error event is the stamp of the last acknowledgement, or the end of the connection.
    fn on_error(&mut self) -> io::Result<()> {
        let Some(fd) = &self.sender else { return Ok(()) };
        if let Some(at) = socket::acknowledged_at(fd) {
            self.finished_at = Some(at);
            return Ok(());
        }
        check_socket_error(fd)
    }

    fn write(&mut self, index: usize, waiter: &Waiter) -> io::Result<()> {
        let Some(fd) = &self.sender else { return Ok(()) };
        if self.established_at.is_none() {
            self.established_at = Some(time::clock());
            self.chunk = write_size(fd);
        }
        while !self.quiet {
            let (end, ending) = match &self.application {
                Some(application) => (application.end_of_write(self.written), LastSegment::Own),
                None => (self.orders.bytes, LastSegment::Held),
            };
            if self.application.is_some() && end.is_none() {
                break; // until the next write
            }
            let left = end.map_or(u64::MAX, |end| end - self.written);
            let size = self.chunk.min(usize::try_from(left).unwrap_or(usize::MAX));
            let is_last = size as u64 == left;
            let ending = if is_last { ending } else { LastSegment::Fillable };
            let stamped = is_last && self.application.is_none();
            match socket::send(fd, &ZEROS[..size], stamped, ending) {
                Ok(count) => self.written += count as u64,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    // A bulk transfer waits for nothing else.
                    let events = token(index, SocketRole::Sender);
                    return match self.application {
                        Some(_) => waiter.change(fd, time::WRITABLE, events),
                        None => Ok(()),
                    };
                }
                Err(why) => return Err(why),
            }
            self.quiet = Some(self.written) == self.orders.bytes;
            if self.quiet && self.application.is_none() {
                socket::send_fin(fd)?;
            }
        }
        waiter.change(fd, 0, token(index, SocketRole::Sender))
    }

    /// Takes a sample at a time since time zero \[ns\].
    pub fn sample(&mut self, at: u64) {
        if let Some(info) = self.sender.as_ref().and_then(TcpInfo::read) {
            self.samples.extend(at.to_le_bytes());
            for value in [
                info.word(80),        // snd_cwnd
                info.word(76),        // snd_ssthresh
                info.word(68),        // rtt
                info.word(100),       // total_retrans
                info.word(24),        // unacked
                info.word(32),        // lost
                u32::from(info.0[1]), // ca_state
                info.word(8),         // rto
            ] {
                self.samples.extend(value.to_le_bytes());
            }
            self.samples.extend(self.count_acknowledged(&info).to_le_bytes());
            self.samples.extend(u64::from(info.word(156)).to_le_bytes());
            for value in [info.word(28), info.word(36)] {
                self.samples.extend(value.to_le_bytes()); // sacked, retrans
            }
            let pace = u64::from(info.word(108)) << 32 | u64::from(info.word(104));
            self.samples.extend(pace.to_le_bytes()); // pacing_rate
        }
        self.goodput.extend(at.to_le_bytes());
        self.goodput.extend(self.read.to_le_bytes());
    }

    /// Counts the acknowledged bytes; the kernel's number has one for the SYN and one for a FIN.
    fn count_acknowledged(&self, info: &TcpInfo) -> u64 {
        info.acknowledged().min(self.orders.bytes.unwrap_or(u64::MAX))
    }

    /// Stores the results of the flow.
    pub fn finish(self, zero: u64, archive: &mut Archive) {
        let since = |at: Option<u64>| {
            at.map_or("null".to_owned(), |at| at.saturating_sub(zero).to_string())
        };
        let sender = self.sender.as_ref().and_then(TcpInfo::read).unwrap_or_default();
        let receiver = self.receiver.as_ref().and_then(TcpInfo::read).unwrap_or_default();
        let totals = format!(
            "{{\"acked_bytes\":{},\"data_segments_received\":{},\"data_segments_sent\":{},\
             \"established_ns\":{},\"finished_ns\":{},\"received_bytes\":{},\
             \"receiver_segments_sent\":{},\"retransmitted_segments\":{},\
             \"unacked_segments\":{}}}\n",
            self.count_acknowledged(&sender),
            receiver.word(152),
            sender.word(156),
            since(self.established_at),
            since(self.finished_at),
            self.read,
            receiver.word(136),
            sender.word(100),
            sender.word(24),
        );
        let id = self.orders.path.id;
        archive.put(format!("tcp-{id}.json"), totals);
        archive.put(format!("tcp-{id}.bin"), self.samples);
        archive.put(format!("tcp-{id}.goodput"), self.goodput);
        if let Some(application) = self.application {
            archive.put(format!("transfers-{id}.bin"), application.to_records(zero));
        }
    }
}

/// Token for the events of a flow's socket.
fn token(index: usize, role: SocketRole) -> u64 {
    let role = match role {
        SocketRole::Listener => 0,
        SocketRole::Sender => 1,
        SocketRole::Receiver => 2,
    };
    (index as u64) << 2 | role
}

/// Flow and role of a token.
pub fn from_token(token: u64) -> (usize, SocketRole) {
    let role = match token & 3 {
        0 => SocketRole::Listener,
        1 => SocketRole::Sender,
        _ => SocketRole::Receiver,
    };
    (usize::try_from(token >> 2).expect("an index of ours"), role)
}

/// `struct tcp_info` of `linux/tcp.h`, read by the places of its fields, which never change.
pub struct TcpInfo([u8; 256]);

impl Default for TcpInfo {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl TcpInfo {
    /// The kernel's state of a connection.
    pub fn read(fd: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; 256];
        socket::get_bytes(fd, socket::TCP, INFO, &mut bytes).ok().map(|_| Self(bytes))
    }

    /// The number at a place.
    pub fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("4 bytes"))
    }

    /// Bytes acknowledged. The kernel counts the SYN of the connecting side as one.
    fn acknowledged(&self) -> u64 {
        let bytes = u64::from(self.word(124)) << 32 | u64::from(self.word(120));
        bytes.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_back_flow_and_role() {
        for role in [SocketRole::Listener, SocketRole::Sender, SocketRole::Receiver] {
            assert_eq!(from_token(token(9, role)), (9, role));
        }
    }
}
