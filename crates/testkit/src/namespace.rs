//! Network namespaces for tests: interfaces and addresses that no other program sees.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::command::output;
use crate::servers::Unavailable;

/// A network namespace. The kernel removes it when it is dropped and no program runs in it.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new one, whose loopback is up. It has no IPv6: nothing is on its interfaces but the traffic of the test.
    ///
    /// # Errors
    /// Without root, or without `ip`.
    pub fn new() -> Result<Self, Unavailable> {
        if Command::new("ip").arg("-V").output().is_err() {
            return Err(Unavailable("needs ip (Debian: iproute2)"));
        }
        // `make` runs in a new thread because it moves its thread into the new namespace.
        let made = thread::scope(|scope| scope.spawn(make).join().unwrap_or_else(|panic| resume_unwind(panic)));
        let namespace = Self(made.map_err(|_| Unavailable("needs root, to make network namespaces"))?);
        // Not there if the kernel has no IPv6.
        let _ = namespace.within(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"));
        namespace.ip("link set dev lo up");
        Ok(namespace)
    }

    /// Runs `act` in the namespace, in another thread. Programs and threads that it starts stay there.
    ///
    /// # Panics
    /// If `act` does.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let there = || {
            move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network)).expect("a network namespace");
            act()
        };
        thread::scope(|scope| scope.spawn(there).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Its name for `ip link … netns`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Runs `ip` in it with these arguments, which have no spaces.
    ///
    /// # Panics
    /// It fails.
    pub fn ip(&self, arguments: &str) {
        let ended = self.within(|| output(Command::new("ip").args(arguments.split(' '))));
        assert!(ended.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Moves this thread into a new network namespace.
fn make() -> io::Result<File> {
    // SAFETY: descriptors stay shared with the other threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    File::open("/proc/thread-self/ns/net")
}
