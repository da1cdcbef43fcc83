//! `--browser`: a page that shows the watch, and the events that the page reads.

mod stream;

use std::net::TcpListener;
use std::sync::Arc;

use plimsoll_model::Names;
use plimsoll_report::live::{LiveLevel, LivePage, about, moment};
use plimsoll_stats::live::{LiveLosses, Recent};
use serde_json::json;

use super::beside::Beside;
use super::http::{self, Answer, Client, Request, Response, Site, Status};
use super::lines::figures;
use super::notices::notices;
use super::second::{SECOND_NS, SETTLED_NS, second_of};
use stream::SharedStream;

/// Number of random bytes in the token of an address.
const TOKEN_BYTES: usize = 16;

/// The view of all browsers.
pub struct Browser {
    stream: Arc<SharedStream>,
    /// Start of the next second.
    next_ns: Option<i64>,
    ended: bool,
    /// The last state that was sent before the first second.
    said: String,
    /// What was sent last about packets that have stopped.
    stopped: String,
    /// How often seconds came again because the clock of the capture was set back.
    steps: u64,
}

impl Browser {
    /// Starts to answer requests on this listener. Returns the path of the page.
    pub(super) fn start(listener: TcpListener, allow_remote: bool, input: &str) -> anyhow::Result<(Self, String)> {
        let token = token()?;
        let path = format!("/{token}/");
        let stream = Arc::new(SharedStream::new(event("about", &about(input)?)));
        let site = Page { token, page: LivePage::new(), stream: Arc::clone(&stream) };
        http::start(listener, allow_remote, Arc::new(site));
        let (said, stopped) = (String::new(), String::new());
        Ok((Self { stream, next_ns: None, ended: false, said, stopped, steps: 0 }, path))
    }

    /// Sends all new complete seconds.
    pub(super) fn look(&mut self, recent: &Recent, names: &Names, now_ns: i64, beside: &Beside<'_>) {
        let first = || recent.seconds().next().map(|second| second.start_ns());
        let mut next = self.next_ns.or_else(first);
        while let Some(next_ns) = next.map(|next_ns| next_ns.max(first().unwrap_or(next_ns)))
            && next_ns + SECOND_NS + SETTLED_NS <= now_ns
        {
            if let Some(second) = recent.second(next_ns) {
                let figures = figures(std::iter::once(second), next_ns, next_ns + SECOND_NS);
                // If a second cannot be formatted, the page shows a gap.
                if let Ok(text) = moment(&figures, second, names, self.steps) {
                    self.stream.push(&(event("second", &text) + &state(beside, names)));
                }
            }
            next = Some(next_ns + SECOND_NS);
        }
        self.next_ns = next;
        // Before the first second, the state may change.
        let said = state(beside, names);
        if self.next_ns.is_none() && self.said != said {
            self.stream.push(&said);
            self.said = said;
        }
        // No second comes that would say so.
        if let Some(silence) = beside.silence.filter(|silence| !silence.is_first && silence.text != self.stopped) {
            self.stopped.clone_from(&silence.text);
            self.stream.push(&state(beside, names));
        }
        if beside.ended && !std::mem::replace(&mut self.ended, true) {
            self.stream.push(&state(beside, names));
        }
    }

    /// The clock of the capture was set back: the seconds from this time on come again.
    pub(super) fn went_back(&mut self, now_ns: i64) {
        let start_ns = second_of(now_ns);
        if self.next_ns.is_some_and(|next_ns| next_ns > start_ns) {
            self.stream.push(&event("back", &json!({ "start_s": start_ns / SECOND_NS }).to_string()));
            self.next_ns = Some(start_ns);
            self.steps += 1;
        }
    }
}

