//! A response, and the results in it.

use plimsoll_wire::nfs::v4::bind::Bound;
use plimsoll_wire::nfs::v4::client_id::Unconfirmed;
use plimsoll_wire::nfs::v4::copy::Copied;
use plimsoll_wire::nfs::v4::create_session::Session;
use plimsoll_wire::nfs::v4::exchange_id::Client;
use plimsoll_wire::nfs::v4::open::Opened;
use plimsoll_wire::nfs::v4::read::Data;
use plimsoll_wire::nfs::v4::read_plus::Contents;
use plimsoll_wire::nfs::v4::readdir::Page;
use plimsoll_wire::nfs::v4::sparse;
use plimsoll_wire::nfs::v4::test_state::Statuses;
use plimsoll_wire::nfs::v4::write::Written;
use plimsoll_wire::nfs::v4::{Attributes, FileHandle, StateId};

use crate::nfs::Facts;

/// Results of a compound.
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
    pub(super) unconfirmed: Option<Unconfirmed>,
    pub(super) session: Option<Session>,
    pub(super) bound: Option<Bound>,
    pub(super) tested: Option<Statuses<'a>>,
    pub(super) copied: Option<Copied>,
    pub(super) contents: Option<Contents<'a>>,
    /// Of SEEK.
    pub(super) found: Option<sparse::Found>,
}

impl Found<'_> {
    /// Attributes of the file, if the server returned them.
    pub(super) fn facts(&self) -> Option<Facts> {
        let Attributes { kind, size, .. } = self.attributes?;
        Some(Facts { size: size?, directory: kind? == plimsoll_wire::nfs::v3::FileType::Directory })
    }
}
