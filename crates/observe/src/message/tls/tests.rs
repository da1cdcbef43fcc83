use super::*;
use crate::packet::Stamp;

const STAMP: Stamp = Stamp { time_ns: 1, frame: 1 };

/// A record of this type with this length.
fn record_of(kind: u8, len: u16) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    [&[kind, 3, 3, high, low][..], &vec![0xa5; usize::from(len)]].concat()
}

/// Sends a stream in segments, all captured up to `snaplen` bytes.
fn send(records: &mut TlsRecords, direction: usize, stream: &[u8], segment: usize, snaplen: usize) -> Vec<Taken> {
    let mut offset = 0;
    let segments = stream.chunks(segment).map(|bytes| {
        let (stamp, wire_len) = (STAMP, bytes.len() as u32);
        let bytes = &bytes[..bytes.len().min(snaplen)];
        let chunk = Chunk { offset, bytes, wire_len, stamp, acknowledges: 0 };
        offset += u64::from(wire_len);
        records.take(&chunk, direction, |_, _| {})
    });
    segments.collect()
}

fn context() -> ConnectionContext {
    let end = |last, port| plimsoll_model::Endpoint { ip: [10, 0, 0, last].into(), port };
    ConnectionContext { from_start: true, ..ConnectionContext::new(0, [end(1, 700), end(2, 2049)]) }
}

#[test]
fn the_handshake_does_not_count_in_any_segments() {
    for segment in [1, 3, 7, 100, 1_448, 60_000] {
        let mut records = TlsRecords::asked_for();
        records.flows.iter_mut().for_each(|flow| flow.place = Place::Header);
        // ClientHello; ServerHello and the encrypted rest; Finished.
        send(&mut records, 0, &record_of(HANDSHAKE, 200), segment, usize::MAX);
        let flight = [record_of(HANDSHAKE, 120), record_of(CHANGE_CIPHER_SPEC, 1), record_of(APPLICATION_DATA, 900)];
        send(&mut records, 1, &flight.concat(), segment, usize::MAX);
        send(&mut records, 0, &record_of(APPLICATION_DATA, 53), segment, usize::MAX);
        assert_eq!(records.finish(0, &context()), None, "a handshake alone hides no message");
        // A request of 20,000 bytes, and a short one; two responses.
        let requests = [FULL as u16, 3_700, 100].map(|len| record_of(APPLICATION_DATA, len)).concat();
        send(&mut records, 0, &requests, segment, usize::MAX);
        send(&mut records, 1, &[100, 200].map(|len| record_of(APPLICATION_DATA, len)).concat(), segment, usize::MAX);
        let found = records.finish(0, &context()).unwrap();
        assert_eq!((found.records, found.requests), ([3, 2], 2), "{segment}");
        assert_eq!(found.bytes, [u64::from(FULL) + 3_700 + 100 + 15, 310]);
    }
}

#[test]
fn the_places_of_records_are_given_with_their_headers() {
    let stream =
        [record_of(HANDSHAKE, 200), record_of(CHANGE_CIPHER_SPEC, 1), record_of(APPLICATION_DATA, 900)].concat();
    for segment in [1, 3, 7, 100, 1_448] {
        let (mut records, mut found) = (TlsRecords::asked_for(), Vec::new());
        records.flows[0].place = Place::Header;
        for (at, bytes) in stream.chunks(segment).enumerate() {
            let (offset, wire_len) = ((at * segment) as u64, bytes.len() as u32);
            let chunk = Chunk { offset, bytes, wire_len, stamp: STAMP, acknowledges: 0 };
            records.take(&chunk, 0, |offset, head| found.push((offset, head.to_vec())));
        }
        // Behind a header that ends a segment, the type of the message is not seen.
        let first = if segment == 1 { &stream[..HEADER] } else { &stream[..=HEADER] };
        let headers = [(0, first.to_vec()), (205, stream[205..210].to_vec()), (211, stream[211..216].to_vec())];
        assert_eq!(found, headers, "{segment}");
    }
}

#[test]
fn only_several_records_in_a_row_are_evident() {
    let records_of = |count: usize| record_of(APPLICATION_DATA, 100).repeat(count);
    let supposed = |stream: &[u8]| {
        let chunk = Chunk { offset: 0, bytes: stream, wire_len: stream.len() as u32, stamp: STAMP, acknowledges: 0 };
        TlsRecords::supposed(&chunk)
    };
    let mut records = supposed(&records_of(1)).unwrap();
    assert_eq!(send(&mut records, 0, &records_of(3), 105, usize::MAX), [Taken::Records(1); 3]);
    assert!(!records.is_certain() && records.finish(0, &context()).is_none());
    send(&mut records, 0, &records_of(1), 105, usize::MAX);
    assert!(records.is_certain());
    assert_eq!(records.finish(0, &context()).unwrap().records, [4, 0]);
    // File data that begin like a record.
    let mut records = supposed(&records_of(1)).unwrap();
    let stream = [records_of(2), vec![0x55; 300]].concat();
    assert_eq!(send(&mut records, 0, &stream, 60_000, usize::MAX), [Taken::NoTls]);
    assert!(supposed(&[0x55; 300]).is_none() && supposed(&[APPLICATION_DATA, 3, 3, 0, 2, 0, 0]).is_none());
}

#[test]
fn lost_bytes_inside_a_record_lose_no_header() {
    let mut records = TlsRecords::asked_for();
    let stream = record_of(APPLICATION_DATA, 1_000);
    send(&mut records, 0, &stream[..500], 500, usize::MAX);
    records.hole(505, 0);
    send(&mut records, 0, &record_of(APPLICATION_DATA, 100), 105, usize::MAX);
    let found = records.finish(0, &context()).unwrap();
    assert_eq!((found.records, found.most_requests), ([2, 0], (1_000 + 100 - 34) / 44));
    // Headers are lost: the next segment that begins with a record counts again.
    send(&mut records, 0, &stream[..500], 500, usize::MAX);
    records.hole(5_000, 0);
    send(&mut records, 0, &[0x55; 100], 100, usize::MAX);
    send(&mut records, 0, &stream, 1_005, usize::MAX);
    let found = records.finish(0, &context()).unwrap();
    assert_eq!(found.records, [4, 0]);
    assert_eq!(found.most_requests, (3 * 983 + 83 + 5_000 - 505) / 44);
}

#[test]
fn cut_segments_show_the_records_that_begin_them() {
    let mut records = TlsRecords::asked_for();
    let stream = record_of(APPLICATION_DATA, 300).repeat(10);
    send(&mut records, 0, &stream, 305, 42);
    assert_eq!(records.finish(0, &context()).unwrap().records, [10, 0]);
    // Further ones lie in bytes that were cut off.
    send(&mut records, 0, &stream, 610, 42);
    assert_eq!(records.finish(0, &context()).unwrap().records, [15, 0]);
}
