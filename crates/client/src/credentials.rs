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

    /// Whether this is the guest account.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        self.user.eq_ignore_ascii_case(&Self::guest().user)
    }

    /// The account's name in reports: `DOMAIN\user`, or `user` without a domain. Names of accounts in captures have the same form.
    #[must_use]
    pub fn display(&self) -> String {
        match self.domain.as_str() {
            "" => self.user.clone(),
            domain => format!("{domain}\\{}", self.user),
        }
    }

    /// Whether the logon is anonymous.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.user.is_empty() && self.password.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_account_has_its_domain() {
        let of = |domain: &str| Credentials { domain: domain.to_owned(), ..Credentials::guest() }.display();
        assert_eq!((of(""), of("WORK")), ("Guest".to_owned(), "WORK\\Guest".to_owned()));
    }
}
