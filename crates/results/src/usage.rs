//! Invalid requests of users.

use std::fmt;

/// The user interrupted the work before there was any number; the message says what is missing.
#[derive(Debug)]
pub struct Interrupted(pub &'static str);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted before {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// The user's request is invalid; the message says what is valid.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
