//! The content of the screen of a watch, and how keys change it.

use plimsoll_model::Names;
use plimsoll_report::live::{LiveFigures, LiveScreen, LiveScreenRow, LiveTimes, screen};
use plimsoll_stats::live::{LiveRow, LiveTable, Recent, Second, live_dimension};
use plimsoll_stats::{Dimension, HEAT_ROWS, Key};

use super::beside::Beside;
use super::held::Held;
use super::key_name::{live_label, name, within};
use super::lines::{figures, figures_within};
use super::notices::notices;
use super::second::{SECOND_NS, latest_ns};
use super::terminal::Key as Typed;

/// Number of seconds that the table covers.
const TABLE_SECONDS: i64 = 60;

/// The content of the screen.
pub(super) struct View {
    input: String,
    /// Addresses of the page and of the metrics.
    addresses: Vec<String>,
    by: Dimension,
    within: Vec<Key>,
    selected: usize,
    /// Whether the heat map shows service times.
    service: bool,
    /// Keys of the rows on the screen, for Enter; empty after a change of the table until the new one is drawn.
    keys: Vec<Option<Key>>,
    /// End of the second that is shown; `None` for the latest second.
    held_ns: Option<i64>,
    /// The second itself.
    held: Option<Held>,
    /// The end of the latest second.
    latest_ns: i64,
    pub(super) message: Option<String>,
}

/// A key's command that the screen must execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Quit,
    Save,
}

impl View {
    pub(super) fn new(input: String) -> Self {
        Self {
            input,
            addresses: Vec::new(),
            by: Dimension::Client,
            within: Vec::new(),
            selected: 0,
            service: false,
            keys: Vec::new(),
            held_ns: None,
            held: None,
            latest_ns: 0,
            message: None,
        }
    }

    /// The same, with addresses that it shows all the time.
    pub(super) fn with_addresses(self, addresses: &[String]) -> Self {
        Self { addresses: addresses.to_vec(), ..self }
    }

    /// Handles a key. Returns the command that is left to the screen.
    pub(super) fn typed(&mut self, key: Typed) -> Asked {
        self.message = None;
        match key {
            Typed::Character('q') => return Asked::Quit,
            Typed::Character('w') => return Asked::Save,
            Typed::Character(' ') => self.held_ns = if self.held_ns.is_some() { None } else { Some(self.latest_ns) },
            Typed::Character('l') => self.held_ns = None,
            Typed::Character('c') => self.look_by(Dimension::Client),
            Typed::Character('s') => self.look_by(Dimension::Share),
            Typed::Character('t') => self.service = !self.service,
            Typed::Character('o') => self.look_by(Dimension::Operation),
            Typed::Character('f') => self.look_by(Dimension::Path),
            Typed::Left => self.held_ns = Some(self.held_ns.unwrap_or(self.latest_ns) - SECOND_NS),
            Typed::Right => {
                self.held_ns = self.held_ns.map(|held| held + SECOND_NS).filter(|&held| held < self.latest_ns);
            }
            Typed::Up => self.selected = self.selected.saturating_sub(1),
            Typed::Down => self.selected = (self.selected + 1).min(self.keys.len().saturating_sub(1)),
            Typed::Enter => self.drill_down(),
            Typed::Backspace => {
                self.within.pop();
                self.look_by(self.by);
            }
            Typed::Character(_) => {}
        }
        Asked::Nothing
    }

    /// Begins another table. Until it is drawn, Enter selects none of its rows: several keys may be typed between two drawings.
    fn look_by(&mut self, by: Dimension) {
        (self.by, self.selected) = (by, 0);
        self.keys.clear();
    }

