//! Workloads under the engine, on a directory, a real Samba and a real NFS-Ganesha: file sets are made byte for byte, every
//! workload runs without an error, nothing is left.

use std::path::Path;
use std::sync::Arc;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{ConnectOptions, Scenarios, Work, open};
use plimsoll_drive::engine::{self, EngineResult, Plan, Watch};
use plimsoll_model::{Names, Outcome, Protocol, Transaction};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Share, available};
use plimsoll_workload::fileset::{Create, Found, Job, Look, Remove, Verify};
use plimsoll_workload::{BUILTINS, Builtin, FileSet};
use plimsoll_workload::{Load, Pause, Phases};

/// Where files are made, and the folder in which they then are.
struct Place<'a> {
    target: Target,
    folder: &'a Path,
    protocol: Protocol,
}

/// Ganesha 4.3 sometimes calls a directory stale that other clients are changing. The client counts a failure.
const STALE_LISTING: &str = "READDIRPLUS Failed Some(70)";

/// What became of an operation.
fn said(row: &Transaction) -> String {
    format!("{} {:?} {:?}", row.procedure.name(), row.outcome, row.status)
}

impl Place<'_> {
    /// Runs a load until its scenarios finish, or for `ns`.
    fn run(
        &self,
        clients: u32,
        slots: u32,
        time: Option<u64>,
        scenarios: Scenarios<'_>,
    ) -> EngineResult<Vec<Transaction>> {
        let mut names = Names::default();
        let server = open(&self.target, &ConnectOptions::default(), &mut names).unwrap();
        let work = Work { server: server.as_ref(), scenarios, names: Arc::new(names) };
        let mut plan = Plan::new(Load::Closed { clients, think: Pause::None });
        plan.depth = slots;
        plan.phases = Phases { warmup_ns: 0, measured_ns: time, ..Phases::default() };
        let ran = engine::run(&plan, &work, |_| Vec::new(), &Watch::new(), None).unwrap();
        let refused = |row: &&Transaction| row.outcome != plimsoll_model::Outcome::Succeeded;
        let refused: Vec<String> = ran.sinks.iter().flatten().filter(refused).map(said).collect();
        let failed: u64 = ran.clients.iter().flat_map(|client| &client.errors).map(|(_, count)| count).sum();
        let stale = refused.iter().filter(|said| *said == STALE_LISTING).count() as u64;
        assert_eq!(failed, stale, "{}: {refused:?}", self.target);
        for client_index in &ran.clients {
            assert_eq!(client_index.errors_outside, Vec::new(), "{}: {refused:?}", self.target);
        }
        ran
    }

    fn finish(&self, job: &Arc<impl Job + 'static>) {
        self.run(3, 1, None, Box::new(|_, _, _| job.clone().scenario()));
        let progress = job.progress();
        assert_eq!(progress.done, progress.total);
    }

    fn every_builtin(&self) {
        // Replays of load files have separate tests, because some of their requests are refused on purpose.
        let with_iterations = BUILTINS.iter().filter(|builtin| !builtin.text.contains("[replay]"));
        let smb = self.protocol == Protocol::Smb2;
        let possible = |builtin: &&Builtin| smb || builtin.workload().unwrap().smb_alone().is_none();
        with_iterations.filter(possible).for_each(|builtin| self.builtin(builtin));
    }

    fn builtin(&self, builtin: &Builtin) {
        let workload = builtin.workload().unwrap();
        let files = Arc::new(FileSet::new(&workload, "", 3, &mut Names::default()).unwrap());
        let create = Create::new(files.clone());
        self.finish(&create);
        create.outcome().unwrap();
        for file in 0..files.files() {
            let mut path = String::new();
            files.file_path(file, &mut path);
            let bytes = std::fs::read(self.folder.join(&path)).unwrap();
            assert!(bytes.len() as u64 == files.size(file) && files.content().matches(file, 0, &bytes), "{path}");
        }
        let look = Look::new(files.clone());
        self.finish(&look);
        assert_eq!(look.outcome(), Ok(Found::Set));

        // However slow the machine is, a run has a first operation.
        let scenarios: Scenarios<'_> =
            Box::new(|client_index, slot, seed| workload.scenario(&files, client_index, slot, seed));
        let alone = workload.wants_its_connection_alone();
        let ran = self.run(3, if alone { 1 } else { 2 }, Some(100_000_000), scenarios);
        let transactions: Vec<&Transaction> = ran.sinks.iter().flatten().collect();
        assert!(transactions.iter().any(|transaction| transaction.procedure.row().protocol == self.protocol));
        for transaction in transactions {
            // Scenarios of office work ask for missing files; the check above showed that no operation failed.
            let fine = matches!(transaction.outcome, Outcome::Succeeded | Outcome::Expected) || alone;
            // An entry went while Ganesha listed it: the client asked again.
            let fine = fine || ["READDIRPLUS Refused Some(2)", STALE_LISTING].contains(&said(transaction).as_str());
            assert!(fine, "{transaction:?}");
        }

        // The run ended in the middle of iterations: their remains must be recognised.
        let verify = Verify::new(files.clone());
        self.finish(&verify);
        verify.outcome().unwrap();
        let remove = Remove::new(&files);
        self.finish(&remove);
        remove.outcome().unwrap();
        assert!(!self.folder.join(files.root()).exists());
    }
}

#[test]
fn every_builtin_runs_on_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Path(folder.path().to_owned());
    Place { target, folder: folder.path(), protocol: Protocol::File }.every_builtin();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_builtin_runs_on_samba() {
    let Some(samba) = available(Samba::start(&[])) else { return };
    let (share, password) = (Share::Data, Samba::PASSWORD.replace(' ', "%20"));
    let url = format!("smb://{}:{password}@{}/{}", Samba::USER, samba.address(), share.name());
    let (target, folder) = (Target::parse(&url).unwrap(), samba.folder(share).unwrap());
    Place { target, folder: &folder, protocol: Protocol::Smb2 }.every_builtin();
}

#[test]
fn every_builtin_runs_on_ganesha() {
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let target = Target::parse(&ganesha.target(Export::Data)).unwrap();
    let folder = ganesha.folder(Export::Data).unwrap();
    Place { target, folder: &folder, protocol: Protocol::Nfs3 }.every_builtin();
}
