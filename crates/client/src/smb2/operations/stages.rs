//! Operations of several successive messages: selects the next message.

use plimsoll_wire::smb2::ioctl::fsctl::{Chunk, Control, ResumeKey};
use plimsoll_wire::smb2::{FileId, change_notify, close, ioctl};

use super::super::client::SmbClient;
use super::super::jobs::{Copying, Directory, JobId, Kind};
use super::super::request_kind::RequestKind;
use crate::operation::Cause;
use crate::outbox::Outbox;

/// Maximum size of a change notification, bytes.
const CHANGES: u32 = 4096;
/// Any change of names, attributes, sizes, times and security (MS-SMB2 2.2.35, CompletionFilter).
const ANY_CHANGE: u32 = 0x17F;
/// Bytes that are copied by one chunk, at most (MS-SMB2 3.3.3: ServerSideCopyMaxChunkSize).
const CHUNK: u64 = 1 << 20;
/// Maximum number of chunks in a request (ServerSideCopyMaxDataSize is 16 MiB, and Windows accepts 256 chunks).
const CHUNKS: usize = 16;

impl SmbClient {
    /// Sends the next message of a job without outstanding requests. Returns whether there was one.
    pub(in super::super) fn next_stage(&mut self, id: JobId, now: i64, out: &mut Outbox) -> bool {
        self.outgoing.clear();
        let Some(job) = self.jobs.get(id) else { return false };
        let failed = job.failure.is_some();
        if let Kind::List { directory, listing: Some(_), .. } = &mut job.kind
            && let Some(file) = directory.file().filter(|file| failed || *directory == Directory::Used(*file))
            && let Some(cache) = &mut self.directory_cache
        {
            if failed {
                cache.remove(file);
            } else if cache.keeps_open(file, now) {
                *directory = Directory::Closed;
                return false;
            }
        }
        let built = match &mut job.kind {
            Kind::List { directory, .. } | Kind::Watch { directory } => match *directory {
                Directory::Open(file) if !failed => self.use_directory(id, file),
                Directory::Open(file) | Directory::Used(file) => {
                    *directory = Directory::Closed;
                    self.add(RequestKind::Close, &close::Close { file, attributes: false })
                }
                Directory::Opening | Directory::Closed => return false,
            },
            Kind::Copy { copy } if !failed && copy.done < copy.length => {
                let copy = *copy;
                job.file = copy.to_file;
                self.copy_more(&copy)
            }
            _ => return false,
        };
        // None of these requests has a name that could be too long.
        debug_assert!(built.is_ok());
        self.submit(id, now, out);
        true
    }

    fn use_directory(&mut self, id: JobId, file: FileId) -> Result<(), Cause> {
        if self.jobs.get(id).is_some_and(|job| matches!(job.kind, Kind::Watch { .. })) {
            let call =
                change_notify::ChangeNotify { directory: file, tree: false, filter: ANY_CHANGE, output_len: CHANGES };
            return self.add(RequestKind::Watch, &call);
        }
        self.query_directory(file, 0)
    }

    fn copy_more(&mut self, copy: &Copying) -> Result<(), Cause> {
        let key = copy.resume_key.ok_or(Cause::Malformed)?;
        let mut chunks = Vec::new();
        let mut at = copy.done;
        while at < copy.length && chunks.len() < CHUNKS {
            let length = (copy.length - at).min(CHUNK);
            // At most CHUNK.
            chunks.push(Chunk { source: at, target: at, length: length as u32 });
            at += length;
        }
        let write_only = !copy.to_readable;
        let control = Control::CopyChunk { source: ResumeKey(key), chunks: &chunks, write_only };
        let kind = if write_only { RequestKind::CopyWriteOnly } else { RequestKind::Copy };
        self.add(kind, &ioctl::Ioctl { file: copy.to, control, max_output: 12 })
    }
}
