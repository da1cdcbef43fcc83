//! From operations to messages.

mod blocking;
mod compounds;
mod controls;
mod directories;
mod open;
mod stages;
mod transfer;

use plimsoll_model::FileIdentity;
use plimsoll_wire::smb2::query_info::InfoType;
use plimsoll_wire::smb2::set_info::Change;
use plimsoll_wire::smb2::{Call, close, empty_body, flush, information, ioctl, query_info, set_info};

use self::open::Opening;
use super::client::SmbClient;
use super::files::Open;
use super::jobs::{Copying, Directory, Job, Kind, RESUME_KEY_OUTPUT};
use super::request_kind::RequestKind;
use crate::client::Events;
use crate::operation::{Access, Caching, Cause, Control, FileKey, Kind as Which, Operation, Ticket};
use crate::outbox::Outbox;

impl SmbClient {
    /// Begins an operation while the share is connected.
    pub(super) fn begin_operation(
        &mut self,
        operation: &Operation<'_>,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        if let Some(reply) = self.answer_from_listing(operation, ticket.tag, now, out, events) {
            return events.done(crate::Done { tag: ticket.tag, at: now, result: Ok(reply) });
        }
        if !self.connection.in_secondary_context() {
            let max_read = self.connection.limits.max_read;
            if let Some(reply) = self.lease_cache.answer(operation, &self.files, max_read, now) {
                return events.done(crate::Done { tag: ticket.tag, at: now, result: Ok(reply) });
            }
            let closing = self.lease_cache.clear_the_way(operation, &mut self.files, now);
            closing.into_iter().for_each(|file| self.close(file, now, out));
        }
        let begun = match *operation {
            Operation::Read { file, offset, length, keep } => self
                .transfer_of(file, offset, length)
                .map(|transfer| self.begin_transfer(Kind::Read { transfer, keep }, ticket, file, now, out)),
            Operation::Write { file, offset, length, content, key }
            | Operation::WriteThrough { file, offset, length, content, key } => {
                self.write_flags(operation).and_then(|flags| {
                    let transfer = self.transfer_of(file, offset, length)?;
                    let kind = Kind::Write { transfer, content: content.clone(), key, flags };
                    self.begin_transfer(kind, ticket, file, now, out);
                    Ok(())
                })
            }
            Operation::Cancel { tag } => {
                self.cancel(tag, now, out, events);
                return events.done(crate::Done { tag: ticket.tag, at: now, result: Ok(crate::Reply::Nothing) });
            }
            Operation::LogOn => self.log_on_secondary(ticket, now, out),
            _ => {
                let file = self.file_of(operation);
                // Names change at some time until the answer: listings from before and from meanwhile may be wrong.
                let changed = self.directory_cache.as_mut().map(|cache| cache.changed(operation)).unwrap_or_default();
                self.note_changes(&changed);
                self.outgoing.clear();
                self.first_message(operation, now).map(|kind| {
                    let lists = matches!(kind, Kind::List { .. } | Kind::Watch { .. });
                    let opening = (lists && self.durable.is_some()).then(|| Box::new(self.outgoing.clone()));
                    let job = self.jobs.add(Job { opening, changed, ..Job::new(ticket, kind).about(file) });
                    self.submit(job, now, out);
                })
            }
        };
        if let Err(cause) = begun {
            Self::refuse(ticket.tag, now, cause, events);
        }
        // Waiting messages are sent after the next response. After a timeout there may be no outstanding request, and so no next response.
        if !self.waiting.is_empty() {
            self.pump(now, out, events);
        }
    }

    /// The file that an operation is about, first of all.
    fn file_of(&self, operation: &Operation<'_>) -> Option<FileIdentity> {
        let below_share = |path: &str| Some(FileIdentity::of_share_and_path(&self.options.share, path));
        match *operation {
            Operation::Open { path, .. }
            | Operation::OpenEntry { path, .. }
            | Operation::Lookup { path }
            | Operation::Getattr { path }
            | Operation::Access { path }
            | Operation::List { path }
            | Operation::ListNames { path }
            | Operation::Mkdir { path }
            | Operation::Rmdir { path }
            | Operation::Remove { path }
            | Operation::Readlink { path }
            | Operation::Watch { path }
            | Operation::Query { path, .. }
            | Operation::Setattr { path, .. }
            | Operation::Find { path, .. }
            | Operation::Rename { from: path, .. }
            | Operation::Link { from: path, .. } => below_share(path),
            Operation::Fsinfo | Operation::QueryFileSystem { .. } => below_share(""),
            Operation::Ioctl { what: Control::Interfaces, .. } => None,
            Operation::Close { file }
            | Operation::Flush { file }
            | Operation::GetattrOpen { file }
            | Operation::QueryOpen { file, .. }
            | Operation::SetattrOpen { file, .. }
            | Operation::Truncate { file, .. }
            | Operation::Volume { file, .. }
            | Operation::Ioctl { file, .. }
            | Operation::Lock { file, .. }
            | Operation::Unlock { file, .. }
            | Operation::Copy { from: file, .. } => self.files.get(file)?.file,
            _ => None,
        }
    }

    /// Builds the first message of an operation, and often its only one.
    fn first_message(&mut self, operation: &Operation<'_>, now: i64) -> Result<Kind, Cause> {
        match *operation {
            Operation::Open { path, access, disposition, caching } => {
                let (kind, delete_on_close) = (Which::File, false);
                self.open(&Opening { path, kind, access, disposition, caching, delete_on_close })
            }
            Operation::OpenEntry { path, kind, disposition, delete_on_close } => {
                let access = if kind == Which::Directory { Access::Read } else { Access::ReadWrite };
                let caching = Caching::None;
                self.open(&Opening { path, kind, access, disposition, caching, delete_on_close })
            }
            Operation::Close { file } => {
                let Open { id, .. } = self.files.remove(file).ok_or(Cause::Unsupported)?;
                self.plain(RequestKind::Close, &close::Close { file: id, attributes: false })
            }
            Operation::Flush { file } => {
                let file = self.opened(file)?.id;
                self.plain(RequestKind::Flush, &flush::Flush { file })
            }
            Operation::Truncate { file, size } => {
                let file = self.opened(file)?.id;
                self.plain(RequestKind::SetSize, &set_info::SetInfo { file, change: Change::EndOfFile(size) })
            }
            Operation::GetattrOpen { file } => {
                let file = self.opened(file)?.id;
                self.add(RequestKind::Attributes, &attributes_of(file))?;
                Ok(Kind::Attributes { found: None })
            }
            Operation::QueryOpen { file, class } => {
                let file = self.opened(file)?.id;
                self.plain(RequestKind::Information, &information_of(file, InfoType::File, class.0))
            }
            Operation::SetattrOpen { file, .. } => {
                let file = self.opened(file)?.id;
                self.plain(RequestKind::SetTimes, &set_info::SetInfo { file, change: compounds::touched(now) })
            }
            Operation::Lock { file, offset, length, exclusive, wait } => {
                self.lock(file, offset, length, blocking::lock_flags(exclusive, wait))
            }
            Operation::Unlock { file, offset, length } => self.lock(file, offset, length, blocking::UNLOCK),
            Operation::Watch { path } => {
                self.open_directory(path)?;
                Ok(Kind::Watch { directory: Directory::Opening })
            }
            Operation::List { path } | Operation::ListNames { path } => self.list(path),
            Operation::Copy { from, to, length } => self.copy(from, to, length),
            Operation::Null => self.plain(RequestKind::Echo, &empty_body::Echo),
            Operation::Volume { .. }
            | Operation::Ioctl { .. }
            | Operation::ConnectShare
            | Operation::DisconnectShare
            | Operation::LogOff => self.control_operation(operation),
            _ => self.compound(operation, now),
        }
    }

    /// Adds a request to the message that is being built.
    fn add<C: Call>(&mut self, kind: RequestKind, call: &C) -> Result<(), Cause> {
        // A name longer than the protocol has room for.
        self.outgoing.add(kind, call).map(|_| ()).map_err(|_| Cause::Unsupported)
    }

    /// A message with a single request whose response has no data.
    fn plain<C: Call>(&mut self, kind: RequestKind, call: &C) -> Result<Kind, Cause> {
        self.add(kind, call)?;
        Ok(Kind::Plain)
    }

    fn opened(&mut self, file: FileKey) -> Result<Open, Cause> {
        self.files.get(file).copied().ok_or(Cause::Unsupported)
    }

    /// A copy begins with the resume key of the source.
    fn copy(&mut self, from: FileKey, to: FileKey, length: u32) -> Result<Kind, Cause> {
        let (from, to) = (self.opened(from)?, self.opened(to)?);
        let control = ioctl::fsctl::Control::RequestResumeKey;
        self.add(RequestKind::ResumeKey, &ioctl::Ioctl { file: from.id, control, max_output: RESUME_KEY_OUTPUT })?;
        let (to, to_readable, to_file) = (to.id, to.readable, to.file);
        let (from, resume_key, length) = (from.id, None, length.into());
        Ok(Kind::Copy { copy: Copying { from, to, to_file, to_readable, resume_key, done: 0, length } })
    }
}

/// Asks for size and kind of a file.
fn attributes_of(file: plimsoll_wire::smb2::FileId) -> query_info::QueryInfo {
    query_info::QueryInfo {
        file,
        info_type: InfoType::File,
        class: information::CLASS_NETWORK_OPEN,
        additional: 0,
        output_len: NETWORK_OPEN_LEN,
    }
}

/// Asks for some attributes of a file, or of its file system.
fn information_of(file: plimsoll_wire::smb2::FileId, info_type: InfoType, class: u8) -> query_info::QueryInfo {
    query_info::QueryInfo { file, info_type, class, additional: 0, output_len: INFORMATION_LEN }
}

/// Maximum size of information of any class, bytes: names in it have at most 512 bytes.
const INFORMATION_LEN: u32 = 4096;

/// Bytes of FileNetworkOpenInformation (MS-FSCC 2.4.33).
const NETWORK_OPEN_LEN: u32 = 56;
