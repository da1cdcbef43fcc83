//! A wire of our own between two network namespaces, with delay, rate, loss, duplication and reordering, and a log of what happened to
//! every packet.
//!
//! ```text
//! client's namespace ─ TUN device ─ our thread ─ TUN device ─ server's namespace
//! ```
//!
//! The kernel of the machine may have no emulation of networks, and none tells what it did to which packet. Packets over a TUN device are no
//! larger than its MTU, and have their checksums: a capture at an end has the packets that travelled.

mod capture;
mod carrier;
mod impairments;
mod log;
mod segments;
mod tun;

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

pub use capture::{Capture, Captured, Seen};
pub use impairments::Impairments;
pub use log::{Delivery, Fate, Log, Passage};
pub use segments::{DataSegment, retransmissions};

use crate::Side;
use crate::command::LIMIT;
use crate::namespace::Namespace;
use crate::servers::Unavailable;
use carrier::Carrier;

/// The name of both ends' devices.
pub const DEVICE: &str = "wire";
/// The wire. It ends when it is dropped; programs at its ends must have ended by then.
#[derive(Debug)]
pub struct Wire {
    namespaces: [Namespace; 2],
    log: Arc<Mutex<Log>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<[File; 2]>>>,
}

impl Wire {
    /// A wire that treats packets of the client and of the server like this.
    ///
    /// # Errors
    /// Without root, `ip` or TUN devices.
    pub fn start(impairments: [Impairments; 2]) -> Result<Self, Unavailable> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let open = |end: Side| tun::open(&namespaces[end as usize], &Self::address(end).to_string());
        let no_device = |_| Unavailable("needs /dev/net/tun");
        let ends = [open(Side::Client).map_err(no_device)?, open(Side::Server).map_err(no_device)?];
        let (log, stop) = (Arc::<Mutex<Log>>::default(), Arc::<AtomicBool>::default());
        let carrier = Carrier::new(ends, impairments, Arc::clone(&log), Arc::clone(&stop));
        let thread = thread::spawn(move || carrier.run());
        Ok(Self { namespaces, log, stop, thread: Some(thread) })
    }

    /// The address of an end.
    #[must_use]
    pub fn address(end: Side) -> Ipv4Addr {
        match end {
            Side::Client => Ipv4Addr::new(10, 91, 0, 1),
            Side::Server => Ipv4Addr::new(10, 91, 0, 2),
        }
    }

    /// Runs something at an end. Programs and threads that it starts stay there.
    pub fn at<T: Send>(&self, end: Side, act: impl FnOnce() -> T + Send) -> T {
        self.namespaces[end as usize].within(act)
    }

    /// tcpdump at an end, which captures by now: all packets in full, with nanoseconds.
    ///
    /// # Errors
    /// Without tcpdump.
    ///
    /// # Panics
    /// It does not capture.
    pub fn capture(&self, end: Side, file: &Path) -> Result<Capture, Unavailable> {
        Capture::start(self, end, file)
    }

    /// Waits until no packet is in transit. Returns the log so far.
    ///
    /// # Panics
    /// Packets are still in transit after [`LIMIT`].
    #[must_use]
    pub fn settled(&self) -> Log {
        let begun = Instant::now();
        loop {
            let log = self.log();
            if log.passages.iter().all(|passage| passage.deliveries.len() == passage.fate.copies()) {
                return log;
            }
            assert!(begun.elapsed() < LIMIT, "packets are still on their way after {LIMIT:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> Log {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the wire, once the packets on their way have arrived. What happened to every packet.
    ///
    /// # Panics
    /// A packet was lost before the wire took it: then the log is not all that happened.
    #[must_use]
    pub fn end(mut self) -> Log {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it was started");
        let devices = thread.join().expect("the wire does not panic").expect("the devices can be read and written");
        let overruns = self.namespaces.each_ref().map(tun::overruns);
        drop(devices);
        assert_eq!(overruns, [0; 2], "packets were lost before the wire took them: they were too many at once");
        self.log()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It has ended, or a test has failed.
        self.thread.take().map(JoinHandle::join);
    }
}
