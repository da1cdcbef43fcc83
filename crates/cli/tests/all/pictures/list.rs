//! Every picture of the documents, and the commands that make its page.

/// Commands that belong together, and the pictures of their pages.
pub(super) struct Run {
    /// Arguments of `plimsoll`, run one after the other in a private folder. The last two of a live page run at the same time.
    /// Words of [`STAND_INS`] stand for what differs from machine to machine.
    pub(super) commands: &'static [&'static str],
    pub(super) pictures: &'static [Picture],
}

impl Run {
    /// Whether its picture is that of a page which a running program serves.
    pub(super) fn is_live(&self) -> bool {
        self.commands.iter().any(|command| command.contains("--browser"))
    }

    /// Whether a command has this word, or a word that begins with it.
    pub(super) fn names(&self, word: &str) -> bool {
        self.commands.iter().any(|command| command.split(' ').any(|one| one.starts_with(word)))
    }
}

/// The picture `NAME.png`.
pub(super) struct Picture {
    pub(super) name: &'static str,
    /// The page is `PAGE.html`, and the report in JSON is `PAGE.json`.
    pub(super) page: &'static str,
    /// In pixels.
    pub(super) width: u32,
    pub(super) scheme: &'static str,
    pub(super) view: View,
}

/// The part of a page that a picture shows.
pub(super) enum View {
    /// From the top to the end of the element with this selector.
    Until(&'static str),
    /// From the top, this number of pixels.
    Top(u32),
    /// Only the elements with these selectors.
    Only(&'static [&'static str]),
    /// The drill-down after a click on this row of the table of operations, this number of pixels.
    DrillDown(&'static str, u32),
}

/// Words of commands, and what a reader gives in their place.
pub(super) const STAND_INS: [(&str, &str); 9] = [
    ("SAMBA", "smb://user@server/share"),
    ("GANESHA_3", "\"nfs://server/export?version=3\""),
    ("GANESHA_4.0", "\"nfs://server/export?version=4.0\""),
    ("GANESHA_4.1", "\"nfs://server/export?version=4.1\""),
    ("GANESHA_4.2", "\"nfs://server/export?version=4.2\""),
    ("SMBD", "$(pgrep -ox smbd)"),
    ("SMB_CONF", "/etc/samba/smb.conf"),
    ("SMB_PORT", "445"),
    ("EMPTY_CACHES", "\"$EMPTY_CACHES\""),
];

/// A command as a reader would type it.
pub(super) fn shown(command: &str) -> String {
    let shown =
        |word: &str| STAND_INS.iter().find(|(name, _)| *name == word).map_or(word.to_owned(), |it| it.1.to_owned());
    let words: Vec<String> = command.split(' ').map(shown).collect();
    format!("plimsoll {}", words.join(" "))
}

const fn picture(name: &'static str, page: &'static str, width: u32, view: View) -> Picture {
    Picture { name, page, width, scheme: "light", view }
}

/// The table of the runs.
macro_rules! runs {
    ($($($command:literal),+ => $($picture:expr),+;)*) => {
        [$(Run { commands: &[$($command),+], pictures: &[$($picture),+] }),*]
    };
}

/// All pictures. The whole set takes at most 16 minutes.
pub(super) const RUNS: [Run; 14] = runs! {
    "analyze captures/netbench-samba/capture.pcap.zst --html report.html" =>
        picture("report-capture-light", "report", 1360, View::Until("[data-part=rate]")),
        picture("report-drill-down", "report", 1360, View::DrillDown("remove", 1500));
    "compare captures/planted/healthy-samba.pcap.zst captures/planted/slow-directory.pcap.zst --html report.html" =>
        picture("report-comparison", "report", 1360, View::Top(1900));
    "sweep mixed --target SAMBA --levels 1,2,3,4,6,8,12,16 --duration 5s --warmup 1s --server-pid SMBD --html curve.html" =>
        picture("load-curve", "curve", 1000, View::Only(&["#figure-load-throughput", "#figure-throughput-response"])),
        Picture { scheme: "dark", ..picture("report-run-dark", "curve", 1360, View::Until("#figure-fairness")) };
    "run random-read --target SAMBA --levels 1,2,4,8,16 --duration 6s --warmup 1s --server-pid SMBD --html random.html" =>
        picture("random-read-heat", "random", 1160, View::Only(&["#figure-heat", "#figure-rate"]));
    "sweep mixed --target SAMBA --levels 1,4,16 --duration 5s --warmup 1s --full --html depth.html" =>
        picture("queue-depth", "depth", 1000, View::Only(&["#figure-depth", "#figure-service-octaves"]));
    "run home-folders --target SAMBA --users 1 --every 250ms --levels 5,15,30,45,60,90 --warmup 1s --duration 6s \
     --no-cpu-idle --html users.html" =>
        picture("home-folders", "users", 1000, LOAD);
    "run laddis --target GANESHA_3 --clients 8 --rate 1 --levels 200,400,800,1600,3200,6400 --warmup 2s --duration 5s \
     --stop-above 20ms --no-cpu-idle --html laddis.html" =>
        picture("laddis", "laddis", 1000, LOAD);
    "sweep blocks-read --target GANESHA_3 --levels 1,2,4,8,12,15 --vary block=0.75kB,6kB,30kB --duration 1500ms \
     --warmup 500ms --html read.html" =>
        picture("clients-and-sizes", "read", 1000,
            View::Only(&["#figure-load-throughput", "#figure-load-response", "#figure-highest-data"]));
    "sweep mixed --target GANESHA_3 --levels 1,2,4,8 --duration 8s --warmup 2s --record nfs3",
    "sweep mixed --target GANESHA_4.0 --levels 1,2,4,8 --duration 8s --warmup 2s --record nfs40",
    "sweep mixed --target GANESHA_4.1 --levels 1,2,4,8 --duration 8s --warmup 2s --record nfs41",
    "sweep mixed --target GANESHA_4.2 --levels 1,2,4,8 --duration 8s --warmup 2s --record nfs42",
    "compare nfs3 nfs40 nfs41 nfs42 --html versions.html" =>
        picture("nfs-versions", "versions", 1000, RANKED);
    "sweep blocks-write --target SAMBA --levels 1,4,8,15 --vary block=0.75kB,6kB,30kB --duration 3s --warmup 500ms \
     --record samba-write",
    "sweep blocks-write --target embedded:smb --levels 1,4,8,15 --vary block=0.75kB,6kB,30kB --duration 3s \
     --warmup 500ms --record esmb-write",
    "compare samba-write esmb-write --html who.html" =>
        picture("two-servers", "who", 1000, RANKED);
    "sweep netbench --target SAMBA --levels 1,2,4 --warmup 2s --duration 8s --record samba --html samba.html",
    "sweep netbench --target embedded:smb --levels 1,2,4 --warmup 2s --duration 8s --record embedded",
    "compare samba embedded --compact --html onepage.html" =>
        picture("netbench-compact", "onepage", 1440, View::Until("main")),
        picture("netbench-samba", "samba", 1360, View::Only(&["#figure-load-groups", "#figure-load-data"]));
    "capacity random-read --target SAMBA --clients 1 --most 100 --hold 'read.mean < 1ms' --duration 1s --warmup 300ms \
     --runs 60 --html capacity.html" =>
        picture("capacity", "capacity", 1000, View::Only(&["#capacity"]));
    "breakdown SAMBA --server-pid SMBD --samba-conf SMB_CONF --size 512MiB --duration 3s --empty-caches EMPTY_CACHES \
     --html where.html",
    "breakdown SAMBA --server-pid SMBD --size 512MiB --duration 2s --empty-caches EMPTY_CACHES --profile \
     --html profile.html" =>
        picture("breakdown", "where", 1180, View::Only(&["header", "#figure-calls"])),
        picture("flame", "profile", 1400, View::Only(&["figure:has(#flame-server)"]));
    "watch lo --port SMB_PORT --browser --json watch.json",
    "run netbench --target SAMBA --clients 6 --warmup 0s --duration 5m" =>
        picture("watch-browser", "watch", 1360, View::Top(1500));
};

/// The charts of a load that follows a schedule.
const LOAD: View = View::Only(&["#figure-load-throughput", "#figure-load-response", "#figure-throughput-response"]);

/// The charts of servers side by side.
const RANKED: View = View::Only(&["#figure-ranked-highest", "#figure-ranked-throughput", "#figure-ranked-mean"]);
