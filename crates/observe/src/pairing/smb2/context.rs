//! Facts from the bodies of requests and answers: share, path, user, payload, and whether a request waits by design.

use std::fmt::Write;
use std::net::IpAddr;

use plimsoll_model::{Disposition, FileAccess, FileIdentity, HostNameFrom, Names, Procedure, Protocol, Sink, Symbol};
use plimsoll_wire::smb2::asked::Asked;
use plimsoll_wire::smb2::compound::Member;
use plimsoll_wire::smb2::{
    Command, FileId, change_notify, close, create, flush, ioctl, lock, negotiate, query_directory, query_info, read,
    session_setup, set_info, status, tree_connect, write,
};
use serde::{Deserialize, Serialize};

use super::super::request::written;
use super::super::{ntlm_user, pipe};
use super::waiting::Waiting;
use crate::names::{Opened, Origin, Smb2Names};
use crate::pairing::{Answer, ConnectionContext, Output, Pending};

/// The facts that a request's answer adds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) enum Binding {
    /// Nothing.
    #[default]
    None,
    /// The file id that the path was opened with.
    Open,
    /// The file id is free again.
    Close([u8; 16]),
    /// The tree id of the share.
    Share,
    /// The tree id is free again.
    NoShare,
    /// The session, and its user.
    Session,
    /// The session to which the connection is bound, and its user.
    Channel,
    /// The session is over.
    NoSession,
    /// The server's GUID; that of the client is known.
    Guids([u8; 16]),
}

/// The file of a compound's members so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
enum ChainFile {
    #[default]
    Unknown,
    /// A member names its id.
    Id([u8; 16]),
    /// The CREATE with this key opens it.
    Created(u64),
}

/// What members of a compound hand to those behind them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Chain {
    session: Option<u64>,
    opened: Opened,
    file: ChainFile,
    share: Symbol,
    user: Symbol,
}

/// Notes the facts in the body of a request with this key. If it closes the file that a member before it opens, returns the key of that
/// member.
pub(super) fn note_request<S: Sink>(
    waiting: &mut Waiting,
    key: u64,
    member: &Member<'_>,
    context: &ConnectionContext,
    chain: &mut Chain,
    names: &Smb2Names,
    output: &mut Output<S>,
) -> Option<u64> {
    let header = &member.header;
    let address = context.ends[1 - usize::from(waiting.pending.direction)];
    let session = if header.is_related() { chain.session } else { header.session_id() };
    let origin = names.origin(context.connection, address, session);
    let pending = &mut waiting.pending;
    pending.file_server = (origin.server != address).then_some(origin.server.ip);
    if header.is_related() {
        (pending.session, pending.share, pending.user) = (chain.session, chain.share, chain.user);
    } else if let Some(session) = header.session_id() {
        pending.session = (session != 0).then_some(session);
        pending.user = names.user(origin, session);
        if let Some(tree) = header.tree_id() {
            pending.share = names.share(origin, session, tree);
        }
    }
    let body = Body { bytes: member.bytes, command: header.command() };
    let file = body.file_id();
    if let Some(file) = file {
        let opened = if file.is_previous() { chain.opened } else { names.opened(origin, file.0) };
        (pending.path, pending.asked.file) = (opened.path, opened.file);
    }
    note_body(waiting, &body, context, output);
    if waiting.pending.reconnects {
        note_reconnection(&mut waiting.pending, body.bytes, origin, names);
    }
    let closes = body.command == Command::Close && file.is_some();
    let file = match file {
        Some(file) if !file.is_previous() => ChainFile::Id(file.0),
        None if body.command == Command::Create => ChainFile::Created(key),
        _ => chain.file,
    };
    let Pending { session, share, user, .. } = waiting.pending;
    *chain = Chain { session, opened: opened(&waiting.pending), file, share, user };
    match file {
        ChainFile::Id(id) if closes => waiting.binding = Binding::Close(id),
        ChainFile::Created(create) if closes => return Some(create),
        _ => {}
    }
    None
}

