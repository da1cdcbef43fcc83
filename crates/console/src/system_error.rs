//! Errors of the operating system, as the standard library words them, for people.

/// The standard library's words end with this and the error's number.
const NUMBER: &str = " (os error ";
const MISSING_FILE: &str = "No such file or directory (os error 2)";

/// The text with the system's errors without their numbers, and with the remedy for a missing file, wherever it is mentioned.
#[must_use]
pub fn in_words(text: &str) -> String {
    let mut text = text.replace(MISSING_FILE, "No such file or directory; check the path");
    while let Some((before, rest)) = text.split_once(NUMBER) {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let Some(behind) = rest.get(digits..).and_then(|rest| rest.strip_prefix(')')) else { break };
        text = format!("{before}{behind}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_left_out_and_a_missing_file_has_its_remedy() {
        let missing = std::io::Error::from_raw_os_error(2);
        let said = in_words(&format!("--hosts f: {missing}"));
        assert_eq!(said, "--hosts f: No such file or directory; check the path");
        let refused = std::io::Error::from_raw_os_error(111);
        assert_eq!(in_words(&format!("h: {refused}; start it")), "h: Connection refused; start it");
        assert_eq!(in_words("a (os error x)"), "a (os error x)");
    }
}
