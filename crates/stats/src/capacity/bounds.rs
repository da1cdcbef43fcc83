//! The possible loads of a search, and the steps between them.

/// The possible loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grain {
    /// Any: a rate.
    Any,
    /// Whole numbers from this one on: clients, users.
    Whole(u32),
}

/// Range and resolution of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The first load.
    pub start: f64,
    /// The highest load that is tried.
    pub most: f64,
    /// Which loads there are.
    pub grain: Grain,
    /// How wide the interval may be, as a part of its lower end.
    pub resolution: f64,
    /// Runs, at most.
    pub runs: u32,
}

/// A load of the kind that there is. Any is of five digits, far finer than runs can tell, for people to read.
pub(super) fn grained(grain: Grain, load: f64) -> f64 {
    match grain {
        Grain::Any => {
            let places = 4_i32.saturating_sub(load.log10().floor() as i32);
            let scale = 10_f64.powi(places.saturating_abs());
            match places {
                _ if !scale.is_finite() => load,
                0.. => (load * scale).round() / scale,
                _ => (load / scale).round() * scale,
            }
        }
        Grain::Whole(least) => load.floor().max(f64::from(least)),
    }
}

/// The middle of a gap, in proportion.
pub(super) fn between(grain: Grain, held: f64, broken: f64) -> f64 {
    let middle = grained(grain, (held * broken).sqrt());
    if grain == Grain::Any { middle } else { middle.max(held + 1.0) }
}

/// The next load outside of an end, by the resolution.
pub(super) fn outward(bounds: &Bounds, load: f64, low: bool) -> f64 {
    let factor = 1.0 + bounds.resolution;
    match (bounds.grain, low) {
        (Grain::Any, true) => grained(bounds.grain, load / factor),
        (Grain::Any, false) => grained(bounds.grain, load * factor).min(bounds.most),
        (Grain::Whole(least), true) => (load / factor).floor().min(load - 1.0).max(f64::from(least)),
        (Grain::Whole(_), false) => (load * factor).ceil().max(load + 1.0).min(bounds.most),
    }
}
