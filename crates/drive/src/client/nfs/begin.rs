//! From actions to jobs.

use super::client::NfsClient;
use super::job::{Goal, Job, Walk, never_sent};
use super::transfer::Transfer;
use crate::action::{Action, Cause, Done, Reply, Ticket};
use crate::client::Events;
use crate::outbox::Outbox;

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
        let Some(goal) = self.goal(action) else {
            let result = Err(never_sent(None, Cause::Unsupported));
            return events.done(Done { tag: ticket.tag, at: now, result });
        };
        let mut job = Job::new(ticket, goal);
        job.walks = self.walks(action);
        let id = self.jobs.add(job);
        self.advance(id, now, out, events);
    }

    /// What an action is about; `None` where NFSv3 has no such thing, or the file is not open.
    fn goal(&self, action: &Action<'_>) -> Option<Goal> {
        let handle = |file| self.files.get(file).map(|file| file.handle);
        Some(match *action {
            Action::Open { disposition, .. } => Goal::Open { disposition, emptied: false },
            Action::Read { file, offset, length, keep } => {
                Goal::Read { transfer: Transfer::new(handle(file)?, offset, length)?, keep }
            }
            Action::Write { file, offset, length, content, key } => {
                let transfer = Transfer::new(handle(file)?, offset, length)?;
                Goal::Write { file, transfer, content: content.clone(), key }
            }
            Action::Flush { file } => Goal::Flush(file, handle(file)?),
            Action::GetAttributes { .. } => Goal::GetAttributes,
            Action::GetAttributesOf { file } => Goal::GetAttributesOf(handle(file)?),
            Action::SetAttributes { mode, .. } => Goal::SetMode(mode),
            Action::SetSize { file, size } => Goal::SetSize(handle(file)?, size),
            Action::Access { .. } => Goal::Access,
            Action::List { .. } => Goal::List { cookie: 0, verifier: [0; 8], entries: 0, plus: !self.without_plus },
            Action::MakeDirectory { .. } => Goal::MakeDirectory,
            Action::RemoveDirectory { .. } => Goal::RemoveDirectory,
            Action::Remove { .. } => Goal::Remove,
            Action::Rename { .. } => Goal::Rename,
            Action::Link { .. } => Goal::Link,
            Action::SymbolicLink { text, .. } => Goal::SymbolicLink(text.as_bytes().into()),
            Action::ReadLink { .. } => Goal::ReadLink,
            Action::FileSystemInfo => Goal::Space,
            Action::Null => Goal::Null,
            Action::Close { .. }
            | Action::Lock { .. }
            | Action::Unlock { .. }
            | Action::Watch { .. }
            | Action::Cancel { .. }
            | Action::CopyOnServer { .. } => return None,
        })
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
            Action::Open { path, disposition, .. } => {
                [walk(path, disposition == crate::action::Disposition::OpenExisting), None]
            }
            Action::GetAttributes { path }
            | Action::SetAttributes { path, .. }
            | Action::Access { path }
            | Action::List { path }
            | Action::ReadLink { path } => [walk(path, true), None],
            Action::MakeDirectory { path }
            | Action::RemoveDirectory { path }
            | Action::Remove { path }
            | Action::SymbolicLink { path, .. } => [walk(path, false), None],
            Action::Rename { from, to } => [walk(from, false), walk(to, false)],
            Action::Link { from, to } => [walk(from, true), walk(to, false)],
            _ => [None, None],
        }
    }
}
