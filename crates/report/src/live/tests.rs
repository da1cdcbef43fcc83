//! Screens of several sizes, and of names that want to act.

use super::*;
use crate::safe::columns as width_of;

fn live() -> LiveScreen {
    let history: Vec<LiveFigures> = (0..100)
        .map(|second| LiveFigures {
            from_ns: (1_700_000_000 + second) * 1_000_000_000,
            seconds: Some(1.0),
            operations: 100 + second as u64,
            p50_ns: Some(200_000),
            p99_ns: Some(4_000_000),
            queue_depth: Some(1.5),
            waiting: Some(LiveWait::default()),
            lost_packets: u64::from(second == 98) * 7,
            ..LiveFigures::default()
        })
        .collect();
    let mut heat = vec![[0; HEAT_ROWS]; 100];
    heat.iter_mut().for_each(|column| column[24] = 90);
    let row = |name: &str| LiveScreenRow { name: Some(name.to_owned()), ..LiveScreenRow::default() };
    LiveScreen {
        input: "interface eth0".to_owned(),
        state: "LIVE".to_owned(),
        now: history[99].clone(),
        lately: LiveFigures { seconds: Some(60.0), ..history[98].clone() },
        history,
        heat,
        by: "file".to_owned(),
        within: vec!["client 10.0.0.1".to_owned()],
        rows: vec![row("d\\\u{1b}]0;x\u{7}\u{202e}evil\n"), row(&"ü".repeat(300)), row("others")],
        selected: 1,
        losses: Some(plimsoll_stats::live::LiveLosses::default()),
        ..LiveScreen::default()
    }
}

#[test]
fn a_screen_fills_the_terminal_and_no_more() {
    for (columns, rows) in [(80, 24), (200, 50), (40, 16), (132, 43), (20, 5), (1, 1), (400, 200)] {
        let lines = screen(&live(), columns, rows);
        assert_eq!(lines.len(), rows);
        assert!(lines.iter().all(|line| width_of(line) <= columns), "{columns}: {lines:#?}");
        assert!(screen(&LiveScreen::default(), columns, rows).len() == rows, "without anything");
    }
}

