//! Sessions, slots, and the order of operations.

use super::*;

#[test]
fn a_request_that_comes_again_is_answered_and_not_done_again() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let root = client.export();
    let how = How::Guarded(SetAttributes::default());
    let open = Open { access: 3, sequence: 0, client: client.id, owner: b"o", how, claim: Claim::Name(b"file") };
    let first = client.ask(|compound| {
        compound.add(&PutHandle(&root)).add(&open);
    });
    assert_eq!(status(&first), Status::OK);
    assert_eq!(
        client.again(|compound| {
            compound.add(&PutHandle(&root)).add(&open);
        }),
        first
    );
    let next = client.ask(|compound| {
        compound.add(&PutHandle(&root)).add(&open);
    });
    assert_eq!(status(&next), Status::EXIST, "the next one is done");
    for wrong in [client.sequence - 1, client.sequence + 2] {
        let results = answer(&server, 1, |compound| {
            compound.add(&client.slot(0, wrong));
        });
        assert_eq!(statuses(&results), (Status::SEQ_MISORDERED.0, vec![53]));
    }
}

#[test]
fn an_answer_that_is_too_long_to_keep_says_so() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let (state, handle) = client.open(b"o", b"file", 3).unwrap();
    let mut arguments = Vec::new();
    let mut sequence = client.slot(1, 1);
    Compound::begin(1, &mut arguments).add(&sequence).add(&PutHandle(&handle)).add(&Write {
        state,
        offset: 0,
        count: 4000,
        stable: Stable::Unstable,
    });
    arguments.resize(arguments.len() + 4000, 7);
    let mut out = Vec::new();
    compound::run(&server, None, &arguments, &mut out).unwrap();
    assert_eq!(status(&out), Status::OK);
    let read = Read { state, offset: 0, count: 4000 };
    let ask = |sequence| {
        answer(&server, 1, |compound| {
            compound.add(&sequence).add(&PutHandle(&handle)).add(&read);
        })
    };
    sequence.sequence = 2;
    assert_eq!(statuses(&ask(sequence)), (Status::REP_TOO_BIG_TO_CACHE.0, vec![53, 22, 25]));
    (sequence.sequence, sequence.cache) = (3, false);
    assert_eq!(status(&ask(sequence)), Status::OK);
    assert_eq!(statuses(&ask(sequence)), (Status::RETRY_UNCACHED_REP.0, vec![53, 22]));
}

/// The status of an operation alone in its compound.
fn alone<C: Call>(server: &Server, call: &C) -> Status {
    status(&answer(server, 1, |compound| {
        compound.add(call);
    }))
}

#[test]
fn what_a_session_does_not_allow_is_refused_as_specified() {
    let server = server();
    let client = Client::new(&server, b"one");
    assert_eq!(status(&answer(&server, 1, |_| {})), Status::OK);
    assert_eq!(alone(&server, &PutRoot), Status::OP_NOT_IN_SESSION);
    let slot = client.slot(1, 1);
    assert_eq!(alone(&server, &Sequence { session: [9; 16], ..slot }), Status::BADSESSION);
    assert_eq!(alone(&server, &Sequence { slot: 4, ..slot }), Status::BADSLOT);
    assert_eq!(alone(&server, &Sequence { highest: 4, ..slot }), Status::BAD_HIGH_SLOT);
    let many = answer(&server, 1, |compound| {
        compound.add(&slot);
        (0..17).for_each(|_| {
            compound.add(&PutRoot);
        });
    });
    assert_eq!(statuses(&many), (Status::TOO_MANY_OPS.0, vec![53]));
    let bind = BindConnection(client.session);
    assert_eq!(alone(&server, &bind), Status::OK);
    let two = answer(&server, 1, |compound| {
        compound.add(&bind).add(&PutRoot);
    });
    assert_eq!(statuses(&two), (Status::NOT_ONLY_OP.0, vec![41]));
    for minor in [0, 3] {
        let results = answer(&server, minor, |compound| {
            compound.add(&PutRoot);
        });
        assert_eq!(statuses(&results), (Status::MINOR_VERS_MISMATCH.0, vec![]));
    }
    assert_eq!(alone(&server, &DestroyClient(client.id)), Status::CLIENTID_BUSY);
    assert_eq!(alone(&server, &DestroySession(client.session)), Status::OK);
    assert_eq!(alone(&server, &DestroySession(client.session)), Status::BADSESSION);
    assert_eq!(alone(&server, &DestroyClient(client.id)), Status::OK);
    assert_eq!(status(&Client::create(&server, client.id, 2)), Status::STALE_CLIENTID);
}

#[test]
fn a_compound_ends_with_its_first_error() {
    let server = server();
    let mut client = Client::new(&server, b"one");
    let slot = client.slot(0, 0);
    let mut ask = |add: &dyn Fn(&mut Compound<'_>)| statuses(&client.ask(|compound| add(compound)));
    let asked = ask(&|compound| {
        compound.add(&slot);
    });
    assert_eq!(asked, (Status::SEQUENCE_POS.0, vec![53, 53]));
    let asked = ask(&|compound| {
        compound.add(&ReclaimComplete);
    });
    assert_eq!(asked, (Status::COMPLETE_ALREADY.0, vec![53, 58]));
    let asked = ask(&|compound| {
        compound.add(&GetHandle).add(&PutRoot);
    });
    assert_eq!(asked, (Status::NOFILEHANDLE.0, vec![53, 10]));
    let asked = ask(&|compound| {
        compound.add(&Restore);
    });
    assert_eq!(asked, (Status::RESTOREFH.0, vec![53, 31]));
    let asked = ask(&|compound| {
        compound.add(&PutRoot).add(&Save).add(&Restore);
    });
    assert_eq!(asked, (0, vec![53, 24, 32, 31]));
    let asked = ask(&|compound| {
        compound.add(&PutRoot).add(&Lookup { name: b"none" }).add(&GetHandle);
    });
    assert_eq!(asked, (Status::NOENT.0, vec![53, 24, 15]));
}
