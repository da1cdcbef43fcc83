//! Facts from the bodies of requests and answers: share, path, user, payload, subcommand, and whether a request waits by design.

use std::fmt::Write as _;
use std::net::IpAddr;

use plimsoll_model::{Disposition, FileAccess, FileIdentity, Names, Outcome, Procedure, Protocol, Sink, Symbol};
use plimsoll_wire::smb1::andx::Link as Command;
use plimsoll_wire::smb1::asked::Asked;
use plimsoll_wire::smb1::session::{self, Credentials};
use plimsoll_wire::smb1::string::SmbString;
use plimsoll_wire::smb1::subcommand::{nt, trans2};
use plimsoll_wire::smb1::transaction::Transaction;
use plimsoll_wire::smb1::{command, locking, open, path, raw, read, trans2 as open2, write};
use serde::{Deserialize, Serialize};

use super::super::pipe;
use super::arrival::Fields;
use super::ids::{Ids, Opened};
use super::row::{Binding, Row};
use crate::pairing::{Answer, ConnectionContext, Output, Pending, ntlm_user};

/// The dialect in the answer of a server that accepts none of those that the client offers (MS-CIFS 2.2.4.52.2).
const NO_DIALECT: u16 = 0xffff;

/// Ids that commands of a chain pass to later ones before the answer assigns them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct PassedIds {
    opened: Option<Opened>,
    share: Option<Symbol>,
    user: Option<Symbol>,
}

/// Notes the facts in a request's body.
pub(super) fn note_request<S: Sink>(
    row: &mut Row,
    command: &Command<'_>,
    fields: &Fields,
    context: &ConnectionContext,
    ids: &Ids,
    passed: &mut PassedIds,
    output: &mut Output<S>,
) {
    let pending = &mut row.pending;
    pending.session = (fields.uid != 0).then_some(u64::from(fields.uid));
    pending.share = passed.share.unwrap_or_else(|| ids.share(fields.tid));
    pending.user = passed.user.unwrap_or_else(|| ids.user(fields.uid));
    let fid = path::fid(command);
    pending.path = match (path::path(command), fid) {
        (Some(name), _) if is_relative(command) => below(root_path(command, ids, context), &name, &mut output.names),
        (Some(name), _) if !names_pipe_by_fid(command, fid) => symbol(&name, &mut output.names),
        (_, Some(fid)) => {
            let opened = passed.opened.unwrap_or_else(|| ids.opened(fid, context));
            pending.asked.file = opened.file;
            opened.path
        }
        _ => Symbol::NONE,
    };
    note_asked(pending, &Asked::of(command), &mut output.names);
    note_session(row, command, context.ends[usize::from(row.pending.direction)].ip, passed, output);
    note_io(row, command, fid, &output.names);
    if row.binding == Binding::Open {
        passed.opened = Some(Opened { path: row.pending.path, file: row.pending.asked.file });
    }
}

/// Notes the requested file: by FID or, without one, by path.
fn note_asked(pending: &mut Pending, asked: &Asked<'_>, names: &mut Names) {
    pending.asked.offset = asked.offset;
    pending.asked.bytes = asked.bytes;
    pending.asked.disposition = asked.disposition.and_then(Disposition::of_number);
    pending.asked.access = asked.access.map(FileAccess::of_mask);
    if let Some(name) = &asked.new_name {
        pending.asked.second_path = symbol(name, names);
    }
    if pending.asked.file.is_none()
        && let [Some(share), Some(path)] = [pending.share, pending.path].map(|symbol| names.text(symbol))
        // A search has a pattern in place of a file's name.
        && !path.contains(['*', '?'])
    {
        pending.asked.file = Some(FileIdentity::of_share_and_path(share, path));
    }
}

