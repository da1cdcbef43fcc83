//! The NFSv3 server: `nfs3_server` answers, with the memory file system.
//!
//! Limits: no LINK and no MKNOD (PROC_UNAVAIL); FSSTAT always reports 1 TiB; READDIR, but not READDIRPLUS, ends with BAD_COOKIE when the
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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::memory::FileSystem;
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

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, system: Arc<FileSystem>, export: String, read_only: bool) {
    let mut context = RPCContext::test_ctx(&export, Arc::new(Backend::new(system, read_only)));
    context.local_port = listener.local_addr().map_or(0, |address| address.port());
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let mut context = context.clone();
                context.client_addr = peer.to_string();
                tokio::spawn(async move {
                    // The client knows more about the reason for the end.
                    let _ended = converse(stream, context).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// One connection. It remembers its own calls: ports are used again, and xids begin anywhere.
async fn converse(stream: TcpStream, mut context: RPCContext<Backend>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    context.transaction_tracker = Arc::new(TransactionTracker::new(REMEMBERED, AT_WORK, MOST_REMEMBERED));
    process_socket(Connection::new(stream), context).await.map_err(io::Error::other)
}
