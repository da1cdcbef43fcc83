//! libnfs, through a small program in C.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program in `folder`; `None`, with a note on standard error, without a C compiler or libnfs.
pub fn build(folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let (source, program) = (folder.join("libnfs.c"), folder.join("libnfs"));
    std::fs::write(&source, include_str!("libnfs.c"))?;
    let output = Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(&source).arg("-lnfs").output();
    match output {
        Ok(output) if output.status.success() => Ok(Some(program)),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            eprintln!("libnfs is left out (Debian: libnfs-dev): {}", said.lines().next().unwrap_or_default());
            Ok(None)
        }
        Err(error) => {
            eprintln!("libnfs is left out: cc: {error}");
            Ok(None)
        }
    }
}
