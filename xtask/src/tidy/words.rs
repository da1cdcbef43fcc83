//! One word for one thing: words that the project has replaced stand nowhere any more.

use super::source::Source;

/// A replaced word and the word to use. Underscores and capitals inside a name are boundaries: `station` is found in
/// `stations_with_errors` and `StationTally`, and not in `workstation`. A word without a capital is found in any case.
const REPLACED: [(&str, &str); 71] = [
    ("station", "client (in code: client_index)"),
    ("stations", "clients"),
    ("Station", "Client"),
    ("Stations", "Clients"),
    ("seed_name", "netbench_name"),
    ("first seed", "author and year: Swartz 1997"),
    ("the seed's", "author and year: Swartz 1997"),
    ("seed 1's", "author and year: Swartz 1997"),
    ("seed 2's", "author and year"),
    ("seed 3's", "author and year"),
    ("seed 4's", "author and year: Poo & Tan 1988"),
    ("seed 5's", "author and year"),
    ("Vigil", "BusyPoll"),
    ("vigil", "busy_poll"),
    ("Rota", "ArrivalQueue"),
    ("rota", "arrival_queue"),
    ("Crew", "RunCoordinator"),
    ("Gathering", "BarrierState"),
    ("Birth", "ConnectionInfo"),
    ("Told", "a noun for the content"),
    ("Lesson", "Binding"),
    ("Lately", "RecentXids"),
    ("TurnOver", "IterationOver"),
    ("TurnTally", "IterationTally"),
    ("TurnKind", "IterationKind"),
    ("Turning", "Iteration"),
    ("[[turns]]", "[[iterations]]"),
    ("lane", "slot (in a workload file: [script])"),
    ("lanes", "slots, or depth for their number"),
    ("enum Move", "NextAction"),
    ("enum Turn", "Iteration"),
    ("struct Turn", "Iteration"),
    ("fn turn", "a verb"),
    ("fn told", "a verb, or a noun for the content"),
    ("struct Site", "PreparedTarget"),
    ("struct Agreed", "Negotiated"),
    ("logging_on", "with_logon"),
    ("caching=kept", "caching=lease-cached"),
    ("caching = \"kept\"", "caching = \"lease-cached\""),
    ("Kept", "a noun for the content"),
    ("fn kept", "a verb"),
    ("mod kept", "a noun for the content"),
    ("kept.rs", "a noun for the content"),
    ("{ \"kept\" }", "met"),
    ("| kept\"", "met"),
    ("stranger", "unmatched, untrusted or other"),
    ("strangers", "unmatched, untrusted or other"),
    ("Reached", "Connector"),
    ("Wishes", "ConnectOptions"),
    ("keep_awake", "no_cpu_idle"),
    ("spared", "requests_avoided"),
    ("spoilt", "invalid or corrupted"),
    ("for_ever", "sustained_load"),
    ("operations a second", "operations per second"),
    ("calls a second", "calls per second"),
    ("iterations a second", "iterations per second"),
    ("requests a second", "requests per second"),
    ("runs a side", "runs per side"),
    ("FELT_NS", "NOTICEABLE_NS"),
    ("is_felt", "is_noticeable"),
    ("turn_kind", "iteration_kind"),
    ("late_turns", "late_iterations"),
    ("AsServerSays", "ServerDefault"),
    ("\"stage\"", "\"level\" for a load level"),
    ("[\"stages\"]", "[\"levels\"]"),
    ("\"stages\":", "\"levels\":"),
    ("stages[", "levels["),
    ("stage-0000", "level-0000"),
    ("stage-0001", "level-0001"),
    ("stage-*", "level-*"),
    ("plan.stage", "plan.level"),
];

/// Not checked: this table, and texts about the past.
const EXEMPT: [&str; 3] = ["xtask/src/tidy/words.rs", "xtask/src/words.rs", "CHANGELOG.md"];

/// Replaced words.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let checked = sources.iter().filter(|source| !EXEMPT.iter().any(|path| source.path.starts_with(path)));
    checked.flat_map(in_file).collect()
}

fn in_file(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    // Names of files come first, as line 0.
    for (i, line) in std::iter::once(source.path.as_str()).chain(source.text.lines()).enumerate() {
        let lower = line.to_ascii_lowercase();
        let found = REPLACED.iter().filter(|(old, _)| holds(line, old) || holds(&lower, old));
        problems.extend(found.map(|(old, new)| format!("{}:{i}: `{old}`: say {new}", source.path)));
    }
    problems
}

/// Whether a word is in a line by itself, or as a part of a name.
fn holds(line: &str, word: &str) -> bool {
    let capital = word.starts_with(char::is_uppercase);
    let plain = |c: &char| c.is_alphanumeric();
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back()).filter(plain);
        let after = line.get(at + word.len()..).and_then(|after| after.chars().next()).filter(plain);
        let starts = before.is_none_or(|c| capital && c.is_lowercase()) || !word.starts_with(|c: char| plain(&c));
        let ends = after.is_none_or(|c| capital && c.is_uppercase()) || !word.ends_with(|c: char| plain(&c));
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        problems(&[Source::new("README.md", text)]).len()
    }

    #[test]
    fn a_replaced_word_is_found_by_itself_and_in_names() {
        for old in ["4 stations", "let stations_with_errors = 1;", "ClientStationTally", "the first seed", "[[turns]]"]
        {
            assert_eq!(count(old), 1, "{old}");
        }
        for old in ["Strangers choose", "Kdc::STRANGER", "Seed 1's experiment", "First seed", "SEED_NAME"] {
            assert_eq!(count(old), 1, "{old}");
        }
        for old in ["struct KeptMessages {", "fn kept(&self)", "mod kept;", "if met { \"kept\" }", "{limit} | kept\""] {
            assert_eq!(count(old), 1, "{old}");
        }
        for old in
            ["known(\"stage\", U32)", "report[\"stages\"]", "`stages[].server`", "R/stage-0000.partial", "'R/stage-*/'"]
        {
            assert_eq!(count(old), 1, "{old}");
        }
        for old in ["let lanes = 4;", "struct Lane {", "sealer.on_lane(1)", "const LANES: usize = 3;"] {
            assert_eq!(count(old), 1, "{old}");
        }
        for old in ["enum Move {", "enum Turn<'a> {", "fn turn(&self)", "fn told(&self)", "struct Site {"] {
            assert_eq!(count(old), 1, "{old}");
        }
        assert_eq!(count("a station,\nand stations\n"), 2);
    }

    #[test]
    fn other_words_are_not() {
        for text in ["a stage of the analysis", "name = \"stages\"", "cargo xtask bench --stages stream"] {
            assert_eq!(count(text), 0, "{text}");
        }
        for text in ["workstation", "stationary", "--seed 1", "rotation", "Toldo", "it was unreached", "crew"] {
            assert_eq!(count(text), 0, "{text}");
        }
        for text in ["Move the file", "clients take turns", "fn turns_off()", "it is told", "a plane", "a site"] {
            assert_eq!(count(text), 0, "{text}");
        }
        for text in ["seeds 4 to 6", "they are kept", "let kept = 1;", "|kept| kept.len()", "strange", "unkept"] {
            assert_eq!(count(text), 0, "{text}");
        }
    }

    #[test]
    fn names_of_files_are_checked_too() {
        let of = |path| problems(&[Source::new(path, "")]);
        assert_eq!(of("src/kept.rs").len(), 1);
        assert_eq!(of("src/keeper.rs"), [""; 0]);
    }

    #[test]
    fn the_table_itself_is_exempt() {
        assert!(EXEMPT.contains(&"xtask/src/tidy/words.rs"));
    }
}
