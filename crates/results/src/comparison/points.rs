//! Captures as points of load curves: `NAME@LOAD=FILE`, as arguments or in a file with one in each line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, MeasuredRun};
use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts};
use plimsoll_report::findings::{Findings, LevelFacts, Source};

use plimsoll_stats::{Intervals, Statistics};

use super::ComparedSide;
use crate::Usage;

/// Maximum ratio of the lengths of one curve's captures: beyond it a short one may not show the same.
const UNLIKE_LENGTHS: f64 = 2.0;

/// One capture of a curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The curve: a server, say.
    name: String,
    /// Clients.
    load: u64,
    /// The capture.
    file: PathBuf,
}

/// A capture as a point of a curve.
pub struct CurvePoint {
    /// Without names.
    pub statistics: Statistics,
    /// The same by time.
    pub intervals: Intervals,
    /// Times of its first and its last packet, ns since the Unix epoch.
    pub span_ns: (i64, i64),
    /// Number of connections.
    pub connections: u64,
    /// The findings of a report of this capture alone.
    pub findings: Findings,
    /// Where its clock stood.
    pub vantage: &'static str,
}

impl Point {
    /// `None` if the argument is not a point: an existing file is a file, whatever its name.
    fn of(argument: &Path) -> Option<Result<Self, Usage>> {
        Self::parse(argument.to_str().filter(|_| !argument.exists())?)
    }

    /// `None` if the text is no point.
    fn parse(text: &str) -> Option<Result<Self, Usage>> {
        let (place, file) = text.split_once('=')?;
        let (name, load) = place.rsplit_once('@')?;
        let load = match load.parse() {
            Ok(load) if load > 0 && !name.is_empty() && !file.is_empty() => load,
            _ => {
                return Some(Err(Usage(format!(
                    "{text}: expected NAME@LOAD=FILE, where LOAD is a number of clients >= 1, such as old@20=c20.pcap"
                ))));
            }
        };
        Some(Ok(Self { name: name.to_owned(), load, file: file.into() }))
    }

    /// The load in words.
    fn words(&self) -> String {
        let clients = if self.load == 1 { "client" } else { "clients" };
        format!("{} {clients}", self.load)
    }
}

/// The points of a file: one in each line. Empty lines and those that begin with `#` are none; captures are relative to its folder.
fn listed(list: &Path) -> Result<Vec<Point>, Usage> {
    let shown = list.display();
    let text = std::fs::read_to_string(list).map_err(|error| Usage(format!("{shown}: {error}")))?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let points = lines.map(|(line, number)| match Point::parse(line) {
        Some(Ok(point)) => Ok(Point { file: folder.join(&point.file), ..point }),
        Some(Err(Usage(why))) => Err(Usage(format!("{shown}, line {number}: {why}"))),
        None => Err(Usage(format!("{shown}, line {number}: expected NAME@LOAD=FILE, such as old@20=c20.pcap"))),
    });
    points.collect()
}

/// The points among the arguments of a comparison and in a `list`; `None` where there are none.
///
/// # Errors
/// Only some of the arguments are points, a point is given twice, or there is only one curve. The list is not readable.
pub fn points(arguments: &[PathBuf], list: Option<&Path>) -> Result<Option<Vec<Point>>, Usage> {
    let listed = list.map(listed).transpose()?;
    let found: Vec<_> = arguments.iter().map(|argument| Point::of(argument)).collect();
    if listed.is_none() && found.iter().all(Option::is_none) {
        return Ok(None);
    }
    if let Some(other) = found.iter().position(Option::is_none).and_then(|place| arguments.get(place)) {
        let text = other.display();
        return Err(Usage(format!(
            "{text}: expected NAME@LOAD=FILE, as for the other inputs; use one form for all inputs"
        )));
    }
    let points = found.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    let points: Vec<Point> = points.into_iter().chain(listed.into_iter().flatten()).collect();
    let first = points.first().ok_or_else(|| Usage("--points: the file lists no capture".to_owned()))?;
    for (place, point) in points.iter().enumerate() {
        if points.iter().take(place).any(|other| (&other.name, other.load) == (&point.name, point.load)) {
            let Point { name, load, .. } = point;
            return Err(Usage(format!("{name}@{load}: given twice; give one capture for each load of a curve")));
        }
    }
    if points.iter().all(|point| point.name == first.name) {
        let why = format!("{}: a comparison needs two curves; add points with another NAME", first.name);
        return Err(Usage(why));
    }
    Ok(Some(points))
}

