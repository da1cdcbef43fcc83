//! What becomes of data that was written and is not durable yet.
//!
//! Spec: RFC 1813 3.3.7, RFC 1813 3.3.21, RFC 1813 4.8, RFC 8881 18.3

use plimsoll_model::Durability;
use plimsoll_wire::nfs::v3::write::Stable;

/// The unstable writes of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unstable {
    /// The verifier that unstable writes were answered with since the last COMMIT.
    verifier: Option<[u8; 8]>,
    /// Two verifiers differed: the server restarted and may have lost earlier writes.
    lost: bool,
}

impl Unstable {
    /// An unstable write was answered with this verifier. True where it is another one than before.
    pub(crate) fn written(&mut self, verifier: [u8; 8]) -> bool {
        let changed = self.verifier.is_some_and(|before| before != verifier);
        self.lost |= changed;
        self.verifier = Some(verifier);
        changed
    }

    /// A COMMIT was answered with this verifier. Returns false if earlier writes may be lost.
    pub(crate) fn committed(&mut self, verifier: [u8; 8]) -> bool {
        let kept = !self.lost && self.verifier.is_none_or(|before| before == verifier);
        (self.verifier, self.lost) = (None, false);
        kept
    }

    /// Whether writes are known to be lost and no operation has reported it.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }
}

/// How durable a WRITE is, in the model's words.
pub(crate) fn durability(stable: Stable) -> Durability {
    match stable {
        Stable::Unstable => Durability::Unstable,
        Stable::DataSync => Durability::DataSync,
        Stable::FileSync => Durability::FileSync,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_that_changes_is_a_loss() {
        let mut file = Unstable::default();
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
