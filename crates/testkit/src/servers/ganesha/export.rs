//! The exports of Ganesha.

/// An export of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// A folder, to read and write.
    Data,
    /// A folder, to read alone.
    ReadOnly,
    /// On a file system of [`super::Ganesha::SMALL`] bytes. Not there where it could not be mounted.
    Small,
    /// In the server's memory.
    Memory,
    /// A folder, to read and write, for calls from source ports below 1024.
    Privileged,
    /// A folder, to read and write; every write is on stable storage before it is answered.
    Synchronous,
}

impl Export {
    pub(super) const ALL: [Export; 6] =
        [Export::Data, Export::ReadOnly, Export::Small, Export::Memory, Export::Privileged, Export::Synchronous];

    /// The path that MOUNT is asked for.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Export::Data => "/data",
            Export::ReadOnly => "/readonly",
            Export::Small => "/small",
            Export::Memory => "/memory",
            Export::Privileged => "/privileged",
            Export::Synchronous => "/synchronous",
        }
    }

    pub(super) fn folder(self) -> &'static str {
        self.path().trim_start_matches('/')
    }

    pub(super) fn settings(self) -> &'static str {
        match self {
            Export::Data | Export::Small => "Access_Type = RW; FSAL { Name = VFS; }",
            Export::ReadOnly => "Access_Type = RO; FSAL { Name = VFS; }",
            Export::Memory => "Access_Type = RW; FSAL { Name = MEM; }",
            Export::Privileged => "Access_Type = RW; PrivilegedPort = true; FSAL { Name = VFS; }",
            Export::Synchronous => "Access_Type = RW; NFS_Commit = true; FSAL { Name = VFS; }",
        }
    }
}
