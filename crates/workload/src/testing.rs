//! For tests: a file server that is a map, stricter than any protocol; a directory of this machine; and a loop that runs
//! slots on either.

use std::collections::BTreeMap;

use rand::Rng as _;

use plimsoll_client::calls::Identity;
use plimsoll_client::local::{PathClient, Root};
use plimsoll_client::operation::{
    Access, Cause, Disposition, Done, Failure, FileKey, Kind, Operation, Reply, Tag, Ticket,
};
use plimsoll_client::outbox::Outbox;
use plimsoll_client::{Client, Events};
use plimsoll_model::{Endpoint, Names, Outcome, Procedure, Protocol, Symbol, Transaction};

use super::fileset::{Create, FileSet, Job};
use super::*;
use crate::scenario::{ScenarioStep, Verdict};
use crate::{Rng, seed_of};

/// What slots are run on.
pub(super) trait Server {
    /// Performs an operation; passes read data and names to the scenario.
    fn act(
        &mut self,
        operation: &Operation<'_>,
        data: &mut Vec<(u64, Vec<u8>)>,
        names: &mut Vec<String>,
    ) -> Result<Reply, String>;
}

/// Files with their bytes; directories without.
#[derive(Debug, Default, Clone)]
pub(super) struct Model {
    pub(super) nodes: BTreeMap<String, Option<Vec<u8>>>,
    handles: Vec<Option<(String, bool)>>,
}

type Answer = Result<Reply, &'static str>;

/// The model's answer to a control.
const LACKING: &str = "no such control";

/// A server's refusal, as SMB would say it.
fn refused(problem: &str) -> Failure {
    let status = match problem {
        "no such file" | "no such directory" => 0xC000_0034,
        "is a directory" => 0xC000_00BA,
        LACKING => 0xC000_0010,
        _ => 0xC000_0001,
    };
    let procedure = Some(Procedure::of(Protocol::Smb2, 5));
    Failure { procedure, status: Some(status), outcome: Outcome::Refused, cause: Cause::Status }
}

impl Model {
    pub(super) fn open_files(&self) -> usize {
        self.handles.iter().flatten().count()
    }

    /// All clients disconnect, and their files are closed.
    pub(super) fn disconnect(&mut self) {
        self.handles.clear();
    }

    fn parent(path: &str) -> &str {
        path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    fn directory(&self, path: &str) -> Result<(), &'static str> {
        match self.nodes.get(path) {
            _ if path.is_empty() => Ok(()),
            Some(None) => Ok(()),
            Some(Some(_)) => Err("is a file"),
            None => Err("no such directory"),
        }
    }

