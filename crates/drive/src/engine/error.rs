//! Why a run could not be made at all.

use plimsoll_client::operation::{Cause, Failure};

/// Why a run could not be made at all. A server that fails is no error: that is measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// No client could connect and log on, so nothing was measured.
    #[error("no client could connect: {failure}{who}{hint}", who = named(.account.as_deref()), hint = hint(.failure))]
    NobodyConnected {
        /// The first failure.
        failure: Failure,
        /// The account of its client, if there are several accounts and the server refused the logon or the share.
        account: Option<String>,
    },
    /// The common start had passed before every client was connected; nothing was measured.
    #[error(
        "too late for --start-at: this process was ready {:.3} s after that time, so nothing was measured; start the \
        process earlier, or give a later --start-at", *.by_ns as f64 / 1e9
    )]
    Late {
        /// The delay, ns.
        by_ns: i64,
    },
    /// A thread or an event queue could not be made, or waiting for events failed.
    #[error("the load generator itself failed ({doing}): {source}")]
    Machine {
        /// The worker's action.
        doing: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
}

fn named(account: Option<&str>) -> String {
    account.map_or_else(String::new, |account| format!(" (account {account})"))
}

/// Advice if no client could connect.
fn hint(failure: &Failure) -> &'static str {
    match failure.cause {
        Cause::Status if failure.is_foreign_handle() => {
            "; the NFS server does not know the file handle from MOUNT: MOUNT may belong to another server of this host (the portmapper names \
            only one); give the right port with ?mountport=PORT"
        }
        Cause::ConnectionRefused => "; check that the server is running and listens on the port of the target",
        Cause::TimedOut | Cause::Unreachable => {
            "; check the server's address, the firewall, and the port of the target (a server of another protocol may send no response)"
        }
        Cause::Malformed => "; check that this port speaks the protocol of the target (SMB or NFS)",
        // A server that is at its limit, or refuses this machine, accepts connections and closes them at once. If it has not read the first
        // request, the client sees a reset.
        Cause::ConnectionClosed | Cause::ConnectionReset => {
            "; check that this port speaks the protocol of the target (SMB or NFS), that the server accepts connections from this machine, \
            and that it has not reached its limit of connections (on Samba: max smbd processes)"
        }
        Cause::LogonRefused => "; check the user name and the password",
        Cause::ShareRefused => "; check the share name and the permissions of the user",
        Cause::CallRejected => {
            "; the server may accept only source ports below 1024 (default on Linux): add ?resvport to the target (after \
            other options: &resvport) and run as root"
        }
        Cause::OutOfResources => "; use fewer connections, or allow more open files (ulimit -n)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_account_is_named() {
        let said = |account: Option<&str>| {
            let failure = Failure::without_answer(Cause::ShareRefused);
            EngineError::NobodyConnected { failure, account: account.map(str::to_owned) }.to_string()
        };
        let with = said(Some("WORK\\anna"));
        assert!(with.contains(" (account WORK\\anna); check the share name and the permissions of the user"), "{with}");
        assert!(!said(None).contains("account"));
    }

    #[test]
    fn a_port_of_another_protocol_is_suspected() {
        for (cause, is_limit) in
            [(Cause::Malformed, false), (Cause::ConnectionClosed, true), (Cause::ConnectionReset, true)]
        {
            let failure = Failure::without_answer(cause);
            let said = EngineError::NobodyConnected { failure, account: None }.to_string();
            assert!(said.contains("check that this port speaks the protocol of the target"), "{said}");
            assert_eq!(said.contains("limit of connections (on Samba: max smbd processes)"), is_limit, "{said}");
        }
    }
}
