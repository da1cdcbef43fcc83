//! Slots of scenarios, iterations, pacing, and each client's results.
//!
//! A client has as many slots as its pipelining depth. A slot runs one scenario, one operation at a time. In a closed loop it starts its
//! own iterations; under a schedule, slots wait in an arrival queue until an iteration is due.

pub(crate) mod accounting;
mod answer_gaps;
pub(crate) mod arrival_queue;
pub(crate) mod attention;
pub(crate) mod delay;
pub(crate) mod iteration_clock;
pub(crate) mod pacing;
pub(crate) mod silence;
pub(crate) mod slot;
