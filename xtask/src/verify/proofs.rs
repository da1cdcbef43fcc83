//! The proofs, in the order of their sections.

/// A proof: its claim, and its command.
pub(super) struct Proof {
    pub(super) claim: &'static str,
    /// Arguments of cargo.
    pub(super) arguments: &'static [&'static str],
    /// Programs that it needs, and their Debian packages.
    pub(super) needs: (&'static [&'static str], &'static str),
    /// Prefixes of the output lines with its figures.
    pub(super) figures: &'static [&'static str],
}

/// The table of the proofs.
macro_rules! proofs {
    ($($claim:literal: $arguments:expr, figures [$($figure:literal),*]
        $(, needs [$($program:literal),*] of $packages:literal)?;)*) => {
        &[$(Proof {
            claim: $claim,
            arguments: &$arguments,
            needs: (&[$($($program),*)?], concat!($($packages)?)),
            figures: &[$($figure),*],
        }),*]
    };
}

pub(super) const PROOFS: &[Proof] = proofs! {
    "A/A: of 200 pairs of runs of the same server, no number is called different in more than 5 %":
        program("verdicts::the_same_is_seldom_called_different"), figures ["A/A ", "  "];
    "A/B: a difference of 5 % in the mean is found in at least 90 % of 200 pairs":
        program("verdicts::five_per_cent_in_the_mean_are_found"), figures ["A/B, ", "  "];
    "capacity: the interval holds the true capacity in all but one of 20 searches":
        program("verdicts::capacity::"), figures ["capacity "];
    "known latency: percentiles within 1 % of the closed form, under the virtual clock and by the real one":
        program("verdicts::latency::"), figures ["constant", "exponential", "two humps", "a stall"];
    "NetBench's load file: all 458,344 operations end as the file says, on every kind of target":
        program("replay::"), figures ["SKIPPED"];
    "all captures: an anonymized copy of each capture, and any number of threads, give the same results":
        // Two modules of them.
        ["test", "--profile", "quick", "--workspace", "--test", "all", "--", "anonymize::", "threads::",
         "--include-ignored", "--nocapture"], figures ["SKIPPED"];
    "observer: all captures and thousands of conversations, handed over, in tunnels, cut or hostile, give the right transactions":
        // The observer against models, tshark and itself.
        ["test", "--profile", "quick", "--workspace", "--lib", "--test", "all", "--", "chained::", "damage::",
         "encapsulations::", "hand_over::", "hostile::", "oracle::", "pairing_model::", "snaplen::", "stream_model::",
         "--nocapture"],
        figures ["seed ", "SKIPPED"], needs ["tshark", "python3"] of "tshark python3";
    "workloads: directory, Samba, embedded NFS 4.1 and 4.2 without errors, Ganesha with excused listings; a killed run keeps its levels":
        // Seven on a directory, Samba and Ganesha in NFS 3, all for NFS on the embedded server. A run is killed at 20 moments.
        ["test", "--profile", "quick", "--workspace", "--test", "all", "--", "run::workloads_on_",
         "run::every_workload_on_the_embedded_nfs_server_in_version_4", "a_killed_run_leaves_its_finished_levels",
         "--nocapture"],
        figures ["excused ", "SKIPPED"], needs ["smbd", "tcpdump", "tshark"] of "samba tcpdump tshark";
    "resets: a connection is reset after each number of bytes of an iteration; every client comes back, each reset is counted":
        program("reset_at_any_byte"), figures ["SKIPPED"];
    "page: of a million operations it is below 3 MB, and follows three clicks and three keys within 200 ms each":
        program("million"), figures ["page ", "milliseconds", "SKIPPED"];
    "charts: on every page of a report, mouse and keys zoom each chart, read its points and hide its series":
        program("html_browser::"), figures ["SKIPPED"], needs ["chromium"] of "chromium";
    "gate: of 1,000 gates of a server with itself at most 5 % fail, under three kinds of noise":
        ["test", "--profile", "quick", "--workspace", "--lib", "--", "gate::simulation", "choice_of_the_prior",
         "--nocapture"],
        figures ["g  ", "0.5", "1  ", "2  ", "4  ", "8  ", "16 ", "noise", "Normal", "Outliers", "Drift"];
    "bisect: of 10 searches for a commit that is 10 % slower none blames another; each finds it or says it cannot tell":
        program("bisect::"), figures ["bisect: "];
    "history: of 200 histories without a change at most 5 % show one; a change of 5 % is found in 90 %":
        ["test", "--profile", "quick", "--workspace", "--lib", "--", "changes::simulation", "--nocapture"],
        figures ["noise", "Normal", "Skewed", "HeavyTailed", "Alike", "Drift"];
    "MPI: in 50 runs of 4 ranks in time namespaces, starts are within 200 µs and the printed bound; ranks drive one load":
        ["test", "--manifest-path", "mpi/Cargo.toml", "--target-dir", "target/mpi", "--", "--nocapture"],
        figures ["MPI clocks", "SKIPPED"], needs ["mpirun", "mpicc"] of "libopenmpi-dev openmpi-bin libclang-dev";
    "slurm: 4 tasks of a real Slurm drive one load; of a killed task the merge says so by name":
        ["xtask", "launchers", "slurm"],
        figures ["launcher "], needs ["srun", "slurmctld", "slurmd", "munged"] of "slurmctld slurmd slurm-client munge";
    "parallel: 4 jobs of GNU parallel drive one load":
        ["xtask", "launchers", "parallel"], figures ["launcher "], needs ["parallel"] of "parallel";
    "simulation: a million users of simulated servers in 64 parts, merged; 64,000 in parts are those of one process, bit for bit":
        ["test", "--profile", "quick", "-p", "plimsoll-experiment", "--lib", "--", "million::", "--nocapture",
         "--test-threads=1"], figures ["simulation, "];
    "distributions: 4 processes that drive parts of a load measure the response times that one process measures":
        program("parts_agree::"), figures ["distributions, "];
    "many: of 100 million transactions, DuckDB, DataFusion and Spark give the same answers; time and memory of each":
        program("queries_of_many::"), figures ["many: ", "SKIPPED"];
    "rows: every table, figure and method of five documents has a command that gives its counterpart, or a reason why not":
        // Whether there is a figure, and not how large it is: the build of any other test will do.
        ["test", "--workspace", "--test", "all", "rows::every_row", "--", "--nocapture"],
        figures ["works", "partly", "missing", "fails", "SKIPPED", "rows: "];
    "directory leases: a client never gives a listing from its cache after the server broke the lease (Samba 4.22 or later)":
        program("leases::"), figures ["test ", "SKIPPED"], needs ["smbd"] of "samba";
    "channels: of 4 connections of a session on Samba, the busiest has at most 1.2 times as many requests as the least busy one":
        program("channels::four_channels_carry_the_same"),
        figures ["balance ", "SKIPPED"], needs ["smbd", "tshark"] of "samba tshark";
    "Ganesha of Debian 12: each NFS workload runs on 3, 4.0, 4.1, 4.2, no error but excused listings; tcpdump sees what the client reports":
        program("run::every_workload_on_ganesha_of_debian_12"),
        figures ["Ganesha ", "SKIPPED"], needs ["tcpdump", "tshark", "rpcbind"] of "tcpdump tshark rpcbind";
    "another Ganesha: each NFS workload runs on 3, 4.0, 4.1, 4.2, no error but excused listings; tcpdump sees what the client reports":
        program("run::every_workload_on_another_ganesha"),
        figures ["Ganesha ", "SKIPPED"], needs ["tcpdump", "tshark", "rpcbind"] of "tcpdump tshark rpcbind";
    "packages: each platform's packages are installed, run and removed; its reports are alike; a fresh clone makes the same bits":
        ["xtask", "package", "--reproduce"],
        figures ["== ", "  ", "demo: ", "a fresh clone", "SKIPPED"], needs ["musl-gcc"] of "musl-tools";
    "lossy captures: no wrong pair in 1,000 seeded runs; the estimated share of missing operations is right":
        ["xtask", "loss"], figures ["capture", "nfs", "smb", "total"];
    "watch losses: 30 pauses of 0.1 to 2 s: dropped packets are shown exactly, in their seconds; the share of missing operations is right":
        program("watch_loss::"), figures ["pause ", "SKIPPED"], needs ["tcpdump"] of "tcpdump";
    "watch twins: of 20 seeded runs the report is that of analyze on the saved packets, byte for byte but for the input's name":
        program("twins"), figures ["twins ", "SKIPPED"], needs ["ip"] of "iproute2";
    "watch hour: a page that is open for an hour has flat memory, and gets at most 30 kB per second":
        program("watch_hour::"),
        figures ["minute ", "page ", "SKIPPED"], needs ["chromium", "ip"] of "chromium iproute2";
    "watch delay: from the packet to terminal and browser p99 is at most 1.5 s":
        program("watch_delay::"),
        figures ["delay ", "SKIPPED"], needs ["tmux", "ip", "chromium"] of "tmux iproute2 chromium";
    "watch selection: a click on the page of five busy minutes is drawn within 200 ms":
        program("selections_are_drawn_at_once"), figures ["selection: ", "SKIPPED"], needs ["chromium"] of "chromium";
    "watch capacity: at 200,000 packets per second for 10 minutes none is dropped, each takes at most 0.8 µs, memory is flat":
        program("watch_capacity::"), figures ["capacity ", "SKIPPED"], needs ["ip"] of "iproute2";
    "watch cost: throughput of a server with and without a watch on its machine, A B B A":
        program("watch_cost::"), figures ["cost ", "SKIPPED"], needs ["ip"] of "iproute2";
};

/// A test of the test programs, by its name. All proofs share one build, without optimisation at link time.
/// Some of them are proofs alone, and no test: those are ignored unless they are asked for. A proof of speed measures the program that
/// `PLIMSOLL_BINARY` names.
const fn program(name: &'static str) -> [&'static str; 10] {
    ["test", "--profile", "quick", "--workspace", "--test", "all", name, "--", "--include-ignored", "--nocapture"]
}
