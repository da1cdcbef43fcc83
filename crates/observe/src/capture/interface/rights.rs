//! Capabilities that a capture does not need once the interface is open.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Drops all capabilities of this thread and of the threads that it starts later, except CAP_DAC_OVERRIDE, without which root could not
/// write reports into other users' folders.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let needed = CapabilitySet::DAC_OVERRIDE;
    let held = capabilities(None)?;
    let kept = CapabilitySets {
        effective: held.effective & needed,
        permitted: held.permitted & needed,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}