impl Drop for Browser {
    /// The end: waits a moment until all browsers have received everything.
    fn drop(&mut self) {
        self.stream.end();
    }
}

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn state(beside: &Beside<'_>, names: &Names) -> String {
    let down_since_s = beside.losses.and_then(|losses| losses.down_since_ns()).map(|ns| ns.div_euclid(SECOND_NS));
    let losses = beside.losses.map(|LiveLosses { kernel, freezes, interface, reported, downs, .. }| {
        json!({ "kernel": kernel, "freezes": freezes, "interface": interface, "reported": reported, "downs": downs })
    });
    let run = beside.run.map(|run| {
        let levels: Vec<[String; 5]> = run.levels.iter().map(LiveLevel::cells).collect();
        json!({ "lines": run.lines(), "levels": levels })
    });
    let (diagnosis, times, ended) = (beside.diagnosis, beside.times.label(), beside.ended);
    let is_silent = |at_first| beside.silence.is_some_and(|silence| silence.is_first == at_first);
    let (notices, silent, stopped) = (notices(beside, names), is_silent(true), is_silent(false));
    let state = json!({
        "notices": notices, "silent": silent, "stopped": stopped,
        "losses": losses, "down_since_s": down_since_s, "diagnosis": diagnosis, "times": times, "run": run, "ended": ended,
    });
    event("state", &state.to_string())
}

fn token() -> anyhow::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    anyhow::ensure!(filled == TOKEN_BYTES, "--browser: the system returned no random bytes; try again");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Responses for browsers with a valid token in the address.
struct Page {
    token: String,
    page: LivePage,
    stream: Arc<SharedStream>,
}

impl Page {
    /// Takes equally long for each wrong token of the right length, so the time does not reveal the token.
    fn is_token(&self, given: &str) -> bool {
        let differences = given.bytes().zip(self.token.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        given.len() == self.token.len() && differences == 0
    }
}

impl Site for Page {
    fn answer(&self, request: &Request) -> Answer {
        let (token, file) = request.path.trim_start_matches('/').split_once('/').unwrap_or_default();
        if !self.is_token(token) {
            let why = "The address has no valid token: use the address that plimsoll printed";
            return Answer::Whole(Response::says(Status::Forbidden, why));
        }
        let text = |kind, text: &str| Response::new(kind, text.as_bytes().into());
        Answer::Whole(match file {
            "" => text("text/html; charset=utf-8", &self.page.html).with_policy(LivePage::POLICY),
            "live.css" => text("text/css; charset=utf-8", &self.page.style),
            "live.js" => text("text/javascript; charset=utf-8", self.page.script),
            "echarts.min.js" => text("text/javascript; charset=utf-8", self.page.library),
            "events" => {
                let (stream, last_event) = (Arc::clone(&self.stream), request.last_event);
                return Answer::Stream(Box::new(move |client: &mut Client| stream.send_to(client, last_event)));
            }
            _ => Response::says(Status::NotFound, "This page has no such file"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silence;

    #[test]
    fn seconds_after_a_step_back_say_so_and_packets_that_have_stopped_are_said_once() {
        let stream = Arc::new(SharedStream::new(String::new()));
        let (said, stopped) = (String::new(), String::new());
        let mut browser = Browser { stream: Arc::clone(&stream), next_ns: None, ended: false, said, stopped, steps: 0 };
        let event = |number| stream.wait(number).map(|(_, event)| event.to_string()).unwrap_or_default();
        let (mut recent, names, mut beside) = (Recent::new(), Names::default(), Beside::default());
        recent.advance(0);
        recent.advance(SECOND_NS + SETTLED_NS);
        browser.look(&recent, &names, SECOND_NS + SETTLED_NS, &beside);
        assert!(event(0).starts_with("event: second\n") && event(0).contains("\"step\":0"), "{}", event(0));
        recent.back_to(SECOND_NS / 2);
        browser.went_back(SECOND_NS / 2);
        assert!(event(1).starts_with("event: back\n"), "{}", event(1));
        recent.advance(SECOND_NS + SETTLED_NS);
        browser.look(&recent, &names, SECOND_NS + SETTLED_NS, &beside);
        assert!(event(2).starts_with("event: second\n") && event(2).contains("\"step\":1"), "{}", event(2));
        let silence = |text: &str| Silence { text: text.to_owned(), seconds: 2, is_first: false };
        let (one, other) = (silence("since 1 s"), silence("since 9 s"));
        for silence in [&one, &one, &other] {
            beside.silence = Some(silence);
            browser.look(&recent, &names, SECOND_NS + SETTLED_NS, &beside);
        }
        for (number, text) in [(3, "since 1 s"), (4, "since 9 s")] {
            let event = event(number);
            assert!(
                event.contains("\"stopped\":true") && event.contains(text) && event.contains("\"silent\":false"),
                "{event}"
            );
        }
    }
}
