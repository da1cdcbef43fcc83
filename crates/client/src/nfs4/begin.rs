//! Makes jobs from operations.

use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::{Mask, SetAttributes, open};
use plimsoll_wire::smb2::pattern::is_pattern;

use super::client::Nfs4Client;
use super::file::File;
use super::job::{Goal, Job, Opening, Transfer, Walks};
use crate::client::Events;
use crate::joined::joined;
use crate::nfs::{Wanted, paths};
use crate::operation::{Access, Caching, Cause, Disposition, Done, Failure, Kind, Operation, Reply, Ticket};
use crate::outbox::Outbox;

impl Nfs4Client {
    /// Begins an operation on a connection that is ready.
    pub(super) fn begin_operation(
        &mut self,
        operation: &Operation<'_>,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Some(result) = self.without_asking(operation) {
            return events.done(Done { tag: ticket.tag, at: now, result });
        }
        if let Operation::Find { path, pattern, .. } = operation
            && !is_pattern(pattern)
        {
            // A search for a name is a LOOKUP.
            let path = &joined(path, pattern);
            return self.begin_operation(&Operation::Getattr { path }, ticket, now, out, events);
        }
        let goal = match operation {
            Operation::Close { file } => self.close(*file),
            _ => self.goal(operation),
        };
        let Some(goal) = goal else {
            let result = Err(Failure::never_sent(self.lacking(operation)));
            return events.done(Done { tag: ticket.tag, at: now, result });
        };
        let mut job = Job::new(ticket, goal);
        // The server may have lost the state of the file by then, and a recovery does not reclaim it.
        job.again = matches!(job.goal, Goal::Close { .. }) && self.holds_back(&job);
        job.walks = self.walks(operation, &job.goal);
        let id = self.jobs.add(job);
        self.advance(id, now, out, events);
    }

    /// Operations without a request: opening and closing a file with a known handle (`Caching::Handle`), or under a delegation.
    fn without_asking(&mut self, operation: &Operation<'_>) -> Option<Result<Reply, Failure>> {
        match operation {
            Operation::Open { path, disposition: Disposition::Open, caching: Caching::Handle, .. } => {
                let (known, handle) = self.paths.handles.longest(path, true);
                let opened = || match self.opens.files.add(File::new(handle, None)) {
                    Some(file) => Ok(Reply::Opened { file, size: None }),
                    None => Err(Failure::never_sent(Cause::OutOfResources)),
                };
                (known == path.len()).then(opened)
            }
            Operation::Open { path, disposition: Disposition::Open, access: Access::Read, .. } => {
                self.open_delegated(path)
            }
            Operation::Close { file }
                if self.opens.files.get(*file).is_some_and(|file| self.opens.closes_locally(file)) =>
            {
                let file = self.opens.files.remove(*file)?;
                self.opens.close_shared(file.base);
                // The client never committed these writes, so the close reports their loss.
                let lost = file.unstable.is_lost();
                Some(if lost { Err(Failure::never_sent(Cause::LostWrites)) } else { Ok(Reply::Nothing) })
            }
            _ => None,
        }
    }

    /// Opens a file for reading under a delegation that the client holds.
    fn open_delegated(&mut self, path: &str) -> Option<Result<Reply, Failure>> {
        // The server may have lost the delegation with the session.
        if self.condition.is_suspended() || !self.recovering.is_idle() {
            return None;
        }
        let (known, handle) = self.paths.handles.longest(path, true);
        if known == path.len() { self.opens.open_locally(&handle) } else { None }
    }

    fn close(&mut self, file: crate::FileKey) -> Option<Goal> {
        let file = self.opens.files.remove(file)?;
        let open = file.open.or_else(|| self.opens.close_shared(file.base))?;
        let (state, owner) = (open.state, open.owner);
        Some(Goal::Close { handle: file.handle, state, owner, lost: file.unstable.is_lost() })
    }

    /// The goal of an operation; `None` if NFSv4 has no such operation, or if the file is not open.
    fn goal(&self, operation: &Operation<'_>) -> Option<Goal> {
        let open = |file| self.opens.files.get(file);
        Some(match *operation {
            Operation::Open { disposition, access, .. } => {
                opening(Kind::File, disposition, self.opens.wanting(share(access), disposition))?
            }
            Operation::OpenEntry { delete_on_close: true, .. } => return None,
            Operation::OpenEntry { kind, disposition, .. } => {
                opening(kind, disposition, self.opens.wanting(share(Access::ReadWrite), disposition))?
            }
            Operation::Read { file, offset, length, keep } => {
                Goal::Read { file, transfer: Transfer::new(open(file)?.handle, offset, length)?, keep, plus: false }
            }
            Operation::Write { file, offset, length, content, key }
            | Operation::WriteThrough { file, offset, length, content, key } => {
                let transfer = Transfer::new(open(file)?.handle, offset, length)?;
                let through = matches!(operation, Operation::WriteThrough { .. });
                let stable = if through { Stable::FileSync } else { Stable::Unstable };
                Goal::Write { file, transfer, content: content.clone(), key, stable }
            }
            Operation::Flush { file } => Goal::Flush(file, open(file)?.handle, 0),
            Operation::Lookup { .. } => Goal::Lookup,
            Operation::Getattr { .. } | Operation::Query { .. } => Goal::GetAttributes,
            Operation::GetattrOpen { file } | Operation::QueryOpen { file, .. } => {
                Goal::GetAttributesOf(open(file)?.handle)
            }
            Operation::Setattr { mode, .. } => Goal::SetMode(mode),
            Operation::SetattrOpen { file, mode } => Goal::Set(open(file)?.handle, file, SetAttributes::mode(mode)),
            Operation::Truncate { file, size } => Goal::Set(open(file)?.handle, file, SetAttributes::size(size)),
            Operation::Lock { file, offset, length, exclusive, wait } => {
                let known = open(file)?;
                if known.open.is_none() && known.base.is_none() {
                    return None;
                }
                Goal::Lock { file, exclusive, waits: wait, range: (offset, length), opens: None }
            }
            Operation::Unlock { file, offset, length } => {
                open(file)?.lock?;
                Goal::Unlock { file, range: (offset, length) }
            }
            _ => return on_a_path(operation).or_else(|| self.goal_of_minor_2(operation)),
        })
    }

    /// Why there is no goal: NFSv4 lacks the operation, or the file lacks the state.
    fn lacking(&self, operation: &Operation<'_>) -> Cause {
        let state = match *operation {
            Operation::Lock { file, .. } => self.opens.without_lock(file, false),
            Operation::Unlock { file, .. } => self.opens.without_lock(file, true),
            _ => None,
        };
        state.unwrap_or(Cause::Unsupported)
    }

    /// The paths to look up first.
    fn walks(&mut self, operation: &Operation<'_>, goal: &Goal) -> Walks {
        let paths = match *operation {
            Operation::Open { path, .. } | Operation::OpenEntry { path, .. } => {
                let looks =
                    matches!(goal, Goal::Open(Opening { any: true, .. }) | Goal::OpenDirectory { makes: false });
                [Some((path, looks)), None]
            }
            _ => paths(operation),
        };
        self.paths.walks(paths)
    }
}

