//! Every SMB2 answer as a client reads it, and compounds of answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Made;
use plimsoll_wire::smb2::{Answer, Reply, any_answer, read, replies};

fuzz_target!(|data: &[u8]| {
    let Some(made) = Made::of(data) else { return };
    let reply = Reply::new(&made.bytes, made.length).expect("the header is whole");
    if let Err(error) = any_answer::read(&reply, made.info_type, made.class) {
        assert!(!error.field.is_empty() && error.command == reply.command());
    }
    if let Ok(Answer::Done(data)) = read::parse(&reply) {
        assert!(data.kept.len() <= data.length as usize);
        assert!(usize::from(data.offset) + data.length as usize <= made.length || data.length == 0);
    }
    // The body as a separate message: a chain of random members.
    let body = &made.bytes[64..];
    for reply in replies(body, body.len() + usize::from(data[4])).flatten() {
        let _ = any_answer::read(&reply, made.info_type, made.class);
    }
});
