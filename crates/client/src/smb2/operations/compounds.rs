//! Operations on paths: open, act and close in one compound.
//!
//! Spec: MS-SMB2 3.2.4.1.4

use plimsoll_wire::smb2::attributes::Times;
use plimsoll_wire::smb2::create::{
    ACCESS_DELETE, ACCESS_MAXIMUM_ALLOWED, ACCESS_READ_ATTRIBUTES, ACCESS_READ_DATA, ACCESS_SYNCHRONIZE,
    ACCESS_WRITE_ATTRIBUTES, Context, Create, DISPOSITION_CREATE, DISPOSITION_OPEN, IMPERSONATION_IMPERSONATION,
    OPLOCK_NONE, OPTION_DELETE_ON_CLOSE, OPTION_DIRECTORY, OPTION_NON_DIRECTORY, OPTION_OPEN_REPARSE_POINT,
    SHARE_DELETE, SHARE_READ, SHARE_WRITE,
};
use plimsoll_wire::smb2::information::{self, FileBasic};
use plimsoll_wire::smb2::query_directory::{Class, QueryDirectory};
use plimsoll_wire::smb2::query_info::{InfoType, QueryInfo};
use plimsoll_wire::smb2::set_info::{Change, SetInfo};
use plimsoll_wire::smb2::{FileId, close};

use super::super::client::SmbClient;
use super::super::connection::CREDIT;
use super::super::jobs::Kind;
use super::super::request_kind::RequestKind;
use crate::operation::{Cause, InfoClass, Operation};

/// The file that the compound's first member opens.
const FILE: FileId = FileId::PREVIOUS;

impl SmbClient {
    /// Builds the message of an operation on a path.
    pub(super) fn compound(&mut self, operation: &Operation<'_>, now: i64) -> Result<Kind, Cause> {
        let kind = match *operation {
            Operation::Getattr { path } => {
                self.add(RequestKind::Create, &existing(path, ACCESS_READ_ATTRIBUTES, 0))?;
                self.add(RequestKind::Attributes, &super::attributes_of(FILE))?;
                Kind::Attributes { found: None }
            }
            Operation::Query { path, class } => {
                self.add(RequestKind::Create, &existing(path, ACCESS_READ_ATTRIBUTES, 0))?;
                self.add(RequestKind::Information, &super::information_of(FILE, InfoType::File, class.0))?;
                Kind::Plain
            }
            Operation::QueryFileSystem { class } => {
                self.add(RequestKind::Create, &existing("", ACCESS_READ_ATTRIBUTES, OPTION_DIRECTORY))?;
                self.add(RequestKind::FileSystem, &super::information_of(FILE, InfoType::FileSystem, class.0))?;
                Kind::Plain
            }
            Operation::Find { path, pattern, class } => self.find(path, pattern, class)?,
            Operation::Fsinfo => {
                self.add(RequestKind::Create, &existing("", ACCESS_READ_ATTRIBUTES, OPTION_DIRECTORY))?;
                self.add(RequestKind::Space, &FULL_SIZE)?;
                Kind::Space { found: None }
            }
            Operation::Access { path } => {
                self.add(RequestKind::Create, &existing(path, ACCESS_MAXIMUM_ALLOWED, 0))?;
                Kind::Plain
            }
            Operation::Lookup { path } => {
                self.add(RequestKind::Create, &existing(path, ACCESS_READ_ATTRIBUTES, 0))?;
                Kind::Plain
            }
            // The response shows whether a second request is needed: servers that follow links themselves need none.
            Operation::Readlink { path } => {
                self.add(RequestKind::Create, &existing(path, ACCESS_READ_ATTRIBUTES, OPTION_OPEN_REPARSE_POINT))?;
                Kind::Plain
            }
            Operation::Setattr { path, .. } => {
                self.changed(path, ACCESS_WRITE_ATTRIBUTES, 0, RequestKind::SetTimes, touched(now))?
            }
            Operation::Mkdir { path } => {
                let options = OPTION_DIRECTORY;
                let create =
                    Create { disposition: DISPOSITION_CREATE, ..existing(path, ACCESS_READ_ATTRIBUTES, options) };
                self.add(RequestKind::Create, &create)?;
                Kind::Plain
            }
            // Unlike delete-on-close, this reports an error if the directory is not empty.
            Operation::Rmdir { path } => {
                let change = Change::Disposition { delete: true };
                self.changed(path, ACCESS_DELETE, OPTION_DIRECTORY, RequestKind::Dispose, change)?
            }
            Operation::Remove { path } => {
                let options = OPTION_NON_DIRECTORY | OPTION_DELETE_ON_CLOSE;
                self.add(RequestKind::Create, &existing(path, ACCESS_DELETE, options))?;
                Kind::Plain
            }
            Operation::Rename { from, to } => {
                let change = Change::Rename { name: to, replace: true };
                self.changed(from, ACCESS_DELETE | ACCESS_READ_ATTRIBUTES, 0, RequestKind::Rename, change)?
            }
            Operation::Link { from, to } => {
                let change = Change::Link { name: to, replace: false };
                self.changed(from, ACCESS_WRITE_ATTRIBUTES, 0, RequestKind::Link, change)?
            }
            // Servers handle symbolic links differently, or not at all.
            _ => return Err(Cause::Unsupported),
        };
        self.add(RequestKind::Close, &close::Close { file: FILE, attributes: false })?;
        Ok(kind)
    }

