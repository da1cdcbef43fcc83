//! What a capture needs no longer once the interface is open.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Gives up all capabilities of this thread, and of those that it starts from now on, but one: root without CAP_DAC_OVERRIDE could not
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
