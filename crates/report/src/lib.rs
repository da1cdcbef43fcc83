//! Findings become text, JSON and HTML.

pub mod findings;
