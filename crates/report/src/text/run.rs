//! How the load was made, a line a load level, and whether the generator kept up.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, significant, time};
use super::{calls, capacity};
use crate::findings::{Findings, Headline, Place, Stage, Times, outstanding};
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(run) = &findings.run else { return Ok(()) };
    page.blank()?;
    page.paragraph(Role::Plain, "Target:   ", &run.target)?;
    page.paragraph(Role::Plain, "Workload: ", &format!("{}: {}", run.workload, run.description))?;
    if !run.parameters.is_empty() {
        let values: Vec<String> = run.parameters.iter().map(|one| format!("{} = {}", one.name, one.value)).collect();
        page.paragraph(Role::Plain, "With:     ", &values.join(", "))?;
    }
    let threads = if run.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", run.threads) };
    let how = format!("seed {}, {threads}, warm-up {} before each level", run.seed, time(run.warmup_s));
    page.paragraph(Role::Plain, "Load:     ", &how)?;
    if let Some(words) = outstanding(&findings.stages) {
        page.paragraph(Role::Plain, "Depth:    ", &words)?;
    }
    if !run.facts.is_empty() {
        page.paragraph(Role::Plain, "Agreed:   ", &run.facts.join(", "))?;
    }
    capacity::draw(page, run.capacity.as_deref())?;
    calls::draw(page, run.calls.as_deref())?;
    if findings.stages.is_empty() {
        return Ok(());
    }
    for place in findings.places() {
        levels(page, place)?;
        super::outages::draw(page, place)?;
    }
    super::curves::draw(page, findings)?;
    super::users::draw(page, &findings.stages)?;
    super::repeats::draw(page, &findings.repeats)?;
    super::server_side::draw(page, findings)?;
    findings.places().try_for_each(|place| generator(page, place))?;
    super::stations::draw(page, findings)?;
    failures(page, &findings.stages)
}

fn levels(page: &mut Page<'_>, place: Place<'_>) -> fmt::Result {
    let stages = place.stages;
    let both = |stage: &Stage| [stage.headline_time(), stage.response_time_from_intended];
    let all: Vec<Times> = stages.iter().flat_map(both).flatten().collect();
    let scale = TimeScale::of(all.iter().flat_map(|t| [t.mean_s, t.p50_s, t.p95_s, t.p99_s]));
    let scheduled = stages.iter().any(|stage| stage.headline.is_from_intended());
    let from = if scheduled { Headline::ResponseTimeFromIntended } else { Headline::ResponseTime }.words();
    page.heading(&format!("Load levels{} (response times{from} of all operations {}):", place.words(), scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    let beside = if scheduled { "p99 unc." } else { "p99 int." };
    table.head(&["Level", "op/s", "MB/s", "Mean", "p50", "p95", "p99", beside, "Errors"]);
    for stage in stages {
        let show = |pick: fn(&Times) -> f64| scale.show_maybe(stage.headline_time().as_ref().map(pick));
        let data = stage.read_bytes_per_s + stage.write_bytes_per_s;
        let role = if stage.validity.valid { Role::Plain } else { Role::Bad };
        let mark = if stage.validity.valid { "" } else { " !" };
        let cells = vec![
            format!("{}{mark}", stage.words()),
            significant(stage.operations_per_s),
            if data > 0.0 { significant(data / 1e6) } else { NONE.to_owned() },
            show(|t| t.mean_s),
            show(|t| t.p50_s),
            show(|t| t.p95_s),
            show(|t| t.p99_s),
            scale.show_maybe(other(stage).map(|t| t.p99_s)),
            stage.failed().to_string(),
        ];
        table.row_as(role, cells);
    }
    page.table(&table)?;
    let note = if scheduled {
        "Response times are from the intended start of each operation, which charges a late start to the server. \
         p99 unc.: without that correction, from the first byte of the request."
    } else {
        "p99 int.: from the intended start of each operation, which charges a late start to the server."
    };
    page.paragraph(Role::Quiet, "", note)
}

/// The response time that does not lead.
fn other(stage: &Stage) -> Option<Times> {
    if stage.headline.is_from_intended() { stage.uncorrected_time() } else { stage.response_time_from_intended }
}

/// Said of Jain's index, least and most where [`unattributable`].
pub(crate) const UNATTRIBUTABLE: &str = "Not known to be the server's: the load generator's threads were not equally on time, or that is \
                                         not known, so the difference between stations may be the load generator's. Use --threads 1, or give the \
                                         threads processors of their own.";

/// Whether differences between stations may be the load generator's.
pub(crate) fn unattributable(stage: &Stage) -> bool {
    stage.fairness.stations > 1 && stage.fairness.jain.is_some() && !stage.fairness.attributable
}

fn generator(page: &mut Page<'_>, place: Place<'_>) -> fmt::Result {
    let stages = place.stages;
    page.heading(match place.local {
        false => "Did the generator keep up, and was the server fair?",
        true => "Did the generator keep up in the local directory?",
    })?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "CPU", "CPU/op", "Lag p50", "Lag p99", "Wake p50", "Starved", "Jain", "Min", "Max"]);
    for stage in stages {
        let generator = &stage.generator;
        let lag = |pick: fn(&Times) -> f64| optional(generator.schedule_lag.as_ref().map(pick), time);
        let mark = if unattributable(stage) { "*" } else { "" };
        let number = |value: Option<f64>| optional(value, |value| format!("{value:.2}{mark}"));
        table.row(vec![
            stage.words(),
            format!("{:.0} %", generator.cpu_share * 100.0),
            optional(generator.cpu_per_operation_s, time),
            lag(|t| t.p50_s),
            lag(|t| t.p99_s),
            optional(generator.wake_up_lag.map(|t| t.p50_s), time),
            stage.fairness.starved.to_string(),
            optional(stage.fairness.jain, |value| format!("{value:.3}{mark}")),
            number(stage.fairness.min),
            number(stage.fairness.max),
        ]);
    }
    page.table(&table)?;
    let note = "Lag: a planned start got to after its planned instant. Wake: seen by the program after the kernel had it. \
                Jain, min, max: turns of the stations, over their mean.";
    let most = stages.iter().filter_map(|stage| stage.generator.polling_share).fold(0.0, f64::max);
    let polling = format!(
        " Polling, to start on time, took up to {:.0} % of the threads' time besides and is in no CPU figure.",
        most * 100.0
    );
    // Where it rounds to nothing, it is nothing to speak of.
    page.paragraph(Role::Quiet, "", &[note, if most < 0.005 { "" } else { &polling }].concat())?;
    if stages.iter().any(unattributable) {
        page.paragraph(Role::Caution, "* ", UNATTRIBUTABLE)?;
    }
    for stage in stages.iter().filter(|stage| stage.generator.spared > 0) {
        let (count, level) = (stage.generator.spared, stage.words());
        page.paragraph(Role::Plain, "", &format!("At {level} leases spared {count} requests, warm-up included."))?;
    }
    Ok(())
}

fn failures(page: &mut Page<'_>, stages: &[Stage]) -> fmt::Result {
    if stages.iter().all(|stage| stage.failures.is_empty()) {
        return Ok(());
    }
    page.heading("What did not succeed:")?;
    page.blank()?;
    let mut table = Table::new().left(1);
    for stage in stages {
        for failure in &stage.failures {
            table.row(vec![stage.words(), failure.cause.clone(), failure.count.to_string()]);
        }
    }
    page.table(&table)
}

pub(super) fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}
