//! The measured operations.

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// SMB2 READ of one byte of an open file.
    SmbRead1,
    /// SMB2 READ of 8 KiB.
    SmbRead8k,
    /// SMB2 CREATE of an existing file, and CLOSE: two exchanges.
    SmbCreateClose,
    /// NFS3 GETATTR of a known handle.
    NfsGetattr,
    /// NFS3 READ of 8 KiB.
    NfsRead8k,
    /// Consecutive SMB2 READs of 1 MiB.
    SmbStream,
    /// Consecutive NFS3 READs of 1 MiB.
    NfsStream,
}

/// The file that is read.
pub const FILE: &str = "cost.bin";
/// Its size, bytes: small enough to stay in the server's cache.
pub const SIZE: u64 = 8 << 20;
/// The file that is streamed.
pub const BIG_FILE: &str = "stream.bin";
/// Its size, bytes.
pub const BIG_SIZE: u64 = 1 << 30;

impl Case {
    /// Those whose cost is measured by the operation.
    pub const ALL: [Case; 5] =
        [Case::SmbRead1, Case::SmbRead8k, Case::SmbCreateClose, Case::NfsGetattr, Case::NfsRead8k];

    /// Its name, on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Case::SmbRead1 => "smb-read-1",
            Case::SmbRead8k => "smb-read-8k",
            Case::SmbCreateClose => "smb-create-close",
            Case::NfsGetattr => "nfs-getattr",
            Case::NfsRead8k => "nfs-read-8k",
            Case::SmbStream => "smb-stream",
            Case::NfsStream => "nfs-stream",
        }
    }

    /// By name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().chain([Case::SmbStream, Case::NfsStream]);
        all.find(|operation| operation.name() == name)
    }

    /// Whether the server is an SMB server.
    pub fn is_smb(self) -> bool {
        !matches!(self, Case::NfsGetattr | Case::NfsRead8k | Case::NfsStream)
    }

    /// Exchanges on the wire.
    pub fn exchanges(self) -> u64 {
        if self == Case::SmbCreateClose { 2 } else { 1 }
    }

    /// Bytes read.
    pub fn length(self) -> u32 {
        match self {
            Case::SmbRead1 => 1,
            Case::SmbRead8k | Case::NfsRead8k => 8192,
            Case::SmbCreateClose | Case::NfsGetattr => 0,
            Case::SmbStream | Case::NfsStream => 1 << 20,
        }
    }

    /// The file, and its size in bytes.
    pub fn file(self) -> (&'static str, u64) {
        if matches!(self, Case::SmbStream | Case::NfsStream) { (BIG_FILE, BIG_SIZE) } else { (FILE, SIZE) }
    }

    /// How many are measured in a round: about a second's worth, or two.
    pub fn count(self, depth: usize) -> u64 {
        let base = if self == Case::SmbCreateClose { 8_000 } else { 20_000 };
        if depth > 1 { base * 2 } else { base }
    }
}
