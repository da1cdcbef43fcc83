//! Output files under any name, and failures to write them.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use plimsoll_testkit::servers::Scratch;

use super::*;

fn written(opened: OutputFile, text: &str) {
    opened.write(|mut file| file.write_all(text.as_bytes())).unwrap();
}

fn left(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn a_name_stands_for_a_whole_file() {
    let scratch = Scratch::new("output-whole");
    let file = scratch.path().join("page.html");
    fs::write(&file, "earlier").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let opened = Files::default().open("--html", &file, Readers::Usual).unwrap();
    opened.file().unwrap().write_all(b"half").unwrap();
    assert_eq!(left(scratch.path()).len(), 2);
    drop(opened);
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), left(scratch.path()).len()), ("earlier", 1));
    written(Files::default().open("--html", &file, Readers::Usual).unwrap(), "whole");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), left(scratch.path()).len()), ("whole", 1));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    written(Files::default().open("--tap", &file, Readers::Owner).unwrap(), "secret");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_failure_removes_what_there_is_and_says_why() {
    let scratch = Scratch::new("output-failed");
    let file = scratch.path().join("page.html");
    let opened = Files::default().open("--html", &file, Readers::Usual).unwrap();
    let error = opened.write(|_| Err(io::Error::from(io::ErrorKind::StorageFull))).unwrap_err().to_string();
    assert!(error.contains("--html") && error.contains("page.html") && error.contains("free some space"), "{error}");
    assert!(left(scratch.path()).is_empty());
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let scratch = Scratch::new("output-inputs");
    let name = |name: &str| scratch.path().join(name);
    fs::write(name("a.pcap"), "evidence").unwrap();
    symlink("a.pcap", name("soft")).unwrap();
    fs::hard_link(name("a.pcap"), name("hard")).unwrap();
    fs::create_dir(name("recording")).unwrap();
    symlink("new.json", name("dangling")).unwrap();
    let (capture, recording) = (name("a.pcap"), name("recording"));
    let mut files = Files::reading([capture.as_path(), &recording]);
    for same in ["a.pcap", "soft", "hard", "recording/../a.pcap", "recording/manifest.json"] {
        let error = files.open("--json", &name(same), Readers::Usual).unwrap_err();
        assert!(error.is::<Refused>() && error.to_string().contains("input"), "{same}: {error}");
    }
    let _first = files.open("--json", &name("new.json"), Readers::Usual).unwrap();
    let error = files.fills("--record", Some(&name("recording/../recording"))).unwrap_err();
    assert!(error.is::<Refused>() && error.to_string().contains("replace the input"), "{error}");
    files.fills("--record", Some(&name("recording/below"))).unwrap();
    files.fills("--record", Some(&name("kept"))).unwrap();
    for same in ["new.json", "dangling", "recording/../new.json", "kept"] {
        let error = files.open("--html", &name(same), Readers::Usual).unwrap_err();
        assert!(
            error.is::<Refused>() && error.to_string().contains("writes to the same file or folder"),
            "{same}: {error}"
        );
    }
    let error = files.open("--html", &name("missing/x"), Readers::Usual).unwrap_err();
    assert!(!error.is::<Refused>() && error.to_string().contains("no such folder"), "{error}");
    let error = files.open("--html", &recording, Readers::Usual).unwrap_err();
    assert!(!error.is::<Refused>() && error.to_string().contains("this is a folder"), "{error}");
    assert_eq!(fs::read_to_string(capture).unwrap(), "evidence");
}

#[test]
fn a_link_stays_a_link_and_a_device_is_written_directly() {
    let scratch = Scratch::new("output-links");
    let name = |name: &str| scratch.path().join(name);
    fs::create_dir(name("there")).unwrap();
    symlink("there/page.html", name("link")).unwrap();
    let mut files = Files::default();
    written(files.open("--html", &name("link"), Readers::Usual).unwrap(), "whole");
    assert_eq!(fs::read_to_string(name("there/page.html")).unwrap(), "whole");
    assert!(name("link").is_symlink());
    for _ in 0..2 {
        written(files.open("--html", Path::new("/dev/null"), Readers::Usual).unwrap(), "nowhere");
    }
    // A descriptor's file is not replaced: its holder would wait forever.
    fs::write(name("held"), "").unwrap();
    let held = File::open(name("held")).unwrap();
    let by_number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    written(files.open("--html", Path::new(&by_number), Readers::Usual).unwrap(), "through");
    assert_eq!(fs::read_to_string(name("held")).unwrap(), "through");
    assert_eq!(held.metadata().unwrap().ino(), fs::metadata(name("held")).unwrap().ino());
    assert_eq!(left(scratch.path()), ["held", "link", "there"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    let opened = Files::default().open("--json", Path::new("/dev/full"), Readers::Usual).unwrap();
    let error = opened.write(|mut file| file.write_all(b"x")).unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
}

#[test]
fn long_names_leave_room() {
    let scratch = Scratch::new("output-long");
    let file = scratch.path().join("n".repeat(250));
    written(Files::default().open("--json", &file, Readers::Usual).unwrap(), "x");
    assert_eq!(left(scratch.path()).len(), 1);
}