/// The files of points.
pub fn files(points: &[Point]) -> impl Iterator<Item = &Path> {
    points.iter().map(|point| point.file.as_path())
}

/// Reads the points with `read`, through these filters and with these options, both as flags; a side for each curve, in the order in which
/// their names came first. And what to know about them.
///
/// # Errors
/// A capture cannot be read, or a curve has points of captures and of runs.
pub fn sides(
    points: Vec<Point>,
    read: impl Fn(&Path) -> anyhow::Result<CurvePoint>,
    (filters, options, status_name): (&[String], &[String], StatusName),
) -> anyhow::Result<(Vec<ComparedSide>, Vec<String>)> {
    let mut names: Vec<String> = Vec::new();
    let mut curves: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for point in points {
        if !names.contains(&point.name) {
            names.push(point.name.clone());
        }
        curves.entry(point.name.clone()).or_default().push(point);
    }
    let (mut sides, mut warnings) = (Vec::new(), Vec::new());
    for name in names {
        let mut points = curves.remove(&name).unwrap_or_default();
        points.sort_by_key(|point| point.load);
        let read = points.iter().map(|point| read(&point.file)).collect::<anyhow::Result<Vec<_>>>()?;
        if read.windows(2).any(|pair| pair[0].vantage != pair[1].vantage) {
            let why =
                "some of its files are captures, others tables of runs, where times are longer; give files of one kind";
            return Err(Usage(format!("{name}: {why}")).into());
        }
        warnings.extend(unlike_lengths(&name, &read));
        sides.push(side(&name, points, read, (filters, options, status_name)));
    }
    Ok((sides, warnings))
}

fn seconds((first, last): (i64, i64)) -> f64 {
    last.saturating_sub(first).max(0) as f64 / 1e9
}

fn unlike_lengths(name: &str, read: &[CurvePoint]) -> Option<String> {
    let lengths = || read.iter().map(|point| seconds(point.span_ns));
    let (shortest, longest) = (lengths().fold(f64::MAX, f64::min), lengths().fold(0.0, f64::max));
    (longest > shortest * UNLIKE_LENGTHS).then(|| {
        format!(
            "The captures of {name} differ in length ({shortest:.1} s to {longest:.1} s): a short capture may lack rare \
            events"
        )
    })
}

