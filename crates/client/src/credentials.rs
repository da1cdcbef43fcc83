//! User name, domain and password.

use crate::secret::Secret;

/// An account and its password.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The account's domain; empty for the server's default.
    pub domain: String,
    /// The account's name; empty, with an empty password, for an anonymous logon.
    pub user: String,
    /// The password.
    pub password: Secret,
}

impl Credentials {
    /// An anonymous logon: servers grant such a session few rights, and it can neither sign nor encrypt.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// The guest account. Servers may also log unknown users on as guests; SessionFlags show both.
    #[must_use]
    pub fn guest() -> Self {
        Self { domain: String::new(), user: "Guest".to_owned(), password: Secret::default() }
    }

    /// Whether the logon is anonymous.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.user.is_empty() && self.password.is_empty()
    }
}
