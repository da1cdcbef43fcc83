//! Groups of flags that several subcommands have, and what they stand for.

pub(crate) mod about;
pub(crate) mod analysis;
pub(crate) mod chain;
pub(crate) mod filter;
pub(crate) mod keys;
#[cfg(all(target_os = "linux", feature = "load"))]
pub(crate) mod live;
pub(crate) mod output;
pub(crate) mod record;