/// A reconnected handle is of the file that was opened. The server ignores the name in this request, which some clients leave empty.
#[cold]
fn note_reconnection(pending: &mut Pending, bytes: &[u8], origin: Origin, names: &Smb2Names) {
    let request = create::Request::new(bytes);
    if let Some(request) = request.filter(|request| request.name().is_some_and(|name| name.is_empty())) {
        let opened = request.reconnected().map(|file| names.reconnected(origin, file.0)).unwrap_or_default();
        (pending.path, pending.asked.file) = (opened.path, opened.file);
    }
}

/// What its file id will stand for, or stands for.
fn opened(pending: &Pending) -> Opened {
    Opened { path: pending.path, file: pending.asked.file }
}

fn note_body<S: Sink>(waiting: &mut Waiting, body: &Body<'_>, context: &ConnectionContext, output: &mut Output<S>) {
    let pending = &mut waiting.pending;
    let [client, server] = [pending.direction, 1 - pending.direction].map(|end| context.ends[usize::from(end)].ip);
    let bytes = body.bytes;
    note_asked(pending, &Asked::of(body.command, bytes), &mut output.names);
    match body.command {
        Command::Create => {
            let request = create::Request::new(bytes);
            pending.reconnects = request.is_some_and(|request| request.reconnects());
            if let Some(name) = request.and_then(|request| request.name()) {
                pending.path = intern(&mut output.names, &name);
                let names = [pending.share, pending.path].map(|symbol| output.names.text(symbol));
                if let [Some(share), Some(path)] = names {
                    pending.asked.file = Some(FileIdentity::of_share_and_path(share, path));
                }
                waiting.binding = Binding::Open;
            }
        }
        Command::Write => {
            let request = write::Request::new(bytes);
            pending.payload = request.as_ref().and_then(write::Request::data_len).map(u64::from);
            let data = request.and_then(|request| bytes.get(usize::from(request.data_offset()?)..));
            if pipe::is_pipe(pending.share, pending.path, data.unwrap_or_default(), &output.names) {
                pipe::mark(pending);
            }
        }
        Command::Read if pipe::is_pipe(pending.share, pending.path, &[], &output.names) => pipe::mark(pending),
        Command::Lock => {
            let first = lock::Request::new(bytes).and_then(|request| request.first_flags());
            waiting.may_wait = first.is_some_and(|flags| flags.waits());
        }
        Command::TreeConnect => {
            if let Some(path) = tree_connect::Request::new(bytes).and_then(|request| request.path()) {
                let path = path.to_string();
                let host = path.trim_start_matches('\\').split('\\').next().unwrap_or_default();
                output.names.hosts.learn(server, host, HostNameFrom::Share);
                pending.share = output.names.intern_share(&path);
                waiting.binding = Binding::Share;
            }
        }
        Command::SessionSetup => {
            let request = session_setup::Request::new(bytes);
            let is_binding = request.and_then(|request| request.is_binding());
            if is_binding == Some(true) {
                pending.procedure = Procedure::smb2_binding();
            }
            if let Some(blob) = request.and_then(|request| request.security_buffer()) {
                pending.user = ntlm_user::user(blob, client, output);
            }
            waiting.binding = match is_binding {
                Some(true) => Binding::Channel,
                Some(false) => Binding::Session,
                None => Binding::None,
            };
        }
        Command::TreeDisconnect => waiting.binding = Binding::NoShare,
        Command::Logoff => waiting.binding = Binding::NoSession,
        Command::Negotiate => {
            let guid = negotiate::Request::new(bytes).and_then(|request| request.client_guid());
            waiting.binding = Binding::Guids(guid.unwrap_or_default());
        }
        Command::QueryInfo | Command::SetInfo | Command::Ioctl => pending.procedure = body.subcommand(),
        _ => {}
    }
}

