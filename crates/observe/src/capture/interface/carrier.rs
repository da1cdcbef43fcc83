//! The carrier of the interface: if a cable is pulled or a mirror port fails, the interface stays up, and the kernel reports no error.

use std::io;
use std::time::Instant;

use super::socket::LinkState;
use crate::capture::stop::CHECK_INTERVAL;

/// What is known of the carrier.
#[derive(Debug)]
pub(super) struct Carrier {
    /// Whether it was there at the last look. Some drivers never report one: the loss of such a carrier is no loss.
    had: bool,
    /// When it was last there, ns since the Unix epoch.
    seen_ns: u64,
    due: Instant,
}

impl Carrier {
    /// The carrier of an interface in this state.
    pub(super) fn of(state: LinkState, now_ns: u64) -> Self {
        Self { had: state.has_carrier, seen_ns: now_ns, due: Instant::now() }
    }

    /// Whether the interface had a carrier when it was last looked at.
    pub(super) fn is_known(&self) -> bool {
        self.had
    }

    /// Looks, if a look is due. If the carrier was lost: when it was there for the last time.
    pub(super) fn look(
        &mut self,
        (now, now_ns): (Instant, u64),
        state: impl FnOnce() -> io::Result<LinkState>,
    ) -> Option<u64> {
        if now < self.due {
            return None;
        }
        self.due = now + CHECK_INTERVAL;
        // The socket reports an interface that was removed.
        let has_carrier = state().ok()?.has_carrier;
        let had = std::mem::replace(&mut self.had, has_carrier);
        if has_carrier {
            self.seen_ns = now_ns;
        }
        (had && !has_carrier).then_some(self.seen_ns)
    }

    /// The interface is down: the next loss is one of a carrier that comes back.
    pub(super) fn forget(&mut self) {
        self.had = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 100 ms, with these carriers: when the lost carrier was there for the last time, ms.
    fn looks(carriers: &[bool]) -> Vec<Option<u64>> {
        let state = |&has_carrier: &bool| LinkState { is_up: true, has_carrier };
        let mut carrier = Carrier::of(state(&carriers[0]), 0);
        let begun = carrier.due;
        let look = |(at, has_carrier): (u32, &bool)| {
            let now = (begun + CHECK_INTERVAL * at, u64::from(at) * 100_000_000);
            let lost = carrier.look(now, || Ok(state(has_carrier)));
            assert_eq!(carrier.look(now, || unreachable!("not due")), None);
            lost.map(|ns| ns / 1_000_000)
        };
        (0..).zip(carriers).map(look).collect()
    }

    #[test]
    fn a_carrier_is_lost_once_and_only_if_it_was_there() {
        assert_eq!(looks(&[true, true, false, false, true, false]), [None, None, Some(100), None, None, Some(400)]);
        assert_eq!(looks(&[false, false, false]), [None; 3], "a driver that reports none");
        assert_eq!(looks(&[false, true, false]), [None, None, Some(100)]);
    }

    #[test]
    fn an_interface_that_was_removed_has_lost_no_carrier() {
        let mut carrier = Carrier::of(LinkState { is_up: true, has_carrier: true }, 0);
        let now = (carrier.due, 0);
        assert_eq!(carrier.look(now, || Err(io::Error::other("no such device"))), None);
        carrier.forget();
        let lost = carrier.look((now.0 + CHECK_INTERVAL, 0), || Ok(LinkState { is_up: true, has_carrier: false }));
        assert_eq!(lost, None);
    }
}
