//! Errors that make a capture unusable, with advice.

use std::io;

/// Why a capture could not be opened or read on.
///
/// Damage after the first packet of a file is not an error: it ends that file and is counted in
/// [`CaptureAnomalies`](super::CaptureAnomalies). After an error, reading goes on with the next file.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file or standard input could not be opened or read.
    #[error("{input}: cannot read: {source}")]
    Io {
        /// The file's path, or `standard input`.
        input: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
    /// The first bytes do not belong to a capture format that Plimsoll reads.
    #[error("{input}: unknown capture format (first bytes: {start}). {advice}")]
    UnknownFormat {
        /// The file's path, or `standard input`.
        input: Box<str>,
        /// The first bytes in hexadecimal.
        start: Box<str>,
        /// Advice.
        advice: Box<str>,
    },
    /// The format is known, but this version or variant of it is not read.
    #[error("{input}: {what}; convert the capture with `editcap -F pcap IN OUT`")]
    Unsupported {
        /// The file's path, or `standard input`.
        input: Box<str>,
        /// Which version or variant it is.
        what: Box<str>,
    },
    /// The file is damaged before its first packet, so nothing of it can be used.
    #[error("{input}: damaged at byte {offset}, before the first packet: {what}")]
    Damaged {
        /// The file's path, or `standard input`.
        input: Box<str>,
        /// Where, in bytes from the start of the (decompressed) capture.
        offset: u64,
        /// The damage at this offset.
        what: Box<str>,
    },
    /// The same file is given twice, possibly under two names.
    #[error("{input}: same file as {earlier}, so each packet would count twice; name the file only once")]
    Repeated {
        /// The file's path, or `standard input`.
        input: Box<str>,
        /// Its path as it was given before.
        earlier: Box<str>,
    },
    /// A folder has no file with the name of a capture.
    #[error(
        "{folder}: this folder contains neither captures nor a recording; expected files whose names end in .pcap, .pcapng, .cap or \
        .snoop, also with .gz or .zst"
    )]
    NoCaptures {
        /// The folder's path.
        folder: Box<str>,
    },
    /// There was nothing to read: no input was given.
    #[error("no capture: {0}")]
    Empty(Box<str>),
    /// There was nothing to read: the input, the last of several that are all empty, has no bytes.
    #[error("{0}: the capture is empty; check the capture command")]
    NoBytes(Box<str>),
}

impl CaptureError {
    /// Whether the command line names a capture twice.
    #[must_use]
    pub fn is_given_twice(&self) -> bool {
        matches!(self, Self::Repeated { .. })
    }
}

/// Why a parser stopped inside a file.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file ends in the middle of a record, or its compressed stream in the middle of a block.
    Truncated,
    /// The bytes at `offset` (of the decompressed capture) are invalid.
    Bad { offset: u64, what: String },
    /// The format is known, its variant is not read.
    Unsupported(String),
    /// Reading failed.
    Io(io::Error),
    /// No further data so far in a live capture. The start of an incomplete record is not consumed.
    Idle,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