fn note_asked(pending: &mut Pending, asked: &Asked<'_>, names: &mut Names) {
    pending.asked.offset = asked.offset;
    pending.asked.bytes = asked.bytes;
    pending.asked.durable = asked.durable;
    pending.asked.unlock = asked.unlock;
    pending.asked.disposition = asked.disposition.and_then(Disposition::of_number);
    pending.asked.access = asked.access.map(FileAccess::of_mask);
    if let Some(name) = &asked.new_name {
        pending.asked.second_path = intern(names, name);
    }
}

/// Notes the facts in an answer's body.
pub(super) fn note_response(
    waiting: &mut Waiting,
    member: &Member<'_>,
    context: &ConnectionContext,
    answer: &mut Answer,
    names: &mut Smb2Names,
) {
    let address = context.ends[1 - usize::from(waiting.pending.direction)];
    let origin = names.origin(context.connection, address, waiting.pending.session);
    let header = &member.header;
    if header.command() == Command::Read {
        note_read(&mut waiting.pending, member.bytes, answer);
    } else if header.command() == Command::Write {
        let count = write::Response::new(member.bytes).and_then(|response| response.count());
        answer.payload = written(waiting.pending.payload, count.map(u64::from));
    }
    if matches!(waiting.binding, Binding::Session)
        && waiting.pending.session.is_none()
        && let Some(session) = new_session(answer.status, header.session_id())
    {
        names.begin_session(context.connection, address, session, answer.first.frame);
    }
    if answer.status != Some(0) {
        return;
    }
    match waiting.binding {
        Binding::None => {}
        Binding::Open => {
            if let Some(file) = create::Response::new(member.bytes).and_then(|response| response.file_id()) {
                names.learn_opened(origin, file.0, opened(&waiting.pending));
            }
        }
        Binding::Close(file) => names.forget_opened(origin, file),
        Binding::Share | Binding::NoShare => {
            if let (Some(session), Some(tree)) = (header.session_id(), header.tree_id()) {
                match waiting.binding {
                    Binding::Share => names.learn_share(origin, session, tree, waiting.pending.share),
                    _ => names.forget_share(origin, session, tree),
                }
            }
        }
        Binding::NoSession => {
            if let Some(session) = header.session_id() {
                names.forget_user(origin, session);
            }
        }
        Binding::Session | Binding::Channel => {
            if let Some(session) = header.session_id() {
                match waiting.binding {
                    Binding::Channel => names.bind(context.connection, address, session),
                    _ => names.learn_session(context.connection, address, session),
                }
                let origin = names.origin(context.connection, address, Some(session));
                note_user(&waiting.pending, session, origin, names);
                // The request of a logon with one step (Kerberos) does not have the number that the server gives to the session.
                let pending = &mut waiting.pending;
                pending.session = pending.session.or_else(|| Some(session).filter(|session| *session != 0));
            }
        }
        Binding::Guids(client) => {
            if let Some(guid) = negotiate::Response::new(member.bytes).and_then(|response| response.server_guid()) {
                names.learn_guids(context.connection, [client, guid]);
            }
        }
    }
}

/// The id that the first step of a logon gives to a session.
fn new_session(status: Option<u32>, session: Option<u64>) -> Option<u64> {
    let goes_on = matches!(status, Some(0 | status::STATUS_MORE_PROCESSING_REQUIRED));
    session.filter(|session| goes_on && *session != 0)
}

/// Notes the user of a session that was set up, or to which the connection was bound.
fn note_user(pending: &Pending, session: u64, origin: Origin, names: &mut Smb2Names) {
    match pending.user {
        user if user.is_some() => names.learn_user(origin, session, user),
        // A new session may have the id of an earlier one.
        _ if pending.session.is_none() => names.forget_user(origin, session),
        _ => {}
    }
}

/// An answer gave an id a meaning, but its request was not captured.
#[cold]
pub(super) fn forget_answered(member: &Member<'_>, connection: u32, origin: Origin, names: &mut Smb2Names) {
    let header = &member.header;
    if header.status() != Some(0) {
        return;
    }
    match (header.command(), header.session_id()) {
        (Command::Create, _) => {
            if let Some(file) = create::Response::new(member.bytes).and_then(|response| response.file_id()) {
                names.forget_opened(origin, file.0);
            }
        }
        (Command::TreeConnect, Some(session)) => {
            if let Some(tree) = header.tree_id() {
                names.forget_share(origin, session, tree);
            }
        }
        // A session of another connection may have bound this one as a channel.
        (Command::SessionSetup, Some(session)) if !names.is_set_up_elsewhere(connection, origin.server, session) => {
            names.forget_user(origin, session);
        }
        _ => {}
    }
}

