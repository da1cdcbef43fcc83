//! Sizes that several parts of the server share.

/// The longest record, bytes: a WRITE of 1 MiB and what goes with it.
pub(super) const LONGEST_RECORD: usize = (1 << 20) + (64 << 10);
/// Bytes of a reply before the results.
pub(super) const REPLY_HEAD: usize = 24;
/// The longest READ and WRITE, bytes.
pub(super) const LONGEST_DATA: u32 = 1 << 20;
/// The longest COPY, bytes: the client asks for the rest.
pub(super) const LONGEST_COPY: u64 = 16 << 20;
/// Bytes of the owner of a client, an open or a lock, at most (NFS4_OPAQUE_LIMIT).
pub(super) const LONGEST_OWNER: usize = 1024;
