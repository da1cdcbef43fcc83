//! A command line without its secrets.

/// Stands for a secret.
const HIDDEN: &str = "***";
/// Flags whose value is a secret, or may be one by mistake.
const SECRET: [&str; 2] = ["--smb-session-key", "--smb-session-keys"];

/// The words of a command line, passwords in URLs and keys replaced.
pub(super) fn removed(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut secret_follows = false;
    words
        .map(|word| {
            if std::mem::take(&mut secret_follows) {
                return HIDDEN.to_owned();
            }
            secret_follows = SECRET.contains(&word.as_str());
            match word.split_once('=') {
                Some((flag, _)) if SECRET.contains(&flag) => format!("{flag}={HIDDEN}"),
                _ => without_password(&word),
            }
        })
        .collect()
}

/// What stands between the first colon and the last @ of a URL's authority.
pub(crate) fn without_password(word: &str) -> String {
    let hidden = || {
        let (scheme, rest) = word.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (user, host) = authority.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:{HIDDEN}@{host}{}", rest.get(authority.len()..)?))
    };
    hidden().unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_keys_go_and_the_rest_stays() {
        let said = |words: &[&str]| removed(words.iter().map(|&word| word.to_owned()));
        assert_eq!(
            said(&["run", "--target", "smb://user:p@ss:word@host:445/share/a@b", "--rate=5"]),
            ["run", "--target", "smb://user:***@host:445/share/a@b", "--rate=5"]
        );
        assert_eq!(said(&["--target=smb://u:p@h/s"]), ["--target=smb://u:***@h/s"]);
        assert_eq!(said(&["--smb-session-key", "aa:bb", "c.pcap"]), ["--smb-session-key", "***", "c.pcap"]);
        assert_eq!(said(&["--smb-session-keys=aa:bb"]), ["--smb-session-keys=***"]);
        assert_eq!(said(&["nfs://host/a:b@c", "smb://user@h/s"]), ["nfs://host/a:b@c", "smb://user@h/s"]);
    }
}