/// A curve.
fn side(
    name: &str,
    points: Vec<Point>,
    read: Vec<CurvePoint>,
    (filters, options, status_name): (&[String], &[String], StatusName),
) -> ComparedSide {
    let source = Source {
        tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
        inputs: points.iter().map(|point| point.file.display().to_string()).collect(),
        filters: filters.to_vec(),
        options: options.to_vec(),
        vantage: read.first().map_or("wire", |read| read.vantage).to_owned(),
        about: Default::default(),
    };
    let level = |(point, read): (Point, CurvePoint)| {
        let CurvePoint { statistics, intervals, span_ns, connections, findings, vantage: _ } = read;
        let facts = LevelFacts {
            load_name: point.words(),
            clients: point.load,
            depth: 1,
            connections,
            validity: findings.validity.clone(),
            ..LevelFacts::default()
        };
        let about = RecordedFacts { facts, ..RecordedFacts::default() };
        let level = MeasuredLevel { statistics, span_ns, about, ..MeasuredLevel::default() };
        let runs = vec![MeasuredRun { span_ns, intervals }];
        let (level_name, point, findings) = (point.words(), Some(level.point()), Some(findings));
        (LevelRuns { level_name, point, runs, findings }, level)
    };
    let (levels, recorded): (Vec<_>, Vec<_>) = points.into_iter().zip(read).map(level).unzip();
    let recorded: Vec<&MeasuredLevel> = recorded.iter().collect();
    let findings = Findings { name: name.to_owned(), ..Findings::collect_points(&recorded, source, status_name) };
    ComparedSide { contestant: Contestant { findings, levels }, unfinished: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Option<Vec<Point>>, String> {
        let paths: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
        points(&paths, None).map_err(|Usage(why)| why)
    }

    #[test]
    fn names_loads_and_files_are_taken_apart() {
        let points = read(&["f630@20=c20.pcap", "f@b@1=a=b.pcap"]).unwrap().unwrap();
        let said: Vec<_> = points.iter().map(|it| (it.name.as_str(), it.load, it.words(), it.file.clone())).collect();
        assert_eq!(
            said,
            [
                ("f630", 20, "20 clients".to_owned(), PathBuf::from("c20.pcap")),
                ("f@b", 1, "1 client".to_owned(), PathBuf::from("a=b.pcap"))
            ]
        );
        assert_eq!(read(&["a.pcap", "b.pcap"]), Ok(None));
    }

    #[test]
    fn what_makes_no_curves_says_why() {
        for (arguments, why) in [
            (vec!["a@20=x.pcap", "a@20=y.pcap", "b@20=z.pcap"], "a@20: given twice"),
            (
                vec!["a@20=x.pcap", "y.pcap"],
                "y.pcap: expected NAME@LOAD=FILE, as for the other inputs; use one form for all inputs",
            ),
            (vec!["a@20=x.pcap", "a@40=y.pcap"], "a: a comparison needs two curves"),
            (vec!["a@0=x.pcap", "b@1=y.pcap"], "a@0=x.pcap: expected NAME@LOAD=FILE"),
            (vec!["a@many=x.pcap", "b@1=y.pcap"], "expected NAME@LOAD=FILE"),
            (vec!["@1=x.pcap", "b@1=y.pcap"], "expected NAME@LOAD=FILE"),
            (vec!["a@1=", "b@1=y.pcap"], "expected NAME@LOAD=FILE"),
        ] {
            let error = read(&arguments).unwrap_err();
            assert!(error.contains(why), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn a_file_lists_points() {
        let scratch = plimsoll_testkit::servers::Scratch::new("points");
        let folder = scratch.path();
        let list = folder.join("points");
        let read = |text: &str, arguments: &[&str]| {
            std::fs::write(&list, text).unwrap();
            let arguments: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
            points(&arguments, Some(&list)).map_err(|Usage(why)| why)
        };
        let points = read("# both servers\nold@20=c20.pcap\n\n old@40=/tmp/c40.pcap \r\n", &["new@20=d20.pcap"]);
        let seen: Vec<(String, u64, PathBuf)> =
            points.unwrap().unwrap().into_iter().map(|point| (point.name, point.load, point.file)).collect();
        let expected = [
            ("new", 20, PathBuf::from("d20.pcap")),
            ("old", 20, folder.join("c20.pcap")),
            ("old", 40, PathBuf::from("/tmp/c40.pcap")),
        ];
        assert_eq!(seen, expected.map(|(name, load, file)| (name.to_owned(), load, file)));
        for (text, arguments, problem) in [
            ("old@20=x.pcap\nold@20=y.pcap\nnew@1=z.pcap", &[][..], "old@20: given twice"),
            ("old@20=x.pcap\n", &["old@20=x.pcap"], "old@20: given twice"),
            ("\nx.pcap\n", &[], "line 2: expected NAME@LOAD=FILE"),
            ("old@0=x.pcap\n", &[], "line 1: old@0=x.pcap: expected NAME@LOAD=FILE"),
            ("# none\n", &[], "lists no capture"),
            ("old@20=x.pcap\n", &[], "a comparison needs two curves"),
            ("old@20=x.pcap\n", &["y.pcap"], "expected NAME@LOAD=FILE, as for the other inputs"),
        ] {
            let said = read(text, arguments).unwrap_err();
            assert!(said.contains(problem), "{said}");
        }
    }
}
