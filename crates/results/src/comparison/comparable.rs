//! Checks whether the sides of a comparison did the same work.

use anyhow::bail;
use plimsoll_model::Protocol;
use plimsoll_report::collect::comparison::{
    Contestant, LevelRuns, differing_loads, differing_work, protocols, time_out,
};
use plimsoll_report::findings::{Findings, Headline, differing_clocks, letter};

/// Warnings about the differences.
///
/// # Errors
/// The sides have no common load level: nothing can be compared.
pub(super) fn warnings(contestants: &[Contestant]) -> anyhow::Result<Vec<String>> {
    let Some((baseline, others)) = contestants.split_first() else { return Ok(Vec::new()) };
    let mut warnings = Vec::new();
    for (place, other) in others.iter().enumerate() {
        let name = letter(place + 1);
        warnings.extend(other_loads(baseline, other, place + 1));
        warnings.extend(other_work(baseline, other, place + 1));
        warnings.extend(differences(&baseline.findings, &other.findings).map(|what| format!("A and {name} {what}")));
        warnings.extend(other_protocols(baseline, other).map(|what| format!("A and {name} {what}")));
        warnings.extend(other_depths(baseline, other, &name));
        warnings.extend(other_time_outs(baseline, other, &name));
        // Searches choose their levels themselves; their capacities are compared.
        if !(is_search(baseline) && is_search(other)) {
            warnings.extend(other_levels(baseline, other, &name));
        }
    }
    if contestants.iter().all(is_search) {
        return Ok(warnings);
    }
    let alone = contestants.iter().all(|one| one.levels.len() == 1);
    let of_all = |words: &str| others.iter().all(|other| other.levels.iter().any(|its| its.level_name == words));
    if !alone && !baseline.levels.iter().any(|level| of_all(&level.level_name)) {
        let levels =
            |one: &Contestant| one.levels.iter().map(|level| level.level_name.as_str()).collect::<Vec<_>>().join(", ");
        let said: Vec<String> =
            contestants.iter().enumerate().map(|(at, one)| format!("{} has {}", letter(at), levels(one))).collect();
        bail!(
            "no common load level, so there is nothing to compare: {}; run all sides with the same levels",
            said.join("; ")
        );
    }
    Ok(warnings)
}

/// Whether a side is a search for a capacity.
fn is_search(one: &Contestant) -> bool {
    one.findings.run.as_ref().is_some_and(|run| run.capacity.is_some())
}

/// Differences between two sides that should be equal.
fn differences(a: &Findings, b: &Findings) -> impl Iterator<Item = String> {
    let place = differing_clocks(a, b, 1).map(|_| {
        "were measured at different places: one in a capture, the other in the client, where times are longer, so response times are \
         not compared"
            .to_owned()
    });
    let is_other_text = a.run.as_ref().zip(b.run.as_ref()).is_some_and(|(a, b)| a.workload_sha256 != b.workload_sha256);
    // Two versions of one workload: other workloads have a warning of their own.
    let workload = (is_other_text && differing_work(a, b, 1).is_none())
        .then(|| "ran different texts of the workload, so a difference may come from the workload".to_owned());
    let own = |one: &Findings, other: &Findings| -> String {
        let others = terms(other);
        let own: Vec<&str> = terms(one).into_iter().filter(|fact| !others.contains(fact)).collect();
        if own.is_empty() { "none".to_owned() } else { own.join(", ") }
    };
    let facts = (!a.facts().is_empty() && !b.facts().is_empty() && terms(a) != terms(b))
        .then(|| format!("had different conditions (only the first: {}; only the second: {})", own(a, b), own(b, a)));
    let clock = (a.headline != b.headline).then(|| {
        let instant = |side: &Findings| match side.headline {
            Headline::ResponseTimeFromIntended => "the intended start (with a schedule)",
            Headline::ResponseTime => "the first byte of the request (closed loop)",
        };
        format!(
            "measure response times from different instants: the first from {}, the second from {}",
            instant(a),
            instant(b)
        )
    });
    [place, workload, facts, clock].into_iter().flatten()
}

/// The facts that are terms of the measurement. Results are not terms: the results of a load file, the number of waits for a slot,
/// delegations, recoveries; nor is whether the version was given or found. That an operation was not supported is a term, but not how often.
fn terms(one: &Findings) -> Vec<&str> {
    let result = |fact: &&String| {
        let of_load_file = fact.starts_with("load file of ") || fact.starts_with("load file: restart");
        let found = fact.ends_with("highest version the server speaks");
        let counts =
            ["waits for a slot: ", "recovered ", "delegations: ", "delegations not returned: ", "delegation recalls"];
        of_load_file || found || counts.iter().any(|count| fact.starts_with(count))
    };
    let term = |fact| match fact {
        fact if str::starts_with(fact, "load file") => fact.rsplit_once(": ").map_or(fact, |(what, _)| what),
        fact => fact,
    };
    one.facts().iter().filter(|fact| !result(fact)).map(String::as_str).map(term).collect()
}

