//! Verdicts of runs on servers that are known, in memory under a virtual clock.

mod live;
mod outliers;
mod parts;
mod ranking;
mod starvation;
