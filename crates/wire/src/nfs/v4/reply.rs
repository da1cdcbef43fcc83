//! Strict reader of COMPOUND's results: one operation after the other, in the requested order.
//!
//! Spec: RFC 8881 16.2.4

use super::attributes::{Attributes, Mask};
use super::{
    FileHandle, StateId, access, bind, client_id, copy, create_session, exchange_id, lock, open, operation, read,
    read_plus, readdir, sequence, sparse, test_state, write,
};
use crate::nfs::status::{NFS4ERR_CLID_INUSE, NFS4ERR_DENIED, NFS4ERR_OFFLOAD_NO_REQS};
use crate::xdr::{Malformed, Strict};

/// Bytes of a tag, at most. The specification has no limit; ours is empty, and servers send it back.
const LONGEST_TAG: usize = 1_024;
/// Bytes of a link's text, at most (PATH_MAX).
const LONGEST_LINK: usize = 4_096;

/// The results of a compound.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The status of the last operation that was tried.
    pub status: u32,
    reader: Strict<'a>,
    /// Bytes behind those that were kept.
    missing: usize,
    left: u32,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered<'a> {
    /// Its status.
    pub status: u32,
    /// Its result.
    pub result: Done<'a>,
}

/// The result after an operation's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done<'a> {
    /// Nothing more, or nothing that a client wants: also of every operation that failed.
    Nothing,
    /// ACCESS.
    Access(access::Granted),
    /// CLOSE, LOCK, LOCKU, OPEN_CONFIRM: the new state id.
    State(StateId),
    /// COMMIT.
    Committed([u8; 8]),
    /// GETATTR.
    Attributes(Attributes),
    /// GETFH.
    Handle(FileHandle),
    /// OPEN.
    Opened(open::Opened),
    /// READ.
    Data(read::Data<'a>),
    /// READDIR.
    Page(readdir::Page<'a>),
    /// READLINK.
    Link(&'a [u8]),
    /// WRITE.
    Written(write::Written),
    /// COPY.
    Copied(copy::Copied),
    /// READ_PLUS.
    Contents(read_plus::Contents<'a>),
    /// SEEK.
    Found(sparse::Found),
    /// TEST_STATEID.
    Tested(test_state::Statuses<'a>),
    /// BIND_CONN_TO_SESSION.
    Bound(bind::Bound),
    /// EXCHANGE_ID.
    Client(exchange_id::Client<'a>),
    /// SETCLIENTID.
    Unconfirmed(client_id::Unconfirmed),
    /// CREATE_SESSION.
    Session(create_session::Session),
    /// SEQUENCE.
    Sequence(sequence::SequenceReply),
}

impl<'a> Reply<'a> {
    /// Reads the head of results, of which `kept` was kept and which were `length` bytes long.
    #[inline]
    pub fn parse(kept: &'a [u8], length: usize) -> Result<Self, Malformed> {
        let missing = length.checked_sub(kept.len()).ok_or(Malformed)?;
        let mut reader = Strict::new(kept);
        let status = reader.u32()?;
        reader.opaque(LONGEST_TAG)?;
        let left = reader.u32()?;
        Ok(Self { status, reader, missing, left })
    }

    /// The next result, which is the answer to the operation `asked`; `None` behind the last one.
    #[inline]
    pub fn next(&mut self, asked: u32) -> Result<Option<Answered<'a>>, Malformed> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (code, status) = (self.reader.u32()?, self.reader.u32()?);
        // A server answers a number that it does not know with one that says so (RFC 8881 18.52).
        if code != asked && code != operation::ILLEGAL {
            return Err(Malformed);
        }
        // What follows an operation that failed was not tried, and the last one's status is the whole's.
        let last = self.left == 0;
        if status != 0 && !last || last && status != self.status || code != asked && status == 0 {
            return Err(Malformed);
        }
        let result = if status == 0 { self.done(asked)? } else { self.refused(code, status)? };
        Ok(Some(Answered { status, result }))
    }

    /// Nothing may be left.
    #[inline]
    pub fn end(self) -> Result<(), Malformed> {
        if self.left > 0 || self.missing > 0 {
            return Err(Malformed);
        }
        self.reader.end()
    }

    fn done(&mut self, asked: u32) -> Result<Done<'a>, Malformed> {
        let reader = &mut self.reader;
        Ok(match asked {
            3 => Done::Access(access::parse(reader)?),
            4 | 12 | 14 | 20 => Done::State(StateId::parse(reader)?),
            5 => Done::Committed(reader.array()?),
            // CREATE: how the directory changed, and which attributes were set.
            6 => {
                skip_change(reader)?;
                Mask::parse(reader)?;
                Done::Nothing
            }
            9 => Done::Attributes(Attributes::parse(reader)?),
            10 => Done::Handle(FileHandle::parse(reader)?),
            // LINK and REMOVE: how the directory changed; RENAME: how both did.
            11 | 28 => {
                skip_change(reader)?;
                Done::Nothing
            }
            18 => Done::Opened(open::parse(reader)?),
            25 => Done::Data(read::parse(reader, &mut self.missing)?),
            26 => Done::Page(readdir::parse(reader)?),
            27 => Done::Link(reader.opaque(LONGEST_LINK)?),
            29 => {
                skip_change(reader)?;
                skip_change(reader)?;
                Done::Nothing
            }
            34 => {
                Mask::parse(reader)?;
                Done::Nothing
            }
            35 => Done::Unconfirmed(client_id::parse(reader)?),
            38 => Done::Written(write::parse(reader)?),
            41 => Done::Bound(bind::parse(reader)?),
            42 => Done::Client(exchange_id::parse(reader)?),
            43 => Done::Session(create_session::parse(reader)?),
            53 => Done::Sequence(sequence::parse(reader)?),
            55 => Done::Tested(test_state::parse(reader)?),
            60 => Done::Copied(copy::parse(reader)?),
            68 => Done::Contents(read_plus::parse(reader)?),
            69 => Done::Found(sparse::parse(reader)?),
            // Operations without results: DELEGRETURN, FREE_STATEID, LOCKT, LOOKUP, PUTFH, PUTROOTFH, RENEW, RESTOREFH, SAVEFH,
            // SETCLIENTID_CONFIRM, the end of a session, ALLOCATE, DEALLOCATE and CLONE.
            8 | 13 | 15 | 22 | 24 | 30 | 31 | 32 | 36 | 44 | 45 | 57 | 58 | 59 | 62 | 71 => Done::Nothing,
            _ => return Err(Malformed),
        })
    }

    /// The few operations that say more when they fail.
    fn refused(&mut self, code: u32, status: u32) -> Result<Done<'a>, Malformed> {
        match (code, status) {
            (12 | 13, NFS4ERR_DENIED) => lock::skip_denied(&mut self.reader)?,
            (60, NFS4ERR_OFFLOAD_NO_REQS) => copy::skip_requirements(&mut self.reader)?,
            (35, NFS4ERR_CLID_INUSE) => client_id::skip_user(&mut self.reader)?,
            (34, _) => {
                Mask::parse(&mut self.reader)?;
            }
            _ => {}
        }
        Ok(Done::Nothing)
    }
}

/// `change_info4`: whether it is of one piece with the change, and the directory's change ids before and after.
#[inline]
pub(super) fn skip_change(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    reader.boolean()?;
    reader.fixed(16).map(|_| ())
}
