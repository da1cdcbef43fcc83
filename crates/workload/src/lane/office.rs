//! What office programs do besides reading and writing: names that are not there, folders, controls, shares for a while.

use plimsoll_client::action::{Failure, Reply};
use plimsoll_wire::smb2::status::{
    STATUS_FS_DRIVER_REQUIRED, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_PARAMETER, STATUS_NOT_FOUND,
    STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED, STATUS_OBJECT_NAME_NOT_FOUND,
};

use super::Lane;
use super::moves::Move;
use crate::scenario::WrongData;

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

impl Move {
    /// Whether a failure is what the script counts on.
    pub(super) fn expects(&self, failure: &Failure) -> bool {
        match self {
            Move::Probe => failure.is_not_there(),
            Move::Control(..) => failure.status.is_some_and(|status| LACKING.contains(&status)),
            _ => false,
        }
    }

    pub(super) fn is_about_no_subject(&self) -> bool {
        matches!(
            self,
            Move::FileSystemInfo
                | Move::Null
                | Move::Probe
                | Move::ConnectShare
                | Move::DisconnectShare
                | Move::LogOn
                | Move::LogOff
        )
    }
}

impl Lane {
    /// Asks for a name that shall not be there, in the subject's directory.
    pub(super) fn probe(&mut self, name: usize) -> Move {
        let Some(turn) = &self.turn else { return Move::TurnOver };
        self.new_path.clear();
        self.files.directory_path(turn.directory, &mut self.new_path);
        self.new_path.push('/');
        let names = self.work.turns.get(turn.kind).map_or(&[][..], |kind| &kind.names);
        self.new_path.push_str(names.get(name).map_or("", String::as_str));
        Move::Probe
    }

    /// Such a thing went well: what that means for the turn.
    pub(super) fn took_office(&mut self, asked: Move, reply: &Reply) -> Result<(), WrongData> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        match (asked, reply) {
            (Move::OpenFolder, Reply::Opened { file: key, .. }) => {
                turn.folder = Some(*key);
                return Ok(());
            }
            (Move::Probe, Reply::Opened { file: key, .. }) => {
                // It shall not be there.
                turn.folder = Some(*key);
                return Err(WrongData);
            }
            (Move::ConnectShare | Move::DisconnectShare, _) => turn.connected = matches!(asked, Move::ConnectShare),
            (Move::LogOn | Move::LogOff, _) => turn.logged_on = matches!(asked, Move::LogOn),
            (Move::Find, Reply::Listed { entries: 0 }) => return Err(WrongData),
            (Move::Find, Reply::Listed { .. } | Reply::Attributes { .. }) => {}
            (Move::Volume(..) | Move::Control(..), _) => {}
            // An answer to something else: nothing that was asked for came of it.
            _ => return Err(WrongData),
        }
        self.advance();
        Ok(())
    }
}
