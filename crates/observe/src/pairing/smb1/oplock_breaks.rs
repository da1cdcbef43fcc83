//! Oplocks that servers break, until their clients give them up.
//!
//! Spec: MS-CIFS 2.2.4.32, 3.2.5.42

use std::collections::VecDeque;
use std::net::IpAddr;

use plimsoll_model::Symbol;
use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::locking::{self, Locking};
use plimsoll_wire::smb1::{command, path};
use serde::{Deserialize, Serialize};

use super::arrival::Arrival;
use super::ids::Ids;
use crate::pairing::held::held_until;
use crate::pairing::{ConnectionContext, Pending};

/// Breaks that are remembered: more are seldom under way at once.
const BREAKS_MAX: usize = 256;

/// An oplock that a client is to give up.
#[derive(Debug, Serialize, Deserialize)]
struct OplockBreak {
    server: IpAddr,
    /// The client's connection.
    connection: u32,
    fid: u16,
    share: Symbol,
    path: Symbol,
    at_ns: i64,
}

/// The oplocks of all connections that clients are to give up, in the order of the capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OplockBreaks(VecDeque<OplockBreak>);

impl OplockBreaks {
    /// The server tells a client to give up an oplock.
    #[cold]
    pub(super) fn notified(&mut self, broken: &Command<'_>, arrival: &Arrival<'_, '_>, ids: &Ids) {
        let Some(fid) = Locking::new(broken).map(|locking| locking.fid) else { return };
        let Arrival { message, fields, direction, context } = *arrival;
        let (server, connection, at_ns) = (context.ends[direction].ip, context.connection, message.first.time_ns);
        let (share, path) = (ids.share(fields.tid), ids.opened(fid, context).path);
        self.given_up(connection, fid);
        if self.0.len() >= BREAKS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(OplockBreak { server, connection, fid, share, path, at_ns });
    }

    /// A client asks for something: perhaps it acknowledges a break, or closes the file.
    #[inline]
    pub(super) fn requested(&mut self, connection: u32, command: &Command<'_>) {
        if self.0.is_empty() {
            return;
        }
        let releases = |locking: &Locking| locking.kind & locking::OPLOCK_RELEASE != 0;
        let fid = match command.command {
            command::CLOSE => path::fid(command),
            _ => Locking::new(command).filter(releases).map(|locking| locking.fid),
        };
        if let Some(fid) = fid {
            self.given_up(connection, fid);
        }
    }

    fn given_up(&mut self, connection: u32, fid: u16) {
        self.0.retain(|one| (one.connection, one.fid) != (connection, fid));
    }

    /// Until when a request may wait for a client that is to give up an oplock of its file, ns: another client, or the same one.
    pub(crate) fn held_until(&self, context: &ConnectionContext, request: &Pending) -> Option<i64> {
        let server = context.ends[usize::from(1 - request.direction)].ip;
        let file = (server, request.share, request.path);
        let is_of = |one: &&OplockBreak| one.path.is_some() && (one.server, one.share, one.path) == file;
        let of_file = self.0.iter().filter(is_of);
        of_file.filter_map(|one| held_until(request.first.time_ns, one.at_ns)).max()
    }
}
