//! `--smb-session-key`, `--smb-session-keys`: what decrypts SMB 3 sessions. Nothing here shows a key, errors neither.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_report::findings::Source;
use plimsoll_report::safe::for_shell;

use crate::exit::Usage;

/// Keys of SMB 3 sessions, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Keys {
    /// Decrypt the SMB 3 session with this session ID (8 bytes in wire order) and session key (16 bytes; 32 for AES-256 with
    /// Kerberos), both in hexadecimal as in Wireshark's smb2_seskey_list; may be repeated. Other local users can see command
    /// lines: prefer --smb-session-keys. For SMB 3.1.1 the capture must include the logon
    #[arg(long, value_name = "SESSIONID:KEY", value_parser = secret)]
    smb_session_key: Vec<Secret>,
    /// Decrypt the SMB 3 sessions listed in FILE: one SESSIONID:KEY per line, # starts a comment; may be repeated
    #[arg(long, value_name = "FILE", value_parser = secret)]
    smb_session_keys: Vec<Secret>,
}

/// An argument that is never shown. Parsed later: an error of the parser's would show it. The name of the file is one
/// too, for a key may have been written where it should stand.
#[derive(Clone)]
struct Secret(String);

impl Keys {
    /// Whether there are any.
    pub(crate) fn given(&self) -> bool {
        !self.smb_session_key.is_empty() || !self.smb_session_keys.is_empty()
    }

    /// The files that they are read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.smb_session_keys.iter().map(|Secret(file)| Path::new(file))
    }

    /// The options as a report shows them: files with their names, keys without the key.
    pub(crate) fn options(&self) -> Vec<String> {
        let key = (!self.smb_session_key.is_empty()).then(|| Source::SESSION_KEY.to_owned());
        // What is no file is a mistake, for which there is no report.
        let is_file = |Secret(file): &&Secret| SessionKeys::default().add(file).is_err();
        let file = |Secret(file): &Secret| format!("--smb-session-keys {}", for_shell(file));
        key.into_iter().chain(self.smb_session_keys.iter().filter(is_file).map(file)).collect()
    }

    /// The keys given.
    ///
    /// # Errors
    ///
    /// A text is not SESSIONID:KEY, or a file cannot be read.
    pub(crate) fn read(&self) -> anyhow::Result<SessionKeys> {
        let mut keys = SessionKeys::default();
        for (at, Secret(text)) in self.smb_session_key.iter().enumerate() {
            keys.add(text).map_err(|error| Usage(format!("--smb-session-key, number {}: {error}", at + 1)))?;
        }
        for Secret(file) in &self.smb_session_keys {
            if SessionKeys::default().add(file).is_ok() {
                return Err(Usage(
                    "--smb-session-keys expects a file name; use --smb-session-key for a \
                key"
                    .to_owned(),
                )
                .into());
            }
            let text = std::fs::read_to_string(PathBuf::from(file)).with_context(|| format!("cannot read {file}"))?;
            keys.add_lines(&text).map_err(|(line, error)| Usage(format!("{file}, line {line}: {error}")))?;
        }
        Ok(keys)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "3d00009400480000:28f2847263c83dc00621f742dd3f2e7b";

    fn given(key: &[&str], file: &[&str]) -> Keys {
        let secrets = |all: &[&str]| all.iter().map(|text| Secret((*text).to_owned())).collect();
        Keys { smb_session_key: secrets(key), smb_session_keys: secrets(file) }
    }

    #[test]
    fn keys_from_the_command_line() {
        assert!(given(&[], &[]).read().unwrap().is_empty());
        assert!(!given(&[KEY, KEY], &[]).read().unwrap().is_empty());
    }

    #[test]
    fn no_report_shows_a_key() {
        let options = given(&[KEY], &["my keys"]).options();
        assert_eq!(options, ["--smb-session-key", "--smb-session-keys 'my keys'"]);
        assert_eq!(given(&[], &[KEY]).options(), Vec::<String>::new());
        let inputs = vec!["trace.pcap".to_owned()];
        assert!(!Source { inputs: inputs.clone(), options, ..Source::default() }.is_readable_again());
        let options = given(&[], &["my keys"]).options();
        assert!(Source { inputs, options, ..Source::default() }.is_readable_again());
    }

    #[test]
    fn no_error_shows_a_key() {
        let short = &KEY[..KEY.len() - 1];
        for keys in [given(&[KEY, short], &[]), given(&[], &[KEY])] {
            let error = keys.read().unwrap_err();
            assert!(!format!("{error:?} {error:#} {keys:?}").contains("28f2"), "{error:?}");
        }
        assert!(format!("{:#}", given(&[KEY, short], &[]).read().unwrap_err()).contains("number 2"));
    }

    #[test]
    fn a_file_with_a_wrong_line_is_named_with_its_line() {
        let file = std::env::temp_dir().join(format!("plimsoll-keys-{}", std::process::id()));
        std::fs::write(&file, format!("# one\n{KEY}\n{}\n", &KEY[1..])).unwrap();
        let path = file.to_str().unwrap().to_owned();
        let error = format!("{:#}", given(&[], &[&path]).read().unwrap_err());
        std::fs::write(&file, format!("# one\n{KEY}\n")).unwrap();
        let keys = given(&[], &[&path]).read();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("line 3") && !error.contains("28f2"), "{error}");
        assert!(!keys.unwrap().is_empty());
        assert!(given(&[], &[&path]).read().is_err(), "a file that is gone");
    }
}
