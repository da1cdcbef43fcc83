//! A second for a page that is live, as JSON.

use std::collections::{BTreeMap, HashMap};

use plimsoll_model::{Names, Symbol};
use plimsoll_stats::live::{LIVE_DIMENSIONS, LiveSum, Place, Second, SumsByKey};
use plimsoll_stats::{HEAT_EDGES_NS, HEAT_ROWS, Key};
use serde::Serialize;

use super::LiveFigures;
use crate::safe::for_terminal;

/// Maximum length of a name in a page, characters. Names can have 64 KiB, and a page has hundreds of thousands of them.
const MAX_NAME: usize = 200;

/// A second. Each has its own names, so that a page can begin with any.
#[derive(Serialize)]
struct Moment {
    start_s: i64,
    /// How often the clock of the capture had been set back: a page that missed an event must not take this second for an old one.
    step: u64,
    operations: u64,
    errors: u64,
    bytes: Option<u64>,
    bytes_at_least: bool,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    queue_depth: Option<f64>,
    /// Requests without a response, null if unknown; and how long the oldest has waited, ns.
    waiting: Option<u64>,
    oldest_ns: Option<u64>,
    lost_packets: u64,
    interface_down: bool,
    /// Row and count.
    heat: Vec<(usize, u64)>,
    /// The same of service times.
    service: Vec<(usize, u64)>,
    /// What `cells` refer to; null where it is not known.
    names: Vec<Option<String>>,
    /// Names of clients.
    hosts: BTreeMap<String, String>,
    cells: Vec<Cell>,
    /// Sums by client, by share and by operation, if a cell stands for others; otherwise the cells give the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<Vec<Cell<Option<usize>>>>>,
}

/// Names of client, share, operation and path, or of one of these (`None` for others); then requests, errors, waiting time, response
/// times, their sum, the longest one, and row and count of each of their rows. All in one flat list: pairs would take a third more.
#[derive(Serialize)]
struct Cell<K = [Option<usize>; 4]>(K, u64, u64, u64, u64, u64, u64, Vec<u32>);

impl<K> Cell<K> {
    fn new(keys: K, sum: &LiveSum) -> Self {
        let LiveSum { count, errors, waited_ns, .. } = *sum;
        let rows = sum.rows().iter().flat_map(|&(row, count)| [row.into(), count]).collect();
        Cell(keys, count, errors, waited_ns, sum.timed(), sum.response_ns(), sum.longest_ns(), rows)
    }
}

/// Data that a page needs before the first second: the input, and the edges of the heat maps' rows.
///
/// # Errors
/// If serialisation fails, which is not expected.
pub fn about(input: &str) -> Result<String, serde_json::Error> {
    serde_json::to_string(&serde_json::json!({ "input": for_terminal(input), "edges_ns": HEAT_EDGES_NS.to_vec() }))
}

/// A second, whose numbers are `figures`, after this number of steps back of the capture's clock.
///
/// # Errors
/// The same.
pub fn moment(figures: &LiveFigures, second: &Second, names: &Names, step: u64) -> Result<String, serde_json::Error> {
    let mut table = NameTable { names, places: HashMap::new(), texts: Vec::new(), hosts: BTreeMap::new() };
    let (cells, sums) = second.cells().folded();
    let cells = cells.iter().map(|(place, sum)| table.cell(place, sum)).collect();
    let sums = sums.map(|sums| sums.iter().map(|by| table.sums(by)).collect());
    let rows = |heat: [u64; HEAT_ROWS]| heat.into_iter().enumerate().filter(|&(_, count)| count > 0).collect();
    serde_json::to_string(&Moment {
        start_s: second.start_ns().div_euclid(1_000_000_000),
        step,
        operations: figures.operations,
        errors: figures.errors,
        bytes: figures.bytes,
        bytes_at_least: figures.bytes_at_least,
        p50_ns: figures.p50_ns,
        p99_ns: figures.p99_ns,
        max_ns: figures.max_ns,
        queue_depth: figures.queue_depth,
        waiting: figures.waiting.map(|waiting| waiting.requests),
        oldest_ns: figures.waiting.map(|waiting| waiting.oldest_ns),
        lost_packets: figures.lost_packets,
        interface_down: figures.interface_down,
        heat: rows(second.heat()),
        service: rows(*second.service_heat()),
        names: table.texts,
        hosts: table.hosts,
        cells,
        sums,
    })
}

struct NameTable<'a> {
    names: &'a Names,
    places: HashMap<Key, usize>,
    texts: Vec<Option<String>>,
    hosts: BTreeMap<String, String>,
}

