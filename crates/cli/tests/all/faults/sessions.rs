//! NFS sessions that outlive a connection, and those that do not outlive their server: the run goes on, and no operation fails.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use plimsoll_testkit::servers::faulty::{Faulty, Framing};
use plimsoll_testkit::servers::{Export, Ganesha};
use rustix::process::Signal;

use super::command::{Ended, Running, run, start};
use crate::{alone, available, skip};

/// Every client has files open and requests on their way, always.
const LOAD: [&str; 9] = ["random-read", "--warmup", "0s", "--clients", "3", "--depth", "4", "--timeout", "30s"];

fn started(target: &str, more: &[&str]) -> Running {
    let made = run(&[&LOAD[..], &["--target", target, "--duration", "200ms"]].concat());
    assert!(matches!(made.code, Some(0 | 4)), "{}", made.said);
    let mut running = start(&[&LOAD[..], more, &["--target", target, "--duration", "10m"]].concat());
    running.wait_until_it_measures();
    running
}

/// Waits until there is more in the tap, and ends the run.
fn ended(mut running: Running) -> Ended {
    let tap = format!(".tap.pcapng.tmp-{}", running.id());
    let length = |folder: &std::path::Path| folder.join(&tap).metadata().map_or(0, |it| it.len());
    let before = length(running.folder.path());
    running.wait_for("requests after the loss", |folder| length(folder) > before + (256 << 10));
    running.signal(Signal::INT);
    running.end()
}

/// The fact that begins with these words.
fn fact(ended: &Ended, words: &str) -> String {
    let facts = ended.report["run"]["facts"].as_array().unwrap().iter();
    let facts: Vec<&str> = facts.map(|fact| fact.as_str().unwrap()).collect();
    facts.iter().find(|fact| fact.starts_with(words)).unwrap_or_else(|| panic!("no {words} in {facts:?}")).to_string()
}

/// The number before these words.
fn number(text: &str, words: &str) -> u64 {
    let before = text.split_once(words).unwrap_or_else(|| panic!("no {words} in {text}")).0;
    before.rsplit([' ', '(']).next().unwrap().parse().unwrap()
}

/// No action failed, each client's connection was lost and its operations continued, and the longest silence equals that of the rows.
fn went_on(ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    let kept = ended.failures("lost connection: ");
    assert!(kept >= 3, "{}", ended.level()["failures"]);
    for failure in ended.level()["failures"].as_array().unwrap() {
        assert!(failure["cause"].as_str().unwrap().contains("(operations continued)"), "{failure}");
    }
    assert_eq!(ended.level()["fairness"]["starved"], 0);
    has_the_silence_of_its_rows(ended);
}

/// The longest silence equals that of the rows.
fn has_the_silence_of_its_rows(ended: &Ended) {
    let rows = ended.rows();
    let rows: Vec<_> = rows.iter().filter(|row| row["level"] == "0" && row["counted"] == "true").collect();
    // None is stated where other connections were answered meanwhile, and none was as long as 10 ms.
    let longest = ended.level()["silence"]["longest_s"].as_f64();
    let stated = longest.unwrap_or(0.01);
    // Answers to requests of a recovery do not end a silence, but in rows they look like those to actions. READs are of actions.
    let least = silences(&rows, stated, |row| row["status"] != GRACE);
    let most = silences(&rows, stated, |row| row["status"] != GRACE && row["procedure"] == "READ");
    let fits = longest.is_none() || most.iter().any(|(_, most)| stated <= *most);
    let late = late(ended);
    assert!(
        fits && least.iter().all(|(least, _)| *least <= stated + late),
        "stated {stated} s, in the rows at least {least:?} s ({late} s late), at most {most:?} s"
    );
}

/// How much later than the kernel the run had a response, at most, s. On a busy machine a silence ends so much earlier than in the rows.
fn late(ended: &Ended) -> f64 {
    ended.level()["generator"]["wake_up_lag"]["max_s"].as_f64().unwrap_or(0.0)
}

