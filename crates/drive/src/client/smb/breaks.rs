//! Breaks of oplocks and leases: the server takes a caching right back, and we agree, having nothing cached.
//!
//! Spec: MS-SMB2 3.2.5.19

use plimsoll_wire::smb2::{Command, Reply};

use super::client::SmbClient;
use crate::action::Cause;
use crate::outbox::Outbox;

impl SmbClient {
    /// Takes what the server says of its own accord.
    pub(super) fn notified(&mut self, reply: &Reply<'_>, _at: i64, _out: &mut Outbox) -> Result<(), Cause> {
        if reply.command() != Command::OplockBreak {
            return Err(Cause::Malformed);
        }
        Ok(())
    }
}
