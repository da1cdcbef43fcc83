//! Data for a slot that is choosing its next step: a blocking protocol client answers at once.

use plimsoll_model::Sink;

use super::Accounting;

impl<S: Sink> Accounting<'_, S> {
    /// Passes stored data to its slots.
    pub(crate) fn hand_out(&mut self) {
        if self.aside.is_empty() {
            return;
        }
        let mut from = 0;
        for (slot, name, offset, until) in self.aside.drain(..) {
            let bytes = self.aside_bytes.get(from..until).unwrap_or_default();
            from = until;
            let Some(scenario) = self.slots.get_mut(slot).and_then(|slot| slot.scenario.as_mut()) else { continue };
            match name {
                true => scenario.entry(&String::from_utf8_lossy(bytes)),
                false => scenario.data(offset, bytes),
            }
        }
        self.aside_bytes = Vec::new();
    }

    /// A blocking protocol client answers while the slot is still choosing its step: stores the data until then.
    pub(super) fn set_aside(&mut self, slot: usize, name: bool, offset: u64, bytes: &[u8]) {
        self.aside_bytes.extend_from_slice(bytes);
        self.aside.push((slot, name, offset, self.aside_bytes.len()));
    }
}
