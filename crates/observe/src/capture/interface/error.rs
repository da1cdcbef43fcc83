//! Reasons why an interface cannot be captured, with advice.

use std::io;

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
}
