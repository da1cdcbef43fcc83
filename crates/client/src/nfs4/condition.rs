//! How far a client is with its server, from its first request to its end.

use crate::operation::Cause;

/// How far a client is. It connects, may lose its connection and get another one, leaves, and ends once.
#[derive(Debug, Default)]
pub(super) struct Condition {
    /// It has a session and an export, and must return them.
    connected: bool,
    leaving: bool,
    /// Time at which the connection was lost, ns, until another one replaces it.
    suspended: Option<i64>,
    /// Late responses to abandoned requests cannot arrive any more, because they were sent on another connection.
    rejoined: bool,
    /// The reason why the connection will become unusable after the current message.
    doomed: Option<Cause>,
    /// The reason why the connection is unusable, if it is.
    over: Option<Cause>,
}

impl Condition {
    /// The client has a session and an export.
    pub(super) fn connect(&mut self) {
        self.connected = true;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// The client gives session and export back.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether the client has connected, and does not leave.
    pub(super) fn serves(&self) -> bool {
        self.connected && !self.leaving
    }

    /// The connection was lost. False if no other one can replace it, because there is no session.
    pub(super) fn suspend(&mut self, at: i64) -> bool {
        if self.serves() {
            (self.suspended, self.rejoined) = (Some(at), true);
        }
        self.serves()
    }

    /// Another connection replaces the lost one. Returns the time of the loss, ns.
    pub(super) fn resume(&mut self) -> Option<i64> {
        self.suspended.take()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Whether the connection was replaced since the last call of this function.
    pub(super) fn take_rejoined(&mut self) -> bool {
        std::mem::take(&mut self.rejoined)
    }

    /// The connection becomes unusable after the current message.
    pub(super) fn doom(&mut self, cause: Cause) {
        self.doomed = Some(cause);
    }

    /// A recovery ended. If it failed, no other request can be sent.
    pub(super) fn end_recovery(&mut self, failure: Option<Cause>) {
        self.doomed = failure;
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.doomed.is_some()
    }

    pub(super) fn take_doom(&mut self) -> Option<Cause> {
        self.doomed.take()
    }

    /// The connection is unusable from now on. False if it was before.
    pub(super) fn end(&mut self, cause: Cause) -> bool {
        let first = self.over.is_none();
        self.over.get_or_insert(cause);
        first
    }

    /// The reason why the connection is unusable, if it is.
    pub(super) fn over(&self) -> Option<Cause> {
        self.over
    }

    /// Whether requests can be sent.
    pub(super) fn is_up(&self) -> bool {
        self.over.is_none() && self.suspended.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_client_with_a_session_outlives_its_connection() {
        let mut condition = Condition::default();
        assert!(!condition.suspend(1) && condition.is_up(), "it has no session yet");
        condition.connect();
        assert!(condition.suspend(2) && !condition.is_up());
        assert_eq!((condition.resume(), condition.is_up()), (Some(2), true));
        assert_eq!((condition.take_rejoined(), condition.take_rejoined()), (true, false));
        condition.leave();
        assert!(!condition.suspend(3) && condition.is_up());
        assert!(condition.end(Cause::TimedOut) && !condition.end(Cause::SessionLost));
        assert_eq!((condition.over(), condition.is_up()), (Some(Cause::TimedOut), false));
    }
}
