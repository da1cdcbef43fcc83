//! From actions to jobs.

use plimsoll_wire::nfs::v3::SetAttributes;
use plimsoll_wire::nfs::v3::write::Stable;

use super::client::NfsClient;
use super::file::File;
use super::job::{Goal, Job, Walk, Wanted, never_sent};
use super::transfer::Transfer;
use crate::action::{Action, Caching, Cause, Disposition, Done, Failure, Kind, Reply, Ticket};
use crate::client::Events;
use crate::joined::joined;
use crate::outbox::Outbox;
use plimsoll_wire::smb2::pattern::is_pattern;

impl NfsClient {
    /// Begins an action on a connection that is ready.
    pub(super) fn begin_action(
        &mut self,
        action: &Action<'_>,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Action::Close { file } = action {
            let result = match self.files.remove(*file) {
                // Who never asks whether it is durable is told at last.
                Some(file) if file.is_lost() => Err(never_sent(None, Cause::LostWrites)),
                Some(_) => Ok(Reply::Nothing),
                None => Err(never_sent(None, Cause::Unsupported)),
            };
            return events.done(Done { tag: ticket.tag, at: now, result });
        }
        if let Some(result) = self.open_without_asking(action) {
            return events.done(Done { tag: ticket.tag, at: now, result });
        }
        if let Action::Find { path, pattern, .. } = action
            && !is_pattern(pattern)
        {
            // A name is looked up.
            let path = &joined(path, pattern);
            return self.begin_action(&Action::GetAttributes { path }, ticket, now, out, events);
        }
        let Some(goal) = self.goal(action) else {
            let result = Err(never_sent(None, Cause::Unsupported));
            return events.done(Done { tag: ticket.tag, at: now, result });
        };
        let mut job = Job::new(ticket, goal);
        job.walks = self.walks(action);
        let id = self.jobs.add(job);
        self.advance(id, now, out, events);
    }

    /// Opens a file whose handle is known, for a user to whom that is good enough.
    fn open_without_asking(&mut self, action: &Action<'_>) -> Option<Result<Reply, Failure>> {
        let Action::Open { path, disposition: Disposition::OpenExisting, caching: Caching::Handle, .. } = action else {
            return None;
        };
        let (known, handle) = self.handles.longest(path, true);
        let opened = || match self.files.add(File::new(handle)) {
            Some(file) => Ok(Reply::Opened { file, size: None }),
            None => Err(never_sent(None, Cause::OutOfResources)),
        };
        (known == path.len()).then(opened)
    }

    /// What an action is about; `None` where NFSv3 has no such thing, or the file is not open.
    fn goal(&self, action: &Action<'_>) -> Option<Goal> {
        let handle = |file| self.files.get(file).map(|file| file.handle);
        Some(match *action {
            Action::Open { disposition, .. } => open(Kind::File, disposition)?,
            Action::Create { delete_on_close: true, .. } => return None,
            Action::Create { kind, disposition, .. } => open(kind, disposition)?,
            Action::Read { file, offset, length, keep } => {
                Goal::Read { transfer: Transfer::new(handle(file)?, offset, length)?, keep }
            }
            Action::Write { file, offset, length, content, key }
            | Action::WriteThrough { file, offset, length, content, key } => {
                let transfer = Transfer::new(handle(file)?, offset, length)?;
                let through = matches!(action, Action::WriteThrough { .. });
                let stable = if through { Stable::FileSync } else { Stable::Unstable };
                Goal::Write { file, transfer, content: content.clone(), key, stable }
            }
            Action::Flush { file } => Goal::Flush(file, handle(file)?),
            Action::Lookup { .. } => Goal::Lookup,
            Action::GetAttributes { .. } | Action::Query { .. } => Goal::GetAttributes,
            Action::GetAttributesOf { file } | Action::QueryOf { file, .. } => Goal::GetAttributesOf(handle(file)?),
            Action::SetAttributes { mode, .. } => Goal::SetMode(mode),
            Action::SetAttributesOf { file, mode } => Goal::Set(handle(file)?, SetAttributes::mode(mode)),
            Action::SetSize { file, size } => {
                Goal::Set(handle(file)?, SetAttributes { size: Some(size), ..SetAttributes::default() })
            }
            Action::Access { .. } => Goal::Access,
            Action::List { .. } => self.list(true, None),
            Action::ListNames { .. } => self.list(false, None),
            Action::Find { pattern, .. } => self.list(true, Some(Wanted { pattern: pattern.into(), found: 0 })),
            Action::MakeDirectory { .. } => Goal::MakeDirectory,
            Action::RemoveDirectory { .. } => Goal::RemoveDirectory,
            Action::Remove { .. } => Goal::Remove,
            Action::Rename { .. } => Goal::Rename,
            Action::Link { .. } => Goal::Link,
            Action::SymbolicLink { text, .. } => Goal::SymbolicLink(text.as_bytes().into()),
            Action::ReadLink { .. } => Goal::ReadLink,
            Action::FileSystemInfo | Action::QueryFileSystem { .. } => Goal::Space,
            Action::Null => Goal::Null,
            Action::Close { .. }
            | Action::Lock { .. }
            | Action::Unlock { .. }
            | Action::Watch { .. }
            | Action::Cancel { .. }
            | Action::CopyOnServer { .. }
            | Action::QueryVolume { .. }
            | Action::Control { .. }
            | Action::ConnectShare
            | Action::DisconnectShare
            | Action::LogOn
            | Action::LogOff => return None,
        })
    }

    fn list(&self, plus: bool, wanted: Option<Wanted>) -> Goal {
        let plus = plus && !self.without_plus;
        Goal::List { cookie: 0, verifier: [0; 8], entries: 0, plus, repeated: 0, wanted }
    }

    /// The paths that must be walked first.
    fn walks(&mut self, action: &Action<'_>) -> [Option<Walk>; 2] {
        let mut walk = |path: &str, whole| {
            let (at, handle) = self.handles.longest(path, whole);
            let mut text = self.spare.pop().unwrap_or_default();
            text.push_str(path);
            Some(Walk::new(text, whole, at, handle))
        };
        match *action {
            Action::Open { path, disposition, .. } | Action::Create { path, disposition, .. } => {
                [walk(path, matches!(disposition, Disposition::OpenExisting | Disposition::Truncate)), None]
            }
            Action::GetAttributes { path }
            | Action::Query { path, .. }
            | Action::Find { path, .. }
            | Action::SetAttributes { path, .. }
            | Action::Access { path }
            | Action::List { path }
            | Action::ListNames { path }
            | Action::ReadLink { path } => [walk(path, true), None],
            Action::Lookup { path }
            | Action::MakeDirectory { path }
            | Action::RemoveDirectory { path }
            | Action::Remove { path }
            | Action::SymbolicLink { path, .. } => [walk(path, false), None],
            Action::Rename { from, to } => [walk(from, false), walk(to, false)],
            Action::Link { from, to } => [walk(from, true), walk(to, false)],
            _ => [None, None],
        }
    }
}

/// How something is opened that NFSv3 has no OPEN for; `None` where what is asked cannot be said.
fn open(kind: Kind, disposition: Disposition) -> Option<Goal> {
    let (disposition, emptied) = match disposition {
        // It is looked up, and then emptied like a file that CREATE left as it was.
        Disposition::Truncate => (disposition, true),
        Disposition::Replace => (Disposition::CreateOrTruncate, false),
        _ => (disposition, false),
    };
    let directory = kind == Kind::Directory;
    let there_or_new = matches!(disposition, Disposition::OpenExisting | Disposition::CreateNew);
    (there_or_new || !directory).then_some(Goal::Open { disposition, emptied, directory })
}
