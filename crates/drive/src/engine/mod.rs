//! The load engine: workers, stations, pacing and phases.