/// The same work needs different operations in another protocol.
fn other_protocols(a: &Contestant, b: &Contestant) -> Option<String> {
    let [a, b] = [protocols(a), protocols(b)];
    let words = |of: &[Protocol]| of.iter().map(|protocol| protocol.label()).collect::<Vec<_>>().join(", ");
    (!a.is_empty() && !b.is_empty() && a != b).then(|| {
        let (a, b) = (words(&a), words(&b));
        format!(
            "use different protocols ({a}; {b}), which need different operations for the same work; compare iterations and file data \
            instead"
        )
    })
}

/// The load levels of two sides that are compared: those with the same name; if each side has only one level, these two.
fn pairs<'c>(a: &'c Contestant, b: &'c Contestant) -> Vec<(&'c LevelRuns, &'c LevelRuns)> {
    match (a.levels.as_slice(), b.levels.as_slice()) {
        ([ours], [theirs]) => vec![(ours, theirs)],
        (ours, theirs) => {
            let same =
                |level: &'c LevelRuns| Some((level, theirs.iter().find(|its| its.level_name == level.level_name)?));
            ours.iter().filter_map(same).collect()
        }
    }
}

/// More is asked of one server, which then does more, and answers later.
fn other_loads(a: &Contestant, b: &Contestant, place: usize) -> Option<String> {
    let sentence = pairs(a, b).into_iter().find_map(|(ours, theirs)| differing_loads(ours, theirs, place))?;
    Some(format!("{sentence}, so a difference may come from the load"))
}

/// Other work takes another time.
fn other_work(a: &Contestant, b: &Contestant, place: usize) -> Option<String> {
    let sentence = differing_work(&a.findings, &b.findings, place)?;
    Some(format!("{sentence}, so a difference may come from the workload"))
}

/// A longer timeout means fewer errors, and longer times.
fn other_time_outs(a: &Contestant, b: &Contestant, name: &str) -> Option<String> {
    pairs(a, b).into_iter().find_map(|(ours, theirs)| {
        let (a, b) = time_out(ours.point.as_ref()?).zip(time_out(theirs.point.as_ref()?))?;
        let words = &ours.level_name;
        (a != b).then(|| format!("A had {a} at {words}, {name} had {b}, so errors and the longest times may differ"))
    })
}

/// Under the same schedule, more actions may be outstanding, if the server is slow.
fn other_depths(a: &Contestant, b: &Contestant, name: &str) -> Option<String> {
    pairs(a, b).into_iter().filter(|(ours, theirs)| differing_loads(ours, theirs, 1).is_none()).find_map(
        |(ours, theirs)| {
            let [a, b] = [ours.point.as_ref()?.outstanding, theirs.point.as_ref()?.outstanding];
            let (words, actions) = (&ours.level_name, if a == 1 { "action" } else { "actions" });
            (a != b).then(|| {
                format!(
                    "A had at most {a} {actions} outstanding at {words}, {name} {b}, so a difference may come from waits for a free \
                     client; give both the same --clients and --depth"
                )
            })
        },
    )
}

fn other_levels(a: &Contestant, b: &Contestant, name: &str) -> Option<String> {
    if let ([a], [b]) = (a.levels.as_slice(), b.levels.as_slice()) {
        let known = a.point.is_some() && b.point.is_some();
        // The same load in other words: one of the levels was stopped early.
        let stopped = known && differing_loads(a, b, 1).is_none();
        let what = if stopped { "the shorter one has fewer requests" } else { "the loads differ" };
        let differ = a.level_name != b.level_name && (stopped || !known);
        return differ.then(|| format!("A was measured at {}, {name} at {}: {what}", a.level_name, b.level_name));
    }
    let missing = |from: &Contestant, of: &Contestant| {
        let has = |words: &str| of.levels.iter().any(|its| its.level_name == words);
        from.levels.iter().map(|level| level.level_name.clone()).filter(|words| !has(words)).collect::<Vec<_>>()
    };
    let left_out = [missing(a, b), missing(b, a)].concat();
    (!left_out.is_empty())
        .then(|| format!("A and {name} do not have the same load levels; levels left out: {}", left_out.join(", ")))
}

#[cfg(test)]
mod tests {
    use plimsoll_report::collect::comparison::LoadPoint;
    use plimsoll_report::findings::{Headline, Run};

    use super::*;

    fn one(levels: &[&str], change: impl FnOnce(&mut Findings)) -> Contestant {
        let mut findings = Findings { run: Some(Run::default()), ..Findings::default() };
        change(&mut findings);
        let level = |words: &&str| {
            let (level_name, runs) = ((*words).to_owned(), Vec::new());
            LevelRuns { level_name, point: None, runs, findings: None }
        };
        Contestant { findings, levels: levels.iter().map(level).collect() }
    }

    /// The contestant with this number of outstanding requests at each level.
    fn deep(mut one: Contestant, outstanding: u64) -> Contestant {
        for level in &mut one.levels {
            let (curve, words) = (None, level.level_name.clone());
            level.point = Some(LoadPoint {
                curve,
                load_name: words,
                load: outstanding as f64,
                pace: Vec::new(),
                outstanding,
                valid: true,
                moved: Vec::new(),
                guarantees: None,
                iteration: None,
            });
        }
        one
    }