    fn children<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.nodes.keys().filter(move |node| !node.is_empty() && Self::parent(node) == path);
        names.map(|node| node.rsplit('/').next().unwrap())
    }

    fn handle(&self, file: FileKey) -> Result<&(String, bool), &'static str> {
        self.handles.get(file.0 as usize).and_then(Option::as_ref).ok_or("not open")
    }

    fn bytes(&mut self, file: FileKey, write: bool) -> Result<&mut Vec<u8>, &'static str> {
        let (path, writable) = self.handle(file)?.clone();
        if write && !writable {
            return Err("not open for writing");
        }
        self.nodes.get_mut(&path).and_then(Option::as_mut).ok_or("gone")
    }

    fn unused(&self, path: &str) -> Result<(), &'static str> {
        let open = self.handles.iter().flatten().any(|(open, _)| open == path);
        if open { Err("in use") } else { Ok(()) }
    }

    fn open(&mut self, path: &str, access: Access, disposition: Disposition) -> Answer {
        self.directory(Self::parent(path))?;
        match (self.nodes.get_mut(path), disposition) {
            (Some(None), _) => return Err("is a directory"),
            (None, Disposition::OpenExisting) => return Err("no such file"),
            (Some(_), Disposition::CreateNew) => return Err("is there already"),
            (Some(Some(bytes)), Disposition::CreateOrTruncate) => bytes.clear(),
            (Some(Some(_)), _) => {}
            (None, _) => {
                self.nodes.insert(path.to_owned(), Some(Vec::new()));
            }
        }
        self.handles.push(Some((path.to_owned(), access != Access::Read)));
        let size = self.nodes[path].as_ref().unwrap().len() as u64;
        Ok(Reply::Opened { file: FileKey(self.handles.len() as u32 - 1), size: Some(size) })
    }

    fn names(&mut self, operation: &Operation<'_>) -> Answer {
        match *operation {
            Operation::Mkdir { path } => {
                self.directory(Self::parent(path))?;
                match self.nodes.insert(path.to_owned(), None) {
                    None => Ok(Reply::Nothing),
                    Some(_) => Err("is there already"),
                }
            }
            Operation::Rmdir { path } => {
                self.directory(path)?;
                if self.children(path).next().is_some() {
                    return Err("not empty");
                }
                self.nodes.remove(path).map(|_| Reply::Nothing).ok_or("no such directory")
            }
            Operation::Remove { path } => {
                self.unused(path)?;
                match self.nodes.get(path) {
                    Some(Some(_)) => self.nodes.remove(path).map(|_| Reply::Nothing).ok_or("no such file"),
                    Some(None) => Err("is a directory"),
                    None => Err("no such file"),
                }
            }
            Operation::Rename { from, to } => {
                self.unused(from)?;
                self.directory(Self::parent(to))?;
                let node = self.nodes.remove(from).ok_or("no such file")?;
                match self.nodes.insert(to.to_owned(), node) {
                    None => Ok(Reply::Nothing),
                    Some(_) => Err("is there already"),
                }
            }
            Operation::Find { path, pattern, .. } => {
                self.directory(path)?;
                Ok(Reply::Listed { entries: self.children(path).filter(|name| *name == pattern).count() as u64 })
            }
            Operation::OpenEntry { path, kind: Kind::Directory, disposition: Disposition::OpenExisting, .. } => {
                self.directory(path)?;
                self.handles.push(Some((path.to_owned(), false)));
                Ok(Reply::Opened { file: FileKey(self.handles.len() as u32 - 1), size: None })
            }
            Operation::Volume { file, .. } => self.handle(file).map(|_| Reply::Nothing),
            Operation::Ioctl { file, .. } => self.handle(file).and(Err(LACKING)),
            Operation::ConnectShare | Operation::DisconnectShare | Operation::LogOn | Operation::LogOff => {
                Ok(Reply::Nothing)
            }
            Operation::Symlink { path, text } => {
                self.directory(Self::parent(path))?;
                match self.nodes.insert(path.to_owned(), Some(text.as_bytes().to_vec())) {
                    None => Ok(Reply::Nothing),
                    Some(_) => Err("is there already"),
                }
            }
            Operation::Readlink { path } => {
                let text = self.nodes.get(path).and_then(Option::as_ref).ok_or("no such link")?;
                Ok(Reply::Text(String::from_utf8_lossy(text).into_owned()))
            }
            _ => Err("not supported"),
        }
    }

    fn does(&mut self, operation: &Operation<'_>, data: &mut Vec<(u64, Vec<u8>)>, names: &mut Vec<String>) -> Answer {
        match *operation {
            Operation::Open { path, access, disposition, .. } => self.open(path, access, disposition),
            Operation::Close { file } => {
                self.handle(file)?;
                self.handles[file.0 as usize] = None;
                Ok(Reply::Nothing)
            }
            Operation::Read { file, offset, length, keep } | Operation::ReadPlus { file, offset, length, keep } => {
                let bytes = self.bytes(file, false)?;
                let start = bytes.len().min(offset as usize);
                let found = &bytes[start..bytes.len().min(start + length as usize)];
                if keep {
                    // In pieces, as they come from a wire.
                    data.extend(found.chunks(999).zip(0..).map(|(piece, i)| (offset + 999 * i, piece.to_vec())));
                }
                Ok(Reply::Read { bytes: found.len() as u32 })
            }
            Operation::Write { file, offset, length, content, key }
            | Operation::WriteThrough { file, offset, length, content, key } => {
                let bytes = self.bytes(file, true)?;
                let end = offset as usize + length as usize;
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                let pieces = content.pieces(key, offset, length as usize).map(|piece| &content.block()[piece]);
                bytes[offset as usize..end].copy_from_slice(&pieces.collect::<Vec<_>>().concat());
                Ok(Reply::Written { bytes: length })
            }
            Operation::Flush { file } => self.bytes(file, true).map(|_| Reply::Nothing),
            Operation::Truncate { file, size } => {
                self.bytes(file, true)?.resize(size as usize, 0);
                Ok(Reply::Nothing)
            }
            Operation::CopyRange { from, from_offset, to, to_offset, length } => {
                let source = self.bytes(from, false)?;
                let piece: Vec<u8> = source.iter().skip(from_offset as usize).take(length as usize).copied().collect();
                let (bytes, end) = (self.bytes(to, true)?, to_offset as usize + piece.len());
                if !piece.is_empty() && bytes.len() < end {
                    bytes.resize(end, 0);
                }
                let bytes = bytes.iter_mut().skip(to_offset as usize);
                bytes.zip(&piece).for_each(|(byte, copied)| *byte = *copied);
                Ok(Reply::Written { bytes: piece.len() as u32 })
            }
            Operation::Copy { from, to, length } => self.copy(from, to, length.into()),
            Operation::Clone { from, to, length } => self.copy(from, to, length).map(|_| Reply::Nothing),
            Operation::GetattrOpen { file } => {
                Ok(Reply::Attributes { size: self.bytes(file, false)?.len() as u64, directory: false })
            }
            Operation::Getattr { path }
            | Operation::Lookup { path }
            | Operation::Setattr { path, .. }
            | Operation::Access { path } => {
                let node = self.nodes.get(path).ok_or("no such file")?;
                let size = node.as_ref().map_or(4096, |bytes| bytes.len() as u64);
                Ok(Reply::Attributes { size, directory: node.is_none() })
            }
            Operation::List { path } | Operation::ListNames { path } => {
                self.directory(path)?;
                names.extend(self.children(path).map(str::to_owned));
                Ok(Reply::Listed { entries: names.len() as u64 })
            }
            Operation::Fsinfo => Ok(Reply::Space { total: 1, free: 1 }),
            Operation::Null => Ok(Reply::Nothing),
            Operation::Allocate { .. }
            | Operation::Deallocate { .. }
            | Operation::SeekData { .. }
            | Operation::SeekHole { .. } => self.sparse(operation),
            _ => self.names(operation),
        }
    }

    fn copy(&mut self, from: FileKey, to: FileKey, length: u64) -> Answer {
        if self.handle(from)?.0 == self.handle(to)?.0 || length == 0 {
            return Err("copies within a file, or nothing");
        }
        let piece: Vec<u8> = self.bytes(from, false)?.iter().take(length as usize).copied().collect();
        let bytes = self.bytes(to, true)?;
        bytes.resize(bytes.len().max(piece.len()), 0);
        bytes[..piece.len()].copy_from_slice(&piece);
        Ok(Reply::Written { bytes: piece.len() as u32 })
    }

    /// A hole is a byte of zero.
    fn sparse(&mut self, operation: &Operation<'_>) -> Answer {
        let next = |bytes: &[u8], offset: u64, hole: bool| {
            let found = bytes.iter().skip(offset as usize).position(|byte| (*byte == 0) == hole);
            found.map(|found| offset + found as u64)
        };
        match *operation {
            Operation::Allocate { file, offset, length } => {
                let bytes = self.bytes(file, true)?;
                bytes.resize(bytes.len().max((offset + length) as usize), 0);
                Ok(Reply::Nothing)
            }
            Operation::Deallocate { file, offset, length } => {
                self.bytes(file, true)?
                    .iter_mut()
                    .skip(offset as usize)
                    .take(length as usize)
                    .for_each(|byte| *byte = 0);
                Ok(Reply::Nothing)
            }
            Operation::SeekData { file, offset } => {
                Ok(Reply::Found { offset: next(self.bytes(file, false)?, offset, false) })
            }
            Operation::SeekHole { file, offset } => {
                let bytes = self.bytes(file, false)?;
                Ok(Reply::Found { offset: Some(next(bytes, offset, true).unwrap_or(bytes.len() as u64)) })
            }
            _ => Err("not supported"),
        }
    }
}

