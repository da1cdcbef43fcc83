//! Lanes of scenarios, turns, pacing, and what each station got done.
//!
//! A station has as many lanes as its pipelining depth. A lane runs one scenario, one operation at a time. In a closed loop it
//! starts its own turns; under a schedule, lanes wait in a rota until a turn is due.

pub(crate) mod clock;
pub(crate) mod delay;
pub(crate) mod floor;
pub(crate) mod lane;
pub(crate) mod pacing;
pub(crate) mod rota;
pub(crate) mod silence;
