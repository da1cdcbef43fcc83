//! The measured operations.

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// SMB2 READ of one byte of an open file.
    SmbRead1,
    /// SMB2 READ of 8 KiB.
    SmbRead8k,
    /// SMB2 READ of 8 KiB over several connections of one session.
    SmbMultichannelRead8k,
    /// SMB2 CREATE of an existing file, and CLOSE: two exchanges.
    SmbCreateClose,
    /// NFS3 GETATTR of a known handle.
    NfsGetattr,
    /// NFS3 READ of 8 KiB.
    NfsRead8k,
    /// NFS 4.1 GETATTR of a known handle, in a session.
    Nfs41Getattr,
    /// NFS 4.1 READ of 8 KiB, in a session.
    Nfs41Read8k,
    /// Consecutive SMB2 READs of 1 MiB.
    SmbStream,
    /// Consecutive NFS3 READs of 1 MiB.
    NfsStream,
    /// SMB2 QUERY_INFO of an open file.
    SmbGetattr,
    /// SMB2 READ of 64 KiB.
    SmbRead64k,
    /// SMB2 READ of 1 MiB.
    SmbRead1m,
    /// NFS READ of 64 KiB.
    NfsRead64k,
    /// NFS READ of 1 MiB.
    NfsRead1m,
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
    pub const ALL: [Case; 8] = [
        Case::SmbRead1,
        Case::SmbRead8k,
        Case::SmbMultichannelRead8k,
        Case::SmbCreateClose,
        Case::NfsGetattr,
        Case::NfsRead8k,
        Case::Nfs41Getattr,
        Case::Nfs41Read8k,
    ];

    /// Its name, on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Case::SmbRead1 => "smb-read-1",
            Case::SmbRead8k => "smb-read-8k",
            Case::SmbMultichannelRead8k => "smb-multichannel-read-8k",
            Case::SmbCreateClose => "smb-create-close",
            Case::NfsGetattr => "nfs-getattr",
            Case::NfsRead8k => "nfs-read-8k",
            Case::Nfs41Getattr => "nfs41-getattr",
            Case::Nfs41Read8k => "nfs41-read-8k",
            Case::SmbStream => "smb-stream",
            Case::NfsStream => "nfs-stream",
            Case::SmbGetattr => "smb-getattr",
            Case::SmbRead64k => "smb-read-64k",
            Case::SmbRead1m => "smb-read-1m",
            Case::NfsRead64k => "nfs-read-64k",
            Case::NfsRead1m => "nfs-read-1m",
        }
    }

    /// By name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().chain([Case::SmbStream, Case::NfsStream]);
        all.find(|operation| operation.name() == name)
    }

    /// Whether the server is an SMB server.
    pub fn is_smb(self) -> bool {
        self.name().starts_with("smb")
    }

    /// Whether each request has a slot of a session.
    pub fn has_session(self) -> bool {
        matches!(self, Case::Nfs41Getattr | Case::Nfs41Read8k)
    }

    /// Connections of the session.
    pub fn channels(self) -> u32 {
        if self == Case::SmbMultichannelRead8k { 4 } else { 1 }
    }

    /// Numbers of outstanding operations that are measured: one per connection, and 32.
    pub fn depths(self) -> [usize; 2] {
        [self.channels() as usize, 32]
    }

    /// Exchanges on the wire.
    pub fn exchanges(self) -> u64 {
        if self == Case::SmbCreateClose { 2 } else { 1 }
    }

    /// Bytes read.
    pub fn length(self) -> u32 {
        match self {
            Case::SmbRead1 => 1,
            Case::SmbRead8k | Case::SmbMultichannelRead8k | Case::NfsRead8k | Case::Nfs41Read8k => 8192,
            Case::SmbRead64k | Case::NfsRead64k => 64 << 10,
            Case::SmbCreateClose | Case::SmbGetattr | Case::NfsGetattr | Case::Nfs41Getattr => 0,
            Case::SmbStream | Case::NfsStream | Case::SmbRead1m | Case::NfsRead1m => 1 << 20,
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