impl NameTable<'_> {
    fn cell(&mut self, place: &Place, sum: &LiveSum) -> Cell {
        let keys = LIVE_DIMENSIONS.map(|dimension| place.key(dimension).map(|key| self.place(key)));
        Cell::new(keys, sum)
    }

    fn sums(&mut self, by: &SumsByKey) -> Vec<Cell<Option<usize>>> {
        let mut sums: Vec<_> = by.iter().map(|(key, sum)| Cell::new(Some(self.place(*key)), sum)).collect();
        sums.extend((by.others().count > 0).then(|| Cell::new(None, by.others())));
        sums
    }

    fn place(&mut self, key: Key) -> usize {
        // A page puts share and path together.
        let key = if let Key::Path(_, path) = key { Key::Path(Symbol::NONE, path) } else { key };
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let text = self.text(&key);
        self.texts.push(text);
        self.places.insert(key, self.texts.len() - 1);
        self.texts.len() - 1
    }

    fn text(&mut self, key: &Key) -> Option<String> {
        match *key {
            Key::Client(ip) => {
                let host = self.names.hosts.name(ip);
                self.hosts.extend(host.map(|host| (ip.to_string(), shown(host, None))));
                Some(ip.to_string())
            }
            Key::Operation(operation) => Some(operation.label().to_owned()),
            Key::Share(symbol) | Key::Path(_, symbol) => self.names.text(symbol).map(|name| shown(name, Some(symbol))),
            _ => None,
        }
    }
}

/// A name without control characters, shortened if necessary. If that changed it, its number makes it unique.
fn shown(name: &str, symbol: Option<Symbol>) -> String {
    let safe = for_terminal(name);
    let length = safe.chars().count();
    let mut shown: String = safe.chars().skip(length.saturating_sub(MAX_NAME)).collect();
    if length > MAX_NAME {
        shown.insert(0, '…');
    }
    match symbol {
        Some(symbol) if shown != name => format!("{shown} (#{})", symbol.index()),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Procedure, Protocol, Sink as _};
    use plimsoll_stats::live::Recent;
    use plimsoll_testkit::transaction;
    use serde_json::{Value, json};

    #[test]
    fn a_second_has_its_names_once_and_hostile_ones_stay_apart_and_short() {
        let (mut names, mut recent) = (Names::default(), Recent::new());
        let long = "x".repeat(60_000);
        for (number, path) in ["a", "a", "\u{202e}b", "\\u{202e}b", &long].into_iter().enumerate() {
            let mut t = transaction(Procedure::of(Protocol::Smb2, 8), number as i64 * 1_000_000, 2_000_000);
            (t.share, t.path) = (names.intern("s"), names.intern(path));
            recent.transaction(&t, &names);
        }
        recent.advance(3_000_000_000);
        let second = recent.second(0).unwrap();
        let figures = LiveFigures { operations: 5, ..LiveFigures::default() };
        let found: Value = serde_json::from_str(&moment(&figures, second, &names, 0).unwrap()).unwrap();
        assert_eq!((&found["start_s"], &found["operations"]), (&json!(0), &json!(5)));
        let texts: Vec<&str> = found["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let mut apart = texts.clone();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!((texts.len(), apart.len()), (7, 7), "client, share, operation, 4 paths: {texts:?}");
        assert!(texts.iter().all(|text| text.chars().count() < 230 && !text.contains('\u{202e}')));
        let cells = found["cells"].as_array().unwrap();
        assert_eq!(cells.iter().map(|cell| cell[1].as_u64().unwrap()).sum::<u64>(), 5);
        let first = json!([[0, 1, 2, 3], 2, 0, 4_000_000, 2, 4_000_000, 2_000_000, [34, 2]]);
        assert_eq!(cells[0], first);
    }

    /// A second with as many clients, which do six operations on each of these shares, with response times of 200 µs to 200 ms.
    fn busy(clients: u16, shares: u32) -> (String, Value) {
        let (mut names, mut recent) = (Names::default(), Recent::new());
        let mut number = 0_u32;
        for client in 0..clients {
            for share in 0..shares {
                for command in [5, 6, 8, 9, 14, 16].repeat(4) {
                    number += 1;
                    let response_ns = 200_000 << (number % 11);
                    let mut t = transaction(Procedure::of(Protocol::Smb2, command), i64::from(number), response_ns);
                    t.client.ip = std::net::Ipv4Addr::from(0x0a00_0000 + u32::from(client)).into();
                    t.share = names.intern(&format!("\\\\fileserver.example\\departments-{share}"));
                    t.path = names.intern(&format!("projects\\2026\\report-{}.docx", number % 1_000));
                    recent.transaction(&t, &names);
                }
            }
        }
        recent.advance(3_000_000_000);
        let text = moment(&LiveFigures::default(), recent.second(0).unwrap(), &names, 0).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn a_second_of_too_many_combinations_has_exact_sums_and_stays_small() {
        let (text, second) = busy(60, 1);
        assert!(text.len() < 30_000, "{} bytes", text.len());
        let counts = |place: usize| -> Vec<u64> {
            let sums = second["sums"][place].as_array().unwrap().iter();
            sums.map(|sum| sum[1].as_u64().unwrap()).collect()
        };
        assert_eq!((counts(0), counts(1), counts(2)), (vec![24; 60], vec![1_440], vec![240; 6]));
        assert!(second["cells"].as_array().unwrap().len() < 200);
        assert!(busy(2, 1).1.get("sums").is_none(), "the cells give the same");
        // Five minutes of these are in the server's memory.
        let (text, _) = busy(400, 50);
        assert!(text.len() < (16 << 20) / 300, "{} bytes", text.len());
    }
}
