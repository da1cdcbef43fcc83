//! An answer, and what the results in it brought.

use plimsoll_wire::nfs::v4::bind::Bound;
use plimsoll_wire::nfs::v4::create_session::Session;
use plimsoll_wire::nfs::v4::exchange_id::Client;
use plimsoll_wire::nfs::v4::open::Opened;
use plimsoll_wire::nfs::v4::read::Data;
use plimsoll_wire::nfs::v4::readdir::Page;
use plimsoll_wire::nfs::v4::write::Written;
use plimsoll_wire::nfs::v4::{Attributes, FileHandle, StateId};

use crate::nfs::Facts;

/// An answer as it arrived.
pub(super) struct Arrival<'a> {
    /// As much of the message as was kept, without record marks.
    pub(super) kept: &'a [u8],
    /// How long the message was.
    pub(super) length: usize,
    /// First and last byte, ns.
    pub(super) at: (i64, i64),
}

/// What the results of a compound brought.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) handle: Option<FileHandle>,
    pub(super) attributes: Option<Attributes>,
    pub(super) opened: Option<Opened>,
    pub(super) state: Option<StateId>,
    pub(super) data: Option<Data<'a>>,
    pub(super) page: Option<Page<'a>>,
    pub(super) link: Option<&'a [u8]>,
    pub(super) written: Option<Written>,
    pub(super) committed: Option<[u8; 8]>,
    pub(super) client: Option<Client<'a>>,
    pub(super) session: Option<Session>,
    pub(super) bound: Option<Bound>,
}

impl Found<'_> {
    /// What it is, where the server said.
    pub(super) fn facts(&self) -> Option<Facts> {
        let Attributes { kind, size, .. } = self.attributes?;
        Some(Facts { size: size?, directory: kind? == plimsoll_wire::nfs::v3::FileType::Directory })
    }
}
