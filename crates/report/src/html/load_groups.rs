//! Response time of each operation group at each load level, as a table.

use super::table::scrolled;
use super::units::{duration, optional};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::LoadLevel;
use crate::tables::{LevelGroup, level_groups};
use maud::{Markup, html};

/// Mean response times, a line a level and a column a group; nothing where there is one level only.
pub(super) fn section(sides: &[Findings]) -> Vec<Markup> {
    // One with a schedule and one without: each has a table.
    let several = level_groups(sides).into_iter().filter(|group| group.levels.len() > 1);
    several.flat_map(LevelGroup::by_schedule).filter_map(|group| table(&group)).collect()
}

fn table(group: &LevelGroup<'_>) -> Option<Markup> {
    let levels = &group.levels;
    let names = names(levels);
    let caption = format!("{}-caption", group.id("load-groups"));
    (!names.is_empty()).then(|| {
        html! {
            (scrolled(&caption, "", html! {
                "Mean response time of each group of operations at each load level" (group.words()) "."
            }, html! {
                thead { tr { th scope="col" { "Level" } @for name in &names { th scope="col" { (Untrusted(name)) } } } }
                tbody { @for (prefix, level) in levels {
                    tr {
                        th scope="row" { (Untrusted(&format!("{prefix}{}", level.words()))) @if !level.facts.validity.valid { " (invalid)" } }
                        @for name in &names { td { (optional(mean(level, name), duration)) } }
                    }
                } }
            }))
        }
    })
}

/// Groups of which something was answered, in the order in which they first appear; subgroups stand behind their sum.
fn names<'a>(levels: &[(String, &'a LoadLevel)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in levels.iter().flat_map(|(_, level)| &level.groups).filter(|row| row.headline_time().is_some()) {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    names
}

fn mean(level: &LoadLevel, name: &str) -> Option<f64> {
    level.groups.iter().find(|row| row.group == name).and_then(|row| Some(row.headline_time()?.mean_s))
}
