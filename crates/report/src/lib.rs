//! Findings become text, JSON and HTML.

pub mod collect;
mod described;
pub mod findings;
pub mod html;
mod instant;
pub mod json;
pub mod live;
pub mod safe;
mod shares;
mod sides;
mod tables;
pub mod text;
mod when;

pub use instant::{Zone, utc};
pub use text::{duration, significant};
pub use when::{ClockTime, When};