#[test]
fn everything_is_on_the_smallest_usual_screen() {
    let text = screen(&live(), 80, 24).join("\n");
    for part in ["interface eth0", "2023-11-14 22:14:59 UTC  LIVE", "op/s", "199", "200 µs", "4.00 ms~*", "█", "> ü"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    for part in ["by file", "within client 10.0.0.1", "others", "q quit", "/"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn numbers_of_a_selection_that_may_lack_operations_are_marked() {
    let mut live = live();
    assert!(!screen(&live, 80, 24).join("\n").contains('\u{2265}'));
    (live.now.at_least, live.history[99].at_least) = (true, true);
    let text = screen(&live, 80, 24).join("\n");
    assert!(text.contains("Response times of the selection, some are missing"), "{text}");
    let now = text.lines().find(|line| line.starts_with("now")).unwrap();
    let now: Vec<&str> = now.split_whitespace().collect();
    assert_eq!(now[1..7], ["\u{2265}199", "200", "\u{b5}s~*", "4.00", "ms~*", "\u{2265}0"]);
}

#[test]
fn requests_that_wait_are_on_every_screen() {
    let mut live = live();
    assert!(screen(&live, 80, 24).join("\n").contains("Requests without a response (of all clients): 0"));
    live.within.clear();
    live.now.waiting = Some(LiveWait { requests: 8, oldest_ns: 12_000_000_000 });
    for (columns, rows) in [(80, 24), (60, 16)] {
        let text = screen(&live, columns, rows).join("\n");
        assert!(text.contains("Requests without a response: 8, oldest 12.0 s"), "{text}");
    }
    let line = line(&live.now);
    assert!(line.ends_with("MB/s  waiting: 8, oldest 12.0 s"), "{line}");
    live.now.waiting = None;
    let text = screen(&live, 80, 24).join("\n");
    assert!(text.contains("Requests without a response: unknown\n"), "nobody knows: {text}");
}

#[test]
fn an_interface_that_is_down_is_in_the_head() {
    let mut live = live();
    let since_ns = live.now.from_ns - 10_000_000_000;
    (live.now.waiting, live.now.interface_down, live.down_since_ns) = (None, true, Some(since_ns));
    for (columns, rows) in [(80, 24), (200, 50)] {
        let lines = screen(&live, columns, rows);
        assert!(lines[0].ends_with("2023-11-14 22:14:59 UTC  INTERFACE DOWN since 22:14:49"), "{}", lines[0]);
        assert!(lines[0].starts_with("plimsoll  interface eth0") && !lines[0].contains("LIVE"), "{}", lines[0]);
        assert!(lines.join("\n").contains("all clients): unknown (the interface was down)"), "{lines:#?}");
    }
    live.state = "PAUSED 2 s back".to_owned();
    live.down_since_ns = Some(since_ns - 86_400_000_000_000);
    let head = &screen(&live, 132, 43)[0];
    assert!(head.ends_with("PAUSED 2 s back  INTERFACE DOWN since 2023-11-13 22:14:49 UTC"), "{head}");
}

#[test]
fn notices_are_above_the_losses_as_far_as_there_is_room() {
    let notices = ["first notice", "second notice", "third notice"].map(str::to_owned).to_vec();
    let live = LiveScreen { notices, ..live() };
    for (size, shown) in [((80, 24), 3), ((40, 16), 2)] {
        let lines = screen(&live, size.0, size.1);
        let found = lines.iter().filter(|line| line.ends_with(" notice")).count();
        assert_eq!(found, shown, "{lines:#?}");
        assert!(lines.last().unwrap().starts_with("q quit"), "{lines:#?}");
        assert!(lines[lines.len() - 2].starts_with("The input reports no lost packets"), "{lines:#?}");
    }
}

#[test]
fn the_lines_of_a_run_leave_room_for_the_keys() {
    let (counters, levels) = (Some("the counters".to_owned()), vec![LiveLevel::default()]);
    let server = Some(crate::findings::ServerSide::default());
    let run = Some(LiveRun { server, counters, levels, ..LiveRun::default() });
    let live = LiveScreen { run, losses: None, ..live() };
    for (rows, has_levels) in [(16, false), (17, true), (24, true)] {
        let lines = screen(&live, 80, rows);
        assert!(lines[rows - 1].starts_with("q quit"), "{lines:#?}");
        assert!(lines.iter().any(|line| line == "the counters"), "{lines:#?}");
        assert_eq!(lines.iter().any(|line| line.starts_with("Finished: ")), has_levels, "{lines:#?}");
    }
}

/// A pcap pipe has no count, and Linux does not show that of every interface.
#[test]
fn no_loss_is_claimed_of_what_has_no_count() {
    use plimsoll_stats::live::{InterfaceState, LiveLosses};
    let said = |losses: LiveLosses| {
        let lines = screen(&LiveScreen { losses: Some(losses), ..live() }, 100, 30);
        lines[28].clone()
    };
    let pipe = LiveLosses::default();
    assert_eq!(said(pipe), "The input reports no lost packets so far (a pcap input cannot report any)");
    assert_eq!(said(LiveLosses { reported: 7, ..pipe }), "Packets lost, as the input reports: 7");
    let interface = LiveLosses { state: InterfaceState::Up, ..pipe };
    assert_eq!(said(interface), "The kernel and the interface report no lost packets so far");
    let unknown = LiveLosses { interface_unknown: true, ..interface };
    assert_eq!(said(unknown), "The kernel reports no lost packets so far");
    assert_eq!(said(LiveLosses { kernel: 1, ..unknown }), "Packets lost by the kernel: 1");
}

#[test]
fn names_do_not_act() {
    let text = screen(&live(), 200, 50).join("\n");
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']) && text.contains("u{202e}"), "{text}");
}
