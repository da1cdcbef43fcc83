//! Why a run could not be made at all.

use plimsoll_client::operation::{Cause, Failure};

/// Why a run could not be made at all. A server that fails is no error: that is measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan contradicts itself.
    #[error("the plan cannot be run: {0}")]
    Plan(&'static str),
    /// Not one client could connect and log on; nothing was measured. What happened to the first that failed.
    #[error("no client could connect: {0}{hint}", hint = hint(.0.cause))]
    NobodyConnected(Failure),
    /// A thread or an event queue could not be made, or waiting for events failed.
    #[error("the load generator itself failed ({doing}): {source}")]
    Machine {
        /// What it was doing.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// What to look at where nobody could connect.
fn hint(cause: Cause) -> &'static str {
    match cause {
        Cause::ConnectionRefused => "; does the server run, and listen on this port?",
        Cause::TimedOut | Cause::Unreachable => "; is this the right address, and does a firewall let it through?",
        Cause::LogonRefused => "; are user and password right?",
        Cause::ShareRefused => "; is there such a share, and is it for this user?",
        Cause::CallRejected => {
            "; an NFS server that takes calls from source ports below 1024 alone: ?resvport in the target, as root"
        }
        Cause::OutOfResources => "; use fewer connections, or allow more open files (ulimit -n)",
        _ => "",
    }
}