    /// Limits the view to the selected row, and groups by the next key.
    fn drill_down(&mut self) {
        // The row of requests that were summed has no key.
        let Some(Some(key)) = self.keys.get(self.selected) else { return };
        self.within.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(key));
        self.within.push(*key);
        let next = [Dimension::Client, Dimension::Share, Dimension::Operation, Dimension::Path];
        let is_free = |by: &Dimension| !self.within.iter().any(|key| live_dimension(key) == Some(*by));
        let by = next.into_iter().find(is_free).unwrap_or(self.by);
        self.look_by(by);
    }

    /// The lines of the screen at this moment.
    pub(super) fn lines(
        &mut self,
        recent: &Recent,
        names: &Names,
        beside: &Beside<'_>,
        (now_ns, (columns, rows)): (i64, (usize, usize)),
    ) -> Vec<String> {
        self.latest_ns = latest_ns(now_ns);
        let held = self.held_second(recent);
        let live = match &held {
            Some(held) => self.live(held.seconds(recent), names, beside, (held.end_ns(), columns)),
            None => self.live(recent.seconds().collect(), names, beside, (self.latest_ns, columns)),
        };
        self.held = held;
        screen(&live, columns, rows)
    }

    /// The second that is held. It is copied when a key chooses it, so that it stays as it was.
    fn held_second(&mut self, recent: &Recent) -> Option<Held> {
        let end_ns = self.held_ns?;
        let before = self.held.take().filter(|held| held.end_ns() == end_ns && end_ns <= self.latest_ns);
        let held = before.unwrap_or_else(|| Held::new(recent, end_ns, self.latest_ns, TABLE_SECONDS));
        self.held_ns = Some(held.end_ns());
        Some(held)
    }

    fn live(
        &mut self,
        mut seconds: Vec<&Second>,
        names: &Names,
        beside: &Beside<'_>,
        (end_ns, columns): (i64, usize),
    ) -> LiveScreen {
        let from_ns = end_ns - TABLE_SECONDS * SECOND_NS;
        seconds.retain(|second| second.start_ns() < end_ns);
        let in_table = seconds.iter().copied().filter(|second| second.start_ns() >= from_ns);
        let table = LiveTable::of(in_table, &self.within, self.by);
        // The screen has one column per second.
        seconds.drain(..seconds.len().saturating_sub(columns.max(TABLE_SECONDS as usize)));
        let lately = seconds.len().clamp(1, TABLE_SECONDS as usize) as i64;
        self.keys = table.rows.iter().map(|row| row.key).collect();
        self.selected = self.selected.min(self.keys.len().saturating_sub(1));
        let mut now = self.figures(seconds.iter().copied(), (end_ns - SECOND_NS, end_ns));
        // While no packet comes, a response may still be on its way.
        now.waiting = now.waiting.filter(|_| beside.silence.is_none() || self.held_ns.is_some());
        LiveScreen {
            input: self.input.clone(),
            state: self.state(end_ns, beside),
            down_since_ns: beside.losses.and_then(|losses| losses.down_since_ns()),
            now,
            lately: self.figures(seconds.iter().copied(), (end_ns - lately * SECOND_NS, end_ns)),
            history: seconds.iter().map(|second| self.figures_of(second)).collect(),
            heat_of: if self.service { LiveTimes::Service } else { beside.times },
            heat: seconds.iter().map(|second| self.heat(second)).collect(),
            by: live_label(self.by).to_owned(),
            within: self.within.iter().map(|key| within(key, names)).collect(),
            rows: rows(&table, names),
            table_s: lately as f64,
            waited_ns: table.total.waited_ns,
            selected: self.selected,
            unknown_share: share(table.unknown, table.total.count),
            diagnosis: beside.diagnosis.map(str::to_owned),
            run: beside.run.cloned(),
            losses: beside.losses,
            notices: notices(beside, names).into_iter().chain(self.addresses.iter().cloned()).collect(),
            message: self.message.clone(),
        }
    }

    /// The figures of the selected part of these seconds.
    fn figures<'a>(&self, seconds: impl Iterator<Item = &'a Second>, (from_ns, to_ns): (i64, i64)) -> LiveFigures {
        match self.within.as_slice() {
            [] => figures(seconds, from_ns, to_ns),
            within => figures_within(seconds, (from_ns, to_ns), within),
        }
    }

    fn figures_of(&self, second: &Second) -> LiveFigures {
        self.figures(std::iter::once(second), (second.start_ns(), second.start_ns() + SECOND_NS))
    }

    /// A column of the heat map. Service times are known only of all requests together.
    fn heat(&self, second: &Second) -> [u64; HEAT_ROWS] {
        match (self.service, self.within.as_slice()) {
            (true, []) => *second.service_heat(),
            (true, _) => [0; HEAT_ROWS],
            (false, []) => second.heat(),
            (false, within) => second.part(within).sum.heat(),
        }
    }

    fn state(&self, end_ns: i64, beside: &Beside<'_>) -> String {
        match (self.held_ns, beside.silence, beside.ended) {
            (_, Some(silence), _) if silence.is_first => "NO PACKETS YET".to_owned(),
            (Some(_), ..) => format!("PAUSED {} s back", (self.latest_ns - end_ns) / SECOND_NS),
            (None, _, true) => "END".to_owned(),
            (None, Some(_), false) => "NO PACKETS".to_owned(),
            (None, None, false) => "LIVE".to_owned(),
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

fn rows(table: &LiveTable, names: &Names) -> Vec<LiveScreenRow> {
    let row = |row: &LiveRow| LiveScreenRow {
        name: row.key.as_ref().map(|key| name(key, names)),
        sum: row.sum.clone(),
        at_least: row.at_least,
    };
    table.rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;
    use plimsoll_model::Sink as _;

    /// Ten seconds of two clients; 10.0.0.2 has the longer waits.
    fn recent(names: &Names) -> Recent {
        let mut recent = Recent::new();
        for number in 0..100 {
            let mut t = transaction(
                Procedure::of(Protocol::Smb2, 8),
                number * SECOND_NS / 10,
                1_000_000 + number % 2 * 1_000_000,
            );
            t.client.ip = if number % 2 == 0 { "10.0.0.1".parse().unwrap() } else { "10.0.0.2".parse().unwrap() };
            recent.transaction(&t, names);
        }
        recent.advance(11 * SECOND_NS);
        recent
    }

    fn text(view: &mut View, recent: &Recent, names: &Names) -> String {
        view.lines(recent, names, &Beside::default(), (10 * SECOND_NS + crate::second::SETTLED_NS, (100, 30)))
            .join("\n")
    }

    #[test]
    fn keys_choose_drill_down_and_go_back_in_time() {
        let names = Names::default();
        let recent = recent(&names);
        let mut view = View::new("interface eth0".to_owned());
        let first = text(&mut view, &recent, &names);
        assert!(first.contains("LIVE") && first.contains("> 10.0.0.2") && first.contains("66.7%"), "{first}");
        assert_eq!(view.typed(Typed::Down), Asked::Nothing);
        assert_eq!(view.typed(Typed::Enter), Asked::Nothing);
        let inside = text(&mut view, &recent, &names);
        assert!(inside.contains("in the last minute, by share, within client 10.0.0.1"), "{inside}");
        // Of ten requests per second, five are of this client.
        let now = |text: &str| text.lines().find(|line| line.starts_with("now")).map(str::to_owned).unwrap_or_default();
        assert!(now(&first).contains("     10.0") && now(&inside).contains("     5.00"), "{first}\n{inside}");
        assert!(inside.contains("Response times of the selection"), "{inside}");
        view.typed(Typed::Character('o'));
        view.typed(Typed::Character('t'));
        assert!(text(&mut view, &recent, &names).contains("Service times: Backspace leaves"));
        view.typed(Typed::Character('t'));
        assert!(text(&mut view, &recent, &names).contains("Response times of the selection, 1 column = 1 s"));
        assert!(text(&mut view, &recent, &names).contains("> read"));
        view.typed(Typed::Backspace);
        assert!(text(&mut view, &recent, &names).contains("Response times, 1 column = 1 s"));
        view.typed(Typed::Left);
        view.typed(Typed::Left);
        let before = text(&mut view, &recent, &names);
        assert!(before.contains("PAUSED 2 s back") && before.contains("1970-01-01 00:00:07 UTC"), "{before}");
        for _ in 0..500 {
            view.typed(Typed::Left);
        }
        let first = text(&mut view, &recent, &names);
        // The second in which the first request was sent and no response has arrived.
        assert!(first.contains("1969-12-31 23:59:59 UTC"), "as far as it goes: {first}");
        view.typed(Typed::Character('l'));
        assert!(text(&mut view, &recent, &names).contains("LIVE"));
        assert_eq!((view.typed(Typed::Character('q')), view.typed(Typed::Character('w'))), (Asked::Quit, Asked::Save));
    }

    /// A key that repeats, or keys that are typed faster than the screen is drawn.
    #[test]
    fn enter_takes_only_rows_that_were_drawn() {
        let names = Names::default();
        let recent = recent(&names);
        let mut view = View::new("interface eth0".to_owned());
        text(&mut view, &recent, &names);
        for key in [Typed::Down, Typed::Enter, Typed::Enter] {
            view.typed(key);
        }
        let inside = text(&mut view, &recent, &names);
        assert!(inside.contains("by share, within client 10.0.0.1") && !inside.contains("10.0.0.2"), "{inside}");
        view.typed(Typed::Backspace);
        text(&mut view, &recent, &names);
        for key in [Typed::Character('o'), Typed::Down, Typed::Enter] {
            view.typed(key);
        }
        let operations = text(&mut view, &recent, &names);
        assert!(operations.contains("by operation") && !operations.contains("within"), "{operations}");
    }

    #[test]
    fn a_paused_second_stays_although_it_is_no_longer_stored() {
        let names = Names::default();
        let mut recent = recent(&names);
        let mut view = View::new("interface eth0".to_owned());
        text(&mut view, &recent, &names);
        view.typed(Typed::Character(' '));
        let paused = text(&mut view, &recent, &names);
        (12..=2_000).for_each(|second| recent.advance(second * SECOND_NS));
        let later = |view: &mut View| {
            let now_ns = 2_000 * SECOND_NS + crate::second::SETTLED_NS;
            view.lines(&recent, &names, &Beside::default(), (now_ns, (100, 30))).join("\n")
        };
        let stayed = later(&mut view);
        assert!(paused.contains("PAUSED 0 s back") && stayed.contains("PAUSED 1990 s back"), "{stayed}");
        assert_eq!(
            paused.lines().skip(1).collect::<Vec<_>>(),
            stayed.lines().skip(1).collect::<Vec<_>>(),
            "the numbers of that second"
        );
        // From there, a key leads to the oldest second that is stored.
        view.typed(Typed::Left);
        assert!(later(&mut view).contains("PAUSED 298 s back"));
        view.typed(Typed::Character('l'));
        assert!(later(&mut view).contains("LIVE"));
    }

    /// The screen hides what was printed before it.
    #[test]
    fn addresses_can_be_read_on_the_smallest_usual_screen() {
        let (names, address) = (Names::default(), format!("Page: http://127.0.0.1:40535/{}/", "5f".repeat(16)));
        let recent = recent(&names);
        let mut view = View::new("interface eth0".to_owned()).with_addresses(std::slice::from_ref(&address));
        for key in [Typed::Down, Typed::Enter, Typed::Character('f')] {
            let beside = Beside { losses: Some(plimsoll_stats::live::LiveLosses::default()), ..Beside::default() };
            let now_ns = 10 * SECOND_NS + crate::second::SETTLED_NS;
            let lines = view.lines(&recent, &names, &beside, (now_ns, (80, 24)));
            assert!(lines.contains(&address), "{lines:#?}");
            assert_eq!(view.typed(key), Asked::Nothing);
        }
        let text = text(&mut view, &recent, &names);
        assert!(text.contains("in the last minute, by file, within client"), "the word of the key: {text}");
    }

    #[test]
    fn a_screen_without_packets_says_so_and_has_keys() {
        let (recent, names) = (Recent::new(), Names::default());
        let mut view = View::new("interface eth1".to_owned());
        let text = "No packets of a file server on eth1 for 12 s (ports 445, 139, 2049, 111): check --port".to_owned();
        let silence = crate::Silence { text, seconds: 12, is_first: true };
        let losses = Some(plimsoll_stats::live::LiveLosses::default());
        let beside = Beside { losses, silence: Some(&silence), ..Beside::default() };
        for key in [Typed::Character(' '), Typed::Left, Typed::Enter, Typed::Down, Typed::Character('l')] {
            let lines = view.lines(&recent, &names, &beside, (1_700_000_000 * SECOND_NS, (100, 30)));
            assert!(lines[0].contains("2023-11-14 22:13:") && lines[0].ends_with("NO PACKETS YET"), "{}", lines[0]);
            assert!(lines.contains(&silence.text) && lines[29].starts_with("q quit"), "{lines:#?}");
            assert_eq!(view.typed(key), Asked::Nothing);
        }
        assert_eq!(view.typed(Typed::Character('q')), Asked::Quit);
    }

    #[test]
    fn a_screen_whose_packets_have_stopped_says_so_and_nobody_knows_who_waits() {
        let names = Names::default();
        let mut recent = recent(&names);
        recent.wait(&plimsoll_stats::live::WaitingNow::default(), 10 * SECOND_NS);
        let mut view = View::new("standard input".to_owned());
        let text = "No packets from standard input since 00:00:10".to_owned();
        let silence = crate::Silence { text, seconds: 3, is_first: false };
        let lines = |view: &mut View, silence| {
            let losses = Some(plimsoll_stats::live::LiveLosses::default());
            let beside = Beside { losses, silence, ..Beside::default() };
            view.lines(&recent, &names, &beside, (10 * SECOND_NS + crate::second::SETTLED_NS, (100, 30)))
        };
        let has = |lines: &[String], text: &str| lines.iter().any(|line| line.ends_with(text));
        let live = lines(&mut view, None);
        assert!(live[0].ends_with("LIVE") && has(&live, "Requests without a response: 0"), "{live:#?}");
        let stopped = lines(&mut view, Some(&silence));
        assert!(stopped[0].ends_with("  NO PACKETS") && stopped.contains(&silence.text), "{stopped:#?}");
        assert!(has(&stopped, "Requests without a response: unknown"), "{stopped:#?}");
        view.typed(Typed::Left);
        let paused = lines(&mut view, Some(&silence));
        assert!(paused[0].ends_with("PAUSED 1 s back") && has(&paused, "response: 0"), "{paused:#?}");
    }
}
