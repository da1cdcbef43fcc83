//! Names of wire statuses.

use plimsoll_model::Protocol;

/// Returns the name of a wire status; `None` if the standard has none.
pub type StatusName = fn(Protocol, u32) -> Option<&'static str>;
