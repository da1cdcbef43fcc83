//! A conversation with the server without a network, for fuzzing.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use super::back_channel::Link;
use super::rpc::{self, Answer, Next};
use super::server::Server;
use crate::ServeError;
use crate::memory::FileSystem;

/// The server of NFS 4.1 and 4.2 with an empty export `/export`, and one connection to it, whose bytes the caller carries. It has no
/// network and no threads.
#[derive(Debug)]
pub struct Nfs4Conversation {
    server: Server,
    link: Link,
    /// Calls of the server to its client.
    calls: UnboundedReceiver<Vec<u8>>,
    /// Bytes of an incomplete record.
    input: Vec<u8>,
}

impl Nfs4Conversation {
    /// A server whose files may take this number of bytes.
    ///
    /// # Errors
    /// Not even the root directory fits.
    pub fn new(size: u64) -> Result<Self, ServeError> {
        let too_few = |_| ServeError::Size(size);
        let system = FileSystem::new(size).map_err(too_few)?;
        let server = Server::new(Arc::new(system), "export", false).map_err(too_few)?;
        let (link, calls) = Link::new();
        Ok(Self { server, link, calls, input: Vec::new() })
    }

    /// Takes the next bytes of the connection. Returns the answers to the calls that they complete, and the server's own calls, each with
    /// its record mark. `None`: the server would close the connection, or hand it to the server of another version.
    pub fn receive(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.input.extend_from_slice(bytes);
        let (mut at, mut out) = (0, Vec::new());
        while let Next::Record(record, length) = self.next(at)? {
            match rpc::answer(&self.server, Some(&self.link), &record, &mut out) {
                Answer::Given => at += length,
                Answer::NotOurs | Answer::Puzzling => return None,
            }
        }
        self.input.drain(..at);
        while let Ok(call) = self.calls.try_recv() {
            out.extend(call);
        }
        Some(out)
    }

    /// The record that begins there, or how much of it is missing; `None` if it is too long.
    fn next(&self, at: usize) -> Option<Next<'_>> {
        match rpc::next(self.input.get(at..).unwrap_or_default()) {
            Next::TooLong => None,
            next => Some(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_pieces_is_answered_once() {
        // The record mark; xid, CALL, RPC version, program, version, NULL; AUTH_NONE twice.
        let call = |program: u32| [0x8000_0028, 7, 0, 2, program, 4, 0, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        let answer = [0x8000_0018_u32, 7, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        let mut conversation = Nfs4Conversation::new(1 << 20).unwrap();
        let null = call(100_003);
        assert_eq!(conversation.receive(&null[..20]), Some(Vec::new()));
        assert_eq!(conversation.receive(&null[20..]).as_ref(), Some(&answer));
        assert_eq!(conversation.receive(&null.repeat(2)), Some(answer.repeat(2)));
        assert_eq!(conversation.receive(&call(100_005)), None, "MOUNT");
        assert_eq!(Nfs4Conversation::new(1 << 20).unwrap().receive(&[0xFF; 8]), None, "2 GiB");
        assert!(Nfs4Conversation::new(9).is_err());
    }
}
