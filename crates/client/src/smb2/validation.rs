//! VALIDATE_NEGOTIATE_INFO: before dialect 3.1.1, detects changes to the negotiation on its way.
//!
//! Spec: MS-SMB2 3.2.5.5, 3.2.5.14.12

use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::{FileId, Reply, ioctl, status};

use super::client::SmbClient;
use super::connection::Protection;
use super::jobs::JobId;
use super::options::Dialect;
use super::request_kind::RequestKind;
use crate::client::Events;
use crate::operation::Cause;
use crate::outbox::Outbox;

/// Bytes of VALIDATE_NEGOTIATE_INFO's output.
const VALIDATED_LEN: u32 = 24;

impl SmbClient {
    /// Whether an attacker could have caused an older dialect. Dialect 3.1.1 is protected by its hash; without a key nothing can be
    /// verified.
    pub(super) fn must_validate(&self) -> bool {
        let could_more = *self.options.dialects.end() >= Dialect::V300;
        could_more && self.connection.limits.dialect < Dialect::V311 && self.connection.session.signer.is_some()
    }

    pub(super) fn validate(&mut self, job: JobId, at: i64, out: &mut Outbox) -> Result<(), Cause> {
        let dialects: Vec<u16> = self.offered().map(Dialect::code).collect();
        let control = fsctl::Control::ValidateNegotiate {
            capabilities: self.capabilities(),
            guid: self.guid,
            security_mode: self.security_mode().into(),
            dialects: &dialects,
        };
        self.outgoing.clear();
        let call = ioctl::Ioctl { file: FileId::PREVIOUS, control, max_output: VALIDATED_LEN };
        self.outgoing.add(RequestKind::Validate, &call).map_err(|_| Cause::Unsupported)?;
        self.launch(job, Protection::Signed, at, out);
        Ok(())
    }

    pub(super) fn validated(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        said: &fsctl::Validated,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let before = self.logon.as_ref().map(|logon| logon.said);
        if !self.is_proven(reply) || before != Some(*said) {
            return Err(Cause::Untrusted);
        }
        self.before_ready(job, at, out, events)
    }

    /// Servers that know no dialect 3 do not know the question either; that they do not is proven by their signature.
    pub(super) fn not_validated(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let unknown = [
            status::STATUS_NOT_SUPPORTED,
            status::STATUS_INVALID_DEVICE_REQUEST,
            status::STATUS_FILE_CLOSED,
            status::STATUS_FS_DRIVER_REQUIRED,
        ];
        if !self.is_proven(reply) || !unknown.contains(&reply.status()) {
            return Err(Cause::Untrusted);
        }
        self.before_ready(job, at, out, events)
    }

    /// Whether the response was encrypted, or signed; signatures were verified before.
    fn is_proven(&self, reply: &Reply<'_>) -> bool {
        self.connection.session.seals || reply.header().is_signed()
    }
}
