//! On systems other than Linux, other users cannot read a process's command line, or it cannot be changed.

pub fn hide_secrets() -> anyhow::Result<()> {
    Ok(())
}
