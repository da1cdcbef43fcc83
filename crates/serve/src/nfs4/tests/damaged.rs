//! What only a broken client sends.

use super::*;

/// Every truncation, and thousands of changed bytes, of a compound with all kinds of items: an answer that can be read, or none.
#[test]
fn damaged_compounds_are_answered() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = client.open(b"o", b"file", 3).unwrap();
    let owner = Owner::New { open: state, sequences: (0, 0), client: 0, owner: b"a" };
    let lock = Lock { exclusive: true, waits: false, reclaim: false, offset: 0, length: 9, owner };
    let (how, claim) = (How::Unchecked(SetAttributes::size(9)), Claim::Name(b"file"));
    let open = Open { access: 3, sequence: 0, client: 0, owner: b"o", how, claim };
    let mut arguments = Vec::new();
    let exchange = ExchangeId { verifier: [1; 8], owner: b"one", flags: 0 };
    let create = CreateSession { client: client.id, sequence: 1, flags: 0, fore: CHANNEL, back: CHANNEL, callback: 1 };
    let messages: Vec<Vec<u8>> = [0, 1, 2]
        .map(|number| {
            arguments.clear();
            let mut compound = Compound::begin(1, &mut arguments);
            match number {
                0 => {
                    compound.add(&exchange);
                }
                1 => {
                    compound.add(&create);
                }
                _ => {
                    compound
                        .add(&client.slot(1, 1))
                        .add(&PutHandle(&handle))
                        .add(&lock)
                        .add(&GetAttributes(Mask::USUAL));
                    compound.add(&Save).add(&PutRoot).add(&Lookup { name: b"export" }).add(&open);
                }
            }
            arguments.clone()
        })
        .into();
    let mut answered = 0;
    let mut check = |arguments: &[u8]| {
        let mut out = Vec::new();
        if compound::run(&server, None, arguments, &mut out).is_ok() {
            let reply = CompoundReply::new(&out);
            let mut operations = reply.operations();
            let last = operations.by_ref().last();
            assert_eq!(operations.stopped(), None, "{out:?}");
            assert_eq!(last.map_or(reply.status, |last| last.facts.status), reply.status);
            answered += 1;
        }
    };
    for message in messages {
        (0..message.len()).for_each(|end| check(&message[..end]));
        for at in 0..message.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF, message[at] ^ 0x10, message[at].wrapping_add(1)] {
                let mut damaged = message.clone();
                damaged[at] = value;
                check(&damaged);
            }
        }
    }
    assert!(answered > 2000, "{answered}");
}

/// Every operation that exists, with arguments of zeros and of ones.
#[test]
fn every_operation_has_a_result() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    for code in (3..=76_u32).chain([10_044, u32::MAX]) {
        for byte in [0, 0xFF] {
            client.sequence += 1;
            let mut arguments = Vec::new();
            Compound::begin(2, &mut arguments).add(&client.slot(0, client.sequence)).add(&PutRoot);
            // Three operations.
            arguments[11] = 3;
            arguments.put_u32(code);
            arguments.extend([byte; 256]);
            let mut out = Vec::new();
            compound::run(&server, None, &arguments, &mut out).unwrap();
            let (_, codes) = statuses(&out);
            let expected = if code > 75 { 10_044 } else { code };
            assert_eq!(codes, [53, 24, expected]);
        }
    }
}

#[test]
fn records_and_calls_are_told_apart() {
    let server = server();
    let call = |program: u32, version: u32, procedure: u32, flavor: u32| {
        let mut call = Vec::new();
        [7, 0, 2, program, version, procedure, flavor, 0, 0, 0].iter().for_each(|&word| call.put_u32(word));
        call
    };
    let of = |record: &[u8]| {
        let mut out = Vec::new();
        let answer = rpc::answer(&server, None, record, &mut out);
        let words = out.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap()));
        (answer, words.collect::<Vec<_>>())
    };
    use rpc::Answer::{Given, NotOurs, Puzzling};
    assert_eq!(of(&call(100_003, 4, 0, 0)), (Given, vec![0x8000_0018, 7, 1, 0, 0, 0, 0]));
    assert_eq!(of(&call(100_003, 5, 0, 0)), (Given, vec![0x8000_0020, 7, 1, 0, 0, 0, 2, 3, 4]), "PROG_MISMATCH");
    assert_eq!(of(&call(100_003, 4, 2, 0)), (Given, vec![0x8000_0018, 7, 1, 0, 0, 0, 3]), "PROC_UNAVAIL");
    assert_eq!(of(&call(100_003, 4, 1, 0)), (Given, vec![0x8000_0018, 7, 1, 0, 0, 0, 4]), "GARBAGE_ARGS");
    assert_eq!(of(&call(100_003, 4, 1, 6)), (Given, vec![0x8000_0014, 7, 1, 1, 1, 1]), "AUTH_ERROR");
    assert_eq!((of(&call(100_003, 3, 0, 0)).0, of(&call(100_005, 3, 0, 0)).0), (NotOurs, NotOurs));
    assert_eq!(of(&[0; 40]).0, Puzzling);
    let record = |bytes: &[u8]| match rpc::next(bytes) {
        rpc::Next::Record(record, length) => Ok((record.into_owned(), length)),
        rpc::Next::Missing(bytes) => Err(bytes),
        rpc::Next::TooLong => panic!("too long"),
    };
    let split = b"\0\0\0\x02ab\0\0\0\0\x80\0\0\x03cde\x80\0\0\0";
    assert_eq!(record(split), Ok((b"abcde".to_vec(), 17)));
    assert_eq!(record(&split[17..]), Ok((vec![], 4)));
    for (end, missing) in [(0, 4), (3, 1), (4, 2), (5, 1), (6, 4), (10, 4), (16, 1)] {
        assert_eq!(record(&split[..end]), Err(missing), "{end}");
    }
    assert!(matches!(rpc::next(&[0xFF; 8]), rpc::Next::TooLong));
}
