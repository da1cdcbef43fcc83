//! Who a user is.

use super::Secret;

/// An account and its password.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The account's domain, or empty: the server takes its own then.
    pub domain: String,
    /// The account's name; empty, with an empty password, for an anonymous logon.
    pub user: String,
    /// The password.
    pub password: Secret,
}

impl Credentials {
    /// Nobody: servers give such a session little or nothing, and it can neither sign nor seal.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// The account that servers keep for those who have none. Servers may also make a guest of a name they do not
    /// know; either way SessionFlags say it.
    #[must_use]
    pub fn guest() -> Self {
        Self { domain: String::new(), user: "Guest".to_owned(), password: Secret::default() }
    }

    /// Whether nobody logs on.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.user.is_empty() && self.password.is_empty()
    }
}
