//! Many accounts: a file with one in each line, or a template for many.

use std::path::Path;

use super::password::{BYTE_ORDER_MARK, read_secret};
use super::{Target, TargetError};
use crate::credentials::Credentials;
use crate::secret::Secret;

/// The largest file, bytes: some 100,000 accounts.
const LARGEST: u64 = 16 << 20;
/// Accounts of a template, at most.
const MOST: u64 = 100_000;

impl Target {
    /// Clients log on with the accounts of a file, in turn. Each line is `USER:PASSWORD` or `DOMAIN\\USER:PASSWORD`; empty lines and
    /// those that begin with `#` are none. `USER{1-50}` stands for 50 users, and `{}` in such a line's password for the user's number. A
    /// name with any other braces is invalid: it is probably a misspelled template.
    /// Where the target names no user, the first account also prepares the files.
    ///
    /// # Errors
    /// The file cannot be read, a line is none of these, or nobody logs on to such a target.
    pub fn find_accounts(&mut self, file: &Path) -> Result<(), TargetError> {
        let problem = |problem: String| TargetError::AccountsFile { file: file.to_owned(), problem };
        let Target::Smb(target) = self else {
            return Err(TargetError::Password(
                "--accounts: only smb:// targets use the accounts of a file; remove --accounts, or give an smb:// target",
            ));
        };
        let bytes = read_secret(file, LARGEST).map_err(|error| problem(error.to_string()))?;
        if bytes.len() as u64 > LARGEST {
            return Err(problem(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| problem("it is not valid UTF-8".to_owned()))?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let accounts = lines.map(|(line, number)| {
            account(line)
                .and_then(all_of)
                .map_err(|wrong| problem(format!("line {number} {wrong}; expected [DOMAIN\\]USER:PASSWORD")))
        });
        target.accounts = accounts.collect::<Result<Vec<_>, _>>()?.concat();
        let first = target.accounts.first().ok_or_else(|| problem("it has no accounts".to_owned()))?;
        if target.credentials.is_anonymous() {
            target.credentials = first.clone();
        }
        Ok(())
    }
}

fn account(line: &str) -> Result<Credentials, &'static str> {
    // A password may hold colons, an account's name none.
    let (name, password) = line.split_once(':').ok_or("has no colon")?;
    let (domain, user) = name.split_once('\\').unwrap_or(("", name));
    match () {
        () if user.is_empty() => Err("names no user"),
        () if password.is_empty() => Err("has no password"),
        () if name.contains(char::is_control) => Err("has a control character in its name"),
        () => {
            let password = Secret::new(password.to_owned());
            Ok(Credentials { domain: domain.to_owned(), user: user.to_owned(), password })
        }
    }
}

/// The accounts that a line stands for: one, unless its user has a range of numbers.
fn all_of(account: Credentials) -> Result<Vec<Credentials>, &'static str> {
    let range = range_in(&account.user);
    let rest =
        range.map_or([&*account.user, "", &*account.domain], |(before, _, behind)| [before, behind, &*account.domain]);
    if rest.iter().any(|part| part.contains(['{', '}'])) {
        return Err("has braces without a range FIRST-LAST");
    }
    let Some((before, (first, last), behind)) = range else { return Ok(vec![account]) };
    let number = |text: &str| text.parse::<u64>().map_err(|_| "has a number that is too large");
    let (from, to, width) = (number(first)?, number(last)?, first.len());
    match to.checked_sub(from) {
        None => Err("has a range that ends before it begins"),
        Some(more) if more >= MOST => Err("has more than 100,000 accounts"),
        Some(_) => Ok((from..=to)
            .map(|number| {
                let number = format!("{number:0width$}");
                let password = Secret::new(account.password.expose().replace("{}", &number));
                Credentials { domain: account.domain.clone(), user: format!("{before}{number}{behind}"), password }
            })
            .collect()),
    }
}

/// `{FIRST-LAST}` in the name of a user, and what is before and behind it.
fn range_in(user: &str) -> Option<(&str, (&str, &str), &str)> {
    let (before, rest) = user.split_once('{')?;
    let (range, behind) = rest.split_once('}')?;
    let (first, last) = range.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(first) && is_number(last)).then_some((before, (first, last), behind))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What a target has after reading a file with this content.
    fn found(url: &str, content: &[u8]) -> Result<(Credentials, Vec<Credentials>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("accounts");
        fs::write(&file, content).unwrap();
        let mut target = Target::parse(url).unwrap();
        target.find_accounts(&file).map_err(|error| error.to_string())?;
        match target {
            Target::Smb(target) => Ok((target.credentials, target.accounts)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_line_is_an_account() {
        let (first, accounts) =
            found("smb://h/s", b"# home folders\nanna:one\r\n\nWORK\\ben:t:w:o \n# no:account\ncleo@work.example:3")
                .unwrap();
        let seen: Vec<(&str, &str, &str)> =
            accounts.iter().map(|one| (&*one.domain, &*one.user, one.password.expose())).collect();
        assert_eq!(seen, [("", "anna", "one"), ("WORK", "ben", "t:w:o "), ("", "cleo@work.example", "3")]);
        assert_eq!(first.user, "anna");
        assert_eq!(found("smb://h/s", b"\xEF\xBB\xBFanna:one").unwrap().0.user, "anna", "a byte-order mark");
        // Who the target names prepares the files.
        assert_eq!(found("smb://admin:x@h/s", b"anna:one").unwrap().0.user, "admin");
    }

    #[test]
    fn a_template_stands_for_many_accounts() {
        let (_, accounts) = found("smb://h/s", b"OFFICE\\u{08-11}x:p{}q\nanna:{}\nc{7-7}:same").unwrap();
        let seen: Vec<String> =
            accounts.iter().map(|one| format!("{}/{}/{}", one.domain, one.user, one.password.expose())).collect();
        let expected = [
            "OFFICE/u08x/p08q",
            "OFFICE/u09x/p09q",
            "OFFICE/u10x/p10q",
            "OFFICE/u11x/p11q",
            // No template.
            "/anna/{}",
            "/c7/same",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_is_wrong_is_said_without_a_password() {
        for (content, expected) in [
            (&b"u{5-4}:hunter2"[..], "line 1 has a range that ends before it begins"),
            (b"u{0-100000}:hunter2", "line 1 has more than 100,000 accounts"),
            (b"u{1-99999999999999999999}:hunter2", "line 1 has a number that is too large"),
            (b"b{1-}:hunter2", "line 1 has braces without a range FIRST-LAST"),
            (b"a{1-3:hunter2", "line 1 has braces without a range"),
            (b"a1-3}:hunter2", "line 1 has braces without a range"),
            (b"a{x-3}:hunter2", "line 1 has braces without a range"),
            (b"anna:{}\na{1-3}{4-5}:hunter2", "line 2 has braces without a range"),
            (b"W{1-2}\\anna:hunter2", "line 1 has braces without a range"),
            (b"anna:one\nhunter2\n", "line 2 has no colon"),
            (b"anna:\n", "line 1 has no password"),
            (b":hunter2\n", "line 1 names no user"),
            (b"WORK\\:hunter2\n", "line 1 names no user"),
            (b"an\tna:hunter2\n", "line 1 has a control character in its name"),
            (b"# nothing\n", "it has no accounts"),
            (b"anna:hunter2\xff\n", "it is not valid UTF-8"),
        ] {
            let error = found("smb://h/s", content).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
        let error = found("nfs://h/e", b"anna:one").unwrap_err();
        assert!(error.starts_with("--accounts: only smb:// targets") && error.contains("remove --accounts"), "{error}");
    }
}
