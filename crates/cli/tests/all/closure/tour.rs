//! A scenario that performs every action once, in a meaningful order, on private files.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition, Done, FileKey, Operation, Reply};
use plimsoll_model::Symbol;
use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};

/// Expected failures of an action: the protocol or the server does not support it, or the server refuses it.
pub(crate) const EXPECTED: [Cause; 3] = [Cause::Unsupported, Cause::Status, Cause::CallRejected];

/// The tour of a slot.
pub(crate) fn scenario(client: u32, slot: u32) -> Box<dyn Scenario> {
    let directory = format!("tour-{client}-{slot}");
    let path = |name: &str| format!("{directory}/{name}");
    let paths =
        ["", "a", "b", "c", "d", "nowhere"].map(|name| if name.is_empty() { directory.clone() } else { path(name) });
    Box::new(Tour { paths, content: Arc::new(Content::new(7)), step: 0, file: None, other: None })
}

struct Tour {
    paths: [String; 6],
    content: Arc<Content>,
    step: usize,
    file: Option<FileKey>,
    other: Option<FileKey>,
}

impl Tour {
    fn action(&self) -> Option<Operation<'_>> {
        let [directory, a, b, c, d, nowhere] = &self.paths;
        // Where an open failed its file is none that is open: the client says so.
        let (file, other) = (self.file.unwrap_or(FileKey(u32::MAX)), self.other.unwrap_or(FileKey(u32::MAX)));
        let open =
            |path, disposition, caching| Operation::Open { path, access: Access::ReadWrite, disposition, caching };
        let content = &self.content;
        let plain = Caching::None;
        Some(match self.step {
            0 => Operation::Null,
            1 => Operation::Mkdir { path: directory },
            2 => open(a, Disposition::Create, plain),
            3 => Operation::Write { file, offset: 0, length: 3_000_000, content, key: 5 },
            4 => Operation::Flush { file },
            5 => Operation::Read { file, offset: 0, length: 1, keep: false },
            6 => Operation::Read { file, offset: 4096, length: 8192, keep: true },
            7 => Operation::Read { file, offset: 100, length: 2_900_000, keep: false },
            8 => Operation::Read { file, offset: 5_000_000, length: 10, keep: false },
            9 => Operation::GetattrOpen { file },
            10 => Operation::Getattr { path: a },
            11 => Operation::Getattr { path: nowhere },
            12 => Operation::Setattr { path: a, mode: 0o640 },
            13 => Operation::Truncate { file, size: 70_000 },
            14 => Operation::Access { path: a },
            15 => open(b, Disposition::OpenOrCreate, Caching::LevelTwo),
            16 => Operation::Copy { from: file, to: other, length: 50_000 },
            17 => Operation::Lock { file, offset: 0, length: 10, exclusive: true, wait: false },
            18 => Operation::Unlock { file, offset: 0, length: 10 },
            19 => Operation::Clone { from: file, to: other, length: 60_000 },
            20 => Operation::Allocate { file: other, offset: 60_000, length: 200_000 },
            21 => Operation::Deallocate { file: other, offset: 65_536, length: 65_536 },
            22 => Operation::SeekHole { file: other, offset: 5 },
            23 => Operation::SeekData { file: other, offset: 100_000 },
            24 => Operation::SeekData { file: other, offset: 1 << 40 },
            // Ganesha 4.3 gives the offset 0 to the segment of every answer: its answers from other offsets are malformed.
            25 => Operation::ReadPlus { file: other, offset: 0, length: 60_000, keep: false },
            26 => Operation::ReadPlus { file: other, offset: 0, length: 100, keep: true },
            27 => Operation::Close { file: other },
            28 => Operation::List { path: directory },
            29 => Operation::Link { from: a, to: c },
            30 => Operation::Symlink { path: d, text: "a" },
            31 => Operation::Readlink { path: d },
            32 => Operation::Fsinfo,
            33 => Operation::Close { file },
            34 => Operation::Rename { from: b, to: nowhere },
            35 => open(a, Disposition::OverwriteOrCreate, plain),
            36 => Operation::Close { file: other },
            37 => open(b, Disposition::Open, plain),
            38 => Operation::Remove { path: a },
            39 => Operation::Remove { path: nowhere },
            40 => Operation::Remove { path: c },
            41 => Operation::Remove { path: d },
            42 => Operation::Rmdir { path: directory },
            _ => return None,
        })
    }
}

impl Scenario for Tour {
    fn next(&mut self) -> ScenarioStep<'_> {
        self.action().map_or(ScenarioStep::Finished, |action| ScenarioStep::Act(action, Symbol::NONE))
    }

    fn done(&mut self, done: &Done) -> Verdict {
        if let Ok(Reply::Opened { file, .. }) = done.result {
            *(if self.step == 2 { &mut self.file } else { &mut self.other }) = Some(file);
        }
        self.step += 1;
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        (self.file, self.other) = (None, None);
    }
}