/// Notes the facts in an answer's body.
pub(super) fn note_response(
    row: &mut Row,
    command: &Command<'_>,
    fields: &Fields,
    context: &ConnectionContext,
    answer: &mut Answer,
    ids: &mut Ids,
) {
    let carries_data = row.pending.procedure.row().carries_data;
    answer.payload = read::data_length(command).filter(|_| carries_data).map(u64::from);
    if row.command == command::NEGOTIATE && command.u16(0) == Some(NO_DIALECT) && answer.outcome == Outcome::Succeeded {
        // The status is that of a success.
        answer.outcome = Outcome::Refused;
    }
    if answer.outcome != Outcome::Succeeded {
        return;
    }
    let is_new_session = row.pending.session.is_none();
    if row.binding == Binding::User && answer.status == Some(0) {
        // The request of a logon with one step does not have the number that the server gives to the session.
        let session = Some(u64::from(fields.uid)).filter(|session| *session != 0);
        row.pending.session = row.pending.session.or(session);
    }
    let pending = &row.pending;
    let opened = Opened { path: pending.path, file: pending.asked.file };
    match row.binding {
        Binding::None => {}
        Binding::Open => {
            if let Some(fid) = open::opened_fid(command) {
                ids.learn_opened(fid, opened, context);
            }
        }
        Binding::OpenBy(function) => {
            let transaction = Transaction::new(command);
            let fid = transaction.and_then(|transaction| match row.command {
                command::TRANSACTION2 if function == trans2::OPEN2 => open2::opened_fid(&transaction),
                _ => transaction.nt_created_fid(),
            });
            if let Some(fid) = fid {
                ids.learn_opened(fid, opened, context);
            }
        }
        Binding::Close(fid) => ids.forget_opened(fid),
        Binding::Share if row.command == command::TREE_CONNECT => {
            if let Some(tid) = command.u16(CORE_TID) {
                ids.learn_share(tid, pending.share);
            }
        }
        Binding::Share => ids.learn_share(fields.tid, pending.share),
        Binding::NoShare => ids.forget_share(fields.tid),
        Binding::User if pending.user.is_some() => ids.learn_user(fields.uid, pending.user),
        // A new session may have the UID of an earlier one.
        Binding::User if is_new_session => ids.forget_user(fields.uid),
        Binding::User => {}
        Binding::NoUser => ids.forget_user(fields.uid),
    }
}

/// TREE_CONNECT response: TID behind MaxBufferSize.
const CORE_TID: usize = 2;

/// Notes user and share: session setup and tree connect.
fn note_session<S: Sink>(
    row: &mut Row,
    command: &Command<'_>,
    client: IpAddr,
    passed: &mut PassedIds,
    output: &mut Output<S>,
) {
    match command.command {
        command::SESSION_SETUP_ANDX => {
            row.pending.user = user(command, client, output);
            row.binding = Binding::User;
            passed.user = Some(row.pending.user);
        }
        command::LOGOFF_ANDX => row.binding = Binding::NoUser,
        command::TREE_CONNECT | command::TREE_CONNECT_ANDX => {
            let path = session::TreeConnect::new(command).map(|connect| connect.path);
            let path = path.filter(|path| path.complete).map(|path| path.text().to_string());
            row.pending.share = path.map_or(Symbol::NONE, |path| output.names.intern_share(&path));
            row.binding = Binding::Share;
            passed.share = Some(row.pending.share);
        }
        command::TREE_DISCONNECT => row.binding = Binding::NoShare,
        _ => {}
    }
}

/// Notes file operations: opening, closing, payload, waiting, subcommands.
fn note_io(row: &mut Row, command: &Command<'_>, fid: Option<u16>, names: &Names) {
    let pending = &mut row.pending;
    match command.command {
        command::OPEN
        | command::CREATE
        | command::CREATE_NEW
        | command::CREATE_TEMPORARY
        | command::OPEN_ANDX
        | command::NT_CREATE_ANDX
        | command::OPEN_PRINT_FILE => row.binding = Binding::Open,
        command::CLOSE | command::WRITE_AND_CLOSE | command::CLOSE_AND_TREE_DISC | command::CLOSE_PRINT_FILE => {
            row.binding = fid.map_or(Binding::None, Binding::Close);
        }
        command::LOCKING_ANDX => {
            pending.long_lived |= locking::Locking::new(command).is_some_and(|locking| locking.may_wait());
        }
        command::TRANSACTION | command::TRANSACTION2 | command::NT_TRANSACT => note_transaction(row, command),
        _ => {}
    }
    let written = write::Write::new(command).map(|write| u64::from(write.count));
    let immediate = || raw::WriteRaw::new(command).map(|write| u64::from(write.immediate));
    row.pending.payload = written.or_else(immediate);
    let (share, path) = (row.pending.share, row.pending.path);
    let moves = matches!(command.command, command::READ | command::READ_ANDX | command::WRITE | command::WRITE_ANDX);
    if moves && pipe::is_pipe(share, path, data(command), names) {
        pipe::mark(&mut row.pending);
    }
}

