//! From operations to jobs.

use plimsoll_wire::nfs::v3::SetAttributes;
use plimsoll_wire::nfs::v3::write::Stable;

use super::client::NfsClient;
use super::file::File;
use super::job::{Goal, Job, Transfer, Walks};
use crate::client::Events;
use crate::joined::joined;
use crate::nfs::{Wanted, paths};
use crate::operation::{Caching, Cause, Disposition, Done, Failure, Kind, Operation, Reply, Ticket};
use crate::outbox::Outbox;
use plimsoll_wire::smb2::pattern::is_pattern;

impl NfsClient {
    /// Begins an operation on a connection that is ready.
    pub(super) fn begin_operation(
        &mut self,
        operation: &Operation<'_>,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Operation::Close { file } = operation {
            let result = match self.files.remove(*file) {
                // The last chance to report lost writes of a file that was never flushed.
                Some(file) if file.unstable.is_lost() => Err(Failure::never_sent(Cause::LostWrites)),
                Some(_) => Ok(Reply::Nothing),
                None => Err(Failure::never_sent(Cause::Unsupported)),
            };
            return events.done(Done { tag: ticket.tag, at: now, result });
        }
        if let Some(result) = self.open_without_asking(operation) {
            return events.done(Done { tag: ticket.tag, at: now, result });
        }
        if let Operation::Find { path, pattern, .. } = operation
            && !is_pattern(pattern)
        {
            // A name is looked up.
            let path = &joined(path, pattern);
            return self.begin_operation(&Operation::Getattr { path }, ticket, now, out, events);
        }
        let Some(goal) = self.goal(operation) else {
            let result = Err(Failure::never_sent(Cause::Unsupported));
            return events.done(Done { tag: ticket.tag, at: now, result });
        };
        let mut job = Job::new(ticket, goal);
        job.walks = self.walks(operation);
        let id = self.jobs.add(job);
        self.advance(id, now, out, events);
    }

    /// Opens a file whose handle is known, for a user to whom that is good enough.
    fn open_without_asking(&mut self, operation: &Operation<'_>) -> Option<Result<Reply, Failure>> {
        let Operation::Open { path, disposition: Disposition::Open, caching: Caching::Handle, .. } = operation else {
            return None;
        };
        let (known, handle) = self.handles.longest(path, true);
        let opened = || match self.files.add(File::new(handle)) {
            Some(file) => Ok(Reply::Opened { file, size: None }),
            None => Err(Failure::never_sent(Cause::OutOfResources)),
        };
        (known == path.len()).then(opened)
    }

    /// The goal of an operation; `None` if NFSv3 has no such operation or the file is not open.
    fn goal(&self, operation: &Operation<'_>) -> Option<Goal> {
        let handle = |file| self.files.get(file).map(|file| file.handle);
        Some(match *operation {
            Operation::Open { disposition, .. } => open(Kind::File, disposition)?,
            Operation::OpenEntry { delete_on_close: true, .. } => return None,
            Operation::OpenEntry { kind, disposition, .. } => open(kind, disposition)?,
            Operation::Read { file, offset, length, keep } => {
                Goal::Read { transfer: Transfer::new(handle(file)?, offset, length)?, keep }
            }
            Operation::Write { file, offset, length, content, key }
            | Operation::WriteThrough { file, offset, length, content, key } => {
                let transfer = Transfer::new(handle(file)?, offset, length)?;
                let through = matches!(operation, Operation::WriteThrough { .. });
                let stable = if through { Stable::FileSync } else { Stable::Unstable };
                Goal::Write { file, transfer, content: content.clone(), key, stable }
            }
            Operation::Flush { file } => Goal::Flush(file, handle(file)?),
            Operation::Lookup { .. } => Goal::Lookup,
            Operation::Getattr { .. } | Operation::Query { .. } => Goal::GetAttributes,
            Operation::GetattrOpen { file } | Operation::QueryOpen { file, .. } => Goal::GetAttributesOf(handle(file)?),
            Operation::Setattr { mode, .. } => Goal::SetMode(mode),
            Operation::SetattrOpen { file, mode } => Goal::Set(handle(file)?, SetAttributes::mode(mode)),
            Operation::Truncate { file, size } => {
                Goal::Set(handle(file)?, SetAttributes { size: Some(size), ..SetAttributes::default() })
            }
            Operation::Access { .. } => Goal::Access,
            Operation::List { .. } => self.list(true, None),
            Operation::ListNames { .. } => self.list(false, None),
            Operation::Find { pattern, .. } => self.list(true, Some(Wanted { pattern: pattern.into(), found: 0 })),
            Operation::Mkdir { .. } => Goal::MakeDirectory,
            Operation::Rmdir { .. } => Goal::RemoveDirectory,
            Operation::Remove { .. } => Goal::Remove,
            Operation::Rename { .. } => Goal::Rename,
            Operation::Link { .. } => Goal::Link,
            Operation::Symlink { text, .. } => Goal::SymbolicLink(text.as_bytes().into()),
            Operation::Readlink { .. } => Goal::ReadLink,
            Operation::Fsinfo | Operation::QueryFileSystem { .. } => Goal::Space,
            Operation::Null => Goal::Null,
            // NFSv3 has no such thing.
            _ => return None,
        })
    }

    fn list(&self, plus: bool, wanted: Option<Wanted>) -> Goal {
        let plus = plus && !self.without_plus;
        Goal::List { cookie: 0, verifier: [0; 8], entries: 0, plus, repeated: 0, wanted }
    }

    /// The paths that must be walked first.
    fn walks(&mut self, operation: &Operation<'_>) -> Walks {
        let paths = match *operation {
            Operation::Open { path, disposition, .. } | Operation::OpenEntry { path, disposition, .. } => {
                [Some((path, matches!(disposition, Disposition::Open | Disposition::Overwrite))), None]
            }
            _ => paths(operation),
        };
        self.spare.walks(paths, &mut self.handles)
    }
}

/// Emulates an open, which NFSv3 does not have; `None` if the request cannot be expressed.
fn open(kind: Kind, disposition: Disposition) -> Option<Goal> {
    let (disposition, emptied) = match disposition {
        // It is looked up, and then emptied like a file that CREATE left as it was.
        Disposition::Overwrite => (disposition, true),
        Disposition::Supersede => (Disposition::OverwriteOrCreate, false),
        _ => (disposition, false),
    };
    let directory = kind == Kind::Directory;
    let there_or_new = matches!(disposition, Disposition::Open | Disposition::Create);
    (there_or_new || !directory).then_some(Goal::Open { disposition, emptied, directory })
}
