//! The text of a workload: errors, defaults, digest.

use super::*;

#[test]
fn errors_name_file_line_key_value_and_limit() {
    let iteration = |steps: &str| format!("[[iterations]]\nname = \"t\"\non = \"own\"\nsteps = [{steps}]\n");
    for (text, line, wanted) in [
        (iteration("\"create\", \"close\""), 8, "does not delete its own file"),
        (iteration("\"close\""), 11, "not open"),
        (iteration("\"create\", \"remove\""), 11, "own file is still open"),
        (iteration("{ read = { size = \"8K\" } }"), 11, "not \"8K\""),
        (iteration("{ read = { size = \"1GiB\" } }"), 11, "16MiB"),
        (iteration("\"creat\""), 11, "unknown step \"creat\" (docs/workload-reference.md lists all)"),
        (iteration("\"read\""), 11, "this step needs options"),
        (iteration("\"think\""), 11, "this step needs options"),
        (iteration("\"repeat\""), 11, "this step needs options"),
        (iteration("\"probe\""), 11, "this step needs options"),
        (iteration("\"watch\""), 11, "unknown step"),
        (iteration("{ open = 1 }"), 11, "unknown step \"open\" with options"),
        (iteration("{ read = { size = \"1B\", counts = 1 } }"), 11, "unknown field `counts`"),
        (iteration(""), 8, "no steps"),
        (iteration("{ repeat = { times = 0, steps = [\"null\"] } }"), 11, "from 1 to 10000"),
        (iteration("{ repeat = { times = 9999, steps = [\"null\", \"null\"] } }"), 11, "limit is 10000 per iteration"),
        (iteration("\"null\"").replace("own", "file").replace("\"null\"", "\"rename\""), 11, "on = \"own\""),
        ("[script]\nverify = \"200%\"\n".to_owned() + &iteration("\"null\""), 9, "from 0% to 100%"),
        ("[script]\nkeep_open = 1001\n".to_owned() + &iteration("\"null\""), 9, "1000 files"),
        ("[load]\nclients = 0\n".to_owned() + &iteration("\"null\""), 8, "clients = 0: expected 1 to 1000000"),
        ("[load]\nrate = 5.0\nusers = 3\n".to_owned() + &iteration("\"null\""), 8, "\"clients\" and \"rate\""),
        ("[loaf]\n".to_owned() + &iteration("\"null\""), 8, "unknown field `loaf`"),
        ("iterations = []\n".to_owned(), 8, "unknown field `iterations`"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.problem.contains(wanted), "{error}");
        assert_eq!((error.file.as_str(), error.line), ("w.toml", line), "{error}");
    }
    let error = Workload::find("no-such").unwrap_err().to_string();
    assert!(error.contains("mixed, stream-read"), "{error}");
}

#[test]
fn defaults_become_a_load() {
    let with = |load: &str| {
        *iterations(&format!("[load]\n{load}\n[[iterations]]\nname = \"t\"\non = \"file\"\nsteps = [\"null\"]\n"))
            .defaults()
    };
    let second = 1_000_000_000;
    let closed = with("clients = 7\nthink = { exponential = \"1s\" }\ndepth = 3\nwarmup = \"1s\"\nduration = \"2s\"");
    assert_eq!(closed.load, Load::Closed { clients: 7, think: Pause::Exponential(second) });
    assert_eq!((closed.depth, closed.phases.warmup_ns, closed.phases.measured_ns), (3, second, Some(2 * second)));
    let open = with("clients = 7\nrate = 100.0\narrivals = \"constant\"").load;
    assert_eq!((open.clients(), open.asked_rate()), (7, Some(100.0)));
    let partly = with("users = 22\nevery = \"11s\"").load;
    assert_eq!((partly.clients(), partly.asked_rate()), (22, Some(2.0)));
}

#[test]
fn the_digest_is_that_of_the_text() {
    let text = Builtin::named("mixed").unwrap().text;
    let digest = Workload::find("mixed").unwrap().digest().to_owned();
    assert_eq!(digest.len(), 64);
    assert_ne!(Workload::parse("m", &format!("{text}\n")).unwrap().digest(), digest);
    // FIPS 180-4's example.
    let abc = hexadecimal(digest_of(b"abc").as_ref());
    assert!(abc.starts_with("ba7816bf8f01cfea414140de5dae2223"));
}

fn digest_of(bytes: &[u8]) -> aws_lc_rs::digest::Digest {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes)
}

#[test]
fn the_model_is_strict() {
    let mut server = Model::default();
    let mut act = |operation: plimsoll_client::Operation<'_>| server.act(&operation, &mut Output::default());
    assert!(act(plimsoll_client::Operation::Mkdir { path: "a/b" }).is_err());
    assert!(act(plimsoll_client::Operation::Remove { path: "a" }).is_err());
    assert!(act(plimsoll_client::Operation::Close { file: plimsoll_client::FileKey(0) }).is_err());
}