/// Bounds of the long silences between the answers that end one, s.
fn silences(
    rows: &[&HashMap<String, String>],
    stated: f64,
    ends_one: impl Fn(&HashMap<String, String>) -> bool,
) -> Vec<(f64, f64)> {
    // First byte of the request, last byte of the response.
    let spans: Vec<(Option<i64>, Option<i64>)> =
        rows.iter().map(|row| (time(row, "request_first_ns"), time(row, "response_last_ns"))).collect();
    let mut answers: Vec<i64> =
        rows.iter().filter(|row| ends_one(row)).filter_map(|row| time(row, "response_last_ns")).collect();
    answers.sort_unstable();
    let seconds = |ns: i64| ns as f64 / 1e9;
    let long =
        answers.windows(2).map(|pair| (pair[0], pair[1])).filter(|(from, to)| seconds(to - from) >= stated / 2.0);
    // A silence begins with a request that waits: on a busy machine the run itself may have asked for nothing for a while.
    long.filter_map(|(from, to)| {
        let waiting = spans.iter().filter(|(first, last)| *first < Some(to) && last.is_none_or(|last| last >= to));
        let wanted = waiting.filter_map(|(first, _)| *first).min()?;
        Some((seconds(to - from.max(wanted)) - 0.01, seconds(to - from) + 0.01))
    })
    .collect()
}

/// The longest outage of a client on the wire, s, from the run's capture: from its last response on a connection that was lost (or from the
/// oldest outstanding request, if that was sent later) until the first action that succeeded with no GRACE after it.
fn outage_on_the_wire(ended: &Ended) -> f64 {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["analyze", "tap.pcapng", "--quiet", "--transactions", "wire.csv"]).current_dir(ended.folder.path());
    let analyzed = plimsoll_testkit::command::output(&mut command);
    assert!(analyzed.status.success(), "{}", String::from_utf8_lossy(&analyzed.stderr));
    let wire = ended.rows_of("wire.csv");
    // Which connections are one client's, only the run knows.
    let indices: HashMap<String, String> = ended
        .rows()
        .into_iter()
        .map(|mut row| (row.remove("client").unwrap(), row.remove("client_index").unwrap()))
        .collect();
    let clients: BTreeSet<&String> = indices.values().collect();
    let longest = clients.into_iter().map(|client| {
        let rows = wire.iter().filter(|row| indices.get(&row["client"]) == Some(client) && row["counted"] == "true");
        longest_outage(&rows.collect::<Vec<_>>())
    });
    longest.max().unwrap() as f64 / 1e9
}

/// The longest outage of a client, ns, from the rows of its connections, which follow each other.
fn longest_outage(rows: &[&HashMap<String, String>]) -> i64 {
    let mut connections: HashMap<&str, Vec<&HashMap<String, String>>> = HashMap::new();
    rows.iter().for_each(|row| connections.entry(&row["client"]).or_default().push(row));
    let mut connections: Vec<_> = connections.into_values().collect();
    connections.sort_by_key(|rows| rows.iter().filter_map(|row| time(row, "request_first_ns")).min());
    let served: Vec<Option<i64>> = connections.iter().map(|rows| first_success(rows)).collect();
    let outages = (1..connections.len()).filter_map(|at| {
        let until = served[at]?;
        // A connection that served no action is a part of the outage: it was lost again.
        let before = &connections[served[..at].iter().rposition(Option::is_some).unwrap_or(0)];
        let last = before.iter().filter_map(|row| time(row, "response_last_ns")).max();
        let unanswered = before.iter().filter(|row| time(row, "response_last_ns").is_none());
        let oldest = unanswered.filter_map(|row| time(row, "request_first_ns")).min();
        Some(until - last.max(oldest).unwrap())
    });
    outages.max().unwrap()
}

fn time(row: &HashMap<String, String>, column: &str) -> Option<i64> {
    row[column].parse().ok()
}

/// When the first action of a connection succeeded after the last refusal for the grace period.
fn first_success(rows: &[&HashMap<String, String>]) -> Option<i64> {
    let refused = rows.iter().filter(|row| row["status"] == GRACE);
    let refused = refused.filter_map(|row| time(row, "response_last_ns")).max();
    // Before the last refusal there are also the requests of the recovery.
    let of_action = |row: &&&HashMap<String, String>| match refused {
        Some(_) => row["procedure"] != "SEQUENCE",
        None => row["procedure"] == "READ",
    };
    let succeeded = rows.iter().filter(of_action).filter(|row| row["outcome"] == "succeeded");
    let succeeded = succeeded.filter_map(|row| time(row, "response_last_ns"));
    succeeded.filter(|at| refused.is_none_or(|refused| *at > refused)).min()
}

