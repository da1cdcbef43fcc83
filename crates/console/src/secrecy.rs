//! Removes passwords and keys from text and command lines, for all outputs.
//!
//! An unescaped password may contain any character, so more than the password may be removed, but never less: everything from the colon
//! after the user to the last `@`. (`Target::parse` refuses an `@` after the host, so the URL of a used target loses nothing else.)

use std::borrow::Cow;
use std::sync::OnceLock;

/// Replaces a secret.
const HIDDEN: &str = "***";
/// Flags whose value is a secret, or may be one by mistake.
const SECRET: [&str; 2] = ["--smb-session-key", "--smb-session-keys"];

/// The original command line of this process, as it was before its secrets were overwritten.
pub fn given() -> &'static [String] {
    static GIVEN: OnceLock<Vec<String>> = OnceLock::new();
    GIVEN.get_or_init(|| std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Secrets on a command line: keys, and passwords in URLs of any option.
pub fn secrets(words: &[String]) -> Vec<&str> {
    let mut secret_follows = false;
    let secret = |word: &'_ String| -> Option<(usize, usize)> {
        if std::mem::take(&mut secret_follows) {
            return Some((0, word.len()));
        }
        secret_follows = SECRET.contains(&word.as_str());
        match word.split_once('=') {
            Some((flag, _)) if SECRET.contains(&flag) => Some((flag.len() + 1, word.len())),
            _ => {
                let start = word.find("://")? + "://".len();
                let (user, password) = user_and_password(word.get(start..)?)?;
                let start = start + user.len() + 1;
                Some((start, start + password.len()))
            }
        }
    };
    let places: Vec<Option<(usize, usize)>> = words.iter().map(secret).collect();
    words.iter().zip(places).filter_map(|(word, place)| place.and_then(|(from, to)| word.get(from..to))).collect()
}

/// The words of a command line, without the passwords of URLs and without keys.
pub fn command_line(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut secret_follows = false;
    words
        .map(|word| {
            if std::mem::take(&mut secret_follows) {
                return HIDDEN.to_owned();
            }
            secret_follows = SECRET.contains(&word.as_str());
            match word.split_once('=') {
                Some((flag, _)) if SECRET.contains(&flag) => format!("{flag}={HIDDEN}"),
                _ => in_word(&word).into_owned(),
            }
        })
        .collect()
}

/// A word of the command line, or a URL as an argument: it may contain white space and quotes.
pub fn in_word(word: &str) -> Cow<'_, str> {
    let hidden = || {
        let (before, url) = word.split_once("://")?;
        Some(format!("{before}://{}", without_password(url)?))
    };
    hidden().map_or(Cow::Borrowed(word), Cow::Owned)
}

/// Any text, such as an error, that may repeat a URL: `smb://user:secret@host` becomes `smb://user:***@host`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    in_text(text, given())
}

/// A copy of one of `words` loses its password completely. Any other URL ends at white space or a quote.
fn in_text<'t>(text: &'t str, words: &[String]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for word in words {
        // Of `--flag=URL` an error may repeat the value alone.
        for given in [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)].into_iter().flatten() {
            if let Cow::Owned(hidden) = in_word(given)
                && text.contains(given)
            {
                text = Cow::Owned(text.replace(given, &hidden));
            }
        }
    }
    urls_in(&text).map_or(text, Cow::Owned)
}

/// The text with the passwords of its URLs removed; `None` where it has no URL.
fn urls_in(text: &str) -> Option<String> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        shown.extend([before, "://"]);
        shown.push_str(without_password(url).as_deref().unwrap_or(url));
        rest = behind;
    }
    if shown.is_empty() {
        return None;
    }
    shown.push_str(rest);
    Some(shown)
}

/// The part of a URL after `://` without its password; `None` without a password.
fn without_password(url: &str) -> Option<String> {
    let (user, password) = user_and_password(url)?;
    let behind = url.get(user.len() + 1 + password.len()..)?;
    // Of an @ that was escaped by mistake, one is shown that is not.
    let host = behind.strip_prefix('@').or_else(|| behind.strip_prefix("%40"))?;
    Some(format!("{user}:{HIDDEN}@{host}"))
}