    /// Opens a directory and asks for the first entries that match.
    fn find(&mut self, path: &str, pattern: &str, class: InfoClass) -> Result<Kind, Cause> {
        let class = Class::ALL.into_iter().find(|known| known.code() == class.0).ok_or(Cause::Unsupported)?;
        self.add(RequestKind::Create, &existing(path, ACCESS_READ_DATA | ACCESS_READ_ATTRIBUTES, OPTION_DIRECTORY))?;
        let (directory, output_len) = (FILE, self.connection.limits.max_transact.min(CREDIT));
        self.add(RequestKind::Find, &QueryDirectory { directory, class, flags: 0, index: 0, pattern, output_len })?;
        Ok(Kind::Find { class, entries: 0 })
    }

    fn changed(
        &mut self,
        path: &str,
        access: u32,
        options: u32,
        kind: RequestKind,
        change: Change<'_>,
    ) -> Result<Kind, Cause> {
        self.add(RequestKind::Create, &existing(path, access, options))?;
        self.add(kind, &SetInfo { file: FILE, change })?;
        Ok(Kind::Plain)
    }

    /// Builds the request that opens a directory to list or watch it.
    pub(super) fn open_directory(&mut self, path: &str) -> Result<(), Cause> {
        self.open_directory_with(path, OPLOCK_NONE, &[])
    }

    /// The same, with a lease.
    pub(super) fn open_directory_with(
        &mut self,
        path: &str,
        oplock: u8,
        contexts: &[Context<'_>],
    ) -> Result<(), Cause> {
        let call = existing(path, ACCESS_READ_DATA | ACCESS_READ_ATTRIBUTES, OPTION_DIRECTORY);
        self.add(RequestKind::Open, &Create { oplock, contexts, ..call })
    }
}

/// SMB has no permission bits, so set the time of the last change.
pub(super) fn touched(now: i64) -> Change<'static> {
    let times = Times { last_write: filetime(now), ..Times::default() };
    Change::Basic(FileBasic { times, attributes: 0 })
}

/// A CREATE for an existing file.
fn existing(name: &str, access: u32, options: u32) -> Create<'_> {
    Create {
        name,
        oplock: OPLOCK_NONE,
        impersonation: IMPERSONATION_IMPERSONATION,
        access: access | ACCESS_SYNCHRONIZE,
        attributes: 0,
        share: SHARE_READ | SHARE_WRITE | SHARE_DELETE,
        disposition: DISPOSITION_OPEN,
        options,
        contexts: &[],
    }
}

/// Asks for the size of the file system.
const FULL_SIZE: QueryInfo = QueryInfo {
    file: FILE,
    info_type: InfoType::FileSystem,
    class: information::CLASS_FS_FULL_SIZE,
    additional: 0,
    // FileFsFullSizeInformation (MS-FSCC 2.5.4)
    output_len: 32,
};

/// Nanoseconds since 1970 as 100 ns since 1601.
fn filetime(ns: i64) -> u64 {
    const EPOCH: i64 = 116_444_736_000_000_000;
    (ns / 100).saturating_add(EPOCH).max(1).cast_unsigned()
}