/// The data of a write, as far as they look like a call: they are padded to 4 bytes.
fn data<'a>(command: &Command<'a>) -> &'a [u8] {
    let padded = (0..4).filter_map(|padding| command.bytes.get(padding..));
    padded.into_iter().find(|data| pipe::is_call(data)).unwrap_or_default()
}

/// The row of a transaction's function.
fn note_transaction(row: &mut Row, command: &Command<'_>) {
    let Some(transaction) = Transaction::new(command) else { return };
    let Some(function) = transaction.function() else { return };
    if command.command == command::TRANSACTION {
        // The function numbers are those of named pipes; a mailslot's write has one of them too.
        let is_pipe = transaction.name().is_some_and(|name| name.starts_with_ignore_case("\\PIPE\\"));
        if !is_pipe {
            return;
        }
    }
    let procedure = Procedure::of_sub(Protocol::Smb1, u16::from(command.command), function);
    row.pending.procedure = procedure;
    row.pending.long_lived = procedure.row().long_lived;
    let opens = match command.command {
        command::TRANSACTION2 => function == trans2::OPEN2,
        command::NT_TRANSACT => function == nt::CREATE,
        _ => false,
    };
    if opens {
        row.binding = Binding::OpenBy(function);
    }
}

/// The user of a session setup, as `DOMAIN\user`.
fn user<S: Sink>(command: &Command<'_>, client: IpAddr, output: &mut Output<S>) -> Symbol {
    match session::credentials(command) {
        None => Symbol::NONE,
        Some(Credentials::Blob { token, .. }) => ntlm_user::user(token, client, output),
        Some(Credentials::Account { account, .. }) if account.is_empty() => output.names.intern("[anonymous]"),
        Some(Credentials::Account { account, .. }) if !account.complete => Symbol::NONE,
        Some(Credentials::Account { account, domain }) => {
            let domain = domain.filter(|domain| domain.complete && !domain.is_empty());
            let text = match domain {
                Some(domain) => format!("{}\\{}", domain.text(), account.text()),
                None => account.text().to_string(),
            };
            output.names.intern(&text)
        }
    }
}

/// A call on an open pipe has a name too, but always the bare `\PIPE\`: its FID says more.
fn names_pipe_by_fid(command: &Command<'_>, fid: Option<u16>) -> bool {
    command.command == command::TRANSACTION && fid.is_some()
}

fn is_relative(command: &Command<'_>) -> bool {
    open::NtCreate::new(command).is_some_and(|create| create.root_fid != 0)
}

/// The directory that an open is relative to.
fn root_path(command: &Command<'_>, ids: &Ids, context: &ConnectionContext) -> Symbol {
    let root = open::NtCreate::new(command).and_then(|create| u16::try_from(create.root_fid).ok());
    root.map_or(Symbol::NONE, |fid| ids.opened(fid, context).path)
}

/// A path below a directory; unknown where the directory is.
fn below(root: Symbol, name: &SmbString<'_>, names: &mut Names) -> Symbol {
    let Some(root) = names.text(root).filter(|_| name.complete) else { return Symbol::NONE };
    let text = format!("{}\\{}", root.trim_end_matches('\\'), name.text());
    names.intern(&text)
}

/// A name; unknown where its end was cut off.
fn symbol(name: &SmbString<'_>, names: &mut Names) -> Symbol {
    if !name.complete {
        return Symbol::NONE;
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write!(text, "{}", name.text());
    if text.is_empty() { names.intern("\\") } else { names.intern(&text) }
}
