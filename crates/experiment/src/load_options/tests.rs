//! Options of the load: what they give, and what is refused.

use super::*;
use crate::parameters::variants;
use crate::{levels_of_variant, repeated};

const PHASES: Phases =
    Phases { connect_ns: 1, warmup_ns: 1_000_000_000, measured_ns: Some(2_000_000_000), drain_ns: 1 };
const DEFAULTS: Defaults =
    Defaults { load: Load::Closed { clients: 4, think: Pause::Constant(5) }, depth: 1, phases: PHASES };

fn options() -> LoadOptions {
    LoadOptions::default()
}

fn loads(options: &LoadOptions) -> Vec<Load> {
    options.levels(&DEFAULTS).unwrap().iter().map(|step| step.plan.load).collect()
}

#[test]
fn without_options_the_workload_decides() {
    let step = &options().levels(&DEFAULTS).unwrap()[0];
    assert_eq!(step.plan.load, DEFAULTS.load);
    assert_eq!((step.load_name.as_str(), step.plan.phases.warmup_ns), ("4 clients", 1_000_000_000));
}

#[test]
fn levels_are_of_what_is_asked_for() {
    let levels = || Some(LevelList(vec![1.0, 8.0]));
    let closed = |clients| Load::Closed { clients, think: Pause::Constant(5) };
    assert_eq!(loads(&LoadOptions { levels: levels(), ..options() }), [closed(1), closed(8)]);
    let open = |rate| Load::Open { clients: 4, rate, arrivals: Arrivals::Constant };
    let rated = LoadOptions { levels: levels(), rate: Some(1.0), ..options() };
    assert_eq!(loads(&rated), [open(1.0), open(8.0)]);
    let every = Some(Duration::from_secs(1));
    let users = LoadOptions { levels: levels(), users: Some(1), every, ..options() };
    assert!(matches!(loads(&users)[1], Load::Partly { users: 8, every_ns: 1_000_000_000, .. }));
}

#[test]
fn repeats_are_levels_with_draws_of_their_own() {
    let levels = LoadOptions { levels: Some(LevelList(vec![1.0, 8.0])), seed: 5, ..options() };
    let all = repeated(levels.levels(&DEFAULTS).unwrap(), 2);
    let seen: Vec<_> = all
        .iter()
        .map(|step| (step.load_name.as_str(), step.curve.as_deref(), step.plan.level, step.plan.seed))
        .collect();
    let [first, second] = ["repeat 1", "repeat 2"].map(Some);
    let expected = [
        ("1 client", first, 0, 5),
        ("8 clients", first, 1, 5),
        ("1 client", second, 2, 6),
        ("8 clients", second, 3, 6),
    ];
    assert_eq!(seen, expected);
    assert_eq!(repeated(levels.levels(&DEFAULTS).unwrap(), 1)[0].curve, None);
}

#[test]
fn variants_are_curves_of_their_own() {
    let levels = LoadOptions { levels: Some(LevelList(vec![1.0, 8.0])), ..options() };
    let vary = "block=1B,2B".parse().unwrap();
    let variants = variants("blocks-read", &[], Some(&vary)).unwrap();
    let steps = |times| repeated(levels.levels(&DEFAULTS).unwrap(), times);
    let second = levels_of_variant(steps(1), 1, &variants[1]);
    let seen: Vec<_> = second.iter().map(|step| (step.curve.as_deref(), step.plan.level)).collect();
    assert_eq!(seen, [(Some("block=2B"), 2), (Some("block=2B"), 3)]);
    assert_eq!(second[0].parameter.as_ref().unwrap().value, "2B");
    let last = &levels_of_variant(steps(2), 1, &variants[1])[3];
    assert_eq!((last.curve.as_deref(), last.plan.level), (Some("block=2B, repeat 2"), 7));
}

#[test]
fn connections_do_not_make_the_load_deeper() {
    let plan = |depth, connections| {
        (LoadOptions { depth, connections, ..options() }).levels(&DEFAULTS).map(|steps| steps[0].plan.clone())
    };
    let error = plan(None, 4).unwrap_err().to_string();
    assert!(
        error.starts_with("--connections 4: a client cannot use more connections than its queue depth, 1")
            && error.contains("--depth 4")
    );
    assert!(plan(Some(3), 4).is_err());
    let spread = plan(Some(8), 4).unwrap();
    assert_eq!((spread.depth, spread.connections, spread.outstanding()), (8, 4, 32));
}