    fn said(a: Contestant, b: Contestant) -> String {
        warnings(&[a, b]).unwrap().join("\n")
    }

    #[test]
    fn what_is_alike_needs_no_warning() {
        assert_eq!(said(one(&["1 client"], |_| {}), one(&["1 client"], |_| {})), "");
    }

    #[test]
    fn each_difference_is_said() {
        let plain = || one(&["1 client"], |_| {});
        let ran = |change: fn(&mut Run)| one(&["1 client"], |side| side.run.iter_mut().for_each(change));
        assert!(
            said(plain(), ran(|run| run.workload_sha256 = "x".to_owned())).contains("different texts of the workload")
        );
        assert!(said(plain(), one(&["1 client"], |side| side.run = None)).contains("one in a capture"));
        let named = |run: &mut Run| (run.workload, run.workload_sha256) = ("getattr".to_owned(), "x".to_owned());
        assert!(
            said(plain(), ran(named))
                .contains("B ran getattr: the workloads differ, so a difference may come from the workload")
        );
        let of_client = one(&["1 client"], |side| {
            (side.run, side.source.vantage) = (None, "client".to_owned());
        });
        assert_eq!(said(plain(), of_client), "", "a table of a run has the clock of a run");
        let old = ran(|run| run.facts = vec!["SMB 2.1".to_owned()]);
        let new = ran(|run| run.facts = vec!["SMB 3.1.1".to_owned()]);
        assert!(said(old, new).contains("(only the first: SMB 2.1; only the second: SMB 3.1.1)"));
        let scheduled = |side: &mut Findings| side.headline = Headline::ResponseTimeFromIntended;
        assert!(
            said(plain(), one(&["1 client"], scheduled)).contains("measure response times from different instants")
        );
        assert!(said(plain(), one(&["2 clients"], |_| {})).contains("the loads differ"));
        let depths = said(deep(plain(), 1), deep(plain(), 4));
        assert!(depths.starts_with("A had at most 1 action outstanding at 1 client, B had at most 4"), "{depths}");
        assert_eq!(said(deep(plain(), 4), deep(plain(), 4)), "");
        let paced = |words: &str| {
            let mut one = deep(plain(), 4);
            one.levels
                .iter_mut()
                .flat_map(|level| &mut level.point)
                .for_each(|point| point.pace = vec![words.to_owned()]);
            one
        };
        assert_eq!(
            said(paced("no think time"), paced("think time 20.0 ms")),
            "A had no think time at 1 client, B had think time 20.0 ms: the loads differ, so a difference may come from the load"
        );
        let scheduled = |outstanding| {
            let mut one = deep(paced("timeout 1.00 s"), outstanding);
            one.levels.iter_mut().flat_map(|level| &mut level.point).for_each(|point| point.load = 40.0);
            one
        };
        let pool = said(scheduled(1), scheduled(4));
        assert!(pool.contains("waits for a free client") && !pool.contains("the loads differ"), "{pool}");
        assert_eq!(
            said(paced("timeout 1.00 s"), paced("timeout 2.00 s")),
            "A had timeout 1.00 s at 1 client, B had timeout 2.00 s, so errors and the longest times may differ"
        );
        let more = one(&["1 client", "2 clients"], |_| {});
        assert!(said(plain(), more).contains("left out: 2 clients"));
    }

    #[test]
    fn waits_for_slots_delegations_and_restarts_of_a_load_file_are_results_and_no_terms() {
        let ran = |waits: u32| {
            let mut facts = vec!["4 slots per session".to_owned(), format!("waits for a slot: {waits}")];
            facts.push(format!(
                "delegations: {waits} granted, 0 recalled, 0 returned (0 opens used a delegation and needed no request)"
            ));
            facts.push(format!(
                "delegation recalls: {waits} answered by DELEGRETURN (time from the recall to the server's response: mean 0.10 ms, max 0.20 ms)"
            ));
            if waits > 7 {
                facts.push("load file: restarts after lost connections: 1".to_owned());
            }
            one(&["1 client"], |side| side.run.iter_mut().for_each(|run| run.facts = facts.clone()))
        };
        assert_eq!(said(ran(7), ran(8)), "");
    }

    #[test]
    fn without_a_common_level_nothing_is_compared() {
        let many = |levels: &[&str]| one(levels, |_| {});
        let error = warnings(&[many(&["1 client", "2 clients"]), many(&["4 clients"])]).unwrap_err();
        assert!(error.to_string().contains("B has 4 clients"), "{error}");
        let search = |levels: &[&str]| {
            let capacity = |run: &mut Run| run.capacity = Some(Box::default());
            one(levels, |side| side.run.iter_mut().for_each(capacity))
        };
        assert_eq!(
            said(search(&["1 client", "2 clients"]), search(&["4 clients"])),
            "",
            "their capacities are compared"
        );
    }
}
