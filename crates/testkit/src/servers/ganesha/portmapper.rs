//! The machine's portmapper, without which Ganesha does not start.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::servers::{PATIENCE, connects};

/// Held while a Ganesha starts. Each start replaces the NFS entries in the machine's portmapper; if another one adds its entries in
/// between, Ganesha ends ("Cannot register NFS V3 on UDP").
pub(super) fn one_at_a_time() -> File {
    let file = std::env::temp_dir().join("plimsoll-ganesha-starts.lock");
    let lock =
        File::options().create(true).append(true).open(&file).expect("a file in the folder for such can be made");
    lock.lock().expect("a file can be locked");
    lock
}

/// Ganesha does not start without a portmapper. One that was not there is started and stays: it is the machine's, and
/// another test may have begun to use it.
pub(super) fn start_rpcbind() {
    if connects(111) {
        return;
    }
    let _ = std::fs::create_dir_all("/run/rpcbind");
    let _ = Command::new("rpcbind").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let until = Instant::now() + PATIENCE;
    while !connects(111) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
}
