use std::process::Command;

use plimsoll_testkit::command::{output, output_fed};

use super::{plimsoll, program, scratch};

fn script(shell: &str) -> Vec<u8> {
    let done = output(&mut plimsoll(&["completions", shell], &[]));
    assert!(done.status.success() && done.stderr.is_empty(), "{shell}");
    done.stdout
}

#[test]
fn every_shell_has_a_script_with_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = String::from_utf8(script(shell)).unwrap();
        for word in ["analyze", "capacity", "completions", "--target", "--color"] {
            // fish writes options without their dashes.
            assert!(text.contains(word.trim_start_matches("--")), "{shell}: {word}");
        }
    }
    assert_eq!(output(&mut plimsoll(&["completions", "csh"], &[])).status.code(), Some(2));
}

/// All installed shells can read their scripts.
#[test]
fn shells_read_their_scripts() {
    let folder = scratch("completions");
    for shell in ["bash", "zsh", "fish"] {
        let file = folder.path().join(shell);
        std::fs::write(&file, script(shell)).unwrap();
        let mut command = program(shell, &[]);
        if Command::new(shell).arg("--version").output().is_err() {
            crate::skip(format_args!("needs {shell}"));
            continue;
        }
        let done = output(command.arg("-n").arg(&file));
        assert!(done.status.success(), "{shell}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// As bash completes `plimsoll cap<TAB>`.
#[test]
fn bash_completes_a_word() {
    let mut input = script("bash");
    for (words, expected) in [("plimsoll cap", "capacity"), ("plimsoll analyze --tra", "--transactions")] {
        let last = words.split(' ').count() - 1;
        let current = words.rsplit(' ').next().unwrap();
        input.extend_from_slice(
            format!("\nCOMP_WORDS=({words}); COMP_CWORD={last}; _plimsoll plimsoll {current} x; echo \"got ${{COMPREPLY[*]}} for {expected}\"")
                .as_bytes(),
        );
    }
    let done = output_fed(&mut program("bash", &[]), input);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(
        text.contains("got capacity for capacity") && text.contains("got --transactions for --transactions"),
        "{text}"
    );
}