/// NFS4ERR_GRACE.
const GRACE: &str = "10013";

#[test]
fn a_restart_of_ganesha_is_survived_with_reclaim() {
    let Some(ended) = restarted_with_grace("4.1", &[]) else { return };
    let recovered = fact(&ended, "recovered sessions: ");
    let stated = recovered.split_once("longest outage ").unwrap().1.split_once(" s").unwrap().0;
    let (stated, wire) = (stated.parse::<f64>().unwrap(), outage_on_the_wire(&ended));
    // The fact is rounded to 10 ms.
    assert!((stated - wire).abs() <= 0.005 + 0.01, "{recovered}; on the wire: {wire} s");
    assert!(number(&fact(&ended, "recovered sessions: "), " restored after the server") >= 3);
}

/// In the grace period the server refuses each OPEN at once, and a closed loop only repeats its OPENs. The run states this outage.
#[test]
fn a_grace_period_is_an_outage_of_a_run() {
    let _alone = alone();
    let mut ganesha = match Ganesha::start_with_grace(4) {
        Ok(ganesha) => ganesha,
        Err(reason) => return skip(reason),
    };
    let target = ganesha.target_of(Export::Data, "4.1");
    let load = ["mixed", "--clients", "1", "--think", "5ms", "--warmup", "0s", "--timeout", "30s"];
    let made = run(&[&load[..], &["--target", &target, "--duration", "200ms"]].concat());
    assert!(matches!(made.code, Some(0 | 4)), "{}", made.said);
    let mut running = start(&[&load[..], &["--target", &target, "--duration", "10m"]].concat());
    running.wait_until_it_measures();
    ganesha.restart();
    let ended = ended(running);
    let recovered = fact(&ended, "recovered sessions: ");
    let outage = recovered.split_once("longest outage ").unwrap().1.split_once(" s").unwrap().0;
    let outage: f64 = outage.parse().unwrap();
    assert!(outage > 1.5, "{recovered}");
    let silence = &ended.level()["silence"];
    has_the_silence_of_its_rows(&ended);
    // An action that needs no OPEN may succeed between the restart and the first refusal: then there are two silences.
    let rows = ended.rows();
    let refused = rows.iter().filter(|row| row["status"] == GRACE).filter_map(|row| time(row, "response_last_ns"));
    let (first, last) = refused.fold((i64::MAX, i64::MIN), |(first, last), at| (first.min(at), last.max(at)));
    let longest = silence["longest_s"].as_f64().unwrap();
    assert!(longest + late(&ended) + 0.01 >= last.saturating_sub(first) as f64 / 1e9, "{silence}; {recovered}");
    assert!(silence["outages"].as_u64() > Some(0), "{silence}");
    let reasons = ended.reasons();
    assert!(
        reasons.contains("does not count as a response (NFS4ERR_GRACE "),
        "{reasons}; {}",
        ended.level()["operations"]
    );
    assert_ne!(ended.report["validity"]["verdict"], "valid");
}

/// The client ID is lost with the state, and each file is claimed by its owner.
#[test]
fn a_restart_of_ganesha_is_survived_with_reclaim_without_sessions() {
    let Some(ended) = restarted_with_grace("4.0", &[]) else { return };
    assert!(number(&fact(&ended, "recovered sessions: "), " restored after the server") >= 3);
    assert!(succeeded(&ended, "SETCLIENTID_CONFIRM") >= 6 && succeeded(&ended, "SEQUENCE") == 0);
}

/// One connection of each client makes the next session, the other three are bound to it, and each of the four claims its own files.
#[test]
fn a_restart_of_ganesha_is_survived_by_several_connections() {
    let Some(ended) = restarted_with_grace("4.1", &["--connections", "4"]) else { return };
    let sessions = number(&fact(&ended, "recovered sessions: "), " restored after the server");
    let bound = number(&fact(&ended, "recovered connections: "), " joined");
    assert!(sessions >= 3 && bound >= 9, "{sessions} sessions, {bound} bound");
}

