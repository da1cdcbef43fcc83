//! The file that says which set it is.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest as sha256};
use plimsoll_client::content::PERIOD;

use super::Layout;
use crate::hexadecimal::hexadecimal;
use crate::text::Files;

/// Version of the layout: changes with every change of paths, sizes or content.
const FORMAT: u32 = 1;

/// All parameters that determine the bytes and names of a set: `load_file` is the SHA-256 of the load file whose players create their
/// directories in it.
pub(super) fn decisive(workload: &str, files: &Files, layout: &Layout, load_file: Option<&str>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "format: {FORMAT}, content of period {PERIOD}");
    let _ = writeln!(text, "workload: {workload}");
    let _ = writeln!(text, "seed: {}", files.seed);
    let _ = writeln!(text, "files: {} in {} directories {} deep", files.count, files.directories, files.depth);
    let _ = writeln!(text, "sizes: {}", files.size);
    let _ = writeln!(text, "shared: {}", layout.sharing());
    if let Some(factor) = files.scale.factor() {
        let _ = writeln!(text, "sizes times: {factor}");
    }
    if files.links > 0 {
        let _ = writeln!(text, "links: {}", files.links);
    }
    if let Some(load_file) = load_file {
        let _ = writeln!(text, "load file: {load_file}");
    }
    text
}

/// Its SHA-256, in hexadecimal digits.
pub(super) fn digest(decisive: &str) -> String {
    hexadecimal(sha256(&SHA256, decisive.as_bytes()).as_ref())
}

/// A manifest without its first line, which is for people: other versions of this program may word it differently.
pub(super) fn facts(manifest: &[u8]) -> &[u8] {
    let first = manifest.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    manifest.get(first..).unwrap_or_default()
}

/// The manifest.
pub(super) fn text(decisive: &str, layout: &Layout) -> String {
    format!(
        "Plimsoll created this directory for its measurements, and deletes it if a run has the option --remove-files.\n\
         {decisive}digest: {}\n\
         total: {} files of {} bytes in {} directories\n",
        digest(decisive),
        layout.files(),
        layout.bytes(),
        layout.all_directories(),
    )
}

/// The largest manifest that is read, bytes.
pub(super) const LARGEST: u32 = 64 << 10;
