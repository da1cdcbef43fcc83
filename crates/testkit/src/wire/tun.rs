//! An end of the wire: a TUN device, whose packets a program reads and writes.
//!
//! Spec: Linux Documentation/networking/tuntap.rst

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use serde_json::Value;

use super::DEVICE;
use crate::command::output;
use crate::namespace::Namespace;

/// Maximum number of packets that wait for the wire: many times what a test sends at once. Further ones are lost before the wire.
const WAITING: u32 = 20_000;

/// Creates the device of an end. It exists as long as the file is open.
pub(super) fn open(namespace: &Namespace, address: &str) -> io::Result<File> {
    let file = namespace.within(attach)?;
    namespace.ip(&format!("link set dev {DEVICE} txqueuelen {WAITING}"));
    namespace.ip(&format!("address add {address}/24 dev {DEVICE}"));
    namespace.ip(&format!("link set dev {DEVICE} up"));
    Ok(file)
}

/// A device belongs to the namespace of the thread that opens it.
fn attach() -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zero is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name.iter_mut().zip(DEVICE.bytes()).for_each(|(to, from)| *to = from.cast_signed());
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is as TUNSETIFF wants it, and outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) };
    if result == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

/// Packets that were lost before the wire took them.
pub(super) fn overruns(namespace: &Namespace) -> u64 {
    let shown =
        namespace.within(|| output(Command::new("ip").args(["-json", "-stats", "link", "show", "dev", DEVICE])));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
    shown[0]["stats64"]["tx"]["dropped"].as_u64().expect("ip counts dropped packets")
}