/// User and password of the part of a URL behind `://`; `None` where it has no password.
fn user_and_password(url: &str) -> Option<(&str, &str)> {
    if let Some((user, _)) = url.rsplit_once('@') {
        return user.split_once(':');
    }
    // Escaped by mistake, the @ before the host is still seen, because no host holds one.
    let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once("%40")?.0.split_once(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passwords that contain URL delimiters, unescaped and escaped; each contains `TOP` and `SECRET`.
    const PASSWORDS: [&str; 12] = [
        "TOPSECRET",
        "TOP/SECRET",
        "TOP@SECRET",
        "TOP?SECRET",
        "TOP#SECRET",
        "TOP:SECRET",
        "TOP%40SECRET",
        "TOP%2FSECRET",
        "TOP://SECRET",
        "/TOP@/SECRET@",
        "TOP SECRET",
        "TOP'\"SECRET",
    ];

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn no_password_stays_in_a_command_line_or_in_an_error_that_repeats_it() {
        for password in PASSWORDS {
            let url = format!("smb://user:{password}@host:445/share");
            for word in [url.clone(), format!("--target={url}"), format!("target={url}")] {
                let given = words(&["run", &word]);
                let shown = command_line(given.iter().cloned());
                assert_eq!(shown[1], word.replace(password, HIDDEN));
                let error = format!("unexpected argument '{word}': {url}; see --help");
                assert_eq!(in_text(&error, &given), error.replace(password, HIDDEN));
            }
        }
    }

    #[test]
    fn every_secret_of_a_command_line_is_found() {
        for password in PASSWORDS {
            let url = format!("http://user:{password}@host:9100/metrics");
            for word in [url.clone(), format!("--server-metrics={url}")] {
                assert_eq!(secrets(&words(&["run", "--server-metrics", &word])), [password]);
            }
        }
        let keys = words(&["--smb-session-key", "aa:bb", "--smb-session-keys=cc", "smb://u@h/s", "smb://a:b@c"]);
        assert_eq!(secrets(&keys), ["aa:bb", "cc", "b"]);
    }

    /// A password from a file must not contain a URL delimiter.
    #[test]
    fn passwords_of_urls_are_not_repeated() {
        for (text, shown) in [
            ("nothing of the kind", "nothing of the kind"),
            ("smb://user@host/share: no", "smb://user@host/share: no"),
            ("no 'smb://user:se/c@ret@host/share' here", "no 'smb://user:***@host/share' here"),
            ("smb://a:b@c and smb://d:e@f.", "smb://a:***@c and smb://d:***@f."),
            ("smb://a:b%40c/d%40e", "smb://a:***@c/d%40e"),
            ("nfs://host:2049/export%40old", "nfs://host:2049/export%40old"),
            ("://", "://"),
        ] {
            assert_eq!(in_text(text, &[]), shown);
        }
        for password in PASSWORDS.iter().filter(|password| !password.contains([' ', '\''])) {
            let text = format!("no 'http://user:{password}@host/x' here");
            assert_eq!(in_text(&text, &[]), "no 'http://user:***@host/x' here");
        }
    }

    #[test]
    fn passwords_and_keys_go_and_the_rest_stays() {
        let shown = |given: &[&str]| command_line(words(given).into_iter());
        assert_eq!(shown(&["--smb-session-key", "aa:bb", "c.pcap"]), ["--smb-session-key", "***", "c.pcap"]);
        assert_eq!(shown(&["--smb-session-keys=aa:bb"]), ["--smb-session-keys=***"]);
        let plain = ["run", "--rate=5", "nfs://host/export", "smb://user@h/s", "a:b@c", "nfs://host:2049/a%40b"];
        assert_eq!(shown(&plain), plain);
    }
}
