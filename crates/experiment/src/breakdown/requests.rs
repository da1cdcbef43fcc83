//! Number of requests and time of a call, by the depth of its path: on connections that do not know the path yet, and repeated.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use plimsoll_client::Client;
use plimsoll_client::blocking::Blocking;
use plimsoll_client::operation::{Access, Caching, Disposition, Operation, Reply};
use plimsoll_client::target::Target;
use plimsoll_drive::connect::Connector;
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::Endpoint;
use plimsoll_report::findings::calls::PathRequests;
use plimsoll_stats::curve::median;

use crate::runner::base;

/// The deepest directory.
const DEEPEST: usize = 4;
/// Names of the nested directories.
const NAMES: [&str; DEEPEST] = ["a", "b", "c", "d"];
/// Connections whose first call is timed, for each path.
const CONNECTIONS: u32 = 5;
/// Later calls that are timed, for each path.
const AGAIN: u32 = 100;
/// Stands in reports for the directory in which all is made.
const TOP: &str = "top";
/// The calls, in words.
const GETATTR: &str = "getattr";
const OPEN: &str = "open, close";
/// A client for sequential operations.
type Caller = Blocking<Box<dyn Client>>;
/// A server, and how long connecting or a call may take.
type Timed<'a> = (&'a dyn Connector, Duration);

/// Counts and times the requests of asking for attributes, and of opening and closing, at the root and below it, and times the same in
/// a local directory. Makes a few directories and files for that, and removes them.
pub(super) fn count(server: Timed<'_>, target: &Target, local: &Path) -> anyhow::Result<Vec<PathRequests>> {
    let top = format!("plimsoll-breakdown-{}", std::process::id());
    let root = match base(target).trim_matches('/') {
        "" => top,
        base => format!("{base}/{top}"),
    };
    let directories: Vec<String> = (0..=DEEPEST).map(|depth| below(&root, depth)).collect();
    let mut maker = caller(server)?;
    let made = make(&mut maker, &directories);
    let counted = made.and_then(|()| {
        let attributes = directories.iter().map(|path| of(server, GETATTR, (path, &root), attributes));
        let opening = directories.iter().map(|path| of(server, OPEN, (&file(path), &root), open_and_close));
        attributes.chain(opening).collect()
    });
    // An error of the creation is reported first; directories that were not created cannot be removed.
    let removed = remove(&mut maker, &directories);
    let mut counted: Vec<PathRequests> = counted?;
    removed?;
    beside_local(&mut counted, local)?;
    Ok(counted)
}

/// Times the same calls in a local directory.
fn beside_local(counted: &mut [PathRequests], local: &Path) -> anyhow::Result<()> {
    let top = local.join(format!("plimsoll-breakdown-{}", std::process::id()));
    let timed = counted.iter().map(|one| {
        let path = top.join(one.path.strip_prefix(TOP).unwrap_or(&one.path).trim_start_matches('/'));
        let opens = one.call == OPEN;
        std::fs::create_dir_all(if opens { path.parent().unwrap_or(&top) } else { &path })?;
        if opens {
            std::fs::File::create(&path)?;
        }
        let call = || {
            let begun = Instant::now();
            let done = match opens {
                true => std::fs::File::open(&path).map(drop),
                false => std::fs::symlink_metadata(&path).map(drop),
            };
            done.map(|()| begun.elapsed().as_secs_f64())
        };
        (0..AGAIN).map(|_| call()).collect::<std::io::Result<Vec<f64>>>()
    });
    let timed = timed.collect::<std::io::Result<Vec<_>>>();
    let removed = std::fs::remove_dir_all(&top).with_context(|| top.display().to_string());
    for (one, took) in counted.iter_mut().zip(timed.with_context(|| top.display().to_string())?) {
        one.local_s = median(took);
    }
    removed
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
        let (access, disposition, caching) = (Access::ReadWrite, Disposition::Create, Caching::None);
        let opened = did(maker.act(&Operation::Open { path, access, disposition, caching }), path)?;
        close(maker, &opened)?;
    }
    Ok(())
}

/// Removes all existing directories, despite errors; returns the first error.
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
    let (access, disposition, caching) = (Access::Read, Disposition::Open, Caching::None);
    let opened = did(caller.act(&Operation::Open { path, access, disposition, caching }), path)?;
    close(caller, &opened)
}

fn close(caller: &mut Caller, opened: &Reply) -> anyhow::Result<()> {
    let Reply::Opened { file, .. } = *opened else { bail!("the opened object is not a file") };
    did(caller.act(&Operation::Close { file }), "closing").map(|_| ())
}

/// Requests and times of a call on connections without other calls: of the first call, and of later ones. `root` is shown as [`TOP`].
fn of(
    server: Timed<'_>,
    call: &str,
    (path, root): (&str, &str),
    act: fn(&mut Caller, &str) -> anyhow::Result<()>,
) -> anyhow::Result<PathRequests> {
    let took = |caller: &mut Caller| {
        let begun = Instant::now();
        act(caller, path).map(|()| begun.elapsed().as_secs_f64())
    };
    let mut caller = self::caller(server)?;
    let before = caller.seen.transactions.len();
    let mut firsts = vec![took(&mut caller)?];
    let first = caller.seen.transactions.len();
    let mut later = vec![took(&mut caller)?];
    let again = caller.seen.transactions.len();
    let procedures = caller.seen.transactions.get(before..first).unwrap_or_default();
    let procedures = procedures.iter().map(|one| one.procedure.name().to_owned()).collect();
    for _ in 1..AGAIN {
        later.push(took(&mut caller)?);
    }
    // All requests are answered, so an error of the disconnect does not matter.
    let _ = caller.leave();
    for _ in 1..CONNECTIONS {
        let mut other = self::caller(server)?;
        firsts.push(took(&mut other)?);
        let _ = other.leave();
    }
    let shown = path.replacen(root, TOP, 1);
    Ok(PathRequests {
        call: call.to_owned(),
        depth: u32::try_from(shown.split('/').count()).unwrap_or(u32::MAX),
        path: shown,
        first: Some((first - before) as f64),
        again: Some((again - first) as f64),
        first_s: median(firsts),
        again_s: median(later),
        local_s: None,
        procedures,
    })
}
