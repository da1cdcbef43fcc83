//! Further requests of office programs: volume queries, control codes, and temporary tree connections.
//!
//! Spec: MS-SMB2 3.2.4.14, 3.2.4.17, 3.2.4.20; MS-FSCC 2.3, 2.5

use plimsoll_wire::smb2::empty_body::{Logoff, TreeDisconnect};
use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::query_info::InfoType;
use plimsoll_wire::smb2::{FileId, ioctl, tree_connect};

use super::super::client::SmbClient;
use super::super::jobs::Kind;
use super::super::request_kind::RequestKind;
use crate::operation::{Cause, Control, FileKey, Operation};

/// Maximum size of the list of a server's addresses, bytes: a few hundred addresses.
const INTERFACES_OUTPUT: u32 = 64 << 10;
/// Bytes of FILE_OBJECTID_BUFFER (MS-FSCC 2.1.3).
const OBJECT_ID_OUTPUT: u32 = 64;
/// Size of SRV_SNAPSHOT_ARRAY without names, bytes: the response still has the number of snapshots.
const SNAPSHOTS_OUTPUT: u32 = 16;

impl SmbClient {
    /// Builds the message of such an operation.
    pub(super) fn control_operation(&mut self, operation: &Operation<'_>) -> Result<Kind, Cause> {
        match *operation {
            Operation::Volume { file, class } => {
                let file = self.opened(file)?.id;
                self.plain(RequestKind::FileSystem, &super::information_of(file, InfoType::FileSystem, class.0))
            }
            Operation::Ioctl { file, what } => self.control(file, what),
            Operation::ConnectShare => {
                let path = format!("\\\\{}\\{}", self.options.server, self.options.share);
                self.plain(RequestKind::TreeConnect, &tree_connect::TreeConnect { path: &path })
            }
            Operation::DisconnectShare if self.connection.session.before.is_some() => {
                self.plain(RequestKind::TreeDisconnect, &TreeDisconnect)?;
                Ok(Kind::LeaveShare)
            }
            Operation::LogOff if self.connection.is_on_a_secondary_session() => {
                self.plain(RequestKind::Logoff, &Logoff)?;
                Ok(Kind::LogOff)
            }
            _ => Err(Cause::Unsupported),
        }
    }

    fn control(&mut self, file: FileKey, what: Control) -> Result<Kind, Cause> {
        let opened = self.opened(file)?.id;
        let plain = |code| fsctl::Control::Other { code, input: &[] };
        let (kind, file, control, max_output) = match what {
            Control::ObjectId => (RequestKind::ObjectId, opened, plain(fsctl::OBJECT_ID), OBJECT_ID_OUTPUT),
            Control::Snapshots => (RequestKind::Snapshots, opened, plain(fsctl::SNAPSHOTS), SNAPSHOTS_OUTPUT),
            // This control code has no file, so the file ID is all ones.
            Control::Interfaces => {
                (RequestKind::Interfaces, FileId::PREVIOUS, fsctl::Control::NetworkInterfaces, INTERFACES_OUTPUT)
            }
        };
        self.plain(kind, &ioctl::Ioctl { file, control, max_output })
    }
}