fn on_a_path(operation: &Operation<'_>) -> Option<Goal> {
    let list = |attributes, wanted| Goal::List { cookie: 0, verifier: [0; 8], entries: 0, attributes, wanted };
    Some(match *operation {
        Operation::Access { .. } => Goal::Access,
        Operation::List { .. } => list(Mask::OF_ENTRIES, None),
        Operation::ListNames { .. } => list(Mask::OF_NAMES, None),
        Operation::Find { pattern, .. } => list(Mask::OF_ENTRIES, Some(Wanted { pattern: pattern.into(), found: 0 })),
        Operation::Mkdir { .. } => Goal::MakeDirectory,
        Operation::Rmdir { .. } | Operation::Remove { .. } => Goal::Remove,
        Operation::Rename { .. } => Goal::Rename,
        Operation::Link { .. } => Goal::Link,
        Operation::Symlink { text, .. } => Goal::SymbolicLink(text.as_bytes().into()),
        Operation::Readlink { .. } => Goal::ReadLink,
        Operation::Fsinfo | Operation::QueryFileSystem { .. } => Goal::Space,
        Operation::Null => Goal::Null,
        _ => return None,
    })
}

fn share(access: Access) -> u32 {
    match access {
        Access::Read => open::READ,
        Access::Write => open::WRITE,
        Access::ReadWrite => open::READ | open::WRITE,
    }
}

/// Parameters of an OPEN; `None` if OPEN cannot express the request.
fn opening(kind: Kind, disposition: Disposition, access: u32) -> Option<Goal> {
    let makes = match disposition {
        Disposition::Open => false,
        Disposition::Create => true,
        _ if kind == Kind::Directory => return None,
        _ => true,
    };
    if kind == Kind::Directory {
        return Some(Goal::OpenDirectory { makes });
    }
    let empties = disposition == Disposition::Overwrite;
    let any = kind == Kind::Any && disposition == Disposition::Open;
    Some(Goal::Open(Opening {
        disposition,
        access,
        any,
        owner: None,
        opened: None,
        unconfirmed: false,
        delegation: None,
        granted: None,
        empties,
    }))
}
