//! Names of wire statuses.

use plimsoll_model::Protocol;

/// What gives a wire status its name; `None` where the standard has none.
pub type StatusName = fn(Protocol, u32) -> Option<&'static str>;
