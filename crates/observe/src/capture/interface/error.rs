//! Reasons why an interface cannot be captured, with advice.

use std::io;
use std::path::Path;

use super::tcpdump::FilterError;

/// Why the capture of an interface does not begin.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The system gives no packet socket to this user.
    #[error(
        "{0}: cannot capture: CAP_NET_RAW is missing; run as root, or grant the capability: setcap cap_net_raw+ep \"$(command -v plimsoll)\""
    )]
    NoRight(Box<str>),
    /// There is no such interface.
    #[error("{0}: neither a file nor a network interface; `ip link` lists the interfaces")]
    Unknown(Box<str>),
    /// There is no such interface in another network namespace.
    #[error(
        "{name}: no such network interface in network namespace {namespace}; `nsenter --net={namespace} ip link` lists its interfaces"
    )]
    UnknownInside {
        /// The interface.
        name: Box<str>,
        /// The file of the namespace.
        namespace: Box<str>,
    },
    /// There is no such network namespace.
    #[error(
        "--netns {name}: {file} {why}; `ip netns list` lists the names, and /proc/PID/ns/net is the namespace of a process"
    )]
    NoNamespace {
        /// As the namespace was named.
        name: Box<str>,
        /// The file with this name.
        file: Box<str>,
        /// What is wrong with the file.
        why: &'static str,
    },
    /// This user may not enter the network namespace.
    #[error(
        "--netns {0}: cannot enter the network namespace: CAP_SYS_ADMIN is missing, or CAP_SYS_PTRACE for /proc/PID/ns/net; run as root"
    )]
    NoRightToEnter(Box<str>),
    /// The network namespace cannot be entered.
    #[error(
        "--netns {name}: cannot enter the network namespace {file}: {source}; `lsns -t net` lists the network namespaces"
    )]
    NotEntered {
        /// As the namespace was named.
        name: Box<str>,
        /// The file with this name.
        file: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
    /// An error in another network namespace, with advice that applies there.
    #[error("{source}, run inside the network namespace: `nsenter --net={namespace} COMMAND`")]
    Inside {
        /// The file of the namespace.
        namespace: Box<str>,
        /// The error.
        source: Box<InterfaceError>,
    },
    /// Its packets have a header that is not known.
    #[error(
        "{name}: cannot capture: hardware type {number} is not supported; use `tcpdump -i {name} -U -w - | plimsoll watch -`"
    )]
    LinkType {
        /// The interface.
        name: Box<str>,
        /// ARPHRD_… in Linux' include/uapi/linux/if_arp.h.
        number: u16,
    },
    /// The kernel has no memory for packets.
    #[error("{name}: cannot capture: no memory for the packet buffer ({source}); give a smaller --buffer")]
    Ring {
        /// The interface.
        name: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
    /// The filter is not usable.
    #[error("--filter {expression:?}: {source}")]
    Filter {
        /// The expression.
        expression: Box<str>,
        /// Why not.
        source: FilterError,
    },
    /// Packets cannot be stored.
    #[error("{folder}: cannot save packets: {source}")]
    Save {
        /// The folder.
        folder: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
    /// Any other error of the operating system.
    #[error("{name}: cannot capture: {source}; check that the interface is up (`ip link set {name} up`)")]
    Failed {
        /// The interface.
        name: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
}

impl InterfaceError {
    /// There is no packet socket.
    pub(super) fn not_opened(name: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NoRight(name.into()),
            _ => Self::Failed { name: name.into(), source },
        }
    }

    /// The network namespace of this name, which is this file, was not entered.
    pub(super) fn not_entered(name: &str, file: &Path, source: io::Error) -> Self {
        let (name, file): (Box<str>, Box<str>) = (name.into(), file.display().to_string().into());
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoNamespace { name, file, why: "does not exist" },
            // Of setns(2), for a file of another kind.
            io::ErrorKind::InvalidInput => Self::NoNamespace { name, file, why: "is not a network namespace" },
            io::ErrorKind::PermissionDenied => Self::NoRightToEnter(name),
            _ => Self::NotEntered { name, file, source },
        }
    }

    /// The same error in another network namespace, which is this file: commands in its advice need the namespace.
    pub(super) fn inside(self, file: &Path) -> Self {
        let namespace = file.display().to_string().into();
        match self {
            Self::Unknown(name) => Self::UnknownInside { name, namespace },
            Self::LinkType { .. } | Self::Failed { .. } => Self::Inside { namespace, source: Box::new(self) },
            other => other,
        }
    }
}
