//! Facts that an observer reads from a procedure's arguments or results.

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

/// The kind of lock in an NFS 4 LOCK or LOCKT (`nfs_lock_type4`).
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

/// How an open or CREATE treats an existing file, and a missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creates {
    /// Opens an existing file (OPEN4_NOCREATE).
    Nothing,
    /// Opens or creates the file (UNCHECKED).
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

/// The facts of one procedure's arguments or results, or of one operation of a compound. Fields that the procedure does not have, or that
/// were not captured, are `None`. Names and handles are complete or `None`.
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
    /// Arguments of RENAME and LINK: the new name; of SYMLINK: the link's target.
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
    /// Arguments of CREATE (NFS 2 and 3) and OPEN: the handling of existing and missing files.
    pub creates: Option<Creates>,
    /// The same: the size that the file gets, in bytes.
    pub size: Option<u64>,
    /// Arguments of OPEN: `share_access`, with the wishes for a delegation above its two lowest bits.
    pub access: Option<u32>,
    /// SEQUENCE and CB_SEQUENCE: the session and its slot.
    pub slot: Option<Slot<'a>>,
    /// Results of OPEN: the kind of delegation that came with it (`open_delegation_type4`).
    pub delegation_kind: Option<u32>,
    /// Results of OPEN, arguments of DELEGRETURN and CB_RECALL: the state ID of a delegation, 16 bytes.
    pub delegation: Option<&'a [u8]>,
    /// Results of SEQUENCE: the highest slot that the server wants the client to use.
    pub target_slot: Option<u32>,
    /// Arguments of BIND_CONN_TO_SESSION, results of CREATE_SESSION: the session's 16 bytes.
    pub session: Option<&'a [u8]>,
    /// Results of CREATE_SESSION: number of slots for the client's requests.
    pub granted_slots: Option<u32>,
}

impl Facts<'_> {
    /// The same as SMB's number (CreateDisposition, MS-SMB2 2.2.13): 1 open, 2 create, 3 open or create, 5 truncate or create.
    #[inline]
    pub fn disposition(&self) -> Option<u32> {
        Some(match self.creates? {
            Creates::Nothing => 1,
            Creates::Guarded => 2,
            Creates::Unchecked if self.size == Some(0) => 5,
            Creates::Unchecked => 3,
        })
    }

    /// Number of requested file bytes from [`Facts::offset`] on. (In procedures without an offset, the count limits the answer.)
    #[inline]
    pub fn asked_bytes(&self) -> Option<u64> {
        self.offset.and_then(|_| self.count.or(self.payload.map(u64::from)))
    }
}
