//! A server that runs until it is dropped.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

use crate::memory::FileSystem;
use crate::{Account, Kind, Options, ServeError, nfs, smb};

/// Connections that may wait to be accepted; the system caps it (net.core.somaxconn).
const BACKLOG: u32 = 4096;
/// Maximum wait for the server's threads when it is dropped. They only wait for the network.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server in this process. Dropping it ends it, its connections and its threads.
#[derive(Debug)]
pub struct Embedded {
    kind: Kind,
    address: SocketAddr,
    share: String,
    account: Option<Account>,
    /// `Some` until dropped.
    runtime: Option<Runtime>,
}

impl Embedded {
    /// Starts a server. Clients can connect when this returns.
    ///
    /// # Errors
    /// The options are inconsistent, the address is not available, or the system has no more threads.
    pub fn start(kind: Kind, options: Options) -> Result<Self, ServeError> {
        options.check(kind)?;
        let name = match kind {
            Kind::Smb => "plimsoll-smb",
            Kind::Nfs => "plimsoll-nfs",
        };
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(options.threads.get()).thread_name(name).enable_all().build();
        let runtime = runtime.map_err(ServeError::Threads)?;
        let system = FileSystem::new(options.size).map_err(|_| ServeError::Size(options.size))?;
        let address = match kind {
            Kind::Smb => {
                let (server, address) = runtime.block_on(smb::bind(&options, system))?;
                // It ends with the runtime; until then it continues whatever `accept` returns.
                drop(runtime.spawn(server.serve()));
                address
            }
            Kind::Nfs => {
                let listener = runtime.block_on(async { listen(options.listen) })?;
                let address = local(&listener, options.listen)?;
                let servers = nfs::Servers::new(system, &options.share, options.read_only);
                let servers = servers.map_err(|_| ServeError::Size(options.size))?;
                drop(runtime.spawn(nfs::serve(listener, servers)));
                address
            }
        };
        let Options { share, account, .. } = options;
        Ok(Self { kind, address, share, account, runtime: Some(runtime) })
    }

    /// Where it listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The target's URL, **with the password**: for the process itself.
    pub fn target(&self) -> String {
        self.url(true)
    }

    /// The target's URL of an NFS server for version 4, with this minor version and this number of slots. [`Embedded::target`] is for
    /// version 3.
    pub fn target_of_4(&self, minor: u32, slots: Option<u32>) -> String {
        let slots = slots.map_or_else(String::new, |slots| format!("&slots={slots}"));
        format!("nfs://{}/{}?version=4.{minor}{slots}", self.address, self.share)
    }

    /// The target's URL without the password: for people.
    pub fn shown(&self) -> String {
        self.url(false)
    }

    /// Example command of another client, and the target for the other versions of NFS.
    pub fn example(&self) -> String {
        let port = self.address.port();
        // As in a URL: an IPv6 address is in brackets.
        let host = match self.address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let shown = self.shown();
        let path = shown.split('?').next().and_then(|url| url.rsplit('/').next()).unwrap_or_default();
        match self.kind {
            Kind::Smb => {
                let ip = self.address.ip();
                let who = if shown.contains('@') { "-U NAME" } else { "-N" };
                format!("Example command for another client: smbclient //{ip}/{path} -p {port} {who}")
            }
            Kind::Nfs => {
                let of_4 = self.target_of_4(1, None);
                format!(
                    "Target for NFS 4.1 (or 4.2): {of_4}\n\
                     Example command for another client: nfs-ls 'nfs://{host}/{path}?nfsport={port}&mountport={port}&version=3'"
                )
            }
        }
    }

    fn url(&self, secret: bool) -> String {
        let Self { address, share, .. } = self;
        // The NFS server's MOUNT listens on the same port, so no portmapper at port 111 is needed.
        let (scheme, options) = match self.kind {
            Kind::Smb => ("smb", String::new()),
            Kind::Nfs => ("nfs", format!("?mountport={}", address.port())),
        };
        let who = match &self.account {
            Some(Account { user, password }) if secret => format!("{}:{}@", escaped(user), escaped(password)),
            Some(Account { user, .. }) => format!("{}@", escaped(user)),
            None => String::new(),
        };
        format!("{scheme}://{who}{address}/{share}{options}")
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(PATIENCE);
        }
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|source| ServeError::Listen { address, source })
}

