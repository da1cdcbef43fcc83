//! Where a password comes from: the URL, a file, the environment, in this order.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use super::{Target, TargetError};
use crate::secret::Secret;

/// The environment variable that may hold the password.
pub const PASSWORD_VARIABLE: &str = "PLIMSOLL_PASSWORD";

/// What Windows editors write before UTF-8 text; it is not part of the text.
pub(super) const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The longest password, bytes: far above what servers take.
const LONGEST: u64 = 4096;

impl Target {
    /// Finds the password of a target that needs one: the URL's own, else the first line of `file`, else `variable` (the
    /// value of [`PASSWORD_VARIABLE`]). Where there is none it stays empty.
    ///
    /// # Errors
    /// The file cannot be read, or a password is given where none can be used, or in two places.
    pub fn find_password(&mut self, file: Option<&Path>, variable: Option<OsString>) -> Result<(), TargetError> {
        let credentials = match self {
            Target::Smb(target) => &mut target.credentials,
            Target::Nfs(target) if target.security.is_some() => &mut target.credentials,
            _ => {
                let unused = "--password-file: this target does not use a password; remove --password-file (only smb:// targets, and \
                    nfs:// targets with sec=krb5, log on)";
                return file.map_or(Ok(()), |_| Err(TargetError::Password(unused)));
            }
        };
        if credentials.is_anonymous() {
            let nobody = "--password-file: the target has no user; add the user (smb://user@host/share)";
            return file.map_or(Ok(()), |_| Err(TargetError::Password(nobody)));
        }
        match (credentials.password.is_empty(), file, variable) {
            (false, Some(_), _) => Err(TargetError::Password(
                "the password is given twice, in the target and by --password-file: remove one of them",
            )),
            (false, None, _) | (true, None, None) => Ok(()),
            (true, Some(file), _) => {
                credentials.password = password_in(file)?;
                Ok(())
            }
            (true, None, Some(variable)) => {
                let text = variable.into_string().map_err(|_| {
                    TargetError::Password("PLIMSOLL_PASSWORD is not valid UTF-8; use --password-file FILE")
                })?;
                credentials.password = Secret::new(text);
                Ok(())
            }
        }
    }
}

/// At most so many bytes of a file, and one more where it has more. Room for all of it from the start: a vector that grows leaves
/// copies behind.
pub(super) fn read_secret(path: &Path, longest: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let room = file.metadata()?.len().min(longest);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room as usize + 64));
    file.take(longest + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The password in the first line of a file, without a byte-order mark.
///
/// # Errors
/// The file cannot be read, or its first line is empty, too long or not valid UTF-8.
pub fn password_in(file: &Path) -> Result<Secret, TargetError> {
    let problem = |problem: String| TargetError::PasswordFile { file: file.to_owned(), problem };
    let bytes = read_secret(file, LONGEST).map_err(|error| problem(error.to_string()))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(line);
    if line.len() as u64 > LONGEST {
        return Err(problem(format!("its first line is longer than {LONGEST} bytes")));
    }
    if line.is_empty() {
        return Err(problem("its first line, the password, is empty".to_owned()));
    }
    let text = std::str::from_utf8(line).map_err(|_| problem("its first line is not valid UTF-8".to_owned()))?;
    Ok(Secret::new(text.to_owned()))
}
