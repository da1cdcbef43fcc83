//! A shell in tmux: a terminal as people have it, of a given size, and what stands on its screen.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{LIMIT, output};
use crate::servers::{Scratch, Unavailable};

/// A separate tmux with one shell, which begins in an empty folder. Ended when dropped.
#[derive(Debug)]
pub struct Tmux {
    scratch: Scratch,
}

impl Tmux {
    /// Starts it with this number of columns and rows.
    ///
    /// # Errors
    /// This machine has no tmux.
    ///
    /// # Panics
    /// It does not start.
    pub fn start((columns, rows): (u16, u16)) -> Result<Self, Unavailable> {
        let found = Command::new("tmux").arg("-V").stdout(Stdio::null()).status();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(Unavailable("needs tmux"));
        }
        let tmux = Self { scratch: Scratch::new("tmux") };
        // The prompt, and no line that is tmux's own.
        let configuration = tmux.scratch.path().join("tmux.conf");
        std::fs::write(configuration, "set -g status off\nset -g history-limit 10000\n").expect("a scratch folder");
        let _ = tmux.scratch.folder("home");
        let size = [columns, rows].map(|size| size.to_string());
        tmux.tell(&["new-session", "-d", "-x", &size[0], "-y", &size[1], "exec env PS1='$ ' HOME=. ENV= sh"]);
        tmux.wait_until("a prompt", |screen| screen.starts_with('$'));
        Ok(tmux)
    }

    /// The folder in which the shell begins.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Types a command and Enter.
    pub fn type_line(&self, line: &str) {
        self.tell(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    /// Presses a key: `q`, `Left`, `C-c`.
    pub fn press(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    /// What stands on the screen.
    #[must_use]
    pub fn screen(&self) -> String {
        self.tell(&["capture-pane", "-p"])
    }

    /// The same with all that has scrolled away.
    #[must_use]
    pub fn history(&self) -> String {
        self.tell(&["capture-pane", "-p", "-S", "-"])
    }

    /// What tmux knows about the terminal: `#{alternate_on}`, `#{cursor_flag}`, `#{pane_title}`.
    #[must_use]
    pub fn state(&self, format: &str) -> String {
        self.tell(&["display-message", "-p", format]).trim_end().to_owned()
    }

    /// Waits until the screen is as it should be, and returns it.
    ///
    /// # Panics
    /// It is not within [`LIMIT`].
    pub fn wait_until(&self, what: &str, so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if so(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < LIMIT, "no {what} within {LIMIT:?}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a command of tmux's in its own server.
    fn tell(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.scratch.path().join("socket"));
        command.arg("-f").arg(self.scratch.path().join("tmux.conf")).args(arguments);
        command.current_dir(self.folder()).env("LC_ALL", "C.UTF-8").env_remove("TMUX").env_remove("NO_COLOR");
        let ended = output(&mut command);
        assert!(ended.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8_lossy(&ended.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        // A test that has failed says so itself.
        let _ = command.arg("-S").arg(self.scratch.path().join("socket")).arg("kill-server").output();
    }
}
