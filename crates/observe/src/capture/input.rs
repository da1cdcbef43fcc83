//! Files and standard input, plain or compressed, become a [`ByteWindow`].

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::byte_window::{Backing, ByteWindow};
use super::plain::Plain;
use super::stop::{Live, StopReading, Stoppable};
use super::waiting;

/// Where a capture is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, or a named pipe.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input of this name: `-` is standard input.
    pub fn of(name: impl AsRef<Path>) -> Self {
        let name = name.as_ref();
        if name == Path::new("-") { Self::Stdin } else { Self::File(name.to_owned()) }
    }

    /// The path of a file.
    pub(super) fn into_path(self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdin => None,
        }
    }

    /// The name for messages.
    pub(super) fn name(&self) -> Box<str> {
        match self {
            Self::File(path) => path.display().to_string().into(),
            Self::Stdin => "standard input".into(),
        }
    }

    /// The size of a regular file in bytes; None for other files.
    pub(super) fn size(&self) -> io::Result<Option<u64>> {
        let Self::File(path) = self else { return Ok(None) };
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(metadata.is_file().then_some(metadata.len()))
    }
}

/// How a capture is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// RFC 1952, with as many members as there are.
    Gzip,
    /// RFC 8878, with as many frames as there are.
    Zstd,
}

/// Enough to tell a compressed file by, in bytes.
pub(super) const SNIFF_BYTES: usize = 8;
/// Compressed bytes read at once.
const COMPRESSED_READ: usize = 128 << 10;
/// The largest zstd window that is accepted: 2 to this power bytes, 64 MiB. `zstd --ultra -22` needs 128 MiB and
/// is refused with zstd's own message; `zstd -19` needs 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 26;

/// The compression, from the first bytes.
pub(super) fn compression(first: &[u8]) -> Compression {
    match first {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        // A frame, or a skippable frame as some parallel writers begin with.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The first bytes of a regular file; fewer if it is shorter.
pub(super) fn first_bytes(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::with_capacity(SNIFF_BYTES);
    from.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// An opened input: its window, its packing, and whether it held no byte at all.
pub(super) struct Opened {
    pub(super) window: ByteWindow,
    pub(super) compression: Compression,
    pub(super) empty: bool,
    /// It is no regular file.
    pub(super) pipe: bool,
}

/// Opens an input. The bytes that are read from it are added to `read`.
pub(super) fn open(input: &Input, read: &Arc<AtomicU64>, stop: &StopReading) -> io::Result<Opened> {
    let read = Arc::clone(read);
    match input {
        Input::Stdin => {
            let inner = waiting::standard_input()?;
            stream(Counted { inner: Stoppable { inner, stop: stop.clone(), until: None }, read })
        }
        Input::File(path) => {
            let mut file = waiting::open(path)?;
            if !file.metadata()?.is_file() {
                let inner = Stoppable { inner: file, stop: stop.clone(), until: None };
                return stream(Counted { inner, read });
            }
            let first = first_bytes(&file)?;
            file.seek(SeekFrom::Start(0))?;
            let compression = compression(&first);
            let window = match compression {
                Compression::None => ByteWindow::new(Backing::Plain(Plain::new(file, read)), false),
                packed => ByteWindow::new(Backing::Stream(unpack(Counted { inner: file, read }, packed)?), true),
            };
            Ok(Opened { window, compression, empty: first.is_empty(), pipe: false })
        }
    }
}

/// Opens an input that can only be read once, from start to end.
fn stream(mut from: impl Live + 'static) -> io::Result<Opened> {
    let first = first_bytes(&mut from)?;
    let (compression, empty) = (compression(&first), first.is_empty());
    let whole = Begun { first: Cursor::new(first), from };
    let window = match compression {
        Compression::None => ByteWindow::new(Backing::Live(Box::new(whole)), false),
        packed => ByteWindow::new(Backing::Stream(unpack(whole, packed)?), true),
    };
    Ok(Opened { window, compression, empty, pipe: true })
}

/// A stream whose first bytes were looked at.
struct Begun<R> {
    first: Cursor<Vec<u8>>,
    from: R,
}

impl<R: Read> Read for Begun<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.first.read(room)? {
            0 => self.from.read(room),
            read => Ok(read),
        }
    }
}

impl<R: Live> Live for Begun<R> {
    fn wait(&mut self, within: Duration) -> io::Result<bool> {
        let has_first = self.first.position() < self.first.get_ref().len() as u64;
        Ok(has_first || self.from.wait(within)?)
    }
}

/// The decompressed bytes of a stream. Both decoders work in pieces: a small file that unpacks to a huge one costs
/// time, never memory.
fn unpack(from: impl Read + Send + 'static, compression: Compression) -> io::Result<Box<dyn Read + Send>> {
    let buffered = |from| io::BufReader::with_capacity(COMPRESSED_READ, from);
    match compression {
        Compression::None => Ok(Box::new(from)),
        Compression::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(buffered(from)))),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(from))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Ok(Box::new(decoder))
        }
    }
}

/// Counts the bytes read, for the progress display.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Live> Live for Counted<R> {
    fn wait(&mut self, within: Duration) -> io::Result<bool> {
        self.inner.wait(within)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(room)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
