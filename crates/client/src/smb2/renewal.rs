//! Changes the messages of a lost session for the session that takes over: new file IDs, and directories opened again.

use std::collections::HashMap;

use plimsoll_wire::smb2::ioctl::{self, fsctl};
use plimsoll_wire::smb2::{
    Command, FileId, change_notify, close, create, flush, lock, query_directory, query_info, read, set_info, write,
};

use super::channel_loss::mark_replay;
use super::client::SmbClient;
use super::connection::{Outgoing, SentMessage};
use super::durable::closed;
use super::jobs::{Directory, Job, Kind, RESUME_KEY_OUTPUT};
use super::request_kind::RequestKind;
use super::waiting::Waiting;
use crate::client::Events;

impl SmbClient {
    /// Replaces file IDs; `moved` has the new ones.
    pub(super) fn rename_files(&mut self, moved: &HashMap<FileId, FileId>, at: i64, events: &mut dyn Events) {
        let rename = |file: &mut FileId| *file = moved.get(file).copied().unwrap_or(*file);
        self.files.iter_mut().for_each(|open| rename(&mut open.id));
        for job in self.jobs.iter_mut() {
            match &mut job.kind {
                Kind::Read { transfer, .. } | Kind::Write { transfer, .. } => rename(&mut transfer.file),
                Kind::Copy { copy } => [&mut copy.from, &mut copy.to].into_iter().for_each(rename),
                _ => {}
            }
        }
        for mut waiting in std::mem::take(&mut self.waiting) {
            let is_over = waiting.outgoing.as_deref().and_then(closed).is_some_and(|file| !moved.contains_key(&file));
            if is_over {
                self.closed_with_its_connection(&waiting, at, events);
                continue;
            }
            if let Some(outgoing) = &mut waiting.outgoing {
                self.begin_anew(&waiting.job, outgoing);
                rename_in(outgoing, moved);
            }
            self.waiting.push_back(waiting);
        }
    }

    /// An open that may have been carried out, and whose handle is not known: with another name the server does not refuse it for
    /// that, and the file that it was to create may be there. Nobody can close the first open. With another lease the file is asked for
    /// as by another client: the server breaks the lease of the first open, and closes it, because it has no connection
    /// (MS-SMB2 3.3.4.7). Samba would otherwise have the file open twice, and would not give it back the next time.
    ///
    /// An open with a persistent handle stays without a connection, and the server then refuses other opens of the file
    /// (MS-SMB2 3.3.5.9). The same request is sent again, because the server recognises it by its GUID.
    pub(super) fn open_anew(&mut self, message: &mut SentMessage) {
        let guid = self.new_key();
        let grants_persistent = self.durable.as_ref().is_some_and(|durable| durable.grants_persistent());
        let Some(Job { kind: Kind::Open { reopening: Some(reopening), lease, .. }, .. }) = self.jobs.get(message.job)
        else {
            return;
        };
        if reopening.persistent && grants_persistent {
            return mark_replay(&mut message.outgoing);
        }
        open_or_create(&mut message.outgoing);
        if let Some(before) = &mut reopening.guid {
            replace(&mut message.outgoing, std::mem::replace(before, guid), guid);
        }
        let (path, before) = (reopening.path.clone(), *lease);
        let Some(before) = before else { return };
        if before == self.key_of_file(&path)
            && let Some(durable) = &mut self.durable
        {
            durable.leave_behind(&path);
        }
        let now = self.key_of_file(&path);
        replace(&mut message.outgoing, before, now);
        if let Some(Kind::Open { lease, .. }) = self.jobs.get(message.job).map(|job| &mut job.kind) {
            *lease = Some(now);
        }
    }

    /// A file that was to be closed is.
    fn closed_with_its_connection(&mut self, waiting: &Waiting, at: i64, events: &mut dyn Events) {
        let Some(job) = self.jobs.get(waiting.job) else { return };
        job.pending = job.pending.saturating_sub(waiting.again.map_or(0, |again| again.left));
        self.settle_without_sending(waiting.job, at, events);
    }

    /// The server has lost the state of a directory listing or a copy with the connection.
    fn begin_anew(&mut self, job: &super::jobs::JobId, outgoing: &mut Outgoing) {
        let Some(job) = self.jobs.get(*job) else { return };
        match &mut job.kind {
            Kind::List { directory, .. } | Kind::Watch { directory } if *directory != Directory::Opening => {
                let Some(opening) = &job.opening else { return };
                *directory = Directory::Opening;
                outgoing.clone_from(opening);
                if let Kind::List { entries, .. } = &mut job.kind {
                    *entries = 0;
                }
            }
            Kind::Copy { copy } if copy.resume_key.is_some() => {
                copy.resume_key = None;
                // The next message names the file again.
                job.file = None;
                let control = fsctl::Control::RequestResumeKey;
                let call = ioctl::Ioctl { file: copy.from, control, max_output: RESUME_KEY_OUTPUT };
                outgoing.clear();
                // This request has no variable part that could be too long.
                let built = outgoing.add(RequestKind::ResumeKey, &call);
                debug_assert!(built.is_ok());
            }
            _ => {}
        }
    }
}

/// Puts the new handles of files into a message.
fn rename_in(outgoing: &mut Outgoing, moved: &HashMap<FileId, FileId>) {
    for member in &outgoing.members {
        let Some(at) = file_at(member.kind.command()) else { continue };
        let place = outgoing.bytes.get_mut(member.start + at..).and_then(|rest| rest.first_chunk_mut());
        let Some(place) = place else { continue };
        if let Some(FileId(new)) = moved.get(&FileId(*place)) {
            *place = *new;
        }
    }
}

/// Offset of the file ID in a request; `None` if the request has none.
fn file_at(command: Command) -> Option<usize> {
    Some(match command {
        Command::Close => close::FILE_ID,
        Command::Flush => flush::FILE_ID,
        Command::Read => read::FILE_ID,
        Command::Write => write::FILE_ID,
        Command::Lock => lock::FILE_ID,
        Command::Ioctl => ioctl::FILE_ID,
        Command::QueryDirectory => query_directory::FILE_ID,
        Command::ChangeNotify => change_notify::FILE_ID,
        Command::QueryInfo => query_info::FILE_ID,
        Command::SetInfo => set_info::FILE_ID,
        _ => return None,
    })
}

/// Lets a CREATE open a file that was not to be there: its first sending may have created it.
fn open_or_create(outgoing: &mut Outgoing) {
    let place = outgoing.bytes.get_mut(create::DISPOSITION..).and_then(|rest| rest.first_chunk_mut());
    if let Some(place) = place.filter(|place| u32::from_le_bytes(**place) == create::DISPOSITION_CREATE) {
        *place = create::DISPOSITION_OPEN_IF.to_le_bytes();
    }
}

/// Gives an open another name, or another lease.
fn replace(outgoing: &mut Outgoing, before: [u8; 16], now: [u8; 16]) {
    let at = outgoing.bytes.windows(before.len()).position(|part| part == before);
    let place = at.and_then(|at| outgoing.bytes.get_mut(at..)).and_then(|rest| rest.first_chunk_mut());
    place.into_iter().for_each(|place| *place = now);
}