impl Server for Model {
    fn act(
        &mut self,
        operation: &Operation<'_>,
        data: &mut Vec<(u64, Vec<u8>)>,
        names: &mut Vec<String>,
    ) -> Result<Reply, String> {
        self.does(operation, data, names).map_err(str::to_owned)
    }
}

/// A directory of this machine, through one path client for all slots.
#[derive(Debug)]
pub(super) struct Directory {
    client: PathClient,
    begun: u64,
}

impl Directory {
    pub(super) fn at(path: &std::path::Path) -> Self {
        let (nowhere, share, user) = (Endpoint::NOWHERE, Symbol::NONE, Symbol::NONE);
        let identity = Identity { client: nowhere, server: nowhere, connection: 0, share, user };
        Self { client: PathClient::new(Root::open(path).unwrap(), identity), begun: 0 }
    }
}

impl Server for Directory {
    fn act(
        &mut self,
        operation: &Operation<'_>,
        data: &mut Vec<(u64, Vec<u8>)>,
        names: &mut Vec<String>,
    ) -> Result<Reply, String> {
        let mut collected = Collected::default();
        self.begun += 1;
        let ticket = Ticket { tag: Tag(self.begun), intended: None, path: Symbol::NONE };
        self.client.begin(operation, ticket, 0, &mut Outbox::new(), &mut collected);
        assert_eq!(collected.transactions, 1, "{operation:?}");
        data.extend(collected.data);
        names.extend(collected.names);
        let done = collected.done.expect("it is done at once");
        assert_eq!(done.tag, ticket.tag);
        done.result.map_err(|failure| format!("{failure:?}"))
    }
}

