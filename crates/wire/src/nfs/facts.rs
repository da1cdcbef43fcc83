//! What an observer learns from one procedure's arguments or results.

/// The slot of an NFS 4.1 session that a compound runs in: with the sequence number it identifies the request better
/// than the xid does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot<'a> {
    /// The session's 16 bytes.
    pub session: &'a [u8],
    /// Number of the request in its slot.
    pub sequence: u32,
    /// The slot.
    pub slot: u32,
}

/// What an NFS 4 LOCK or LOCKT asks for (`nfs_lock_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// The wire number.
    pub kind: u32,
}

impl Lock {
    /// READW_LT and WRITEW_LT say that the client will wait for the lock.
    ///
    /// The server still answers at once (NFS4ERR_DENIED) and the client asks again: it is the lock that waits, not the
    /// request. In NLM it is the same with NLM_BLOCKED and GRANTED.
    #[inline]
    pub fn waits(self) -> bool {
        matches!(self.kind, 3 | 4)
    }
}

/// How an open or CREATE treats a file that is there, and one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creates {
    /// It opens what is there (OPEN4_NOCREATE).
    Nothing,
    /// It takes what is there, or creates it (UNCHECKED).
    Unchecked,
    /// It creates it, or fails (GUARDED, EXCLUSIVE).
    Guarded,
}

impl Creates {
    /// Of `createmode3` and `createmode4`.
    #[inline]
    pub(super) fn of_mode(mode: u32) -> Self {
        if mode == 0 { Self::Unchecked } else { Self::Guarded }
    }
}

/// The facts of one procedure's arguments or results, or of one operation of a compound. Whatever the procedure does not
/// have, or the capture does not show, is `None`. Names and handles are there whole or not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Results: the status, as its wire number; see [`super::status_name`].
    pub status: Option<u32>,
    /// Arguments: the file or directory acted on. Results: the file found or made.
    pub handle: Option<&'a [u8]>,
    /// Arguments: the name in that directory; for MOUNT the path. Results of READLINK: the link's text.
    pub name: Option<&'a [u8]>,
    /// Arguments of RENAME and LINK: the directory that gets the name.
    pub to_handle: Option<&'a [u8]>,
    /// Arguments of RENAME and LINK: the new name; of SYMLINK: what the link says.
    pub to_name: Option<&'a [u8]>,
    /// Arguments: where in the file, in bytes.
    pub offset: Option<u64>,
    /// Arguments: how many bytes are asked for, or locked. Results: how many were read, written or copied.
    pub count: Option<u64>,
    /// File data that the message carries, in bytes, also when the data itself was not captured.
    pub payload: Option<u32>,
    /// Arguments of WRITE: `stable_how` asked for. Results: how it was committed. 0 unstable, 1 data, 2 file.
    pub stable: Option<u32>,
    /// Arguments of LOCK and LOCKT in NFS 4: the kind of lock.
    pub lock: Option<Lock>,
    /// Arguments of CREATE (NFS 2 and 3) and OPEN: what is created.
    pub creates: Option<Creates>,
    /// The same: the size that the file gets, in bytes.
    pub size: Option<u64>,
    /// Arguments of OPEN: `share_access`, with the wishes for a delegation above its two lowest bits.
    pub access: Option<u32>,
    /// SEQUENCE and CB_SEQUENCE: the session and its slot.
    pub slot: Option<Slot<'a>>,
}

impl Facts<'_> {
    /// What an open or CREATE does with a file that is there and with one that is not, as SMB numbers it (CreateDisposition, MS-SMB2
    /// 2.2.13): 1 open, 2 create, 3 open or create, 5 empty or create.
    #[inline]
    pub fn disposition(&self) -> Option<u32> {
        Some(match self.creates? {
            Creates::Nothing => 1,
            Creates::Guarded => 2,
            Creates::Unchecked if self.size == Some(0) => 5,
            Creates::Unchecked => 3,
        })
    }

    /// How many bytes of the file are asked for from [`Facts::offset`] on. (The count of what has no offset limits an answer.)
    #[inline]
    pub fn asked_bytes(&self) -> Option<u64> {
        self.offset.and_then(|_| self.count.or(self.payload.map(u64::from)))
    }
}
