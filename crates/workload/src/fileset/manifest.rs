//! The file that says which set it is.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest as sha256};
use plimsoll_client::content::PERIOD;

use super::Layout;
use crate::hexadecimal;
use crate::text::Files;

/// Version of the layout: changes with every change of paths, sizes or content.
const FORMAT: u32 = 1;

/// What decides over every byte of a set.
fn decisive(workload: &str, files: &Files, layout: &Layout) -> String {
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
    text
}

/// SHA-256 of it, in hexadecimal digits.
pub(super) fn digest(workload: &str, files: &Files, layout: &Layout) -> String {
    hexadecimal(sha256(&SHA256, decisive(workload, files, layout).as_bytes()).as_ref())
}

/// The manifest.
pub(super) fn text(workload: &str, files: &Files, layout: &Layout) -> String {
    format!(
        "Plimsoll made this directory to measure with, and may be told to remove it.\n\
         {}digest: {}\n\
         total: {} files of {} bytes in {} directories\n",
        decisive(workload, files, layout),
        digest(workload, files, layout),
        layout.files(),
        layout.bytes(),
        layout.all_directories(),
    )
}

/// The largest manifest that is read, bytes.
pub(super) const LARGEST: u32 = 64 << 10;
