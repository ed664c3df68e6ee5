//! Transfers that come and go: a connection each, opened at its time and freed when it is over.
//!
//! As in the simulator the last segment carries the sender's FIN, and the receiver's FIN follows when
//! all data have arrived. The kernel handles anything later (`TIME-WAIT`).

use crate::archive::Archive;
use crate::namespaces::NodeNamespaces;
use crate::orders::Transfers;
use crate::sys::socket::LastSegment;
use crate::sys::time::Waiter;
use crate::sys::{socket, time};
use crate::tcp::{check_socket_error, open_connection, open_listener, write_size, TcpInfo, ZEROS};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

const BACKLOG: i32 = 4096;
/// Time of what has not happened.
pub const UNFINISHED: u64 = u64::MAX;

/// The event that a socket waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferRole {
    /// The one that listens.
    Listener,
    /// The one that writes.
    Sender,
    /// The one that reads.
    Receiver,
}

/// One transfer that is open.
#[derive(Debug)]
struct OpenTransfer {
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    port: u16,
    chunk: usize,
    written: u64,
    read: u64,
}

/// Times of one transfer \[ns of the clock\].
#[derive(Clone, Copy, Debug)]
struct TransferResult {
    started: u64,
    arrived: u64,
    acknowledged: u64,
}

/// Sums over connections.
#[derive(Clone, Copy, Debug, Default)]
struct TransferTotals {
    sent: u64,
    retransmissions: u64,
    unacknowledged: u64,
    received: u64,
    answers: u64,
}

impl TransferTotals {
    fn from_transfer(open: &OpenTransfer) -> Self {
        Self::of_sender(&open.sender).plus(Self::of_receiver(&open.receiver))
    }

    fn of_sender(fd: &Option<OwnedFd>) -> Self {
        let info = fd.as_ref().and_then(TcpInfo::read).unwrap_or_default();
        Self {
            sent: info.word(156).into(),
            retransmissions: info.word(100).into(),
            unacknowledged: info.word(24).into(),
            ..Self::default()
        }
    }

    fn of_receiver(fd: &Option<OwnedFd>) -> Self {
        let info = fd.as_ref().and_then(TcpInfo::read).unwrap_or_default();
        Self { received: info.word(152).into(), answers: info.word(136).into(), ..Self::default() }
    }

    fn plus(self, more: Self) -> Self {
        Self {
            sent: self.sent + more.sent,
            retransmissions: self.retransmissions + more.retransmissions,
            unacknowledged: self.unacknowledged + more.unacknowledged,
            received: self.received + more.received,
            answers: self.answers + more.answers,
        }
    }
}

/// A flow under way.
#[derive(Debug)]
pub struct TransferFlow {
    orders: Transfers,
    listener: OwnedFd,
    schedule: Vec<(u64, u64)>,
    /// Transfers that are open, by number; in order, so that sums are the same each time.
    open: BTreeMap<usize, OpenTransfer>,
    by_port: BTreeMap<u16, usize>,
    fates: Vec<TransferResult>,
    closed: TransferTotals,
    read: u64,
    tallies: Vec<u8>,
}

impl TransferFlow {
    /// Opens the socket that listens; `schedule` holds records of time \[ns\] and size \[B\] (u64).
    ///
    /// # Errors
    /// The refused call.
    pub fn open(
        orders: Transfers,
        schedule: &[u8],
        spaces: &NodeNamespaces,
    ) -> Result<Self, String> {
        let id = orders.tcp.path.id;
        let listener = open_listener(&orders.tcp, spaces, BACKLOG);
        let listener = listener.map_err(|why| format!("flow {id}: {why}"))?;
        let schedule = read_schedule(schedule).map_err(|why| format!("flow {id}: {why}"))?;
        Ok(Self {
            orders,
            listener,
            schedule,
            open: BTreeMap::new(),
            by_port: BTreeMap::new(),
            fates: Vec::new(),
            closed: TransferTotals::default(),
            read: 0,
            tallies: Vec::new(),
        })
    }

    /// Step of the samples \[ns\].
    pub fn sample_ns(&self) -> u64 {
        self.orders.tcp.sample_ns
    }

    /// Number of the flow in the network.
    pub fn id(&self) -> u32 {
        self.orders.tcp.path.id
    }

    /// When the next transfer begins \[ns since time zero\].
    pub fn due(&self) -> Option<u64> {
        self.schedule.get(self.fates.len()).map(|record| record.0)
    }