fn local(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|source| ServeError::Listen { address, source })
}

/// Escapes a part of a URL (RFC 3986 2.1).
fn escaped(part: &str) -> String {
    part.bytes().fold(String::with_capacity(part.len()), |mut url, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(url, "%{byte:02X}");
        }
        url
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn options() -> Options {
        Options { threads: std::num::NonZeroUsize::MIN, ..Options::default() }
    }

    #[test]
    fn targets_are_urls_and_only_one_has_the_password() {
        let account = Some(Account::new("a b@c", "p:w/\u{e4}"));
        let server = Embedded::start(Kind::Smb, Options { account, ..options() }).unwrap();
        let address = server.address();
        assert_eq!(server.target(), format!("smb://a%20b%40c:p%3Aw%2F%C3%A4@{address}/plimsoll"));
        assert_eq!(server.shown(), format!("smb://a%20b%40c@{address}/plimsoll"));
        assert!(!format!("{server:?}").contains("p:w"), "debug output has no password");
        let open = Embedded::start(Kind::Nfs, Options { share: "x".to_owned(), ..options() }).unwrap();
        let address = open.address();
        assert_eq!(open.target(), format!("nfs://{address}/x?mountport={}", address.port()));
        assert_eq!(open.shown(), open.target());
        assert_eq!(open.target_of_4(1, None), format!("nfs://{address}/x?version=4.1"));
        assert_eq!(open.target_of_4(2, Some(8)), format!("nfs://{address}/x?version=4.2&slots=8"));
        assert!(open.example().contains(&open.target_of_4(1, None)));
        let (kind, address, share) = (Kind::Nfs, SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 20490)), "x".to_owned());
        let example = Embedded { kind, address, share, account: None, runtime: None }.example();
        assert!(example.contains("nfs-ls 'nfs://[::1]/x?nfsport=20490"), "{example}");
        assert_ne!(Account::random().unwrap().password, Account::random().unwrap().password);
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_what_to_do() {
        let refused = |kind, options| Embedded::start(kind, options).unwrap_err().to_string();
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        for kind in [Kind::Smb, Kind::Nfs] {
            assert!(refused(kind, Options { listen: everywhere, ..options() }).contains("--allow-remote"));
            for share in ["", "a/b", "IPC$", "a b", &"x".repeat(81)] {
                assert!(refused(kind, Options { share: share.to_owned(), ..options() }).contains("name of a share"));
            }
            assert!(refused(kind, Options { size: 9, ..options() }).contains("too few"));
            let taken = Embedded::start(kind, options()).unwrap();
            assert!(refused(kind, Options { listen: taken.address(), ..options() }).contains("cannot listen on 127."));
        }
        let remote = Options { listen: everywhere, allow_remote: true, ..options() };
        assert!(refused(Kind::Smb, remote.clone()).contains("--user"));
        let account = Some(Account::new("u", "p"));
        assert!(refused(Kind::Nfs, Options { account, ..options() }).contains("no passwords"));
        for user in ["", "Anonymous"] {
            let account = Some(Account::new(user, "p"));
            assert!(refused(Kind::Smb, Options { account, ..options() }).contains("cannot be a user name"));
        }
        drop(Embedded::start(Kind::Nfs, remote).unwrap());
    }

    #[test]
    fn a_dropped_server_is_gone_with_its_connections() {
        for kind in [Kind::Smb, Kind::Nfs] {
            let server = Embedded::start(kind, options()).unwrap();
            let address = server.address();
            let mut open = TcpStream::connect(address).unwrap();
            drop(server);
            assert!(matches!(std::io::Read::read(&mut open, &mut [0]), Ok(0) | Err(_)));
            assert!(TcpStream::connect(address).is_err());
            drop(Embedded::start(kind, Options { listen: address, ..options() }).unwrap());
        }
    }
}