/// A client's events for one operation.
#[derive(Default)]
struct Collected {
    transactions: u32,
    done: Option<Done>,
    data: Vec<(u64, Vec<u8>)>,
    names: Vec<String>,
}

impl Events for Collected {
    fn transaction(&mut self, _: Option<Tag>, _: &mut Transaction) {
        self.transactions += 1;
    }

    fn done(&mut self, done: Done) {
        assert!(self.done.replace(done).is_none());
    }

    fn data(&mut self, _: Tag, offset: u64, piece: &[u8]) {
        self.data.push((offset, piece.to_vec()));
    }

    fn entry(&mut self, _: Tag, name: &str) {
        self.names.push(name.to_owned());
    }
}

/// Results of running the slots.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) iterations: u64,
    pub(super) errors: Vec<String>,
    pub(super) wrong: u64,
    /// Every operation, with its path where it has one.
    pub(super) operations: Vec<String>,
    pub(super) verified: u64,
}

/// A failure that a test injects.
fn failed(cause: Cause) -> Failure {
    Failure { procedure: None, status: None, outcome: Outcome::Failed, cause }
}

/// Runs slots, interleaved at random, until each has done `iterations` iterations or has finished. `fault` may fail an operation, given
/// the number of earlier ones.
pub(super) fn run(
    server: &mut impl Server,
    slots: &mut [Box<dyn Scenario>],
    iterations: u64,
    mut fault: impl FnMut(u64) -> Option<Cause>,
) -> Ran {
    let (mut ran, mut rng) = (Ran::default(), Rng::new(99));
    let mut left: Vec<(usize, u64)> = (0..slots.len()).map(|slot| (slot, iterations)).collect();
    while !left.is_empty() {
        let chosen = rng.random_range(0..left.len());
        let slot = &mut slots[left[chosen].0];
        let (mut data, mut names) = (Vec::new(), Vec::new());
        let (result, shown) = match slot.next() {
            ScenarioStep::Think(_) => continue,
            ScenarioStep::IterationOver => {
                ran.iterations += 1;
                left[chosen].1 -= 1;
                left.retain(|(_, iterations)| *iterations > 0);
                continue;
            }
            ScenarioStep::Finished => {
                left.remove(chosen);
                continue;
            }
            ScenarioStep::Act(operation, _) => {
                let shown = format!("{operation:?}");
                match fault(ran.operations.len() as u64) {
                    Some(cause) => (Err((failed(cause), None)), shown),
                    None => {
                        let answer = server.act(&operation, &mut data, &mut names);
                        (answer.map_err(|problem| (refused(&problem), Some(format!("{problem}: {shown}")))), shown)
                    }
                }
            }
        };
        ran.operations.push(shown);
        ran.verified += data.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>();
        data.iter().for_each(|(offset, piece)| slot.data(*offset, piece));
        names.iter().for_each(|name| slot.entry(name));
        let problem = result.as_ref().err().and_then(|(_, problem)| problem.clone());
        let result = result.map_err(|(failure, _)| failure);
        let lost = matches!(&result, Err(Failure { cause: Cause::ConnectionReset, .. }));
        let verdict = slot.done(&Done { tag: Tag(0), at: 0, result });
        ran.wrong += u64::from(verdict == Verdict::Failed(Cause::WrongData));
        ran.errors.extend(problem.filter(|_| verdict != Verdict::Expected));
        if lost {
            slot.reconnected();
        }
    }
    ran
}

/// No operation fails.
pub(super) fn sound(_: u64) -> Option<Cause> {
    None
}

/// The slots of `clients` clients.
pub(super) fn slots(workload: &Workload, files: &Arc<FileSet>, clients: u32, depth: u32) -> Vec<Box<dyn Scenario>> {
    let all = (0..clients).flat_map(|client_index| (0..depth).map(move |slot| (client_index, slot)));
    all.map(|(client_index, slot)| workload.scenario(files, client_index, slot, seed_of(7, client_index, slot)))
        .collect()
}

/// Slots of a job.
pub(super) fn workers(job: &Arc<impl Job + 'static>, count: usize) -> Vec<Box<dyn Scenario>> {
    (0..count).map(|_| job.clone().scenario()).collect()
}

/// A server with the files of a workload below the directory `base`.
pub(super) fn with_files(workload: &Workload, clients: u32) -> (Model, Arc<FileSet>) {
    let files = Arc::new(FileSet::new(workload, "base", clients, &mut Names::default()).unwrap());
    let mut server = Model::default();
    server.nodes.insert("base".to_owned(), None);
    let job = Create::new(files.clone());
    let ran = run(&mut server, &mut workers(&job, 3), u64::MAX, sound);
    assert_eq!(ran.errors, [""; 0]);
    job.outcome().unwrap();
    (server, files)
}
