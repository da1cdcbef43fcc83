//! Connections that are given up: their slots make no more load.

use plimsoll_model::Sink;

use super::super::connection::ConnectionState;
use super::Worker;
use crate::network::Network;
use crate::simulated_client::slot::State;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// A connection is not made again.
    pub(super) fn give_up(&mut self, at: u32) {
        // After the phase, its slots would have begun no operation.
        let counts = self.connects();
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.enter(ConnectionState::Closed);
        self.unsettled -= u32::from(!std::mem::replace(&mut connection.settled, true));
        let lost_at = connection.lost_at;
        self.give_up_channels(at);
        for slot in self.partition.slots_of(at) {
            if counts {
                self.accounting.gave_up(slot, (lost_at, self.now));
            }
            // Those with an operation outstanding finish when they hear of its end.
            if self.accounting.state(slot) != State::Acting {
                self.finish(slot, self.now);
            }
        }
    }
}
