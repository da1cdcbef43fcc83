//! A command that runs when a load level begins and when it has ended: to start a capture, to empty caches, to take counters.
//!
//! It never runs in measured time: it begins before clients connect, and after they have logged off.

use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use plimsoll_workload::Parameter;
use rustix::process::{Pid, Signal, kill_process_group};

use super::child_command::child_command;
use super::level_spec::LevelSpec;

/// How often it is looked whether the command has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The command.
#[derive(Clone, Debug)]
pub struct PhaseHook {
    /// A line for the shell.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// When it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the clients of a level connect.
    Begin,
    /// After they have logged off: when its measured phase began and ended, ns since the Unix epoch; `None` where it was not run.
    End(Option<(i64, i64)>),
}

impl Moment {
    fn word(self) -> &'static str {
        match self {
            Moment::Begin => "begin",
            Moment::End(_) => "end",
        }
    }
}

impl PhaseHook {
    /// Runs the command, and waits for it, unless the run should end.
    ///
    /// # Errors
    /// It cannot be started, fails, or takes too long: then it is killed with its process group.
    pub(super) fn run(&self, moment: Moment, level: &LevelSpec, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let Self { command, timeout } = self;
        let what = || format!("--on-phase {command:?}, {} of level {}", moment.word(), level.load_name);
        let mut child = self.start(moment, level).with_context(what)?;
        let status = wait(&mut child, *timeout, is_over).with_context(what)?;
        match status {
            Some(status) => ensure!(status.success(), "{}: {status}; the command must end with exit code 0", what()),
            None if is_over() => {}
            None => bail!(
                "{}: took longer than {timeout:?} and was killed; if the command needs more time, raise --phase-timeout",
                what()
            ),
        }
        Ok(())
    }

    fn start(&self, moment: Moment, level: &LevelSpec) -> anyhow::Result<Child> {
        let mut command = child_command("sh");
        command.args(["-c", &self.command]).stdin(Stdio::null()).process_group(0);
        // The report alone goes to standard output.
        command.stdout(std::io::stderr().as_fd().try_clone_to_owned()?);
        command.env("PLIMSOLL_PHASE", moment.word());
        command.env("PLIMSOLL_LEVEL", (level.plan.level + 1).to_string());
        command.env("PLIMSOLL_LOAD", &level.load_name);
        command.env("PLIMSOLL_CLIENTS", level.plan.load.clients().to_string());
        for name in ["PLIMSOLL_PARAMETER", "PLIMSOLL_MEASURED_FROM_NS", "PLIMSOLL_MEASURED_TO_NS"] {
            command.env_remove(name);
        }
        if let Some(Parameter { name, value }) = &level.parameter {
            command.env("PLIMSOLL_PARAMETER", format!("{name}={value}"));
        }
        if let Moment::End(Some((from, to))) = moment {
            command.env("PLIMSOLL_MEASURED_FROM_NS", from.to_string());
            command.env("PLIMSOLL_MEASURED_TO_NS", to.to_string());
        }
        Ok(command.spawn()?)
    }
}

/// The command's end; `None` where it was killed.
fn wait(child: &mut Child, timeout: Duration, is_over: &dyn Fn() -> bool) -> anyhow::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= timeout || is_over() {
            kill_with_group(child)?;
            return Ok(None);
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
}

/// Kills the command and all that it has started.
fn kill_with_group(child: &mut Child) -> anyhow::Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It may have ended just now.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait().context("waiting for its end")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use plimsoll_drive::engine::Plan;
    use plimsoll_workload::{Load, Pause};

    use super::*;

    fn level() -> LevelSpec {
        let plan = Plan { level: 2, ..Plan::new(Load::Closed { clients: 3, think: Pause::None }) };
        LevelSpec { plan, load_name: "3 clients".to_owned(), curve: None, parameter: None, share: None }
    }

    fn ran(command: &str, timeout: Duration, moment: Moment) -> Result<(), String> {
        let hook = PhaseHook { command: command.to_owned(), timeout };
        hook.run(moment, &level(), &|| false).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_environment_names_phase_and_level() {
        let long = Duration::from_secs(60);
        let begin = "[ \"$PLIMSOLL_PHASE $PLIMSOLL_LEVEL $PLIMSOLL_LOAD $PLIMSOLL_CLIENTS\" = 'begin 3 3 clients 3' ] \
            && [ -z \"$PLIMSOLL_MEASURED_FROM_NS\" ]";
        assert_eq!(ran(begin, long, Moment::Begin), Ok(()));
        let end = "[ $PLIMSOLL_PHASE-$((PLIMSOLL_MEASURED_TO_NS - PLIMSOLL_MEASURED_FROM_NS)) = end-5 ]";
        assert_eq!(ran(end, long, Moment::End(Some((10, 15)))), Ok(()));
        let varied = Parameter { name: "block".to_owned(), value: "64KiB".to_owned() };
        for (parameter, wanted) in [(None, ""), (Some(varied), "block=64KiB")] {
            let hook = PhaseHook { command: format!("[ \"$PLIMSOLL_PARAMETER\" = '{wanted}' ]"), timeout: long };
            let level = LevelSpec { parameter, ..level() };
            hook.run(Moment::Begin, &level, &|| false).unwrap();
        }
    }

    #[test]
    fn failures_are_told() {
        let said = ran("exit 7", Duration::from_secs(60), Moment::Begin).unwrap_err();
        assert!(said.contains("\"exit 7\", begin of level 3 clients: exit status: 7"), "{said}");
        let said = ran("/no/such/program", Duration::from_secs(60), Moment::End(None)).unwrap_err();
        assert!(said.contains("end of level 3 clients: exit status: 127"), "{said}");
    }

    #[test]
    fn one_that_hangs_is_killed_with_what_it_started() {
        let begun = Instant::now();
        // The inner shell would hold on for an hour.
        let said = ran("sh -c 'sleep 3600; true'; true", Duration::from_millis(200), Moment::Begin).unwrap_err();
        assert!(said.contains("took longer than 200ms and was killed"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(1_800));
    }

    #[test]
    fn who_wants_the_run_to_end_does_not_wait() {
        let asked = AtomicBool::new(false);
        let hook = PhaseHook { command: "sleep 3600".to_owned(), timeout: Duration::from_secs(3_000) };
        let is_over = || asked.swap(true, Ordering::Relaxed);
        assert!(hook.run(Moment::Begin, &level(), &is_over).is_ok());
    }
}
