//! docs/sources.toml: every table, figure and method of five documents, each with a command that gives its counterpart. With
//! `PLIMSOLL_EXACT=1` all commands run, on Samba and Ganesha if they are installed; otherwise those that read captures of this
//! repository.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Export, Ganesha, MemoryLimit, Samba, Scratch, Share};
use plimsoll_testkit::workspace;
use serde::Deserialize;

/// Rows that a reading of the documents found.
const ROWS: usize = 78;
/// Length of a load level.
const SHORT: &str = "--duration 400ms --warmup 100ms";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    row: Vec<Row>,
}

/// See the head of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    document: String,
    place: String,
    what: String,
    command: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    shows: Vec<String>,
    #[serde(default)]
    valid: Vec<String>,
    #[serde(default = "usual_codes")]
    code: Vec<i32>,
    missing: Option<String>,
}

fn usual_codes() -> Vec<i32> {
    vec![0, 4]
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(workspace().join("docs/sources.toml")).unwrap();
    toml::from_str::<List>(&text).unwrap().row
}

/// The servers in commands, if they are installed.
struct Servers {
    samba: Option<Samba>,
    ganesha: Option<Ganesha>,
    /// A control group that holds no server yet.
    limit: Option<MemoryLimit>,
}

impl Servers {
    fn none() -> Self {
        Self { samba: None, ganesha: None, limit: None }
    }

    fn start() -> Self {
        let samba = Samba::start(&["smbd profiling level = on"]).ok();
        Self { samba, ganesha: Ganesha::start_counting().ok(), limit: MemoryLimit::new(64 << 20).ok() }
    }

    /// Why a row cannot run here.
    fn lacking(&self, row: &Row) -> Option<&'static str> {
        let is_there = |program: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        };
        row.needs.iter().find_map(|need| match need.as_str() {
            "samba" => self.samba.is_none().then_some("smbd, and root to start it"),
            "ganesha" => self.ganesha.is_none().then_some("ganesha.nfsd, and root to start it"),
            "shared" => (!workspace().join("../shared/captures").is_dir()).then_some("../shared/captures"),
            "limit" => self.limit.is_none().then_some("control groups for memory, and root"),
            "perf" => (!is_there("perf")).then_some("perf (Debian: linux-perf)"),
            "zstd" => (!is_there("zstd")).then_some("zstd"),
            "editcap" => (!is_there("editcap")).then_some("editcap (Debian: wireshark-common)"),
            "text2pcap" => (!is_there("text2pcap")).then_some("text2pcap (Debian: wireshark-common)"),
            other => panic!("{}, {}: needs {other}?", row.document, row.place),
        })
    }

    /// Runs a row's command in a folder.
    fn run(&self, command: &str, folder: &Path) -> Output {
        let local = folder.join("local");
        std::fs::create_dir_all(&local).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path))).unwrap();
        let mut sh = Command::new("sh");
        sh.args(["-c", command]).current_dir(folder).env("PATH", path).env("SHORT", SHORT);
        sh.env("CAPTURES", workspace().join("captures")).env("SHARED", workspace().join("../shared/captures"));
        sh.env("TOOLS", workspace().join("../shared/tools")).env("LOCAL", format!("file://{}", local.display()));
        sh.env("PLIMSOLL_PASSWORD", Samba::PASSWORD).env("SMB", "embedded:smb").env("NFS", "embedded:nfs");
        if let Some(samba) = &self.samba {
            sh.env("SMB", format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name()));
            sh.env("SMB_PID", samba.process_id().unwrap().to_string()).env("SMB_CONF", samba.configuration());
        }
        if let Some(limit) = &self.limit {
            sh.env("LIMIT", limit.folder());
        }
        if let Some(ganesha) = &self.ganesha {
            sh.env("NFS", ganesha.target(Export::Data)).env("NFS_BUS", ganesha.bus().unwrap());
            sh.env("NFS_PID", ganesha.process_id().unwrap().to_string());
        }
        output(&mut sh)
    }

    /// Why a row's result differs from the expected one; `None` if it does not.
    fn fault(&self, row: &Row, command: &str, folder: &Path) -> Option<String> {
        let output = self.run(command, folder);
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
        // Lines are as wide as the terminal.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(&said);
        if !output.status.code().is_some_and(|code| row.code.contains(&code)) {
            let end: String = said.chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect();
            return Some(format!("{}: … {end}", output.status));
        }
        let valid = row.valid.iter().filter(|_| !said.contains("INVALID"));
        let lacks = row.shows.iter().chain(valid).find(|part| !said.contains(&words(part)))?;
        Some(format!("no \"{lacks}\" in what `{command}` prints"))
    }
}

