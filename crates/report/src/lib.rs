//! Findings become text, JSON and HTML
