//! Open files, which for NFSv3 are handles, and what becomes of what was written to them.
//!
//! Spec: RFC 1813 3.3.7, RFC 1813 3.3.21, RFC 1813 4.8

use plimsoll_wire::nfs::v3::FileHandle;

/// The open files of a connection.
pub(super) type Files = crate::files::Files<File>;

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) handle: FileHandle,
    /// The verifier that unstable writes were answered with since the last COMMIT.
    verifier: Option<[u8; 8]>,
    /// Two of them differed: the server restarted, and may have lost what came before.
    lost: bool,
}

impl File {
    pub(super) fn new(handle: FileHandle) -> Self {
        Self { handle, verifier: None, lost: false }
    }

    /// An unstable write was answered with this verifier. True where it is another one than before.
    pub(super) fn written(&mut self, verifier: [u8; 8]) -> bool {
        let changed = self.verifier.is_some_and(|before| before != verifier);
        self.lost |= changed;
        self.verifier = Some(verifier);
        changed
    }

    /// A COMMIT was answered with this verifier. False where what was written before may be lost.
    pub(super) fn committed(&mut self, verifier: [u8; 8]) -> bool {
        let kept = !self.lost && self.verifier.is_none_or(|before| before == verifier);
        (self.verifier, self.lost) = (None, false);
        kept
    }

    /// Whether something that was written is known to be lost, and nobody was told.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_that_changes_is_a_loss() {
        let mut file = File::new(FileHandle::new(&[1]).unwrap());
        file.written([1; 8]);
        assert!(file.committed([1; 8]));
        file.written([1; 8]);
        assert!(!file.committed([2; 8]), "the server restarted before the commit");
        file.written([2; 8]);
        assert!(!file.is_lost());
        file.written([3; 8]);
        assert!(file.is_lost());
        assert!(!file.committed([3; 8]), "the server restarted between two writes");
        assert!(file.committed([4; 8]) && !file.is_lost(), "nothing was written since");
    }
}