/// Runs rows, prints the result of each, and returns those that differ.
#[expect(clippy::print_stdout, reason = "what was verified, row by row")]
fn check(servers: &Servers, wanted: impl Fn(&Row) -> bool) -> Vec<String> {
    let scratch = Scratch::new("rows");
    let mut wrong = Vec::new();
    let mut counts = [0_u32; 5];
    for (number, row) in (1..).zip(rows()).filter(|(_, row)| wanted(row)) {
        let name = format!("{number:2} {}, {}: {}", row.document, row.place, row.what);
        let (Some(command), began) = (&row.command, Instant::now()) else {
            counts[3] += 1;
            println!("missing  {name}: {}", row.missing.unwrap());
            continue;
        };
        if let Some(needs) = servers.lacking(&row) {
            counts[4] += 1;
            println!("SKIPPED  {name}: needs {needs}");
            continue;
        }
        let folder = scratch.folder(&format!("row-{number}"));
        if let Some(fault) = servers.fault(&row, command, &folder) {
            counts[2] += 1;
            println!("fails    {name}: {fault}");
            wrong.push(format!("{name}: {fault}"));
            continue;
        }
        let (place, word) = if row.missing.is_some() { (1, "partly") } else { (0, "works") };
        counts[place] += 1;
        let but = row.missing.map_or_else(String::new, |missing| format!(" But: {missing}"));
        println!("{word:<8} {name} ({:.1} s).{but}", began.elapsed().as_secs_f64());
    }
    let [works, partly, fails, missing, skipped] = counts;
    println!("rows: {works} work, {partly} in part, {missing} missing, {fails} fail, {skipped} skipped");
    wrong
}

#[test]
fn the_list_has_every_row_and_says_what_is_missing() {
    let rows = rows();
    assert_eq!(rows.len(), ROWS);
    for row in &rows {
        let name = format!("{}, {}: {}", row.document, row.place, row.what);
        assert!(!row.what.is_empty() && !row.place.is_empty(), "{name}");
        match &row.command {
            Some(command) => assert!(command.contains("plimsoll ") && !row.shows.is_empty(), "{name}"),
            None => assert!(row.missing.is_some() && row.shows.is_empty() && row.needs.is_empty(), "{name}"),
        }
    }
    let of = |document: &str| rows.iter().filter(|row| row.document == document).count();
    let documents = ["Swartz 1997", "Gregg 2009", "FSCT", "Poo and Tan 1988", "Joy 1984"];
    assert_eq!(documents.map(of), [25, 11, 23, 13, 6]);
}

/// A row whose command prints something else, or fails, is detected.
#[test]
fn a_row_that_does_not_work_is_said() {
    let row = |command: &str, shows: &str| Row {
        document: "Nobody".to_owned(),
        place: "nowhere".to_owned(),
        what: "nothing".to_owned(),
        command: Some(command.to_owned()),
        needs: Vec::new(),
        shows: vec![shows.to_owned()],
        valid: vec!["a throughput".to_owned()],
        code: usual_codes(),
        missing: None,
    };
    let scratch = Scratch::new("rows-wrong");
    let fault = |command: &str, shows: &str| Servers::none().fault(&row(command, shows), command, scratch.path());
    assert_eq!(fault("echo 'a   throughput'", "a throughput"), None);
    assert!(fault("echo a throughput", "a figure").unwrap().contains("no \"a figure\""));
    assert!(fault("echo a figure", "a figure").unwrap().contains("no \"a throughput\""), "all is valid");
    assert_eq!(fault("echo a figure, INVALID", "a figure"), None);
    assert!(fault("plimsoll --nonsense", "").unwrap().contains("exit status: 2"));
}

#[test]
fn every_row_works_or_says_why_not() {
    let wrong = if std::env::var_os("PLIMSOLL_EXACT").is_some() {
        let _alone = crate::alone();
        check(&Servers::start(), |_| true)
    } else {
        let quick = |row: &Row| {
            let is_quick =
                |command: &String| command.starts_with("plimsoll analyze $CAPTURES") && !command.contains(';');
            row.command.as_ref().is_some_and(is_quick)
        };
        check(&Servers::none(), quick)
    };
    assert!(wrong.is_empty(), "{wrong:#?}");
}
