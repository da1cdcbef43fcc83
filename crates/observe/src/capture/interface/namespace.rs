//! `--netns`: an interface in another network namespace.
//!
//! Spec: setns(2); ip-netns(8) for the names
//!
//! A network namespace applies to a thread, and a socket stays in the one in which it was opened. So a thread enters the namespace, opens
//! the interface there and ends. All other threads, and with them the addresses of page and metrics, stay where they are.

use std::fs::File;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::error::InterfaceError;

/// Where `ip netns` has the namespaces that it has given a name.
const NAMED: &str = "/run/netns";

/// The file of a network namespace: that of a name, or a path, which has a slash.
pub(super) fn path_of(namespace: &str) -> PathBuf {
    if namespace.contains('/') { namespace.into() } else { Path::new(NAMED).join(namespace) }
}

/// Runs `act` in a network namespace, in a thread that ends with it.
///
/// # Errors
/// Without such a namespace, without the right to enter it, or if `act` fails.
pub(super) fn within<T: Send>(
    namespace: &str,
    act: impl FnOnce() -> Result<T, InterfaceError> + Send,
) -> Result<T, InterfaceError> {
    let path = path_of(namespace);
    let not_entered = |source| InterfaceError::not_entered(namespace, &path, source);
    let file = File::open(&path).map_err(not_entered)?;
    let there = || {
        let entered = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
        entered.map_err(|error| not_entered(error.into()))?;
        act().map_err(|error| error.inside(&path))
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, there).map_err(not_entered)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_ip_netns_and_a_slash_makes_a_path() {
        for (namespace, path) in
            [("blue", "/run/netns/blue"), ("/proc/7/ns/net", "/proc/7/ns/net"), ("./blue", "./blue")]
        {
            assert_eq!(path_of(namespace), Path::new(path));
        }
    }
}
