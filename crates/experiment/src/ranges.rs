//! Lists of numbers with ranges: `1,2,4`, `1..15`, `1..64*2`, `500B..4000B/100B`.

/// Maximum number of values in a list.
const MOST: usize = 1000;
/// A number is the end of a range if its distance from the end is at most this part of a step: steps such as 0.1 are not exact.
const ROUNDING: f64 = 1e-9;

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    /// An item that is not a range, unchanged.
    Written(&'a str),
    /// A number from a range.
    Number(f64),
}

/// The step of a range.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plus(f64),
    Times(f64),
}

/// The items of a list, with ranges expanded; `read` parses a number. A range continues by one, by the step after a `/`, or by the factor
/// after a `*`. It includes its end if the steps reach it.
pub(crate) fn items<'a>(text: &'a str, read: impl Fn(&str) -> Option<f64>) -> Result<Vec<Item<'a>>, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let Some((from, rest)) = part.split_once("..") else {
            all.push(Item::Written(part));
            continue;
        };
        let number = |text: &str| {
            read(text.trim()).filter(|n| n.is_finite()).ok_or_else(|| match text.trim() {
                "" => format!("{part}: a number is missing; expected a range such as 1..15 or 100..1000/100"),
                text => format!("{part}: expected a number, got {text}"),
            })
        };
        let (to, step) = match (rest.split_once('*'), rest.split_once('/')) {
            (Some((to, factor)), _) => (
                to,
                Step::Times(factor.trim().parse().map_err(|_| {
                    format!(
                        "{part}: expected a factor after *, got \
                {factor}"
                    )
                })?),
            ),
            (_, Some((to, step))) => (to, Step::Plus(number(step)?)),
            _ => (rest, Step::Plus(1.0)),
        };
        let (from, to) = (number(from)?, number(to)?);
        all.extend(range(part, from, to, step)?.into_iter().map(Item::Number));
        if all.len() > MOST {
            return Err(format!("{part}: the list has more than {MOST} values; use a larger step"));
        }
    }
    Ok(all)
}

/// The first value that occurs a second time: two levels would have the same name.
pub(crate) fn twice<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for value in values {
        if seen.contains(&value) {
            return Some(value);
        }
        seen.push(value);
    }
    None
}

fn range(part: &str, from: f64, to: f64, step: Step) -> Result<Vec<f64>, String> {
    let grows = match step {
        Step::Plus(step) => step > 0.0,
        Step::Times(factor) => factor > 1.0 && from > 0.0,
    };
    if !grows || from > to {
        return Err(format!("{part}: expected an ascending range such as 1..15, 100..1000/100 or 1..64*2"));
    }
    let place = |at: u32| match step {
        Step::Plus(step) => from + step * f64::from(at),
        Step::Times(factor) => from * factor.powf(f64::from(at)),
    };
    // One more than the limit, so that the caller detects a list that is too long.
    let numbers = (0..=MOST as u32).map(place).take_while(|number| *number <= to * (1.0 + ROUNDING));
    Ok(numbers.collect())
}

/// Load levels, as a list with ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelList(pub Vec<f64>);

impl std::str::FromStr for LevelList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<f64>().ok();
        let number = |item| match item {
            Item::Number(number) => Ok(number),
            Item::Written(text) => read(text).ok_or_else(|| format!("{text:?}: expected a number")),
        };
        let levels: Vec<f64> = items(text, read)?.into_iter().map(number).collect::<Result<_, _>>()?;
        match twice(&levels) {
            Some(level) => {
                Err(format!("{level} is given twice; give each level once (to repeat the levels, use --repeat)"))
            }
            None => Ok(Self(levels)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str) -> Result<Vec<f64>, String> {
        text.parse::<LevelList>().map(|levels| levels.0)
    }

    #[test]
    fn ranges_are_written_out() {
        assert_eq!(levels("1,2, 4").unwrap(), [1.0, 2.0, 4.0]);
        assert_eq!(levels("1..5").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(levels("1..64*2").unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(levels("1..60*2,100").unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 100.0]);
        assert_eq!(levels("100..1000/300").unwrap(), [100.0, 400.0, 700.0, 1000.0]);
        assert_eq!(levels("0.1..0.3/0.1").unwrap().len(), 3);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for text in [
            "1,1", "1..4,2", "", "x", "1,", "5..1", "1..5/0", "1..5*1", "0..5*2", "1..inf", "1..x", "1..5*x", "1..1e9",
            "1..2000",
        ] {
            assert!(levels(text).is_err(), "{text}: {:?}", levels(text));
        }
        for text in ["1..", "..5", "1..5/"] {
            assert!(levels(text).unwrap_err().contains(": a number is missing; expected a range"), "{text}");
        }
    }
}
