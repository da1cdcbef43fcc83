//! The flags of a side, and its preparation.

use std::path::{Path, PathBuf};

use clap::Parser;
use plimsoll_client::target::Target;
use plimsoll_experiment::{
    Arm, LoadOptions, RUNS, RunSpec, Runner, VariantSpec, absolute_workload, allow_open_files, repeated,
};
use plimsoll_model::Names;
use plimsoll_workload::Builtin;

use super::DriveFlags;
use crate::drive::run::{AuthFlags, TargetFlags, WishFlags};
use crate::exit::Usage;
use crate::flags::about::AboutFlags;

/// One side, parsed from a single argument. Options that it does not set come from the common flags.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub(super) struct ArmFlags {
    target: String,
    #[arg(long)]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    connect_options: WishFlags,
    #[arg(long)]
    clients: Option<u32>,
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long)]
    depth: Option<u32>,
    #[arg(long)]
    connections: Option<u32>,
    #[arg(long)]
    channels: Option<u32>,
    #[command(flatten)]
    about: AboutFlags,
    /// Options after the target.
    #[arg(skip)]
    options: String,
}

impl ArmFlags {
    /// Parses one side from its argument.
    pub(super) fn read(text: &str, letter: &str) -> anyhow::Result<Self> {
        let mut side = ArmFlags::try_parse_from(text.split_whitespace()).map_err(|error| {
            let said = error.to_string();
            let said = said.strip_prefix("error: ").unwrap_or(&said);
            Usage(format!("{letter}: {}", said.lines().next().unwrap_or_default()))
        })?;
        side.check_target(letter)?;
        let options = text.split_whitespace().filter(|word| *word != side.target).collect::<Vec<_>>();
        side.options = options.join(" ");
        Ok(side)
    }

    /// Whether the target is one: a workload in its place is a likely mistake.
    fn check_target(&self, letter: &str) -> Result<(), Usage> {
        let Err(error) = Target::parse(&self.target) else { return Ok(()) };
        Err(Usage(match Builtin::named(&self.target).is_some() {
            true => format!("{letter}: {} is a workload; give the targets A and B before the workload", self.target),
            false => format!("{letter}: {error}"),
        }))
    }

    /// Input files of the flags.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.about.files().chain(self.auth.accounts())
    }

    fn target_flags(&self) -> TargetFlags {
        let (target, password_file) = (self.target.clone(), self.password_file.clone());
        TargetFlags::new(target, password_file, self.auth.clone(), self.connect_options.clone())
    }

    /// Finds the server, and plans its levels.
    pub(super) fn ready<'a>(
        &self,
        runner: &Runner<'a>,
        (flags, workload): (&DriveFlags, &str),
        rounds: u32,
        names: &mut Names,
    ) -> anyhow::Result<Arm<'a>> {
        let common = &flags.load;
        let load = LoadOptions {
            clients: self.clients.or(common.clients),
            rate: self.rate.or(common.rate),
            depth: self.depth.or(common.depth),
            connections: self.connections.unwrap_or(common.connections),
            channels: self.channels.unwrap_or(common.channels),
            ..common.options()
        };
        let level_specs = load.levels(runner.workload.defaults())?;
        let target = self.target_flags();
        let resolved = target.choose(common.timeout)?;
        let connect_options = target.connect_options();
        allow_open_files(resolved.open_files(&level_specs, runner.workload))?;
        let prepared = runner.reach(&resolved, &connect_options, &level_specs, names)?;
        let name = format!("{} {}", resolved.shown, self.options).trim_end().to_owned();
        let warmup_ns = level_specs.iter().map(|level_spec| level_spec.plan.phases.warmup_ns).next().unwrap_or(0);
        // Each run of it is a repeat.
        let levels = repeated(level_specs.clone(), RUNS.saturating_mul(rounds));
        let workload_sha256 = runner.workload.digest().to_owned();
        let spec = RunSpec {
            target: resolved.shown.clone(),
            server: target.spec(),
            workload: absolute_workload(workload)?,
            settings: flags.parameters.settings().to_vec(),
            with: Vec::new(),
            file_set: common.file_set.clone(),
            warmup_ns,
            no_cpu_idle: common.no_cpu_idle,
            about: flags.about.with(&self.about).read()?,
            variants: vec![VariantSpec { value: None, workload_sha256, levels }],
            ..RunSpec::new(runner.workload, common.seed)
        };
        Ok(Arm::new(name, (resolved, prepared), level_specs, (spec, runner.workload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_target_with_options_of_its_own() {
        let side = ArmFlags::read("smb://u@old/data --dialect 2.1 --depth 4", "A").unwrap();
        assert_eq!((side.target.as_str(), side.depth, side.rate), ("smb://u@old/data", Some(4), None));
        let error = ArmFlags::read("smb://u@old/data --deep 4", "B").unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().starts_with("B: unexpected argument '--deep'"), "{error}");
        assert!(ArmFlags::read("", "A").is_err());
        let error = ArmFlags::read("getattr", "B").unwrap_err().to_string();
        assert_eq!(error, "B: getattr is a workload; give the targets A and B before the workload");
        let error = ArmFlags::read("host", "A").unwrap_err().to_string();
        assert!(error.starts_with("A: unknown target format: expected smb://[user@]host"), "{error}");
    }
}
