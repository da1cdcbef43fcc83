//! A password that is given is found nowhere but where it was given.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

use super::command::{Server, start, start_with};

/// Distinctive, with characters that must be escaped in a URL or end parts of one.
const PASSWORD: &str = "Ge:heim/nis@9? Ladelinie";
const ESCAPED: &str = "Ge%3Aheim%2Fnis%409%3F%20Ladelinie";

/// Every form in which it could stand somewhere.
fn forms() -> Vec<Vec<u8>> {
    let utf16: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let parts = [PASSWORD, ESCAPED, "heim/nis", "Ladelinie"].map(|part| part.as_bytes().to_vec());
    [&parts[..], &[utf16]].concat()
}

fn nowhere_in(bytes: &[u8], what: &str) {
    for form in forms() {
        assert!(!bytes.windows(form.len()).any(|window| window == form), "the password is in {what}");
    }
}

/// The number of files that were looked at.
fn nowhere_in_folder(folder: &Path) -> usize {
    let looked_at = std::fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return nowhere_in_folder(&path);
        }
        nowhere_in(&std::fs::read(&path).unwrap(), &path.display().to_string());
        1
    });
    looked_at.sum()
}

#[test]
fn the_password_is_in_no_output_and_no_title() {
    let folder = Scratch::new("password");
    let file = folder.path().join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&["smb", "--listen", "127.0.0.1:0", "--user", "crew", "--password-file", file]);
    let title = |id: u32| std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
    nowhere_in(&title(server.id()), "the server's title");
    let with_password = server.url.replace("crew@", &format!("crew:{ESCAPED}@"));
    assert!(with_password.contains(ESCAPED), "{}", server.url);
    let ways = [
        (vec!["--target", &with_password], None),
        (vec!["--target", &server.url, "--password-file", file], None),
        (vec!["--target", &server.url], Some(PASSWORD)),
    ];
    for (how, variable) in ways {
        for columns in ["rows.csv", "rows.parquet"] {
            // Named without its folder, the file would be written elsewhere.
            let table = folder.path().join(columns).display().to_string();
            let page = folder.path().join("page.html").display().to_string();
            let recording = folder.path().join(format!("recording-{columns}")).display().to_string();
            let outputs = ["mixed", "--duration", "10m", "--warmup", "0s", "--html", &page, "--transactions", &table];
            let outputs = [&outputs[..], &["--record", &recording, "--overwrite"]].concat();
            let mut running = start_with(&[&outputs[..], &how].concat(), variable);
            running.wait_until_it_measures();
            nowhere_in(&title(running.id()), "the title");
            running.signal(Signal::INT);
            let ended = running.end();
            assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
            for (name, output) in [(columns, &table), ("page.html", &page), ("recording", &recording)] {
                std::fs::rename(output, ended.folder.path().join(name)).unwrap();
            }
            assert!(ended.folder.path().join("recording/manifest.json").is_file());
            let files = nowhere_in_folder(ended.folder.path());
            assert!(files >= 8, "every output was written: {files}");
        }
    }
}

/// An exporter on a free port of loopback, for as long as the test goes on.
fn exporter() -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            // Of a client that is gone nothing is expected.
            let _read = stream.read(&mut [0; 4096]);
            let page = "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.5\n";
            let _said =
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}", page.len());
        }
    });
    address
}

#[test]
fn the_password_of_an_exporter_is_in_no_output_and_no_title() {
    let folder = Scratch::new("metrics-password");
    let url = format!("http://crew:{ESCAPED}@{}/metrics", exporter());
    let recording = folder.path().join("recording").display().to_string();
    let page = folder.path().join("page.html").display().to_string();
    let outputs = ["null", "--duration", "10m", "--warmup", "0s", "--record", &recording, "--html", &page];
    for flag in [vec!["--server-metrics".to_owned(), url.clone()], vec![format!("--server-metrics={url}")]] {
        let flag: Vec<&str> = flag.iter().map(String::as_str).collect();
        let mut running = start(&[&outputs[..], &["--overwrite"], &flag].concat());
        running.wait_until_it_measures();
        nowhere_in(&std::fs::read(format!("/proc/{}/cmdline", running.id())).unwrap(), "the title");
        running.signal(Signal::INT);
        let ended = running.end();
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
        assert!(ended.report.to_string().contains("crew:***@"), "the exporter was looked at: {}", ended.report);
        assert!(nowhere_in_folder(folder.path()) >= 3 && nowhere_in_folder(ended.folder.path()) >= 1);
    }
}

/// Errors are reported without it.
#[test]
fn the_password_is_in_no_error() {
    let wrong = format!("smb://crew:{ESCAPED}@127.0.0.1:1/share");
    let raw = format!("smb://crew:{PASSWORD}@127.0.0.1:1/share");
    let spelt = |text: &str| text.replace("smb", "smbx");
    let cases: Vec<Vec<String>> = vec![
        vec!["run".into(), "--target".into(), wrong.clone()],
        vec!["run".into(), "--target".into(), raw.clone()],
        vec!["run".into(), "--target".into(), spelt(&wrong)],
        vec!["run".into(), "--target".into(), wrong.replace("/share", "")],
        vec!["run".into(), "--target".into(), wrong.replace(":1/", ":none/")],
        vec!["run".into(), "--target".into(), wrong.replace("127.0.0.1", "[::1")],
        vec!["run".into(), "--target".into(), wrong.replace("127.0.0.1:1", "no-such-host.invalid")],
        // In the wrong place, or under the wrong flag.
        vec!["run".into(), wrong.clone()],
        vec!["run".into(), "mixed".into(), wrong.clone()],
        vec!["run".into(), "--tagret".into(), wrong.clone()],
        vec!["run".into(), format!("--tagret={wrong}")],
        vec!["run".into(), "--think".into(), wrong.clone()],
        vec!["run".into(), "--dialect".into(), wrong.clone()],
        vec!["run".into(), "--json".into(), wrong.clone()],
        vec!["run".into(), "--transactions".into(), wrong.clone()],
        vec!["analyze".into(), wrong.clone()],
        vec!["workloads".into(), "show".into(), wrong.clone()],
        vec!["serve".into(), wrong.clone()],
        vec![wrong],
        vec![raw],
    ];
    for arguments in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(&arguments).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1");
        let output = output(&mut command);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{arguments:?}: {:?}", output.status);
        nowhere_in(&output.stdout, &format!("what is said to {arguments:?}"));
        nowhere_in(&output.stderr, &format!("the error for {arguments:?}"));
    }
}
