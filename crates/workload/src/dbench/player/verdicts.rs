//! Compares the result of a line with the expected one.

use plimsoll_client::operation::{Cause, Done, Failure, FileKey, Kind, Reply};
use plimsoll_client::status::status_name;

use super::super::account::Deviation;
use super::super::line::{File, Line, Op};
use super::super::statuses::Expected;
use super::Player;
use crate::scenario::Verdict;

impl Player {
    /// An operation of a line ended.
    pub(super) fn played(&mut self, done: &Done) -> Verdict {
        let Some(line) = self.line().copied() else { return Verdict::AsAnswered };
        self.closed(&line);
        let verdict = match &done.result {
            Ok(reply) => self.succeeded(&line, reply),
            Err(failure) => self.failed(&line, failure),
        };
        if let Ok(Reply::Opened { file, .. }) = done.result {
            self.opened(&line, file);
        }
        let refused = verdict == Verdict::Expected && line.expected.is_failure();
        let as_expected = verdict == Verdict::Expected || verdict == Verdict::AsAnswered && done.result.is_ok();
        self.line_over(as_expected, refused);
        verdict
    }

    /// However a close ended, there is nothing left to be closed.
    fn closed(&mut self, line: &Line) {
        match line.op {
            Op::Close { file: File::Handle(handle) } => {
                self.by_handle.remove(&handle);
            }
            Op::Close { file: File::Path(_) } => {
                self.by_path.remove(&self.path);
            }
            _ => {}
        }
    }

    /// A file that was not meant to be there, or an older one of the same number, is of no use.
    fn opened(&mut self, line: &Line, file: FileKey) {
        match line.op {
            Op::Create { handle, .. } if !line.expected.is_failure() => {
                self.closing.extend(self.by_handle.insert(handle, file));
            }
            Op::Open { .. } if !line.expected.is_failure() => {
                self.closing.extend(self.by_path.insert(self.path.clone(), file));
            }
            _ => self.closing.push(file),
        }
    }

    fn succeeded(&self, line: &Line, reply: &Reply) -> Verdict {
        // Where the client does the searching, finding nothing is no error.
        let nothing_found = matches!((line.op, reply), (Op::Find { .. }, Reply::Listed { entries: 0 }));
        if nothing_found && line.expected == Expected::NO_SUCH_FILE {
            return Verdict::Expected;
        }
        if line.expected.is_failure() {
            return self.unexpected(line, "success".to_owned());
        }
        let moved = match (line.op, reply) {
            (Op::Read { moved, .. }, Reply::Read { bytes }) => moved.is_none_or(|moved| moved == *bytes),
            (Op::Write { moved, .. }, Reply::Written { bytes }) => moved.is_none_or(|moved| moved == *bytes),
            _ => true,
        };
        if moved || line.expected == Expected::Anything {
            return Verdict::AsAnswered;
        }
        self.stage.account.deviates(line, Deviation::Moved(Deviation::name(line)));
        Verdict::Failed(Cause::Unexpected)
    }

    fn failed(&self, line: &Line, failure: &Failure) -> Verdict {
        // An NFS client knows that it has no lock, and need not ask the server.
        if failure.cause == Cause::NoLock
            && matches!(line.expected, Expected::RANGE_NOT_LOCKED | Expected::Failure | Expected::Anything)
        {
            return Verdict::Expected;
        }
        if failure.cause == Cause::Unsupported && may_be_lacking(&line.op) {
            self.stage.account.deviates(line, Deviation::impossible(line, "the protocol has no equivalent"));
            return Verdict::Excused;
        }
        if failure.is_not_supported() && !wanted(line, failure) {
            self.stage.account.deviates(line, Deviation::impossible(line, failure.to_string()));
            return Verdict::Excused;
        }
        let (Cause::Status, Some(procedure), Some(status)) = (failure.cause, failure.procedure, failure.status) else {
            // No answer of the server, or an unreadable one: that is a separate kind of failure.
            return Verdict::AsAnswered;
        };
        // NetBench creates the directory of all clients without checking whether it exists.
        let there = matches!(line.op, Op::MakeDirectory { .. }) && line.expected == Expected::Success;
        if wanted(line, failure) || there && failure.is_there() {
            return Verdict::Expected;
        }
        let protocol = procedure.row().protocol;
        let name = status_name(protocol, status);
        self.unexpected(line, name.map_or_else(|| format!("status {status:#010x}"), str::to_owned))
    }

    fn unexpected(&self, line: &Line, came: String) -> Verdict {
        self.stage.account.deviates(line, Deviation::Unexpected(Deviation::name(line), line.expected, came));
        Verdict::Failed(Cause::Unexpected)
    }
}

/// Whether the server's refusal is the one expected by the line.
fn wanted(line: &Line, failure: &Failure) -> bool {
    let status = failure.procedure.zip(failure.status).filter(|_| failure.cause == Cause::Status);
    status.is_some_and(|(procedure, status)| line.expected.is(procedure.row().protocol, status))
}

/// Whether a protocol may lack this operation. If a client does not send another operation, it has another reason, for example missing
/// credits.
fn may_be_lacking(op: &Op) -> bool {
    match op {
        Op::Create { kind, delete_on_close, .. } => *delete_on_close || *kind == Kind::Directory,
        Op::Lock { .. } | Op::Unlock { .. } | Op::Access { .. } | Op::Lookup { .. } => true,
        Op::Link { .. } | Op::SymbolicLink { .. } | Op::ReadLink { .. } => true,
        _ => false,
    }
}