/// Notes the server's name from its step of an NTLM logon.
pub(super) fn note_server_name<S: Sink>(member: &Member<'_>, server: IpAddr, output: &mut Output<S>) {
    let blob = session_setup::Response::new(member.bytes).and_then(|response| response.security_buffer());
    if let Some(name) = blob.and_then(plimsoll_wire::ntlmssp::server_name) {
        output.names.hosts.learn(server, &name.to_string(), HostNameFrom::Logon);
    }
}

/// Notes the number of bytes read. If the share is unknown, the data shows whether it is a pipe.
fn note_read(pending: &mut Pending, bytes: &[u8], answer: &mut Answer) {
    let response = read::Response::new(bytes);
    answer.payload = response.as_ref().and_then(read::Response::data_len).map(u64::from);
    if !pending.share.is_some() && pending.procedure.row().carries_data {
        let data = response.and_then(|response| bytes.get(usize::from(response.data_offset()?)..));
        if pipe::is_call(data.unwrap_or_default()) {
            pipe::mark(pending);
        }
    }
    if !pending.procedure.row().carries_data {
        answer.payload = None;
    }
}

/// A request's bytes from its header on.
struct Body<'a> {
    bytes: &'a [u8],
    command: Command,
}

impl Body<'_> {
    /// The file that the request is about, for the commands that have one.
    fn file_id(&self) -> Option<FileId> {
        let bytes = self.bytes;
        match self.command {
            Command::Close => close::Request::new(bytes)?.file_id(),
            Command::Flush => flush::Request::new(bytes)?.file_id(),
            Command::Read => read::Request::new(bytes)?.file_id(),
            Command::Write => write::Request::new(bytes)?.file_id(),
            Command::Lock => lock::Request::new(bytes)?.file_id(),
            Command::Ioctl => ioctl::Request::new(bytes)?.file_id(),
            Command::QueryDirectory => query_directory::Request::new(bytes)?.file_id(),
            Command::ChangeNotify => change_notify::Request::new(bytes)?.file_id(),
            Command::QueryInfo => query_info::Request::new(bytes)?.file_id(),
            Command::SetInfo => set_info::Request::new(bytes)?.file_id(),
            _ => None,
        }
    }

    /// The row of a QUERY_INFO, SET_INFO or IOCTL by its subcommand; the command's own row if the subcommand was cut off.
    fn subcommand(&self) -> Procedure {
        let command = self.command.code();
        let whole = Procedure::of(Protocol::Smb2, command);
        let byte = |at: usize| self.bytes.get(at).copied().map(u16::from);
        match self.command {
            Command::QueryInfo => {
                byte(query_info::INFO_TYPE).map_or(whole, |kind| Procedure::of_sub(Protocol::Smb2, command, kind))
            }
            Command::SetInfo => match (byte(set_info::INFO_TYPE), byte(set_info::INFO_CLASS)) {
                (Some(kind), Some(class)) => Procedure::of_sub(Protocol::Smb2, command, kind << 8 | class),
                _ => whole,
            },
            Command::Ioctl => ioctl::Request::new(self.bytes)
                .and_then(|request| request.ctl_code())
                .map_or_else(Procedure::smb2_ioctl_cut, Procedure::smb2_ioctl),
            _ => whole,
        }
    }
}

fn intern(names: &mut Names, text: &impl std::fmt::Display) -> Symbol {
    let mut buffer = String::new();
    // Writing to a String does not fail.
    let _ = write!(buffer, "{text}");
    if buffer.is_empty() { names.intern("\\") } else { names.intern(&buffer) }
}
