//! Identities of files in transactions.

use plimsoll_model::FileIdentity;

/// The identity of the file that the last request was about. The next one is mostly about the same file, and comparing two handles takes
/// less time than hashing one.
#[derive(Debug, Default)]
pub(crate) struct LastIdentity {
    handle: Vec<u8>,
    identity: Option<FileIdentity>,
}

impl LastIdentity {
    pub(crate) fn of(&mut self, handle: &[u8]) -> FileIdentity {
        if let Some(identity) = self.identity.filter(|_| self.handle == handle) {
            return identity;
        }
        let identity = FileIdentity::of_handle(handle);
        self.handle.clear();
        self.handle.extend_from_slice(handle);
        self.identity = Some(identity);
        identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_those_of_the_handles() {
        let mut last = LastIdentity::default();
        for handle in [&[][..], &[1, 2], &[1, 2], &[1], &[1, 2], &[], &[]] {
            assert_eq!(last.of(handle), FileIdentity::of_handle(handle));
        }
    }
}
