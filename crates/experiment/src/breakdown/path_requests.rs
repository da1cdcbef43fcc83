//! How long a call of a mounted directory takes by the depth of its path, and how many requests its client sends for it: counted in a
//! capture of its connection that is being written meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use plimsoll_client::clock::time_of_day;
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_report::findings::calls::PathRequests;
use plimsoll_stats::curve::median;

/// Calls of each path after the first.
const AGAIN: u32 = 100;
/// Between two paths nothing is asked for: no request is taken for another path's.
const PAUSE: Duration = Duration::from_millis(50);
/// Time until the capturing program has written everything.
const MOMENT: Duration = Duration::from_secs(2);
/// Paths of one directory that grow by `./` parts, as in Joy's paper, and of nested directories.
const DOTS: [&str; 4] = [".", "./.", "././.", "./././."];
const NAMES: [&str; 4] = ["a", "a/b", "a/b/c", "a/b/c/d"];

/// Times of the requests for a path: the first one, and the repetitions, ns since the Unix epoch, ends included; and the duration of the
/// first one and the median of the others, s.
struct Asked {
    path: &'static str,
    first: (i64, i64),
    again: (i64, i64),
    first_s: f64,
    again_s: Option<f64>,
}

/// Requests attributes of paths below a directory and below a local one, and counts in the capture, if there is one, the requests that
/// the directory's client sent for them. Creates a few directories for that, and removes them.
///
/// # Errors
/// A directory cannot be written to, the capture cannot be read, or contains no request.
pub(super) fn count(
    directory: &Path,
    local: &Path,
    read: Option<&ReadCapture<'_>>,
) -> anyhow::Result<Vec<PathRequests>> {
    let beside = ask_all(local, Duration::ZERO)?;
    let asked = ask_all(directory, PAUSE)?;
    let mut all = match read {
        Some(read) => {
            std::thread::sleep(MOMENT);
            counted(&asked, read)?
        }
        None => asked.iter().map(timed).collect(),
    };
    for (one, local) in all.iter_mut().zip(&beside) {
        one.local_s = local.again_s;
    }
    Ok(all)
}

/// Requests all paths, with a pause before each. Removes the directories that were created for that.
fn ask_all(directory: &Path, pause: Duration) -> anyhow::Result<Vec<Asked>> {
    let top = directory.join(format!("plimsoll-breakdown-{}", std::process::id()));
    let deepest = NAMES.last().map_or_else(|| top.clone(), |name| top.join(name));
    std::fs::create_dir_all(&deepest).with_context(|| deepest.display().to_string())?;
    let asked = DOTS.iter().chain(&NAMES).map(|path| ask(&top, path, pause)).collect::<std::io::Result<Vec<_>>>();
    // The directory contains nothing else, so an error concerns all paths.
    let removed = std::fs::remove_dir_all(&top).with_context(|| top.display().to_string());
    let asked = asked?;
    removed?;
    Ok(asked)
}

fn ask(top: &Path, path: &'static str, pause: Duration) -> std::io::Result<Asked> {
    // Unnormalised, so that the operating system resolves the path.
    let whole = PathBuf::from(format!("{}/{path}", top.display()));
    let stat = || {
        let begun = Instant::now();
        std::fs::symlink_metadata(&whole).map(|_| begun.elapsed().as_secs_f64())
    };
    std::thread::sleep(pause);
    // Captures tell the time of day, too.
    let begun = time_of_day();
    let first_s = stat()?;
    let first = (begun, time_of_day());
    std::thread::sleep(pause);
    let begun = time_of_day();
    let took = (0..AGAIN).map(|_| stat()).collect::<std::io::Result<Vec<f64>>>()?;
    Ok(Asked { path, first, again: (begun, time_of_day()), first_s, again_s: median(took) })
}

/// The facts without a capture.
fn timed(asked: &Asked) -> PathRequests {
    PathRequests {
        call: "stat".to_owned(),
        path: asked.path.to_owned(),
        depth: u32::try_from(asked.path.split('/').count()).unwrap_or(u32::MAX),
        first_s: Some(asked.first_s),
        again_s: asked.again_s,
        ..PathRequests::default()
    }
}

fn counted(asked: &[Asked], read: &ReadCapture<'_>) -> anyhow::Result<Vec<PathRequests>> {
    let mut found = RequestSpans::new(asked.iter().flat_map(|asked| [asked.first, asked.again]).collect());
    read(&mut found)?;
    ensure!(
        found.requests > 0,
        "the capture contains no requests from the time of the calls; capture the mount's connection with tcpdump -U, which writes each packet at once"
    );
    let requests = |(place, asked): (usize, &Asked)| {
        let of = |place: usize| found.procedures.get(place).map_or(&[][..], Vec::as_slice);
        let (first, again) = (of(2 * place), of(2 * place + 1));
        PathRequests {
            first: Some(first.len() as f64),
            again: Some(again.len() as f64 / f64::from(AGAIN)),
            procedures: first.to_vec(),
            ..timed(asked)
        }
    };
    Ok(asked.iter().enumerate().map(requests).collect())
}

/// Reads a capture into spans.
pub type ReadCapture<'a> = dyn Fn(&mut RequestSpans) -> anyhow::Result<()> + 'a;

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
        let path = |path, at: i64| {
            let (first_s, again_s) = (2e-3, Some(1e-3));
            Asked { path, first: (at, at + 9), again: (at + 10, at + 19), first_s, again_s }
        };
        let asked = [path(".", 0), path("./.", 100)];
        let sent = |spans: &mut RequestSpans| {
            for at in [0, 9, 10, 20, 99] {
                spans.transaction(
                    &plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 1), at, 1),
                    &Names::default(),
                );
            }
            Ok(())
        };
        let found = counted(&asked, &sent).unwrap();
        let [all, none] = &found[..] else { panic!("{found:?}") };
        let again = Some(1.0 / f64::from(AGAIN));
        assert_eq!((all.first, all.again, all.depth, all.procedures.len()), (Some(2.0), again, 1, 2));
        assert_eq!((none.first, none.again, none.depth), (Some(0.0), Some(0.0), 2));
        assert_eq!((none.first_s, none.again_s), (Some(2e-3), Some(1e-3)));
        assert!(counted(&asked, &|_| Ok(())).unwrap_err().to_string().contains("no request"));
    }

    #[test]
    fn a_directory_is_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("plimsoll-captured-{}", std::process::id()));
        let [mounted, local] = ["mounted", "local"].map(|name| folder.join(name));
        [&mounted, &local].into_iter().for_each(|one| std::fs::create_dir_all(one).unwrap());
        assert!(count(&mounted, &local, Some(&|_| anyhow::bail!("there is no capture"))).is_err());
        let timed = count(&mounted, &local, None).unwrap();
        assert!(
            timed.len() == 8 && timed.iter().all(|one| one.first.is_none() && one.first_s > Some(0.0)),
            "{timed:?}"
        );
        assert!(timed.iter().all(|one| one.again_s > Some(0.0) && one.local_s > Some(0.0)), "{timed:?}");
        for one in [&mounted, &local] {
            assert_eq!(std::fs::read_dir(one).unwrap().count(), 0);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
