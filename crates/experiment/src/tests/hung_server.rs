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

/// Each attempt to connect takes a whole timeout.
#[test]
fn a_server_that_may_hang_gets_one_attempt_to_remove_the_files() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://user:password@{}/share", listener.local_addr().unwrap());
    let mut names = Names::default();
    let opened = open(&Target::parse(&url).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
    let server: Arc<dyn Connector> = Arc::from(opened);
    let set = FileSet::called(None, &Workload::find("mixed").unwrap(), "", 1, &mut names).unwrap();
    let monitor = Unseen(Watch::new());
    let files = Files {
        server: &server,
        set: Arc::new(set),
        shared: true,
        maker: Maker::This,
        names: Arc::new(names),
        monitor: &monitor,
        timeout_ns: 20_000_000,
    };
    listener.set_nonblocking(true).unwrap();
    for (removed, remain) in [(files.remove_leftovers(true), "private files"), (files.remove(true), "files")] {
        let error = format!("{:#}", removed.unwrap_err());
        let remain = format!("{remain} of this run may remain in {}", files.set.root());
        assert!(error.starts_with(&remain), "{error}");
    }
    let attempts = listener.incoming().map_while(Result::ok).count();
    assert_eq!(attempts, 12, "4 connections for private files and 8 for all files");
}
