//! Bad input and faults, end to end through `plimsoll run`: each has a clear outcome, counted, and none is a hang, a panic
//! or a lost result.

pub(crate) mod command;
mod corrupted;
mod interrupted;
mod killed;
mod leases;
mod outputs;
mod refusals;
mod scale;
mod secrecy;
mod sessions;
mod signals;

pub(crate) use interrupted::catches;
