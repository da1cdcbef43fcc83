//! A delay that all requests have.

use plimsoll_model::{Procedure, Protocol};

use super::built::{MS, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

#[test]
fn requests_of_one_operation_or_one_message_are_not_several_operations() {
    let said = |procedures: [Procedure; 3], is_compound: bool| {
        let mut traffic = Traffic::new();
        for i in 0..300_u16 {
            let (procedure, took_ns) = (procedures[usize::from(i % 3)], (20 + i64::from(i % 7)) * MS);
            traffic.changed(procedure, (i % 2) as u8, DATA, "f", took_ns, |t| {
                t.compound_position = is_compound.then_some(i % 3);
            });
        }
        traffic.coverage.network.to_server_ns = Some(200_000);
        traffic.rules().contains(&Rule::FixedDelay)
    };
    let close = Procedure::of(Protocol::Smb2, 6);
    assert!(said([open(), read(), close], false));
    assert!(!said([open(), read(), Procedure::of(Protocol::Nfs3, 6)], false), "two operations, three procedures");
    assert!(!said([open(), read(), close], true), "a compound has one time");
}
