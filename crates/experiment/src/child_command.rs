//! Commands of this machine that a run starts.

use std::ffi::OsStr;
use std::process::Command;

use plimsoll_client::target::PASSWORD_VARIABLE;

/// A command that does not inherit the password of the target: it may show its environment, or pass it on.
pub(crate) fn child_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove(PASSWORD_VARIABLE);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_does_not_inherit_the_password() {
        let command = child_command("sh");
        let removed: Vec<_> = command.get_envs().collect();
        assert_eq!(removed, [(OsStr::new(PASSWORD_VARIABLE), None)]);
    }
}