    /// Waits for connections.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn watch(&self, index: usize, waiter: &Waiter) -> io::Result<()> {
        waiter.add(&self.listener, time::READABLE, token(index, 0, TransferRole::Listener))
    }

    /// Begins the next transfer.
    ///
    /// # Errors
    /// The refused call.
    pub fn start(
        &mut self,
        index: usize,
        spaces: &NodeNamespaces,
        waiter: &Waiter,
    ) -> Result<(), String> {
        let number = self.fates.len();
        let started = time::clock();
        self.fates.push(TransferResult { started, arrived: UNFINISHED, acknowledged: UNFINISHED });
        let opened = || -> io::Result<OpenTransfer> {
            let sender = open_connection(&self.orders.tcp, spaces, 0, true)?;
            waiter.add(&sender, time::WRITABLE, token(index, number, TransferRole::Sender))?;
            let port = socket::own_port(&sender)?;
            Ok(OpenTransfer {
                sender: Some(sender),
                receiver: None,
                port,
                chunk: 0,
                written: 0,
                read: 0,
            })
        };
        let open = opened().map_err(|why| format!("flow {}: {why}", self.id()))?;
        self.by_port.insert(open.port, number);
        self.open.insert(number, open);
        Ok(())
    }

    /// Handles an event of one of its sockets.
    ///
    /// # Errors
    /// Those of the kernel; a connection that breaks is a transfer that is never complete.
    pub fn on_event(
        &mut self,
        index: usize,
        number: usize,
        role: TransferRole,
        events: u32,
        waiter: &Waiter,
    ) -> io::Result<()> {
        match role {
            TransferRole::Listener => self.accept(index, waiter),
            TransferRole::Receiver => {
                self.take(number);
                Ok(())
            }
            TransferRole::Sender => self.on_sender(index, number, events, waiter),
        }
    }

    fn accept(&mut self, index: usize, waiter: &Waiter) -> io::Result<()> {
        let fd = socket::accept_from(&self.listener)?;
        let number = self.by_port.get(&socket::peer_port(&fd)?);
        if let Some((number, open)) = number.and_then(|at| Some((*at, self.open.get_mut(at)?))) {
            waiter.add(&fd, time::READABLE, token(index, number, TransferRole::Receiver))?;
            open.receiver = Some(fd);
        }
        Ok(())
    }

    /// Reads the received data; at the other end's FIN the socket is closed, which sends its own.
    fn take(&mut self, number: usize) {
        let Some(open) = self.open.get_mut(&number) else { return };
        let over = loop {
            let Some(fd) = &open.receiver else { return };
            match socket::discard(fd) {
                Ok(0) => break true,
                Ok(count) => {
                    open.read += count as u64;
                    self.read += count as u64;
                }
                Err(why) => break why.kind() != io::ErrorKind::WouldBlock,
            }
        };
        let fate = &mut self.fates[number];
        if open.read >= self.schedule[number].1 && fate.arrived == UNFINISHED {
            fate.arrived = time::clock();
        }
        if over {
            self.closed = self.closed.plus(TransferTotals::of_receiver(&open.receiver));
            open.receiver = None;
            self.forget(number);
        }
    }

    fn on_sender(
        &mut self,
        index: usize,
        number: usize,
        events: u32,
        waiter: &Waiter,
    ) -> io::Result<()> {
        let bytes = self.schedule[number].1;
        let Some(open) = self.open.get_mut(&number) else { return Ok(()) };
        let Some(sender) = &open.sender else { return Ok(()) };
        let mut over = events & time::HUNG_UP != 0;
        if events & (time::SOCKET_ERROR | time::HUNG_UP) != 0 {
            match socket::acknowledged_at(sender) {
                Some(at) => self.fates[number].acknowledged = at,
                None => over |= check_socket_error(sender).is_err(),
            }
        }
        if over {
            self.closed = self.closed.plus(TransferTotals::of_sender(&open.sender));
            open.sender = None;
            self.forget(number);
        } else if events & time::WRITABLE != 0 && open.write(bytes)? {
            let sender = open.sender.as_ref().expect("it writes");
            waiter.change(sender, 0, token(index, number, TransferRole::Sender))?;
        }
        Ok(())
    }

    fn forget(&mut self, number: usize) {
        let gone = |open: &OpenTransfer| open.sender.is_none() && open.receiver.is_none();
        if self.open.get(&number).is_some_and(gone) {
            self.open.remove(&number).map(|open| self.by_port.remove(&open.port));
        }
    }

    /// Takes a sample at a time since time zero \[ns\].
    pub fn sample(&mut self, at: u64) {
        let sum = self
            .open
            .values()
            .map(TransferTotals::from_transfer)
            .fold(self.closed, TransferTotals::plus);
        let values = [
            at,
            sum.sent,
            sum.retransmissions,
            sum.unacknowledged,
            sum.received,
            sum.answers,
            self.read,
        ];
        values.iter().for_each(|value| self.tallies.extend(value.to_le_bytes()));
    }

    /// Stores the results of the flow.
    pub fn finish(mut self, zero: u64, end: u64, archive: &mut Archive) {
        self.sample(end);
        let since = |at: u64| if at == UNFINISHED { UNFINISHED } else { at.saturating_sub(zero) };
        let mut fates = Vec::with_capacity(24 * self.fates.len());
        for fate in &self.fates {
            for at in [fate.started, fate.arrived, fate.acknowledged] {
                fates.extend(since(at).to_le_bytes());
            }
        }
        archive.put(format!("transfers-{}.bin", self.id()), fates);
        archive.put(format!("transfers-{}.tally", self.id()), self.tallies);
    }
}

