//! A server that takes connections, and never sends anything.

use std::net::TcpListener;
use std::sync::Arc;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{ConnectOptions, Connector, open};
use plimsoll_drive::engine::Watch;
use plimsoll_model::Names;
use plimsoll_workload::{FileSet, Workload};

use super::searches::Unseen;
use crate::file_preparation::{Files, Maker};
use crate::monitor::{Activity, Monitor};

/// The number of connections to such a server during `work` on its files. Each attempt to connect takes a whole timeout.
fn attempts(monitor: &dyn Monitor, work: impl FnOnce(&Files<'_>)) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://user:password@{}/share", listener.local_addr().unwrap());
    let mut names = Names::default();
    let opened = open(&Target::parse(&url).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
    let server: Arc<dyn Connector> = Arc::from(opened);
    let set = FileSet::called(None, &Workload::find("mixed").unwrap(), "", 1, &mut names).unwrap();
    let files = Files {
        server: &server,
        set: Arc::new(set),
        shared: true,
        maker: Maker::This,
        names: Arc::new(names),
        monitor,
        timeout_ns: 20_000_000,
    };
    listener.set_nonblocking(true).unwrap();
    work(&files);
    listener.incoming().map_while(Result::ok).count()
}

/// Files remain, and the error says where.
fn assert_remain(removed: anyhow::Result<()>, what: &str, files: &Files<'_>) {
    let error = format!("{:#}", removed.unwrap_err());
    let remain = format!("{what} of this run may remain in {}", files.set.root());
    assert!(error.starts_with(&remain), "{error}");
}

#[test]
fn a_server_that_may_hang_gets_one_attempt_to_remove_the_files() {
    let attempts = attempts(&Unseen(Watch::new()), |files| {
        assert_remain(files.remove_leftovers(true), "private files", files);
        assert_remain(files.remove(true), "files", files);
    });
    assert_eq!(attempts, 12, "4 connections for private files and 8 for all files");
}

/// A run that the user has stopped, once.
struct Stopped {
    watch: Watch,
    cleaning: Watch,
}

impl Monitor for Stopped {
    fn catch(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn watch(&self) -> &Watch {
        &self.watch
    }

    fn cleaning(&self) -> &Watch {
        &self.cleaning
    }

    fn show(&self, _: &str, _: Activity<'_>, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// Nothing was outstanding at the end of the run, so nothing showed that the server hangs.
#[test]
fn after_a_stop_a_server_that_hangs_gets_one_attempt_to_remove_the_files() {
    let monitor = Stopped { watch: Watch::new(), cleaning: Watch::new() };
    monitor.watch.stop();
    let attempts = attempts(&monitor, |files| assert_remain(files.remove(false), "files", files));
    assert_eq!(attempts, 8, "connections");
}
