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
mod script;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub use answers::{EXPORT, FILE_SIZE};
pub use latency::{Draw, Latency};
pub use machine::Answered;
pub use offline::Offline;
pub use schedule::{queued_exponential, stalled};
pub use script::{Oddities, Script, Service, Stalls};

use machine::Machine;
use schedule::Schedule;

/// The server, on a separate thread until it is dropped or stopped. While calls wait, that thread keeps a core busy.
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

    /// Ends it; returns the due and the actual time of each timed answer, in the order of the answers (the first four million).
    ///
    /// # Errors
    /// An error of the operating system.
    ///
    /// # Panics
    /// If its thread did.
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
            // `stop` returns the result.
            let _ended = thread.join();
        }
    }
}
