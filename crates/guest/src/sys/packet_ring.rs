//! A ring in memory into which the kernel writes the headers of the packets that come to a node.

use super::{check, length, owned, socket, NONBLOCK_CLOEXEC};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::raw::{c_int, c_uint, c_void};
use std::sync::atomic::{fence, Ordering};

const AF_PACKET: c_int = 17;
const SOL_PACKET: c_int = 263;
const RX_RING: c_int = 5;
const STATISTICS: c_int = 6;
const VERSION: c_int = 10;
const ATTACH_FILTER: c_int = 26;
/// `TPACKET_V2`.
const SECOND_VERSION: u32 = 1;
/// IP, in network order.
const IP_PROTOCOL: c_int = 0x0008;
/// Of a packet [B]: two headers without options, to the flags of TCP.
const HEADER_BYTES: usize = 40;
const FRAME_BYTES: usize = 128;
const FRAMES: usize = 4096;
const BLOCK_BYTES: usize = 1 << 16;
/// Where in a frame (`tpacket2_hdr`) the kernel says where the IP header begins; whose the frame is
/// comes first.
const NETWORK_AT: usize = 14;

#[repr(C)]
struct FilterProgram {
    length: u16,
    instructions: *const [u32; 2],
}

unsafe extern "C" {
    #[link_name = "socket"]
    fn open_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: c_uint)
        -> c_int;
    fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
}

/// The ring of one namespace: TCP segments that come to it, for itself or for others.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    frames: *mut u8,
    next: usize,
    missed: u64,
}

impl PacketRing {
    /// The ring of this thread's namespace.
    ///
    /// # Errors
    /// The refused call.
    pub fn open() -> io::Result<Self> {
        // Without the protocol nothing comes before filter and ring are there. All devices of the
        // namespace: with one device alone the kernel would hand the packet to IP first, as a clone.
        // SAFETY: it takes numbers only.
        let fd = owned(unsafe {
            open_socket(AF_PACKET, socket::DATAGRAM | NONBLOCK_CLOEXEC, IP_PROTOCOL)
        })?;
        // Load the protocol of the IP header; TCP: the first bytes; else none.
        let filter: [[u32; 2]; 4] = [
            [0x30, 9],
            [0x15 | 1 << 24, socket::TCP as u32],
            [0x06, HEADER_BYTES as u32],
            [0x06, 0],
        ];
        let program = FilterProgram { length: 4, instructions: filter.as_ptr() };
        let program_at: *const FilterProgram = &program;
        // SAFETY: program and instructions live through the call; the kernel copies them.
        check(unsafe {
            setsockopt(
                fd.as_raw_fd(),
                socket::SOCKET,
                ATTACH_FILTER,
                program_at.cast(),
                length::<FilterProgram>(),
            )
        })?;
        socket::set(&fd, SOL_PACKET, VERSION, SECOND_VERSION)?;
        let bytes = FRAMES * FRAME_BYTES;
        let request = [BLOCK_BYTES, bytes / BLOCK_BYTES, FRAME_BYTES, FRAMES];
        let request: Vec<u8> =
            request.iter().flat_map(|&number| (number as u32).to_ne_bytes()).collect();
        socket::set_bytes(&fd, SOL_PACKET, RX_RING, &request)?;
        const READ_WRITE: c_int = 3;
        const SHARED: c_int = 1;
        // SAFETY: a new mapping of the whole ring; nobody else has it.
        let frames =
            unsafe { mmap(std::ptr::null_mut(), bytes, READ_WRITE, SHARED, fd.as_raw_fd(), 0) };
        if frames as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket: fd, frames: frames.cast(), next: 0, missed: 0 })
    }

    /// Calls `take` with the first bytes of each segment that has come.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        loop {
            // SAFETY: the frame lies in the mapping, which lives as long as this ring.
            let frame = unsafe { self.frames.add(self.next * FRAME_BYTES) };
            // SAFETY: the status is an aligned number, which the kernel writes last.
            let status = unsafe { frame.cast::<u32>().read_volatile() };
            if status & 1 == 0 {
                return;
            }
            fence(Ordering::Acquire);
            // SAFETY: until the status is 0 again the frame is ours.
            let bytes = unsafe { std::slice::from_raw_parts(frame, FRAME_BYTES) };
            let at = u16::from_ne_bytes([bytes[NETWORK_AT], bytes[NETWORK_AT + 1]]);
            take(bytes.get(usize::from(at)..).unwrap_or(&[]));
            fence(Ordering::Release);
            // SAFETY: as above; it gives the frame back.
            unsafe { frame.cast::<u32>().write_volatile(0) };
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Segments that found the ring full, so far.
    pub fn count_missed(&mut self) -> io::Result<u64> {
        let mut counts = [0; 8];
        socket::get_bytes(&self.socket, SOL_PACKET, STATISTICS, &mut counts)?;
        self.missed += u64::from(u32::from_ne_bytes(counts[4..].try_into().expect("4 bytes")));
        Ok(self.missed)
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's, and nobody has a part of it any more.
        unsafe { munmap(self.frames.cast(), FRAMES * FRAME_BYTES) };
    }
}
