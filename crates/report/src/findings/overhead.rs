//! Bytes that a protocol sends besides file data.

use serde::{Deserialize, Serialize};

use super::rows::OperationRow;
use super::server::ServerSide;

/// Bytes sent for the file data that was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// File data read and written, bytes.
    pub payload_bytes: u64,
    /// Requests and responses of all operations with the file data in them, bytes.
    pub message_bytes: u64,
    /// `message_bytes` / `payload_bytes`.
    pub message_ratio: f64,
    /// The same with packets and all their headers, in both directions: for a capture from its packets, for a load level from the
    /// counters of the server's network interfaces. Null if nothing was counted, or if the count includes other traffic: a capture with a
    /// filter.
    pub network_ratio: Option<f64>,
}

impl Overhead {
    /// Of operations; `None` where no file data was moved, or its amount is not known. Subcommands are in their command's row.
    pub fn of(operations: &[OperationRow]) -> Option<Overhead> {
        let own = || operations.iter().filter(|row| row.is_counted_once());
        if own().any(|row| row.payload_unknown > 0 || row.wire_unknown > 0) {
            return None;
        }
        let sum = |bytes: fn(&OperationRow) -> Option<u64>| own().filter_map(bytes).fold(0_u64, u64::saturating_add);
        let (payload_bytes, message_bytes) = (sum(|row| row.payload_bytes), sum(|row| row.wire_bytes));
        let message_ratio = message_bytes as f64 / payload_bytes as f64;
        (payload_bytes > 0).then_some(Overhead { payload_bytes, message_bytes, message_ratio, network_ratio: None })
    }

    /// With the bytes of all packets.
    #[must_use]
    pub fn with_packets(self, wire_bytes: u64) -> Overhead {
        Overhead { network_ratio: Some(wire_bytes as f64 / self.payload_bytes as f64), ..self }
    }

    /// Adds the counters of the server's network, for clients that moved this number of bytes of file data per second.
    #[must_use]
    pub fn with_server(self, server: Option<&ServerSide>, moved_per_s: f64) -> Overhead {
        let counted = server.and_then(|server| Some(server.received_bytes_per_s? + server.sent_bytes_per_s?));
        // A loopback interface is not counted: less than the data is no overhead.
        let counted = counted.filter(|&counted| moved_per_s > 0.0 && counted >= moved_per_s);
        Overhead { network_ratio: counted.map(|counted| counted / moved_per_s), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_counts_less_than_the_data_counts_something_else() {
        let own = Overhead { payload_bytes: 1, message_bytes: 1, message_ratio: 1.0, network_ratio: None };
        let server = |received, sent| ServerSide {
            received_bytes_per_s: Some(received),
            sent_bytes_per_s: sent,
            ..ServerSide::default()
        };
        let ratio = |server: Option<&ServerSide>| own.with_server(server, 100.0).network_ratio;
        assert_eq!(ratio(Some(&server(5.0, Some(105.0)))), Some(1.1));
        assert_eq!(ratio(Some(&server(5.0, Some(10.0)))), None, "clients on the same machine");
        assert_eq!((ratio(Some(&server(500.0, None))), ratio(None)), (None, None));
    }
}
