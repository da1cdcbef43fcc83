//! How many requests a mounted directory's client sends for a call, by the depth of its path: counted in a capture of its
//! connection that is being written meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_report::findings::calls::PathRequests;

/// Calls of each path after the first.
const AGAIN: u32 = 100;
/// Between two paths nothing is asked for: no request is taken for another path's.
const PAUSE: Duration = Duration::from_millis(50);
/// Whoever captures has written everything by then.
const MOMENT: Duration = Duration::from_secs(2);
/// Paths of one directory that grow by a part that leads nowhere, as Joy had them, and of directories in each other.
const DOTS: [&str; 4] = [".", "./.", "././.", "./././."];
const NAMES: [&str; 4] = ["a", "a/b", "a/b/c", "a/b/c/d"];

/// When a path was asked for: first, and again, ns since the Unix epoch, ends included.
struct Asked {
    path: &'static str,
    first: (i64, i64),
    again: (i64, i64),
}

/// Asks for attributes of paths below a directory, and counts in the capture what its client sent for them. Makes a few
/// directories for that, and removes them.
///
/// # Errors
/// The directory cannot be written to, the capture cannot be read, or holds no request.
pub(super) fn count(directory: &Path, read: &ReadCapture<'_>) -> anyhow::Result<Vec<PathRequests>> {
    let top = directory.join(format!("plimsoll-breakdown-{}", std::process::id()));
    let deepest = NAMES.last().map_or_else(|| top.clone(), |name| top.join(name));
    std::fs::create_dir_all(&deepest).with_context(|| deepest.display().to_string())?;
    let asked = DOTS.iter().chain(&NAMES).map(|path| ask(&top, path)).collect::<std::io::Result<Vec<_>>>();
    // Nothing else is in it; what stands in the way of one stands in the way of all.
    let removed = std::fs::remove_dir_all(&top).with_context(|| top.display().to_string());
    let asked = asked?;
    removed?;
    std::thread::sleep(MOMENT);
    counted(&asked, read)
}

fn ask(top: &Path, path: &'static str) -> std::io::Result<Asked> {
    // As it is written: what a path means is the system's to find out.
    let whole = PathBuf::from(format!("{}/{path}", top.display()));
    let stat = || std::fs::symlink_metadata(&whole).map(|_| ());
    std::thread::sleep(PAUSE);
    let begun = now();
    stat()?;
    let first = (begun, now());
    std::thread::sleep(PAUSE);
    let begun = now();
    (0..AGAIN).try_for_each(|_| stat())?;
    Ok(Asked { path, first, again: (begun, now()) })
}

/// The time of day, which captures tell, too.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn counted(asked: &[Asked], read: &ReadCapture<'_>) -> anyhow::Result<Vec<PathRequests>> {
    let found = read(RequestSpans::new(asked.iter().flat_map(|asked| [asked.first, asked.again]).collect()))?;
    ensure!(
        found.requests > 0,
        "the capture has no request during the calls; capture the mount's connection with unbuffered output (tcpdump -U)"
    );
    let requests = |(place, asked): (usize, &Asked)| {
        let of = |place: usize| found.procedures.get(place).map_or(&[][..], Vec::as_slice);
        let (first, again) = (of(2 * place), of(2 * place + 1));
        PathRequests {
            call: "stat".to_owned(),
            path: asked.path.to_owned(),
            depth: u32::try_from(asked.path.split('/').count()).unwrap_or(u32::MAX),
            first: first.len() as f64,
            again: again.len() as f64 / f64::from(AGAIN),
            procedures: first.to_vec(),
        }
    };
    Ok(asked.iter().enumerate().map(requests).collect())
}

/// Reads a capture into spans.
pub type ReadCapture<'a> = dyn Fn(RequestSpans) -> anyhow::Result<RequestSpans> + 'a;

/// Procedures by the span of time in which their requests were sent.
#[derive(Debug)]
pub struct RequestSpans {
    spans: Vec<(i64, i64)>,
    /// Names of the procedures, a list per span.
    pub procedures: Vec<Vec<String>>,
    /// Requests in any of the spans.
    pub requests: u64,
}

impl RequestSpans {
    /// Spans (ns since the Unix epoch, ends included) without a request.
    pub fn new(spans: Vec<(i64, i64)>) -> Self {
        Self { procedures: vec![Vec::new(); spans.len()], spans, requests: 0 }
    }
}

impl Sink for RequestSpans {
    fn transaction(&mut self, transaction: &Transaction, _: &Names) {
        let Some(at) = transaction.timeline.request_first else { return };
        for ((first, last), procedures) in self.spans.iter().zip(&mut self.procedures) {
            if (*first..=*last).contains(&at) {
                self.requests += 1;
                procedures.push(transaction.procedure.name().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};

    use super::*;

    #[test]
    fn requests_are_counted_where_they_were_sent() {
        let path = |path, at: i64| Asked { path, first: (at, at + 9), again: (at + 10, at + 19) };
        let asked = [path(".", 0), path("./.", 100)];
        let sent = |mut spans: RequestSpans| {
            for at in [0, 9, 10, 20, 99] {
                spans.transaction(
                    &plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 1), at, 1),
                    &Names::default(),
                );
            }
            Ok(spans)
        };
        let found = counted(&asked, &sent).unwrap();
        let [all, none] = &found[..] else { panic!("{found:?}") };
        assert_eq!((all.first, all.again, all.depth, all.procedures.len()), (2.0, 1.0 / f64::from(AGAIN), 1, 2));
        assert_eq!((none.first, none.again, none.depth), (0.0, 0.0, 2));
        assert!(counted(&asked, &Ok).unwrap_err().to_string().contains("no request"));
    }

    #[test]
    fn a_directory_is_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("plimsoll-captured-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        assert!(count(&folder, &|_| anyhow::bail!("there is no capture")).is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }
}
