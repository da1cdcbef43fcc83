//! The proofs, in the order of their sections.

/// A proof: its claim, and its command.
pub(super) struct Proof {
    pub(super) claim: &'static str,
    /// Arguments of cargo.
    pub(super) arguments: &'static [&'static str],
    /// Programs that it needs, and their Debian packages.
    pub(super) needs: Option<(&'static [&'static str], &'static str)>,
    /// Prefixes of the output lines with its figures.
    pub(super) figures: &'static [&'static str],
}

pub(super) const PROOFS: &[Proof] = &[
    Proof {
        claim: "A/A: of 200 pairs of runs of the same server, no number is called different in more than 5 %",
        arguments: &program("verdicts::the_same_is_seldom_called_different"),
        needs: None,
        figures: &["A/A ", "  "],
    },
    Proof {
        claim: "A/B: a difference of 5 % in the mean is found in at least 90 % of 200 pairs",
        arguments: &program("verdicts::five_per_cent_in_the_mean_are_found"),
        needs: None,
        figures: &["A/B, ", "  "],
    },
    Proof {
        claim: "capacity: the interval holds the true capacity in all but one of 20 searches",
        arguments: &program("verdicts::capacity::"),
        needs: None,
        figures: &["capacity "],
    },
    Proof {
        claim: "known latency: percentiles within 1 % of the closed form, under the virtual clock and by the real one",
        arguments: &program("verdicts::latency::"),
        needs: None,
        figures: &["constant", "exponential", "two humps", "a stall"],
    },
    Proof {
        claim: "NetBench's load file: all 458,344 operations end as the file says, on every kind of target",
        arguments: &program("replay::"),
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "all captures: an anonymized copy of each capture, and any number of threads, give the same results",
        arguments: &CAPTURES,
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "observer: all captures and thousands of conversations, handed over, in tunnels, cut or hostile, give the right transactions",
        arguments: &OBSERVER,
        needs: Some((&["tshark", "python3"], "tshark python3")),
        figures: &["seed ", "SKIPPED"],
    },
    Proof {
        claim: "resets: a connection is reset after each number of bytes of an iteration; every client comes back, each reset is counted",
        arguments: &program("reset_at_any_byte"),
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "page: of a million operations it is below 3 MB, and follows three clicks and three keys within 200 ms each",
        arguments: &program("million"),
        needs: None,
        figures: &["page ", "milliseconds", "SKIPPED"],
    },
    Proof {
        claim: "charts: on every page of a report, mouse and keys zoom each chart, read its points and hide its series",
        arguments: &program("html_browser::"),
        needs: Some((&["chromium"], "chromium")),
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "gate: of 1,000 gates of a server with itself at most 5 % fail, under three kinds of noise",
        arguments: &[
            "test",
            "--profile",
            "quick",
            "--workspace",
            "--lib",
            "--",
            "gate::simulation",
            "choice_of_the_prior",
            "--nocapture",
        ],
        needs: None,
        figures: &["g  ", "0.5", "1  ", "2  ", "4  ", "8  ", "16 ", "noise", "Normal", "Outliers", "Drift"],
    },
    Proof {
        claim: "bisect: of 10 searches for a commit that is 10 % slower none blames another; each finds it or says it cannot tell",
        arguments: &program("bisect::"),
        needs: None,
        figures: &["bisect: "],
    },
    Proof {
        claim: "history: of 200 histories without a change at most 5 % show one; a change of 5 % is found in 90 %",
        arguments: &["test", "--profile", "quick", "--workspace", "--lib", "--", "changes::simulation", "--nocapture"],
        needs: None,
        figures: &["noise", "Normal", "Skewed", "HeavyTailed", "Alike", "Drift"],
    },
    Proof {
        claim: "MPI: in 50 runs of 4 ranks in time namespaces, starts are within 200 µs and the printed bound; ranks drive one load",
        arguments: &["test", "--manifest-path", "mpi/Cargo.toml", "--target-dir", "target/mpi", "--", "--nocapture"],
        needs: Some((&["mpirun", "mpicc"], "libopenmpi-dev openmpi-bin libclang-dev")),
        figures: &["MPI clocks", "SKIPPED"],
    },
    Proof {
        claim: "slurm: 4 tasks of a real Slurm drive one load; of a killed task the merge says so by name",
        arguments: &["xtask", "launchers", "slurm"],
        needs: Some((&["srun", "slurmctld", "slurmd", "munged"], "slurmctld slurmd slurm-client munge")),
        figures: &["launcher "],
    },
    Proof {
        claim: "parallel: 4 jobs of GNU parallel drive one load",
        arguments: &["xtask", "launchers", "parallel"],
        needs: Some((&["parallel"], "parallel")),
        figures: &["launcher "],
    },
    Proof {
        claim: "simulation: a million users of simulated servers in 64 parts, merged; 64,000 in parts are those of one process, bit for bit",
        arguments: &[
            "test",
            "--profile",
            "quick",
            "-p",
            "plimsoll-experiment",
            "--lib",
            "--",
            "million::",
            "--nocapture",
            "--test-threads=1",
        ],
        needs: None,
        figures: &["simulation, "],
    },
    Proof {
        claim: "distributions: 4 processes that drive parts of a load measure the response times that one process measures",
        arguments: &program("parts_agree::"),
        needs: None,
        figures: &["distributions, "],
    },
    Proof {
        claim: "many: of 100 million transactions, DuckDB, DataFusion and Spark give the same answers; time and memory of each",
        arguments: &program("queries_of_many::"),
        needs: None,
        figures: &["many: ", "SKIPPED"],
    },
    Proof {
        claim: "rows: every table, figure and method of five documents has a command that gives its counterpart, or a reason why not",
        // Whether there is a figure, and not how large it is: the build of any other test will do.
        arguments: &["test", "--workspace", "--test", "all", "rows::every_row", "--", "--nocapture"],
        figures: &["works", "partly", "missing", "fails", "SKIPPED", "rows: "],
        needs: None,
    },
    Proof {
        claim: "directory leases: a client never gives a listing from its cache after the server broke the lease (Samba 4.22 or later)",
        arguments: &program("leases::"),
        needs: Some((&["smbd"], "samba")),
        figures: &["test ", "SKIPPED"],
    },
    Proof {
        claim: "another Ganesha: each workload for NFS runs on 3, 4.0, 4.1 and 4.2 without an error; tcpdump sees what the client reports",
        arguments: &program("run::every_workload_on_another_ganesha"),
        needs: Some((&["tcpdump", "tshark", "rpcbind"], "tcpdump tshark rpcbind")),
        figures: &["Ganesha ", "SKIPPED"],
    },
    Proof {
        claim: "packages: each platform's packages are installed, run and removed; its reports are alike; a fresh clone makes the same bits",
        arguments: &["xtask", "package", "--reproduce"],
        needs: Some((&["musl-gcc"], "musl-tools")),
        figures: &["== ", "  ", "demo: ", "a fresh clone", "SKIPPED"],
    },
    Proof {
        claim: "lossy captures: no wrong pair in 1,000 seeded runs; the estimated share of missing operations is right",
        arguments: &["xtask", "loss"],
        needs: None,
        figures: &["capture", "nfs", "smb", "total"],
    },
    Proof {
        claim: "watch losses: 30 pauses of 0.1 to 2 s: dropped packets are shown exactly, in their seconds; the share of missing operations is right",
        arguments: &program("watch_loss::"),
        needs: Some((&["tcpdump"], "tcpdump")),
        figures: &["pause ", "SKIPPED"],
    },
    Proof {
        claim: "watch twins: of 20 seeded runs the report is that of analyze on the saved packets, byte for byte but for the input's name",
        arguments: &program("twins"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["twins ", "SKIPPED"],
    },
    Proof {
        claim: "watch hour: a page that is open for an hour has flat memory, and gets at most 30 kB per second",
        arguments: &program("watch_hour::"),
        needs: Some((&["chromium", "ip"], "chromium iproute2")),
        figures: &["minute ", "page ", "SKIPPED"],
    },
    Proof {
        claim: "watch delay: from the packet to terminal and browser p99 is at most 1.5 s",
        arguments: &program("watch_delay::"),
        needs: Some((&["tmux", "ip"], "tmux iproute2")),
        figures: &["delay ", "SKIPPED"],
    },
    Proof {
        claim: "watch selection: a click on the page of five busy minutes is drawn within 200 ms",
        arguments: &program("selections_are_drawn_at_once"),
        needs: Some((&["chromium"], "chromium")),
        figures: &["selection: ", "SKIPPED"],
    },
    Proof {
        claim: "watch capacity: at 200,000 packets per second for 10 minutes none is dropped, each takes at most 0.8 µs, memory is flat",
        arguments: &program("watch_capacity::"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["capacity ", "SKIPPED"],
    },
    Proof {
        claim: "watch cost: throughput of a server with and without a watch on its machine, A B B A",
        arguments: &program("watch_cost::"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["cost ", "SKIPPED"],
    },
];

/// A test of the test programs, by its name. All proofs share one build, without optimisation at link time.
/// Some of them are proofs alone, and no test: those are ignored unless they are asked for. A proof of speed measures the program that
/// `PLIMSOLL_BINARY` names.
const fn program(name: &'static str) -> [&'static str; 10] {
    ["test", "--profile", "quick", "--workspace", "--test", "all", name, "--", "--include-ignored", "--nocapture"]
}

/// Two modules of them.
const CAPTURES: [&str; 11] = [
    "test",
    "--profile",
    "quick",
    "--workspace",
    "--test",
    "all",
    "--",
    "anonymize::",
    "threads::",
    "--include-ignored",
    "--nocapture",
];

/// The observer against models, tshark and itself.
const OBSERVER: [&str; 17] = [
    "test",
    "--profile",
    "quick",
    "--workspace",
    "--lib",
    "--test",
    "all",
    "--",
    "damage::",
    "encapsulations::",
    "hand_over::",
    "hostile::",
    "oracle::",
    "pairing_model::",
    "snaplen::",
    "stream_model::",
    "--nocapture",
];
