//! The last line of defence: a URL that was mistyped or put in the wrong place is repeated without its password.

use std::borrow::Cow;

/// What stands for a password.
const HIDDEN: &str = "***";

/// The text, without the passwords of URLs in it: `smb://user:secret@host` becomes `smb://user:***@host`.
///
/// A password that was not escaped may hold anything. So everything goes from the colon behind the user to the last `@`
/// before white space or a quote, which may be more than the password and is never less, as long as neither is in it.
pub(crate) fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        let Some(((user, _), host)) = url.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?, host)))
        else {
            shown.extend([before, "://", url]);
            rest = behind;
            continue;
        };
        shown.extend([before, "://", user, ":", HIDDEN, "@", host]);
        rest = behind;
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_not_repeated() {
        for (text, shown) in [
            ("nothing of the kind", "nothing of the kind"),
            ("smb://user@host/share: no", "smb://user@host/share: no"),
            ("no 'smb://user:se/c@ret@host/share' here", "no 'smb://user:***@host/share' here"),
            ("smb://a:b@c and smb://d:e@f.", "smb://a:***@c and smb://d:***@f."),
            ("nfs://host:2049/export", "nfs://host:2049/export"),
            ("://", "://"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
