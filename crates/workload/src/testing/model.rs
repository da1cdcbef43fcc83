//! A file server that is a map, stricter than any protocol.

use std::collections::BTreeMap;

use plimsoll_client::operation::{Access, Disposition, FileKey, Kind, Operation, Reply};

use super::{Output, Server};

/// Files with their bytes; directories without.
#[derive(Debug, Default, Clone)]
pub(crate) struct Model {
    pub(crate) nodes: BTreeMap<String, Option<Vec<u8>>>,
    /// It finds names in lower case, and lists them in upper case.
    pub(crate) lists_upper_case: bool,
    handles: Vec<Option<(String, bool)>>,
}

type Answer = Result<Reply, &'static str>;

/// The model's answer to a control.
pub(super) const LACKING: &str = "no such control";

impl Model {
    pub(crate) fn open_files(&self) -> usize {
        self.handles.iter().flatten().count()
    }

    /// All clients disconnect, and their files are closed.
    pub(crate) fn disconnect(&mut self) {
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

    /// The names in a directory, as they are shown.
    fn listed(&self, path: &str) -> Vec<String> {
        let shown = |name: &str| if self.lists_upper_case { name.to_ascii_uppercase() } else { name.to_owned() };
        self.children(path).map(shown).collect()
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
            (None, Disposition::Open) => return Err("no such file"),
            (Some(_), Disposition::Create) => return Err("is there already"),
            (Some(Some(bytes)), Disposition::OverwriteOrCreate) => bytes.clear(),
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
            Operation::OpenEntry { path, kind: Kind::Directory, disposition: Disposition::Open, .. } => {
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

    fn does(&mut self, operation: &Operation<'_>, output: &mut Output) -> Answer {
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
                    let pieces = found.chunks(999).zip(0..).map(|(piece, i)| (offset + 999 * i, piece.to_vec()));
                    output.data.extend(pieces);
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
                output.names.extend(self.listed(path));
                Ok(Reply::Listed { entries: output.names.len() as u64 })
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
    fn act(&mut self, operation: &Operation<'_>, output: &mut Output) -> Result<Reply, String> {
        self.does(operation, output).map_err(str::to_owned)
    }
}
