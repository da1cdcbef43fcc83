//! The ring of blocks that the kernel fills with packets.
//!
//! A block belongs either to the kernel or to this program, and its status says to which. This file contains the shared memory;
//! `block.rs` reads the bytes in a block.
//!
//! Spec: Linux' Documentation/networking/packet_mmap.rst, TPACKET_V3

use std::ffi::c_uint;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use super::block::STATUS_AT;
use super::socket::PacketSocket;

/// Bytes in a block: several of the largest packets (256 KiB).
const BLOCK_BYTES: usize = 1 << 20;
/// A block that has a packet is handed over after this time at the latest, in milliseconds, however empty it is.
pub(super) const BLOCK_TIMEOUT_MS: c_uint = 50;
/// Frame size that the kernel requires, bytes, although blocks contain packets of any length.
const FRAME_BYTES: usize = 2_048;

/// How large a ring is.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingLayout {
    blocks: usize,
}

impl RingLayout {
    /// A ring of at least `bytes` bytes, rounded up to whole blocks.
    pub(super) fn of(bytes: usize) -> Self {
        Self { blocks: bytes.div_ceil(BLOCK_BYTES).max(2) }
    }

    fn bytes(self) -> usize {
        self.blocks * BLOCK_BYTES
    }

    pub(super) fn request(self) -> libc::tpacket_req3 {
        libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as c_uint,
            tp_block_nr: self.blocks as c_uint,
            tp_frame_size: FRAME_BYTES as c_uint,
            tp_frame_nr: (self.bytes() / FRAME_BYTES) as c_uint,
            tp_retire_blk_tov: BLOCK_TIMEOUT_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        }
    }
}

/// The ring in memory.
#[derive(Debug)]
pub(super) struct Ring {
    memory: MmapRaw,
    layout: RingLayout,
    /// The block that is read next.
    next: usize,
}

impl Ring {
    /// Maps the ring that the socket has been given.
    pub(super) fn map(socket: &PacketSocket, layout: RingLayout) -> io::Result<Self> {
        use std::os::fd::AsFd;
        let memory = MmapOptions::new().len(layout.bytes()).map_raw(socket.as_fd().as_raw_fd())?;
        Ok(Self { memory, layout, next: 0 })
    }

    /// How many blocks wait to be read.
    pub(super) fn ready(&self) -> usize {
        let blocks = self.layout.blocks;
        (0..blocks).take_while(|ahead| self.is_ours((self.next + ahead) % blocks)).count()
    }

    /// The next block, if the kernel has handed it over.
    pub(super) fn block(&self) -> Option<&[u8]> {
        if !self.is_ours(self.next) {
            return None;
        }
        // SAFETY: the block lies in the map, and the kernel, which has handed it over, writes nothing in it until `release`, which takes
        // `self` mutably and so ends this borrow.
        Some(unsafe { std::slice::from_raw_parts(self.start(self.next), BLOCK_BYTES) })
    }

    /// Gives the block back that was read.
    pub(super) fn release(&mut self) {
        self.status(self.next).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.layout.blocks;
    }

    fn is_ours(&self, block: usize) -> bool {
        // Acquire: the kernel's writes before it handed over the block are visible after this.
        self.status(block).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    fn start(&self, block: usize) -> *mut u8 {
        debug_assert!(block < self.layout.blocks);
        // SAFETY: `block` is below the number of blocks, all of which lie in the map.
        unsafe { self.memory.as_mut_ptr().add(block * BLOCK_BYTES) }
    }

    fn status(&self, block: usize) -> &AtomicU32 {
        // SAFETY: the status lies in the block, is aligned to 4 bytes, as blocks are to pages, and is only accessed atomically: also
        // by the kernel. A slice of the block is never written through, nor read here.
        unsafe { AtomicU32::from_ptr(self.start(block).add(STATUS_AT).cast()) }
    }
}
