//! Verdicts of runs on servers that are known, in memory under a virtual clock.

pub(crate) mod connection_failures;
mod hung_server;
mod live;
mod million;
mod outliers;
mod parts;
mod ranking;
mod repetition;
mod same_address;
mod sameness;
mod searches;
mod simulated;
mod starvation;
mod stopped;
