//! An account and its authentication.

use super::{Auth, Authentication, Credentials};

/// An account of a server, and how its user logs on.
#[derive(Clone, Debug)]
pub struct Account {
    /// The user.
    pub credentials: Credentials,
    /// How the user proves that.
    pub authentication: Authentication,
}

impl Account {
    /// One that logs on with NTLM.
    #[must_use]
    pub fn new(credentials: Credentials) -> Self {
        Self { credentials, authentication: Authentication::Ntlm }
    }

    /// Begins a logon at `now`, ns since the Unix epoch, to `service` (`cifs/server`). `None` where the system has no
    /// random numbers.
    #[must_use]
    pub fn begin(&self, service: &str, now: i64) -> Option<Box<dyn Auth>> {
        self.authentication.begin(&self.credentials, service, now)
    }
}
