//! How a response ends its request.

use plimsoll_model::Outcome;
use plimsoll_wire::smb1::header::{Header, Status};

use crate::pairing::smb2::outcome as nt_outcome;

/// Status as on the wire, and the outcome. A DOS error is an error, except the two that are warnings in NT: no more files (ERRDOS 18),
/// more data (ERRDOS 234).
pub(super) fn ending(header: &Header<'_>) -> (Option<u32>, Outcome) {
    const ERRDOS: u8 = 1;
    let outcome = match header.status() {
        None => Outcome::Unknown,
        Some(Status::Nt(status)) => nt_outcome(Some(status)),
        Some(Status::Dos { class: ERRDOS, code: 18 | 234 }) => Outcome::Succeeded,
        Some(status) if status.is_success() => Outcome::Succeeded,
        Some(_) => Outcome::Refused,
    };
    (header.status_wire(), outcome)
}
