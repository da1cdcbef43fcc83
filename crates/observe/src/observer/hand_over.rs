//! An observer goes on where another one stopped: in the next file of the same capture.

use super::Observer;

/// Why the state of an observer cannot be handed over.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// The bytes are not a state, or the state of another version.
    #[error("the state of the analysis is damaged, or another version of Plimsoll wrote it: {0}")]
    Damaged(postcard::Error),
    /// There is no room to write it.
    #[error("the state of the analysis cannot be written: {0}")]
    Unwritable(postcard::Error),
    /// Keys, and the sessions that they decrypt, are not written to files.
    #[error("the state of a decrypted capture cannot be written, because it contains keys")]
    Decrypts,
}

impl<S> Observer<S> {
    /// The state without the sink and its content: connections, their waiting data, names and counts.
    ///
    /// # Errors
    /// Messages are being decrypted.
    pub fn state(&self) -> Result<Vec<u8>, HandOverError> {
        if self.shared.smb2.decryption.is_some() {
            return Err(HandOverError::Decrypts);
        }
        postcard::to_extend(self, Vec::new()).map_err(HandOverError::Unwritable)
    }

    /// Continues from a state, with the next packet of the same capture.
    ///
    /// # Errors
    /// The bytes are not the output of [`Observer::state`] of this version.
    pub fn of_state(state: &[u8], sink: S) -> Result<Self, HandOverError> {
        read(state).map(|read| read.with_sink(sink))
    }

    fn with_sink<T>(self, sink: T) -> Observer<T> {
        let Self {
            connections,
            numbered,
            fragments,
            packets,
            clock,
            gate,
            ties,
            shared,
            name_lookups,
            other_programs,
            connections_used,
            unknown_links,
            span,
            swept_ns,
            packed_ns,
            until_ns,
        } = self;
        Observer {
            connections,
            numbered,
            fragments,
            packets,
            clock,
            gate,
            ties,
            shared: shared.with_sink(sink),
            name_lookups,
            other_programs,
            connections_used,
            unknown_links,
            span,
            swept_ns,
            packed_ns,
            until_ns,
        }
    }
}

/// Not generic, and so compiled once.
fn read(state: &[u8]) -> Result<Observer<()>, HandOverError> {
    postcard::from_bytes(state).map_err(HandOverError::Damaged)
}