/// The run tries to connect for 26 s, and may notice late that it can.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run whose server is killed and started again: no action failed, and what was open was claimed.
fn restarted_with_grace(version: &str, more: &[&str]) -> Option<Ended> {
    let _alone = alone();
    let mut ganesha = match Ganesha::start_with_grace(4) {
        Ok(ganesha) => ganesha,
        Err(reason) => {
            skip(reason);
            return None;
        }
    };
    let mut away = Duration::ZERO;
    let ended = (0..5).find_map(|_| {
        let running = started(&ganesha.target_of(Export::Data, version), more);
        ganesha.crash();
        let killed = Instant::now();
        // Long enough that the outage is the longest silence.
        std::thread::sleep(Duration::from_millis(300));
        ganesha.restart();
        away = killed.elapsed();
        (away < PATIENCE).then(|| ended(running))
    });
    let Some(ended) = ended else { panic!("the server cannot be restarted within {PATIENCE:?}: {away:?}") };
    went_on(&ended);
    let opens = fact(&ended, "recovered opens: ");
    assert!(number(&opens, " reclaimed") >= 3 && number(&opens, " lost") == 0, "{opens}");
    assert!(number(&fact(&ended, "recovered requests: "), " sent again in a new session") >= 1);
    Some(ended)
}

#[test]
fn a_restart_without_a_grace_period_is_survived_by_opening_anew() {
    let _alone = alone();
    let Some(mut ganesha) = available(Ganesha::start()) else { return };
    for version in ["4.0", "4.2"] {
        let running = started(&ganesha.target_of(Export::Data, version), &[]);
        ganesha.restart();
        let ended = ended(running);
        went_on(&ended);
        let opens = fact(&ended, "recovered opens: ");
        assert!(number(&opens, " requested again") >= 3 && number(&opens, " lost") == 0, "{version}: {opens}");
    }
}

/// RENEW tells that the server still knows the client; nothing is opened anew.
#[test]
fn a_client_id_goes_on_over_another_connection() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let mut proxy = Faulty::start(ganesha.address(), Framing::Rpc, Vec::new()).unwrap();
    let running = started(&format!("nfs://{}{}?version=4.0", proxy.address(), Export::Data.path()), &[]);
    proxy.down();
    proxy.up().unwrap();
    let ended = ended(running);
    went_on(&ended);
    assert!(number(&fact(&ended, "recovered connections: "), " replaced by another connection") >= 3);
    assert!(succeeded(&ended, "RENEW") >= 3 && succeeded(&ended, "SETCLIENTID_CONFIRM") == 3);
}

/// How often a procedure succeeded.
fn succeeded(ended: &Ended, procedure: &str) -> usize {
    let rows = ended.rows();
    rows.iter().filter(|row| row["procedure"] == procedure && row["outcome"] == "succeeded").count()
}

#[test]
fn a_session_goes_on_over_another_connection() {
    goes_on(&[], 3);
}

/// One session for the four connections of a client; each of them is lost, and bound again.
#[test]
fn a_session_of_several_connections_goes_on() {
    goes_on(&["--connections", "4"], 12);
}

fn goes_on(more: &[&str], connections: usize) {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let mut proxy = Faulty::start(ganesha.address(), Framing::Rpc, Vec::new()).unwrap();
    let target = format!("nfs://{}{}?version=4.1", proxy.address(), Export::Data.path());
    let running = started(&target, more);
    proxy.down();
    proxy.up().unwrap();
    let ended = ended(running);
    went_on(&ended);
    assert!(number(&fact(&ended, "recovered connections: "), " replaced by another connection") >= connections as u64);
    // One session for each client; each further connection of a client is bound to it, and again after the loss.
    let made = succeeded(&ended, "CREATE_SESSION");
    let bound = succeeded(&ended, "BIND_CONN_TO_SESSION");
    assert!(made == 3 && bound >= connections - 3 + connections, "{made} made, {bound} bound");
    assert!(number(&fact(&ended, "recovered requests: "), " sent again") >= 1);
}
