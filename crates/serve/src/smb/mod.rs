//! The SMB server: `smb-server` answers (2.0.2 to 3.1.1, NTLMv2, signing and encryption, leases, durable handles, change notification,
//! locks), with the memory file system. Names are case-sensitive, as in the file system.
//!
//! It grants leases but no oplocks, does not support waiting locks, server-side copies and links, and performs the requests of one
//! connection in sequence.

mod backend;
mod handle;
mod info;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smb_server::{Access, BuildError, Share, SmbServer};

use crate::memory::FileSystem;
use crate::{Options, ServeError};
use backend::Backend;

/// Connections at once: more than a process may have open files.
const MOST_CONNECTIONS: usize = 65_536;
/// Open files a connection.
const MOST_OPEN: usize = 65_536;
/// How long a logon may take: ten thousand may come at once.
const LOGON: Duration = Duration::from_secs(120);
/// Number of wrong passwords until a user is locked out; 0: never, because a measurement of wrong passwords needs an answer to each.
const MOST_FAILURES: u32 = 0;
/// For how long, then.
const LOCKOUT: Duration = Duration::from_secs(1);

/// A server that can be connected to, and what ends it.
pub(crate) async fn bind(options: &Options, system: FileSystem) -> Result<(SmbServer, SocketAddr), ServeError> {
    let share = Share::new(&options.share, Backend::new(Arc::new(system), options.read_only));
    let mut builder = SmbServer::builder()
        .listen(options.listen)
        .max_connections(MOST_CONNECTIONS)
        .max_opens_per_connection(MOST_OPEN)
        .handshake_timeout(LOGON)
        .logon_throttle(MOST_FAILURES, LOCKOUT);
    let share = match &options.account {
        Some(account) => {
            builder = builder.user(&account.user, &account.password);
            share.user(&account.user, if options.read_only { Access::Read } else { Access::ReadWrite })
        }
        None if options.read_only => share.public_read_only(),
        None => share.public(),
    };
    let server = builder.share(share).build().map_err(|error| refused(error, options))?;
    match server.bind().await {
        Ok(address) => Ok((server, address)),
        Err(source) => Err(ServeError::Listen { address: options.listen, source }),
    }
}

fn refused(error: BuildError, options: &Options) -> ServeError {
    match error {
        BuildError::ReservedUserName(user) => ServeError::User(user),
        BuildError::EmptyUserName => ServeError::User(String::new()),
        // The share's name is the only other possible error.
        _ => ServeError::Name(options.share.clone()),
    }
}
