//! What office programs do besides reading and writing: names that are not there, folders, controls, shares for a while.

use plimsoll_client::operation::{Failure, OperationKind};
use plimsoll_wire::smb2::status::{
    STATUS_FS_DRIVER_REQUIRED, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_PARAMETER, STATUS_NOT_FOUND,
    STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED, STATUS_OBJECT_NAME_NOT_FOUND,
};

use super::Lane;
use super::asked::Asked;

/// What servers say that lack a control, or have nothing to tell: with that, the control is done as office programs know it.
const LACKING: [u32; 7] = [
    STATUS_NOT_SUPPORTED,
    STATUS_INVALID_DEVICE_REQUEST,
    STATUS_INVALID_PARAMETER,
    STATUS_NOT_IMPLEMENTED,
    STATUS_FS_DRIVER_REQUIRED,
    STATUS_NOT_FOUND,
    STATUS_OBJECT_NAME_NOT_FOUND,
];

impl Asked {
    /// Whether a failure is what the script counts on.
    pub(super) fn expects(&self, failure: &Failure) -> bool {
        match self {
            Asked::Probe => failure.is_not_there(),
            Asked::Ioctl(..) => failure.status.is_some_and(|status| LACKING.contains(&status)),
            _ => false,
        }
    }

    pub(super) fn is_about_no_subject(&self) -> bool {
        use OperationKind::{ConnectShare, DisconnectShare, Fsinfo, LogOff, LogOn, Null};
        matches!(
            self,
            Asked::Probe | Asked::Operation(Fsinfo | Null | ConnectShare | DisconnectShare | LogOn | LogOff, _)
        )
    }
}

impl Lane {
    /// Asks for a name that shall not be there, in the subject's directory.
    pub(super) fn probe(&mut self, name: usize) -> Asked {
        let Some(turn) = &self.turn else { return Asked::TurnOver };
        self.new_path.clear();
        self.files.directory_path(turn.directory, &mut self.new_path);
        self.new_path.push('/');
        let names = self.work.turns.get(turn.kind).map_or(&[][..], |kind| &kind.names);
        self.new_path.push_str(names.get(name).map_or("", String::as_str));
        Asked::Probe
    }
}
