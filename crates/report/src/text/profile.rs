//! Processor time by kind of work and by function.

use std::fmt;

use super::drawn;
use super::page::{Page, Role};
use super::table::Table;
use super::units::percent_of;
use crate::findings::profile::{Profile, SAMPLING, shown};
use crate::{safe, tables};

/// Functions shown; the JSON report has more.
const SHOWN: usize = 15;
/// Columns for the name of a function, and of its module.
const NAME: usize = 26;
const MODULE: usize = 12;

pub(super) fn draw(page: &mut Page<'_>, profiles: &[Profile]) -> fmt::Result {
    profiles.iter().filter(|profile| profile.samples() > 0).try_for_each(|profile| one(page, profile))
}

fn one(page: &mut Page<'_>, profile: &Profile) -> fmt::Result {
    let side = &profile.side;
    let calls: Vec<&str> = profile.calls.iter().map(|call| call.call.as_str()).collect();
    let percentages = |samples: &[u64]| -> Vec<String> {
        samples.iter().zip(&profile.calls).map(|(part, call)| percent_of(*part, call.samples)).collect()
    };
    drawn::draw(page, tables::kinds(profile))?;
    page.heading(&format!("CPU time of the {side} by function (percentage of the perf samples of each call):"))?;
    page.blank()?;
    let mut table = Table::new().left(1);
    table.head(&[&["Function", "Module"], &calls[..]].concat());
    for function in profile.functions.iter().take(SHOWN) {
        let name = safe::fit(shown(function.name.as_deref()), NAME);
        let module = safe::fit(shown(function.module.as_deref()), MODULE);
        table.row([vec![name, module], percentages(&function.samples)].concat());
    }
    page.table(&table)?;
    let note = format!(
        "Processes: {processes}. perf took {rate} samples per second of CPU time. {unknown} A function's samples exclude \
        those in the functions that it called. {SAMPLING}",
        processes = profile.processes,
        rate = profile.samples_per_s,
        unknown = profile.unknown(),
    );
    page.paragraph(Role::Quiet, "", &note)
}
