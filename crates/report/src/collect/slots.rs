//! NFS 4.1 sessions: sums become rows.

use plimsoll_model::{Coverage, SessionSlots};

use super::SECOND;
use crate::findings::{MOST_SLOT_ROWS, SlotRow, Slots};

/// `None` if the capture shows none.
pub(super) fn slots(coverage: &Coverage) -> Option<Slots> {
    let rows: Vec<SlotRow> = coverage.slots.iter().take(MOST_SLOT_ROWS).map(row).collect();
    let further = coverage.slots.iter().skip(MOST_SLOT_ROWS).map(|one| one.requests).sum::<u64>();
    (!rows.is_empty()).then_some(Slots { requests_left_out: coverage.slots_left_out.requests + further, rows })
}

fn row(one: &SessionSlots) -> SlotRow {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let is_known = !one.is_partial;
    let waits_count = is_known && one.has_few_slots();
    SlotRow {
        session: format!("{:#x}", one.session),
        session_id: format!("{:032x}", one.id),
        client: one.client.to_string(),
        server: one.server.to_string(),
        partial: one.is_partial,
        granted: one.granted,
        target: one.target,
        slots: one.slots,
        requests: one.requests,
        elapsed_s: (one.requests > 0).then(|| seconds(one.span_ns)),
        most_in_use: is_known.then_some(one.most),
        all_in_use_s: one.slots.filter(|_| is_known).map(|_| seconds(one.full_ns)),
        waits: waits_count.then_some(one.waits),
        wait_s: waits_count.then(|| seconds(one.wait_ns)),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::SlotsLeftOut;

    use super::*;

    fn session() -> SessionSlots {
        SessionSlots {
            session: 0xAB,
            id: 7,
            client: [10, 0, 0, 1].into(),
            server: [10, 0, 0, 9].into(),
            granted: Some(8),
            target: Some(4),
            slots: Some(4),
            requests: 100,
            most: 4,
            full_ns: 1_500_000_000,
            waits: 30,
            wait_ns: 1_000_000_000,
            span_ns: 2_000_000_000,
            is_partial: false,
        }
    }

    fn of(one: SessionSlots) -> SlotRow {
        slots(&Coverage { slots: vec![one], ..Coverage::default() }).unwrap().rows.remove(0)
    }

    #[test]
    fn times_are_in_seconds_and_ids_as_on_the_wire() {
        let row = of(session());
        assert_eq!((&*row.session, &*row.session_id), ("0xab", "00000000000000000000000000000007"));
        assert_eq!((row.granted, row.target, row.slots, row.most_in_use), (Some(8), Some(4), Some(4), Some(4)));
        assert_eq!(
            (row.elapsed_s, row.all_in_use_s, row.waits, row.wait_s),
            (Some(2.0), Some(1.5), Some(30), Some(1.0))
        );
        assert_eq!(slots(&Coverage::default()), None);
    }

    #[test]
    fn what_is_not_known_is_null() {
        let in_use = |row: SlotRow| (row.most_in_use, row.all_in_use_s, row.waits, row.wait_s);
        let partial = of(SessionSlots { is_partial: true, ..session() });
        assert_eq!((partial.requests, partial.slots, in_use(partial)), (100, Some(4), (None, None, None, None)));
        let unsaid = of(SessionSlots { granted: None, target: None, slots: None, ..session() });
        assert_eq!(in_use(unsaid), (Some(4), None, None, None));
        let many = of(SessionSlots { slots: Some(64), ..session() });
        assert_eq!(in_use(many), (Some(4), Some(1.5), None, None), "a client that uses all of many slots is busy");
        let idle = of(SessionSlots { requests: 0, span_ns: 0, ..session() });
        assert_eq!(idle.elapsed_s, None);
    }

    #[test]
    fn sessions_beyond_the_limit_are_counted_by_their_requests() {
        let slots_left_out = SlotsLeftOut { requests: 5 };
        let coverage = Coverage { slots: vec![session(); MOST_SLOT_ROWS + 2], slots_left_out, ..Coverage::default() };
        let found = slots(&coverage).unwrap();
        assert_eq!((found.rows.len(), found.requests_left_out), (MOST_SLOT_ROWS, 205));
    }
}
