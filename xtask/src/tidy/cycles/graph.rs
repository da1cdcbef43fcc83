//! Cycles of a graph: its strongly connected components.

use super::resolve::Uses;

/// Sets of files that use each other, directly or indirectly; sorted, and so are the files of a cycle.
pub(super) fn cycles(uses: &Uses) -> Vec<Vec<&str>> {
    let mut cycles: Vec<Vec<&str>> = Vec::new();
    for start in uses.keys() {
        if cycles.iter().flatten().any(|file| file == start) {
            continue;
        }
        let reached = reached_from(uses, start);
        let cycle: Vec<&str> = reached
            .into_iter()
            .filter(|file| *file == start || reached_from(uses, file).contains(&start.as_str()))
            .collect();
        cycles.push(cycle);
    }
    cycles.retain(|cycle| cycle.len() > 1);
    cycles
}

/// The file and all files that it uses, directly or indirectly.
fn reached_from<'a>(uses: &'a Uses, start: &'a str) -> Vec<&'a str> {
    let mut reached = vec![start];
    let mut at = 0;
    while let Some(file) = reached.get(at) {
        for used in uses.get(*file).into_iter().flatten() {
            if !reached.contains(&used.as_str()) {
                reached.push(used);
            }
        }
        at += 1;
    }
    reached.sort_unstable();
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cycles_with_a_bridge_are_two() {
        let graph = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c"), ("f", "a")];
        let mut uses = Uses::new();
        for (from, to) in graph {
            uses.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
        assert_eq!(cycles(&uses), [vec!["a", "b"], vec!["c", "d", "e"]]);
    }
}