impl OpenTransfer {
    /// Writes as much as the connection takes; true when all bytes are written.
    fn write(&mut self, bytes: u64) -> io::Result<bool> {
        let Some(sender) = &self.sender else { return Ok(false) };
        if self.chunk == 0 {
            self.chunk = write_size(sender);
        }
        while self.written < bytes {
            let left = bytes - self.written;
            let size = self.chunk.min(usize::try_from(left).unwrap_or(usize::MAX));
            let last = size as u64 == left;
            let ending = if last { LastSegment::Held } else { LastSegment::Fillable };
            match socket::send(sender, &ZEROS[..size], last, ending) {
                Ok(count) => self.written += count as u64,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(why) => return Err(why),
            }
        }
        socket::send_fin(sender)?;
        Ok(true)
    }
}

const TRANSFER_TOKEN_BIT: u64 = 1 << 63;

/// Token for the events of a socket: a transfer of a flow.
fn token(index: usize, number: usize, role: TransferRole) -> u64 {
    let role = match role {
        TransferRole::Listener => 0,
        TransferRole::Sender => 1,
        TransferRole::Receiver => 2,
    };
    TRANSFER_TOKEN_BIT | (index as u64) << 40 | (number as u64) << 2 | role
}

/// Flow, transfer and role of a token; none if it is not of transfers.
pub fn from_token(token: u64) -> Option<(usize, usize, TransferRole)> {
    if token & TRANSFER_TOKEN_BIT == 0 {
        return None;
    }
    let role = match token & 3 {
        0 => TransferRole::Listener,
        1 => TransferRole::Sender,
        _ => TransferRole::Receiver,
    };
    let part = |value: u64| usize::try_from(value).expect("an index of ours");
    Some((part((token & !TRANSFER_TOKEN_BIT) >> 40), part(token >> 2 & 0xffff_ffff), role))
}

/// Reads records of time \[ns\] and size \[B\] (u64), in order of time.
///
/// # Errors
/// A record that is cut off, out of order or of nothing.
pub fn read_schedule(bytes: &[u8]) -> Result<Vec<(u64, u64)>, String> {
    let records = bytes.chunks_exact(16);
    if !records.remainder().is_empty() {
        return Err("the schedule ends within a record".to_owned());
    }
    let mut schedule: Vec<(u64, u64)> = Vec::with_capacity(records.len());
    for record in records {
        let at = u64::from_le_bytes(*record.first_chunk().expect("16 bytes"));
        let bytes = u64::from_le_bytes(*record.last_chunk().expect("16 bytes"));
        if schedule.last().is_some_and(|last| at < last.0) {
            return Err(format!("the schedule goes back in time at {at} ns"));
        }
        if bytes == 0 {
            return Err(format!("a transfer of nothing at {at} ns"));
        }
        schedule.push((at, bytes));
    }
    Ok(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_back_flow_transfer_and_role() {
        for role in [TransferRole::Listener, TransferRole::Sender, TransferRole::Receiver] {
            assert_eq!(from_token(token(9, 70_000, role)), Some((9, 70_000, role)));
        }
        assert_eq!(from_token(9 << 2 | 1), None);
    }

    #[test]
    fn a_schedule_that_decreases_is_cut_off_or_empty_is_refused() {
        let records = |of: &[[u64; 2]]| -> Vec<u8> {
            of.iter().flatten().flat_map(|value| value.to_le_bytes()).collect()
        };
        let wanted = records(&[[0, 1], [5, 1 << 40]]);
        assert_eq!(read_schedule(&wanted), Ok(vec![(0, 1), (5, 1 << 40)]));
        assert!(read_schedule(&records(&[[5, 1], [4, 1]])).is_err());
        assert!(read_schedule(&records(&[[5, 0]])).is_err());
        assert!(read_schedule(&wanted[..31]).is_err());
    }
}
