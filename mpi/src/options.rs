//! The command line.

use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "usage: mpirun -n RANKS plimsoll-mpi [OPTIONS] run|sweep|capacity WORKLOAD --target URL --record DIR …

Each rank drives one part of the load (`plimsoll run --part`, also for each level of a sweep or a search for a capacity); DIR/part-K has the
recording of part K, DIR/all the recording of all parts together.
All ranks need `plimsoll` and the same folder DIR.

      --plimsoll PATH        Program to start [default: plimsoll in this program's folder, otherwise from PATH]
      --start-in TIME        Time from now to the common start: allow enough for connecting and creating files [default: 10s]
      --clock-bound TIME     Largest difference between the clocks of two ranks, before and after the run [default: 1ms]
      --round-trips COUNT    Messages per rank to measure its clock [default: 1000]
      --json FILE, --html FILE, --full, --section NAME, --utc
                             As of `plimsoll merge`: the report of all parts
      --overwrite            Replace the recordings of an earlier call: those of the parts, and the merged one
  -q, --quiet                Print no report, and no progress of the parts
      --clocks               Only measure and print the clocks";

/// The command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) plimsoll: PathBuf,
    pub(crate) start_in: Duration,
    pub(crate) clock_bound: Duration,
    pub(crate) round_trips: u32,
    pub(crate) only_clocks: bool,
    pub(crate) quiet: bool,
    /// `run`, `sweep` or `capacity`, and its options, but for those below.
    pub(crate) run: Vec<String>,
    pub(crate) record: PathBuf,
    /// Options of the report.
    pub(crate) report: Vec<String>,
    /// Whether the recordings of an earlier call may be replaced.
    pub(crate) overwrite: bool,
}

impl Options {
    /// Parses a command line.
    ///
    /// # Errors
    /// It is none; says how one looks.
    pub(crate) fn of(given: &[String]) -> anyhow::Result<Self> {
        let mut options = Self {
            plimsoll: beside().unwrap_or_else(|| PathBuf::from("plimsoll")),
            start_in: Duration::from_secs(10),
            clock_bound: Duration::from_millis(1),
            round_trips: 1_000,
            only_clocks: false,
            quiet: false,
            run: Vec::new(),
            record: PathBuf::new(),
            report: Vec::new(),
            overwrite: false,
        };
        let mut rest = given.iter();
        while let Some(option) = rest.next() {
            // `--name=value` is `--name value`.
            let (name, joined) = match option.split_once('=').filter(|_| option.starts_with("--")) {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option.as_str(), None),
            };
            let mut value = || {
                let next = joined.clone().or_else(|| rest.next().cloned());
                next.ok_or_else(|| anyhow::anyhow!("{name}: expected a value\n{USAGE}"))
            };
            let time = |text: String| {
                humantime::parse_duration(&text).map_err(|error| anyhow::anyhow!("{name} {text}: {error}"))
            };
            match name {
                "--plimsoll" => options.plimsoll = value()?.into(),
                "--start-in" => options.start_in = time(value()?)?,
                "--clock-bound" => options.clock_bound = time(value()?)?,
                "--round-trips" => {
                    let count = value()?;
                    let parsed = count.parse().ok().filter(|&count| count > 0);
                    options.round_trips =
                        parsed.ok_or_else(|| anyhow::anyhow!("{name} {count}: expected 1 or more"))?;
                }
                "--clocks" => options.only_clocks = true,
                "--record" => options.record = value()?.into(),
                "--json" | "--html" | "--section" => options.report.extend([name.to_owned(), value()?]),
                "--quiet" | "-q" => {
                    options.quiet = true;
                    options.report.push(name.to_owned());
                }
                "--full" | "--utc" => options.report.push(name.to_owned()),
                "--overwrite" => {
                    options.overwrite = true;
                    options.run.push(name.to_owned());
                }
                "--part" | "--start-at" | "--clock-origin" | "--progress-file" => {
                    anyhow::bail!("{name}: plimsoll-mpi sets it for each rank\n{USAGE}")
                }
                _ => options.run.push(option.clone()),
            }
        }
        let command = options.run.first().map_or("", String::as_str);
        let complete = matches!(command, "run" | "sweep" | "capacity") && !options.record.as_os_str().is_empty();
        anyhow::ensure!(
            complete || options.only_clocks,
            "expected `run`, `sweep` or `capacity`, with --record DIR\n{USAGE}"
        );
        Ok(options)
    }

    /// Whether the ranks search for a capacity.
    pub(crate) fn is_search(&self) -> bool {
        self.run.first().is_some_and(|command| command == "capacity")
    }

    /// Folder for the recording of a part.
    pub(crate) fn part_folder(&self, number: i32) -> PathBuf {
        self.record.join(format!("part-{number}"))
    }

    /// Folder for the recording of all parts together.
    pub(crate) fn merged_folder(&self) -> PathBuf {
        self.record.join("all")
    }

    /// Where the progress of a part is.
    pub(crate) fn progress_file(&self, number: i32) -> PathBuf {
        self.record.join(format!("part-{number}.progress"))
    }
}

/// `plimsoll` in the folder of this program.
fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name("plimsoll");
    program.exists().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &str) -> anyhow::Result<Options> {
        Options::of(&given.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_run_are_passed_on() {
        let options = options("--start-in=3s run mixed --clients 8 --json out.json --record all --full").unwrap();
        assert_eq!(options.run, ["run", "mixed", "--clients", "8"]);
        assert_eq!((options.start_in, options.round_trips), (Duration::from_secs(3), 1_000));
        assert_eq!(options.report, ["--json", "out.json", "--full"]);
        assert_eq!(options.part_folder(2), PathBuf::from("all/part-2"));
        let sweep = self::options("-q sweep mixed --levels 1,2 --record all").unwrap();
        assert_eq!((sweep.run.join(" ").as_str(), sweep.quiet), ("sweep mixed --levels 1,2", true));
        let again = self::options("run mixed --record all --overwrite").unwrap();
        assert_eq!((again.run.join(" ").as_str(), again.overwrite), ("run mixed --overwrite", true));
        assert!(!sweep.overwrite && again.report.is_empty());
        let search = self::options("capacity mixed --hold bytes>1MB/s --record all").unwrap();
        assert!(search.is_search() && !sweep.is_search());
        assert_eq!(search.run, ["capacity", "mixed", "--hold", "bytes>1MB/s"]);
    }

    #[test]
    fn what_is_missing_or_set_by_the_program_is_an_error() {
        for given in
            ["run mixed", "mixed --record all", "run mixed --record", "run --record all --part 1/2", "--start-in soon"]
        {
            assert!(options(given).is_err(), "{given}");
        }
    }
}
