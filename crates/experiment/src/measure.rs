//! A run from its first level to its last, whatever is varied.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_model::Names;
use plimsoll_report::findings::Findings;

use super::chosen::Chosen;
use super::drive::{Cut, Drive, Site, Told, stopped_at};
use super::level::LevelResult;
use super::level_spec::LevelSpec;
use super::open_files;
use super::parameters::Variant;
use super::spec::RunSpec;

/// All that is to be measured.
pub struct Work<'a> {
    /// Each variant of the workload with its levels.
    pub variants: Vec<(&'a Variant, Vec<LevelSpec>)>,
    /// Levels that were measured before.
    pub finished: BTreeMap<u32, LevelResult>,
    /// All that these name.
    pub names: Names,
}

/// What a report shows, and what failed besides the measuring.
pub fn measure(
    work: Work<'_>,
    drive: &Drive<'_>,
    chosen: &Chosen,
    wishes: &ConnectOptions,
    spec: &RunSpec,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let Work { variants, finished: mut all, mut names } = work;
    let planned = variants.iter().map(|(_, steps)| steps.len()).sum();
    let files = variants.iter().map(|(variant, steps)| chosen.open_files(steps, &variant.workload)).max();
    open_files::allow(files.unwrap_or(0))?;
    let cuts = |all: &BTreeMap<u32, LevelResult>| -> Vec<Cut> {
        all.values().filter_map(|ran| Cut::after(ran, drive.stop_above_s?)).collect()
    };
    let over = cuts(&all);
    let wanted = |step: &LevelSpec| {
        !all.contains_key(&step.plan.stage.unwrap_or(0)) && !over.iter().any(|cut| cut.curve == step.curve)
    };
    // Where all is there already, the server is asked for nothing but what it is.
    let whole = !variants.iter().any(|(_, steps)| steps.iter().any(wanted));
    let mut sites: Vec<(Drive<'_>, Site, Vec<LevelSpec>)> = Vec::new();
    for (place, (variant, steps)) in variants.iter().enumerate() {
        let left: Vec<LevelSpec> = steps.iter().filter(|step| wanted(step)).cloned().collect();
        if !left.is_empty() || whole && place == 0 {
            let drive = Drive { workload: &variant.workload, ..*drive };
            // The files are those of all levels, whichever are left.
            let site = drive.reach(chosen, wishes, steps, &mut names)?;
            sites.push((drive, site, left));
        }
    }
    let names = Arc::new(names);
    let (mut agreed, mut remarks, mut besides, mut stopped) = (Vec::new(), Vec::new(), Ok(()), false);
    for (drive, site, steps) in sites {
        match drive.levels(&site, &names, steps).with_context(|| chosen.shown.clone()) {
            Ok(levels) => {
                all.extend(levels.numbers.into_iter().zip(levels.ran));
                (besides, stopped) = (levels.besides, levels.stopped);
                remarks.extend(levels.remarks);
            }
            Err(error) if all.is_empty() => return Err(error),
            Err(error) => besides = Err(error),
        }
        if agreed.is_empty() {
            agreed = site.server.facts();
        }
        if stopped || besides.is_err() {
            break;
        }
    }
    let mut facts = agreed;
    facts.extend(remarks);
    facts.extend(cuts(&all).iter().map(Cut::to_string));
    facts.extend(stopped.then(|| stopped_at(all.len(), Some(planned))));
    let told = Told { spec: spec.clone(), workload: drive.workload, levels: all.into_values().collect(), names, facts };
    Ok((told.findings(), besides))
}
