//! `plimsoll serve`: usage and results.

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("serve").args(arguments);
    command
}

#[test]
fn it_serves_until_it_is_interrupted() {
    for protocol in ["smb", "nfs"] {
        let mut child = Running::start(&mut serve(&[protocol, "--listen", "127.0.0.1:0", "--size", "1MiB"])).unwrap();
        let url = child.first_line();
        let address = url.strip_prefix(&format!("{protocol}://")).unwrap().split('/').next().unwrap().to_owned();
        assert!(url.contains("/plimsoll"), "{url}");
        let mut open = TcpStream::connect(&address).unwrap();
        child.signal(Signal::INT);
        assert_eq!(child.end().status.code(), Some(0));
        assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
        assert!(TcpStream::connect(&address).is_err());
    }
}

/// As its help says.
#[test]
fn without_a_user_it_takes_anonymous_logons_only() {
    let help = output(&mut serve(&["--help"]));
    assert!(String::from_utf8_lossy(&help.stdout).contains("anonymous logons only"));
    let mut child = Running::start(&mut serve(&["smb", "--listen", "127.0.0.1:0", "--size", "16MiB"])).unwrap();
    let anonymous = child.first_line();
    let named = anonymous.replace("smb://", "smb://alice@");
    // Whether the numbers may be used is another matter.
    for (target, codes) in [(&named, &[3][..]), (&anonymous, &[0, 4])] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        run.args(["run", "mixed", "-q", "--clients", "1", "--duration", "200ms", "--warmup", "0s", "--target", target]);
        run.env("PLIMSOLL_PASSWORD", "secret");
        let output = output(&mut run);
        let code = output.status.code().unwrap();
        assert!(codes.contains(&code), "{target}: {code}, {}", String::from_utf8_lossy(&output.stderr));
    }
    child.signal(Signal::INT);
    assert_eq!(child.end().status.code(), Some(0));
}

#[test]
fn the_password_is_nowhere() {
    let scratch = Scratch::new("serve");
    let file = scratch.file("password", "geheim%40wort\n");
    let arguments = ["smb", "--listen", "127.0.0.1:0", "--user", "crew", "--password-file", file.to_str().unwrap()];
    let mut child = Running::start(&mut serve(&arguments)).unwrap();
    let url = child.first_line();
    assert!(url.starts_with("smb://crew@127.0.0.1:"), "{url}");
    let title = std::fs::read_to_string(format!("/proc/{}/cmdline", child.id())).unwrap();
    child.signal(Signal::INT);
    let rest = child.end();
    let told = format!("{title}{}{}", String::from_utf8_lossy(&rest.stdout), String::from_utf8_lossy(&rest.stderr));
    assert!(!told.contains("geheim"), "{told}");
}

#[test]
fn what_makes_no_sense_is_usage_and_a_taken_port_is_not() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, code, says) in [
        (&["smb", "--listen", "0.0.0.0:0"][..], 2, "--allow-remote"),
        (&["smb", "--listen", "0.0.0.0:0", "--allow-remote"], 2, "--user"),
        (&["smb", "--user", "crew"], 2, "--password-file"),
        (&["nfs", "--share", "a/b"], 2, "name of a share"),
        (&["nfs", "--size", "12 bananas"], 2, "512MiB"),
        (&["afp"], 2, "smb, nfs"),
        (&["nfs", "--listen", &address], 3, "use --listen 127.0.0.1:0"),
    ] {
        let output = output(serve(arguments).env_remove("PLIMSOLL_PASSWORD"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
}
