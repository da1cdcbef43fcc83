//! An operation of an NFSv4 compound.

use plimsoll_model::{Asked, Procedure};
use serde::{Deserialize, Serialize};

use crate::names::Object;
use crate::pairing::Pending;

/// One operation of a compound.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) code: u32,
    pub(super) position: u16,
    pub(super) procedure: Procedure,
    pub(super) object: Object,
    /// How often the current file handle had changed: members with the same number work on the same file. `OTHER_FILE` of those that
    /// work on another.
    pub(super) changes: u16,
    pub(super) payload: Option<u64>,
    pub(super) asked: Asked,
    /// Of OPEN: whether the client asks for a delegation.
    pub(super) wish: Option<bool>,
}

impl Member {
    /// The member as a separate request. The counted member gets the size of the whole compound.
    pub(super) fn pending(&self, whole: &Pending, counted: bool) -> Pending {
        Pending {
            procedure: self.procedure,
            long_lived: false,
            counted,
            bytes: whole.bytes.filter(|_| counted),
            compound_position: Some(self.position),
            payload: self.payload,
            share: self.object.share,
            path: self.object.path,
            asked: Asked { file: self.object.file, ..self.asked },
            ..whole.clone()
        }
    }
}
