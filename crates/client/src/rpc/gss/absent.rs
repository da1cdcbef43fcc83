//! A build without Kerberos has no contexts: nothing of this can be made.

use plimsoll_model::Asked;
use plimsoll_wire::rpc::{Protection, Verdict};

use super::{Opened, Written};
use crate::credentials::Credentials;
use crate::kerberos::{Realm, TicketError};
use crate::operation::Cause;
use crate::outbox::Outbox;

/// The security of an NFS client's calls.
#[derive(Clone, Debug)]
pub enum Gss {}

impl Gss {
    /// Asks for a ticket.
    ///
    /// # Errors
    /// This build lacks Kerberos.
    pub fn request(_: &Credentials, _: &Realm, _: &str, _: Protection) -> Result<Self, TicketError> {
        Err(TicketError::NotBuilt)
    }

    /// The protection of arguments and results.
    #[must_use]
    pub fn protection(&self) -> Protection {
        match *self {}
    }

    /// Number of contexts that replaced an expired one.
    #[must_use]
    pub fn renewed(&self) -> u64 {
        match *self {}
    }

    /// The encryption of the contexts.
    #[must_use]
    pub fn encryption(&self) -> &'static str {
        match *self {}
    }
}

#[derive(Debug)]
pub(crate) enum GssContext {}

impl GssContext {
    pub(crate) fn new(gss: &Gss, _: (u32, u32)) -> Self {
        match *gss {}
    }

    pub(crate) fn is_new(&self) -> bool {
        match *self {}
    }

    pub(crate) fn is_asked(&self) -> bool {
        match *self {}
    }

    pub(crate) fn is_ready(&self) -> bool {
        match *self {}
    }

    pub(crate) fn has_expired(&self) -> bool {
        match *self {}
    }

    pub(crate) fn began_by(&self, _: u64) -> bool {
        match *self {}
    }

    pub(crate) fn renew(&mut self) {
        match *self {}
    }

    pub(crate) fn hides_results(&self) -> bool {
        match *self {}
    }

    pub(crate) fn window(&self) -> usize {
        match *self {}
    }

    pub(crate) fn init(&mut self, _: u64, _: i64, _: &mut Vec<u8>) -> Result<(), Cause> {
        match *self {}
    }

    pub(crate) fn destroy(&mut self, _: u64, _: &mut Vec<u8>) {
        match *self {}
    }

    pub(crate) fn write<E: FnOnce(&mut Vec<u8>) -> Asked>(
        &mut self,
        _: Written<'_, E>,
        _: &mut Outbox,
    ) -> (usize, Asked) {
        match *self {}
    }

    pub(crate) fn open<'a>(&mut self, _: u64, _: &'a [u8], _: Verdict<'a>) -> Result<Opened<'a>, Cause> {
        match *self {}
    }
}
