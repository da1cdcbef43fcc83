//! `source=disk`: a file set beyond the server's memory, on a Samba whose memory is limited.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{MemoryLimit, Samba, Scratch, Share};
use serde_json::Value;

use crate::available;

/// The server's memory, with its cache.
const MEMORY: u64 = 64 << 20;

/// One level of stream-read, and the text of its report in one line.
fn stream_read(samba: &Samba, size: &str, duration: &str, scratch: &Scratch) -> (Value, String) {
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let (pid, report) = (samba.process_id().unwrap().to_string(), scratch.path().join("report.json"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", "stream-read", "--target", &target, "--clients", "1", "--set", size, "--set", "source=disk"]);
    command.args(["--duration", duration, "--warmup", "500ms", "--server-pid", &pid, "--full", "--json"]).arg(&report);
    command.args(["--on-phase", "cat /proc/diskstats >$PLIMSOLL_PHASE"]).current_dir(scratch.path());
    let output = output(command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Whether the run is valid depends on other work of the machine.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
    let json = crate::only_side(&std::fs::read(&report).unwrap());
    (json["levels"][0].clone(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Sectors that disks had read when the level began or ended. Partitions and devices on other devices would count twice.
fn sectors(phase: &str, scratch: &Scratch) -> u64 {
    let devices = std::fs::read_to_string(scratch.path().join(phase)).unwrap();
    let devices = devices.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    devices.filter(|fields| is_disk(fields[2])).map(|fields| fields[5].parse::<u64>().unwrap()).sum()
}

fn is_disk(name: &str) -> bool {
    Path::new("/sys/block").join(name).join("device").exists()
}

/// Whether files of a folder are on a disk, and not in memory.
fn is_on_disk(folder: &Path) -> bool {
    let said = output(Command::new("stat").args(["-f", "-c", "%T"]).arg(folder));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    !matches!(String::from_utf8_lossy(&said.stdout).trim(), "tmpfs" | "ramfs")
}

#[test]
fn a_set_beyond_the_servers_memory_is_read_from_disk() {
    let Some(limit) = available(MemoryLimit::new(MEMORY)) else { return };
    // It ends before its limit does.
    let Some(samba) = crate::samba(&[]) else { return };
    if !is_on_disk(&samba.folder(Share::Data).unwrap()) {
        return crate::skip("needs a folder for temporary files on a disk");
    }
    let _alone = crate::alone();
    limit.hold(samba.process_id().unwrap());
    let (scratch, warning) = (Scratch::new("from-disk"), "source=disk, but the server's disks read only");
    // 600 MiB in eight files.
    let (level, text) = stream_read(&samba, "size=75MiB", "4s", &scratch);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{level:#}"));
    let (disk, read) = (number(&level["server"]["disk_read_bytes_per_s"]), number(&level["read_bytes_per_s"]));
    assert!(read > 0.0 && disk / read > 0.8, "{disk} of {read} bytes per second came from the disk: {text}");
    assert!(!text.contains(warning) && text.contains("Read from disks, as a percentage"), "{text}");
    // The disks agree (the report has the counter of the server's processes), if this machine shows them.
    let seconds = number(&level["span"]["elapsed_s"]);
    let bytes = (sectors("end", &scratch) - sectors("begin", &scratch)) * 512;
    let any = std::fs::read_dir("/sys/block").unwrap().flatten().any(|disk| disk.path().join("device").exists());
    assert!(!any || bytes as f64 > 0.8 * read * seconds, "{bytes} from the disks: {read} for {seconds} s");
    // The same check of a set that fits into the cache.
    let (level, text) = stream_read(&samba, "size=1MiB", "2s", &scratch);
    assert!(text.contains(warning), "{level:#} {text}");
}
