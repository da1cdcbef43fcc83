//! Message IDs and credits.
//!
//! Spec: MS-SMB2 3.2.4.1.2, 3.2.4.1.5, 3.2.5.1.4

/// The credits of a connection. Each request uses as many consecutive message IDs as it costs credits; each response grants new ones.
///
/// Each request uses up as many message ids, in a row, as it costs credits; each answer brings new ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::smb2) struct Credits {
    next_id: u64,
    available: u32,
    /// Available credits, and those in use by outstanding requests.
    window: u32,
    /// As many as we would like to have.
    wanted: u32,
    /// Credits that count as used before the connection was made.
    head_start: u64,
}

/// More than any server grants; a hostile one shall not make the sums overflow.
const MOST: u32 = 1 << 20;

impl Credits {
    /// One credit, as every connection begins.
    pub(in crate::smb2) fn new(wanted: u16) -> Self {
        Self { next_id: 0, available: 1, window: 1, wanted: u32::from(wanted.max(1)), head_start: 0 }
    }

    /// Available credits.
    pub(in crate::smb2) fn available(&self) -> u32 {
        self.available
    }

    /// Credits in use by outstanding requests.
    pub(in crate::smb2) fn in_use(&self) -> u32 {
        self.window.saturating_sub(self.available)
    }

    /// Credits used so far, to compare connections of a session.
    pub(in crate::smb2) fn carried(&self) -> u64 {
        self.next_id + self.head_start
    }

    /// A later connection does not catch up with the traffic of the others before it was there.
    pub(in crate::smb2) fn begin_at(&mut self, carried: u64) {
        self.head_start = carried.saturating_sub(self.next_id);
    }

    /// Credits that would be available if every outstanding request returned its credits.
    pub(in crate::smb2) fn window(&self) -> u32 {
        self.window
    }

    /// Uses credits for a request; returns its message ID.
    pub(in crate::smb2) fn spend(&mut self, charge: u16) -> u64 {
        let id = self.next_id;
        let charge = charge.max(1);
        self.next_id += u64::from(charge);
        self.available = self.available.saturating_sub(u32::from(charge));
        id
    }

    /// Number of credits to request: the charge, and the difference from the target.
    pub(in crate::smb2) fn ask(&self, charge: u16) -> u16 {
        let missing = self.wanted.saturating_sub(self.window);
        u16::try_from(u32::from(charge.max(1)) + missing).unwrap_or(u16::MAX)
    }

    /// A request of this charge gets no answer any more, or a late one.
    pub(in crate::smb2) fn lost(&mut self, charge: u16) {
        self.window = self.window.saturating_sub(u32::from(charge));
    }

    /// Adds the credits of a response to a request of this charge (charge 0 if the request had an interim response).
    pub(in crate::smb2) fn granted(&mut self, charge: u16, credits: u16) {
        self.available = self.available.saturating_add(u32::from(credits)).min(MOST);
        self.window = self.window.saturating_sub(u32::from(charge)).saturating_add(u32::from(credits)).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_until_it_has_what_it_wants() {
        let mut credits = Credits::new(512);
        assert_eq!((credits.spend(1), credits.available(), credits.ask(1)), (0, 0, 512));
        credits.granted(1, 1);
        assert_eq!((credits.available(), credits.window()), (1, 1));
        assert_eq!((credits.spend(1), credits.ask(1)), (1, 512));
        credits.granted(1, 512);
        assert_eq!((credits.available(), credits.window()), (512, 512));
        assert_eq!((credits.spend(16), credits.ask(16)), (2, 16), "what it costs and no more");
        assert_eq!((credits.spend(0), credits.available()), (18, 495), "dialect 2.0.2 says 0 and means 1");
    }

    #[test]
    fn a_later_connection_begins_where_the_others_are() {
        let mut credits = Credits::new(512);
        credits.spend(3);
        credits.begin_at(1_000);
        assert_eq!(credits.carried(), 1_000);
        assert_eq!((credits.spend(2), credits.carried()), (3, 1_002));
        credits.begin_at(1);
        assert_eq!(credits.carried(), 5);
    }

    #[test]
    fn what_is_lost_is_asked_for_again() {
        let mut credits = Credits::new(8);
        credits.spend(1);
        credits.granted(1, 8);
        credits.spend(3);
        credits.lost(3);
        assert_eq!((credits.available(), credits.window(), credits.ask(1)), (5, 5, 4));
        credits.granted(0, 3);
        assert_eq!((credits.available(), credits.window(), credits.ask(1)), (8, 8, 1));
    }

    #[test]
    fn a_generous_server_does_no_harm() {
        let mut credits = Credits::new(1);
        (0..1000).for_each(|_| credits.granted(0, u16::MAX));
        assert_eq!((credits.available(), credits.window(), credits.ask(3)), (MOST, MOST, 3));
    }
}
