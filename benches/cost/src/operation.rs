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
    /// NFS3 GETATTR of a known handle, over TLS.
    NfsTlsGetattr,
    /// NFS3 READ of 8 KiB, over TLS.
    NfsTlsRead8k,
    /// NFS3 GETATTR of a known handle, with krb5p.
    NfsKrb5pGetattr,
    /// NFS3 READ of 8 KiB, with krb5p.
    NfsKrb5pRead8k,
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

/// What protects the data on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing.
    None,
    /// RPC over TLS.
    Tls,
    /// Kerberos with encryption.
    Krb5p,
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
    /// Those whose cost is measured by the operation, without Kerberos.
    const WITHOUT_KERBEROS: [Case; 10] = [
        Case::SmbRead1,
        Case::SmbRead8k,
        Case::SmbMultichannelRead8k,
        Case::SmbCreateClose,
        Case::NfsGetattr,
        Case::NfsRead8k,
        Case::Nfs41Getattr,
        Case::Nfs41Read8k,
        Case::NfsTlsGetattr,
        Case::NfsTlsRead8k,
    ];
    const WITH_KERBEROS: [Case; 2] = [Case::NfsKrb5pGetattr, Case::NfsKrb5pRead8k];

    /// Those whose cost this build measures by the operation.
    pub fn measured() -> impl Iterator<Item = Case> {
        let kerberos = cfg!(feature = "kerberos").then_some(Self::WITH_KERBEROS);
        Self::WITHOUT_KERBEROS.into_iter().chain(kerberos.into_iter().flatten())
    }

    /// Its name, on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Case::SmbRead1 => "smb-read-1",
            Case::SmbRead8k => "smb-read-8k",
            Case::SmbMultichannelRead8k => "smb-multichannel-read-8k",
            Case::SmbCreateClose => "smb-create-close",
            Case::NfsGetattr => "nfs-getattr",
            Case::NfsRead8k => "nfs-read-8k",
            Case::NfsTlsGetattr => "nfs-tls-getattr",
            Case::NfsTlsRead8k => "nfs-tls-read-8k",
            Case::NfsKrb5pGetattr => "nfs-krb5p-getattr",
            Case::NfsKrb5pRead8k => "nfs-krb5p-read-8k",
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
        let all = Self::WITHOUT_KERBEROS.into_iter().chain(Self::WITH_KERBEROS);
        let mut all = all.chain([Case::SmbStream, Case::NfsStream]);
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

    /// What protects the data on the wire.
    pub fn protection(self) -> Protection {
        match self {
            Case::NfsTlsGetattr | Case::NfsTlsRead8k => Protection::Tls,
            Case::NfsKrb5pGetattr | Case::NfsKrb5pRead8k => Protection::Krb5p,
            _ => Protection::None,
        }
    }

    /// Whether libnfs can do it: Debian's has no sessions, no TLS and no Kerberos.
    pub fn is_in_libnfs(self) -> bool {
        !self.is_smb() && !self.has_session() && self.protection() == Protection::None
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
            Case::SmbRead8k | Case::SmbMultichannelRead8k | Case::NfsRead8k => 8192,
            Case::Nfs41Read8k | Case::NfsTlsRead8k | Case::NfsKrb5pRead8k => 8192,
            Case::SmbRead64k | Case::NfsRead64k => 64 << 10,
            Case::SmbCreateClose | Case::SmbGetattr => 0,
            Case::NfsGetattr | Case::Nfs41Getattr | Case::NfsTlsGetattr | Case::NfsKrb5pGetattr => 0,
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
