//! Lanes of scenarios, turns, pacing.
