//! The NFS server: version 3 is answered by `nfs3_server`, version 4 by [`crate::nfs4`], both with the memory file system and on one port.
//!
//! Limits of version 3: no LINK and no MKNOD (PROC_UNAVAIL); FSSTAT always reports 1 TiB; READDIR, but not READDIRPLUS, ends with BAD_COOKIE when the
//! directory changes meanwhile; REMOVE and RMDIR accept either kind of object. MOUNT and a portmapper that only knows this port answer on
//! the same port.
//! Spec: RFC 1813.

mod attributes;
mod backend;
mod connection;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use nfs3_server::test_reexports::{RPCContext, TransactionTracker, process_socket};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::memory::{FileSystem, Trouble};
use crate::nfs4;
use backend::Backend;
use connection::Connection;

/// Connections at once: more than a process may have open files.
const MOST_CONNECTIONS: usize = 65_536;
/// How long a call is remembered, so that its retransmission is not done twice.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Calls at work at once on a connection. None of ours waits, so there are never more than threads.
const AT_WORK: u16 = 256;
/// Calls remembered a connection: some 32 KiB where that many came.
const MOST_REMEMBERED: usize = 1024;
/// Pause after a failed accept (no file descriptors left): open connections continue, and may end.
const PAUSE: Duration = Duration::from_millis(20);

/// The servers of NFS 3 and 4 on one file system.
pub(crate) struct Servers {
    context: RPCContext<Backend>,
    version_4: Arc<nfs4::Server>,
}

impl Servers {
    /// Servers of the export with this name.
    ///
    /// # Errors
    /// The file system has no room for one more directory.
    pub(crate) fn new(system: FileSystem, export: &str, read_only: bool) -> Result<Self, Trouble> {
        let system = Arc::new(system);
        let version_4 = Arc::new(nfs4::Server::new(Arc::clone(&system), export, read_only)?);
        let context = RPCContext::test_ctx(&format!("/{export}"), Arc::new(Backend::new(system, read_only)));
        Ok(Self { context, version_4 })
    }
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, servers: Servers) {
    let Servers { mut context, version_4 } = servers;
    context.local_port = listener.local_addr().map_or(0, |address| address.port());
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let mut context = context.clone();
                context.client_addr = peer.to_string();
                let version_4 = Arc::clone(&version_4);
                tokio::spawn(async move {
                    // The client knows more about the reason for the end.
                    let _ended = converse(stream, context, &version_4).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// One connection. Its first call decides the version; calls of version 3 may follow those of version 4, not the other way round.
/// The server of version 3 remembers the calls of this connection only: ports are used again, and xids begin anywhere.
async fn converse(mut stream: TcpStream, mut context: RPCContext<Backend>, server: &nfs4::Server) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut early = Vec::new();
    let is_version_4 = loop {
        if stream.read_buf(&mut early).await? == 0 {
            return Ok(());
        }
        if let Some(found) = nfs4::begins_version_4(&early) {
            break found;
        }
    };
    if is_version_4 && nfs4::converse(&mut stream, server, &mut early).await? {
        return Ok(());
    }
    context.transaction_tracker = Arc::new(TransactionTracker::new(REMEMBERED, AT_WORK, MOST_REMEMBERED));
    process_socket(Connection::new(stream, early), context).await.map_err(io::Error::other)
}