#[test]
fn what_makes_no_sense_is_said() {
    assert!((LoadOptions { levels: Some(LevelList(vec![1.5])), ..options() }).levels(&DEFAULTS).is_err());
    assert!((LoadOptions { users: Some(3), ..options() }).levels(&DEFAULTS).is_err());
    assert!((LoadOptions { clients: Some(0), ..options() }).levels(&DEFAULTS).is_err());
    assert!((LoadOptions { duration: Some(Duration::ZERO), ..options() }).levels(&DEFAULTS).is_err());
    let error = (LoadOptions { depth: Some(0), ..options() }).levels(&DEFAULTS).unwrap_err().to_string();
    assert_eq!(error, "--depth 0: expected an integer >= 1");
}

#[test]
fn a_wrong_number_is_shown_with_its_option() {
    let every = Some(Duration::from_secs(1));
    for (options, expected) in [
        (LoadOptions { clients: Some(0), ..options() }, "--clients 0: expected an integer >= 1"),
        (LoadOptions { users: Some(0), every, ..options() }, "--users 0: expected an integer >= 1"),
        (LoadOptions { connections: 0, ..options() }, "--connections 0: expected an integer >= 1"),
        (LoadOptions { channels: 0, ..options() }, "--channels 0: expected an integer >= 1"),
        (LoadOptions { clients_per_connection: 0, ..options() }, "--clients-per-connection 0: expected an integer"),
        (LoadOptions { rate: Some(0.0), ..options() }, "--rate 0: expected a number above 0, at most 100000000"),
        (LoadOptions { rate: Some(f64::NAN), ..options() }, "--rate NaN: expected a number above 0"),
        (
            LoadOptions { rate: Some(1.0), levels: Some(LevelList(vec![5.0, 0.0])), ..options() },
            "--levels 0: expected a number above 0",
        ),
        (LoadOptions { timeout: Duration::ZERO, ..options() }, "--timeout 0s: expected a time above 0"),
        (LoadOptions { users: Some(1), every: Some(Duration::ZERO), ..options() }, "--every 0s: expected a time"),
        (
            LoadOptions { think: Some(Pause::Uniform(20_000_000, 5_000_000)), ..options() },
            "--think 20ms..5ms: expected the shorter time first",
        ),
    ] {
        let said = options.levels(&DEFAULTS).unwrap_err();
        assert!(said.is::<Usage>() && said.to_string().starts_with(expected), "{said}");
    }
}

#[test]
fn clients_beside_levels_of_other_numbers_of_clients_are_refused() {
    let options = |clients| LoadOptions {
        clients: Some(clients),
        levels: Some(LevelList(vec![1.0, 4.0])),
        ..LoadOptions::default()
    };
    let said = options(8).levels(&DEFAULTS).unwrap_err();
    assert!(said.is::<Usage>() && said.to_string().starts_with("--clients 8: --levels gives the numbers"), "{said}");
    assert_eq!(loads(&options(4)).len(), 2);
    let rated = LoadOptions { rate: Some(1.0), ..options(8) };
    assert_eq!(loads(&rated).len(), 2, "these levels are rates");
}

#[test]
fn options_of_a_schedule_need_one() {
    let (every, arrivals) = (Some(Duration::from_secs(1)), Some(Arrivals::Poisson));
    let said = |options: LoadOptions| options.load(&DEFAULTS).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said(LoadOptions { every, ..options() }).starts_with("--every: only users"));
    assert!(said(LoadOptions { every, rate: Some(1.0), ..options() }).starts_with("--every: only users"));
    assert!(said(LoadOptions { arrivals, ..options() }).starts_with("--arrivals: clients without a schedule"));
    assert_eq!(said(LoadOptions { arrivals, rate: Some(1.0), ..options() }), "");
    assert_eq!(said(LoadOptions { arrivals, every, users: Some(1), ..options() }), "");
}
