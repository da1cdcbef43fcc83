//! README and the documents show the command's real output: each `console` block is run and compared. PLIMSOLL_BLESS=1 rewrites the
//! outputs. Commands in `sh` blocks are run too, with in-process servers, and must succeed. (A test in src/main.rs checks that they
//! parse.)

mod commands;

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::workspace;

/// Runs a line in a shell that has the command, in the project's folder; returns standard output.
fn run(line: &str) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(workspace()).env("PATH", path).env("LC_ALL", "C.UTF-8");
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "TZ"] {
        command.env_remove(variable);
    }
    String::from_utf8(output(&mut command).stdout).unwrap()
}

/// The page with the current output of each command.
fn page(text: &str) -> (String, usize) {
    let (mut page, mut commands, mut inside) = (String::new(), 0, false);
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => {
                let Some(command) = line.strip_prefix("$ ") else { continue };
                commands += 1;
                page.push_str(&format!("$ {command}\n"));
                let shown = run(command);
                page.extend(shown.trim_end().lines().flat_map(|line| [line.trim_end(), "\n"]));
                continue;
            }
        }
        page.push_str(line);
        page.push('\n');
    }
    (page, commands)
}

/// README and the documents.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(workspace().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.push(workspace().join("README.md"));
    pages.sort();
    pages
}

#[test]
fn outputs_shown_are_outputs() {
    let mut commands = 0;
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (is, here) = page(&text);
        commands += here;
        if std::env::var_os("PLIMSOLL_BLESS").is_some() && is != text {
            std::fs::write(&path, &is).unwrap();
        } else {
            let differs = is.lines().zip(text.lines()).find(|(is, said)| is != said);
            assert!(is == text, "{} (output, page): {differs:#?}; PLIMSOLL_BLESS=1 writes it anew", path.display());
        }
    }
    assert!(commands >= 4, "{commands} commands have their output shown");
}
