//! An NFS server whose response times are known beforehand: it answers when its script says, to a few microseconds.
//!
//! It answers MOUNT's NULL, MNT, UMNT and EXPORT and NFS's FSINFO, FSSTAT, PATHCONF and COMMIT at once, and NFS's NULL,
//! GETATTR, ACCESS, LOOKUP and READ, the *timed* calls, when the script says. There is one directory, and every name in it
//! is a file of [`FILE_SIZE`] zeros. Everything is on one port.

mod answers;
mod latency;
mod machine;
mod offline;
mod schedule;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use latency::{Draw, Latency};
pub use machine::Answered;
pub use offline::Offline;
pub use schedule::{Service, Stalls, queued_exponential, stalled};

use machine::Machine;
use schedule::Schedule;

/// Bytes of the file: more than any test reads.
pub const FILE_SIZE: u64 = 1 << 40;
/// The export; any other is refused.
pub const EXPORT: &str = "/scripted";

/// What the server does with timed calls.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// How long each takes.
    pub latency: Latency,
    /// How these times are drawn.
    pub draw: Draw,
    /// Whether calls wait for each other.
    pub service: Service,
    /// When nothing is answered at all.
    pub stalls: Option<Stalls>,
    /// What is treated otherwise than all else.
    pub odd: Oddities,
    /// The same seed, the same times, in the order in which calls arrive.
    pub seed: u64,
}

/// What a server treats otherwise than all else. A file is known by the number that its name ends in: a client that works on a
/// file of its own is known by that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oddities {
    /// READs of so many bytes, and no others, take so many times as long.
    pub slow_size: Option<(u32, f64)>,
    /// Calls on the file of this number take so many times as long.
    pub unfair_file: Option<(u16, f64)>,
    /// Of the calls on the file of this number, one in so many is never answered.
    pub lossy_file: Option<(u16, u32)>,
}

impl Oddities {
    /// All alike.
    pub const NONE: Self = Self { slow_size: None, unfair_file: None, lossy_file: None };
}

impl Script {
    /// Each call answered after its own time, whatever others do.
    #[must_use]
    pub fn parallel(latency: Latency) -> Self {
        Self { latency, draw: Draw::Stratified, service: Service::Parallel, stalls: None, odd: Oddities::NONE, seed: 1 }
    }

    /// One call at a time, in the order in which they arrive.
    #[must_use]
    pub fn queue(latency: Latency) -> Self {
        Self { latency, draw: Draw::Independent, service: Service::Queue, stalls: None, odd: Oddities::NONE, seed: 1 }
    }
}

/// The server, on a thread of its own until it is dropped or stopped. While calls wait, that thread keeps a core busy.
#[derive(Debug)]
pub struct Scripted {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Vec<Answered>>>>,
}

impl Scripted {
    /// Starts on a free port of loopback.
    ///
    /// # Errors
    /// The system gives no port, descriptor or thread.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, schedule) = (Arc::clone(&stop), Schedule::new(&script));
        let machine = Machine::new(listener, schedule, stopped)?;
        let thread = std::thread::Builder::new().name("scripted".to_owned()).spawn(move || machine.run())?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens, for MOUNT and NFS.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it; tells when each timed call was to be answered and when it was, in the order of their answers (the first
    /// four million).
    ///
    /// # Errors
    /// What the system refused it meanwhile.
    ///
    /// # Panics
    /// Its thread did.
    pub fn stop(mut self) -> io::Result<Vec<Answered>> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(answered)) => answered,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whoever wants to know how it ended asks `stop`.
            let _ended = thread.join();
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
