//! How many requests a call takes, by the depth of its path: counted, one connection a path.

use std::time::Duration;

use anyhow::{Context, bail};
use plimsoll_client::Client;
use plimsoll_client::blocking::Blocking;
use plimsoll_client::operation::{Access, Caching, Disposition, Operation, Reply};
use plimsoll_client::target::Target;
use plimsoll_drive::connect::Connector;
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::Endpoint;
use plimsoll_report::findings::calls::PathRequests;

use crate::runner::base;

/// The deepest directory.
const DEEPEST: usize = 4;
/// Names of the directories, each in the one before.
const NAMES: [&str; DEEPEST] = ["a", "b", "c", "d"];
/// Stands in reports for the directory in which all is made.
const TOP: &str = "top";
/// A client that does one thing after the other.
type Caller = Blocking<Box<dyn Client>>;
/// A server, and how long connecting or a call may take.
type Timed<'a> = (&'a dyn Connector, Duration);

/// Counts the requests of asking for attributes, and of opening and closing, at the root and below it. Makes a few directories
/// and a file for that, and removes them.
pub(super) fn count(server: Timed<'_>, target: &Target) -> anyhow::Result<Vec<PathRequests>> {
    let top = format!("plimsoll-breakdown-{}", std::process::id());
    let root = match base(target).trim_matches('/') {
        "" => top,
        base => format!("{base}/{top}"),
    };
    let directories: Vec<String> = (0..=DEEPEST).map(|depth| below(&root, depth)).collect();
    let mut maker = caller(server)?;
    let made = make(&mut maker, &directories);
    let counted = made.and_then(|()| {
        let attributes = directories.iter().map(|path| of(server, "getattr", (path, &root), attributes));
        let opening = directories.iter().map(|path| of(server, "open, close", (&file(path), &root), open_and_close));
        attributes.chain(opening).collect()
    });
    // Where making them stopped half-way that is what is told: what then cannot be removed was not made.
    let removed = remove(&mut maker, &directories);
    let counted = counted?;
    removed?;
    Ok(counted)
}

fn below(root: &str, depth: usize) -> String {
    let names = NAMES.iter().take(depth).copied();
    std::iter::once(root).chain(names).collect::<Vec<_>>().join("/")
}

fn file(directory: &str) -> String {
    format!("{directory}/f")
}

/// Connects, and logs on.
fn caller((server, timeout): Timed<'_>) -> anyhow::Result<Caller> {
    let address = server.address().context("no connection")?;
    let server_end = Endpoint { ip: address.ip(), port: address.port() };
    let mut caller = Blocking::open(address, timeout, |local| {
        let client = Endpoint { ip: local.ip(), port: local.port() };
        let birth = ConnectionInfo {
            channels: 1,
            client_index: 0,
            connection_index: 0,
            connections: 1,
            connection: 0,
            generation: 0,
            client,
            server: server_end,
        };
        server.client(&birth)
    })?;
    did(caller.connect(), "connecting")?;
    Ok(caller)
}

fn did(result: Result<Reply, plimsoll_client::Failure>, doing: &str) -> anyhow::Result<Reply> {
    match result {
        Ok(reply) => Ok(reply),
        Err(failure) => bail!("{doing}: {}", failure.cause.label()),
    }
}

fn make(maker: &mut Caller, directories: &[String]) -> anyhow::Result<()> {
    for path in directories {
        did(maker.act(&Operation::Mkdir { path }), path)?;
        let path = &file(path);
        let (access, disposition, caching) = (Access::ReadWrite, Disposition::CreateNew, Caching::None);
        let opened = did(maker.act(&Operation::Open { path, access, disposition, caching }), path)?;
        close(maker, &opened)?;
    }
    Ok(())
}

/// Removes what is there, whatever cannot be removed; tells the first of that.
fn remove(maker: &mut Caller, directories: &[String]) -> anyhow::Result<()> {
    let mut removed = Ok(());
    for path in directories.iter().rev() {
        let of_file = did(maker.act(&Operation::Remove { path: &file(path) }), path);
        let of_directory = did(maker.act(&Operation::Rmdir { path }), path);
        removed = removed.and(of_file).and(of_directory).map(|_| ());
    }
    // It may have ended already: everything that was to be done is done.
    let _ = maker.leave();
    removed
}

fn attributes(caller: &mut Caller, path: &str) -> anyhow::Result<()> {
    did(caller.act(&Operation::Getattr { path }), path).map(|_| ())
}

fn open_and_close(caller: &mut Caller, path: &str) -> anyhow::Result<()> {
    let (access, disposition, caching) = (Access::Read, Disposition::OpenExisting, Caching::None);
    let opened = did(caller.act(&Operation::Open { path, access, disposition, caching }), path)?;
    close(caller, &opened)
}

fn close(caller: &mut Caller, opened: &Reply) -> anyhow::Result<()> {
    let Reply::Opened { file, .. } = *opened else { bail!("the opened object is not a file") };
    did(caller.act(&Operation::Close { file }), "closing").map(|_| ())
}

/// Requests of a call by a connection of its own: of the first, and of the one after it. `root` is shown as [`TOP`].
fn of(
    server: Timed<'_>,
    call: &str,
    (path, root): (&str, &str),
    act: fn(&mut Caller, &str) -> anyhow::Result<()>,
) -> anyhow::Result<PathRequests> {
    let mut caller = caller(server)?;
    let before = caller.seen.transactions.len();
    act(&mut caller, path)?;
    let first = caller.seen.transactions.len();
    act(&mut caller, path)?;
    let again = caller.seen.transactions.len();
    let procedures = caller.seen.transactions.get(before..first).unwrap_or_default();
    let procedures = procedures.iter().map(|one| one.procedure.name().to_owned()).collect();
    // It has answered all that was asked of it.
    let _ = caller.leave();
    let shown = path.replacen(root, TOP, 1);
    Ok(PathRequests {
        call: call.to_owned(),
        depth: u32::try_from(shown.split('/').count()).unwrap_or(u32::MAX),
        path: shown,
        first: (first - before) as f64,
        again: (again - first) as f64,
        procedures,
    })
}
