//! `[parameters]`: named values of a workload that the user may set.
//!
//! A parameter has a default, a text or a number, and is used as a separate text: `"$block"`. Its value has the default's kind and is
//! substituted before the file is parsed, so it is checked at its place of use, as if it were written there.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::WorkloadError;

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Parameter {
    /// Its name, without `$`.
    pub name: String,
    /// Its value, a text without quotes.
    pub value: String,
}

/// A workload file with its parameters in place. Lines are where they were.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) text: String,
    pub(super) parameters: Vec<Parameter>,
}

/// The table of a workload file that declares them.
const TABLE: &str = "parameters";
/// The most parameters of a workload.
const MOST: usize = 100;
/// Maximum length of a value, bytes. Sizes and times are far shorter.
const LONGEST: usize = 100;

/// The kind of a parameter's default, and of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Whole,
    Number,
    Switch,
}

/// A declared parameter with its current value.
struct Declared {
    parameter: Parameter,
    kind: Kind,
    place: Range<usize>,
    used: bool,
}

/// Puts parameters in their places; `settings` replace defaults.
pub(super) fn fill(file: &str, text: &str, settings: &[Parameter]) -> Result<Filled, WorkloadError> {
    let wrong = |place: &Range<usize>, problem: String| WorkloadError::at(file, text, place, problem);
    let whole = DeTable::parse(text).map_err(|error| match error.span() {
        Some(place) => wrong(&place, error.message().to_owned()),
        None => WorkloadError::whole(file, error.message()),
    })?;
    let mut declared = declared(whole.get_ref()).map_err(|(place, problem)| wrong(&place, problem))?;
    for setting in settings {
        set(&mut declared, setting).map_err(|problem| WorkloadError::whole(file, problem))?;
    }
    let mut places = Vec::new();
    let used = whole.get_ref().iter().filter(|(name, _)| name.get_ref() != TABLE);
    used.for_each(|(_, value)| find(value, text, &mut places));
    places.sort_by_key(|(place, _)| place.start);
    let (mut filled, mut from) = (String::with_capacity(text.len()), 0);
    for (place, name) in places {
        let Some(found) = declared.iter_mut().find(|one| one.parameter.name == name) else {
            return Err(wrong(&place, format!("there is no parameter \"{name}\" in [{TABLE}]")));
        };
        found.used = true;
        filled.push_str(text.get(from..place.start).unwrap_or_default());
        filled.push_str(&found.literal());
        from = place.end;
    }
    filled.push_str(text.get(from..).unwrap_or_default());
    if let Some(unused) = declared.iter().find(|one| !one.used) {
        return Err(wrong(
            &unused.place,
            format!(
                "this parameter is not used: write \"${}\" in place of a value, or remove the parameter",
                unused.parameter.name
            ),
        ));
    }
    Ok(Filled { text: filled, parameters: declared.into_iter().map(|one| one.parameter).collect() })
}

impl Filled {
    /// An error at a place of the substituted text, reported with the line as the user wrote it and the substituted value.
    pub(super) fn wrong(&self, file: &str, written: &str, place: &Range<usize>, problem: &str) -> WorkloadError {
        let lines_before = self.text.get(..place.start.min(self.text.len())).unwrap_or_default().matches('\n').count();
        let start = written.split_inclusive('\n').take(lines_before).map(str::len).sum();
        let line = written.lines().nth(lines_before).unwrap_or_default();
        let stands =
            |one: &&Parameter| ['"', '\''].iter().any(|quote| line.contains(&format!("{quote}${}{quote}", one.name)));
        let values: Vec<String> =
            self.parameters.iter().filter(stands).map(|one| format!("${} is {}", one.name, one.value)).collect();
        let besides = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        WorkloadError::at(file, written, &(start..start), format!("{problem}{besides}"))
    }
}

fn declared(whole: &DeTable<'_>) -> Result<Vec<Declared>, (Range<usize>, String)> {
    let Some(table) = whole.get(TABLE) else { return Ok(Vec::new()) };
    let DeValue::Table(parameters) = table.get_ref() else {
        return Err((table.span(), format!("[{TABLE}]: expected a table of parameter names and default values")));
    };
    if parameters.len() > MOST {
        return Err((table.span(), format!("too many parameters: the limit is {MOST}")));
    }
    parameters.iter().map(|(name, value)| Declared::read(name, value)).collect()
}

fn set(declared: &mut [Declared], setting: &Parameter) -> Result<(), String> {
    let Some(one) = declared.iter_mut().find(|one| one.parameter.name == setting.name) else {
        let names: Vec<&str> = declared.iter().map(|one| one.parameter.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!("no parameter \"{}\"; parameters of this workload: {there}", setting.name));
    };
    let value = setting.value.trim();
    let sound = match one.kind {
        Kind::Text => is_plain(value),
        Kind::Whole => value.parse::<i64>().is_ok(),
        Kind::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
        Kind::Switch => value.parse::<bool>().is_ok(),
    };
    if !sound {
        return Err(format!("parameter \"{}\" must be {}, not \"{value}\"", setting.name, one.kind.words()));
    }
    value.clone_into(&mut one.parameter.value);
    Ok(())
}

/// Places of `"$name"`, in no order.
fn find(value: &Spanned<DeValue<'_>>, text: &str, places: &mut Vec<(Range<usize>, String)>) {
    match value.get_ref() {
        DeValue::String(said) => {
            let written = text.get(value.span()).unwrap_or_default();
            let inner = written.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
            if let Some(name) = said.strip_prefix('$').filter(|name| is_name(name))
                && inner == Some(said)
            {
                places.push((value.span(), name.to_owned()));
            }
        }
        DeValue::Array(values) => values.iter().for_each(|value| find(value, text, places)),
        DeValue::Table(table) => table.iter().for_each(|(_, value)| find(value, text, places)),
        _ => {}
    }
}

impl Declared {
    fn read(
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Self, (Range<usize>, String)> {
        let place = name.span();
        if !is_name(name.get_ref()) {
            return Err((
                place,
                "expected a parameter name of lower-case letters, digits and '-' that starts with a letter".to_owned(),
            ));
        }
        let (kind, value) = match value.get_ref() {
            DeValue::String(text) if is_plain(text) => (Kind::Text, text.to_string()),
            DeValue::Integer(number) => (Kind::Whole, number.to_string()),
            DeValue::Float(number) => (Kind::Number, number.to_string()),
            DeValue::Boolean(switch) => (Kind::Switch, switch.to_string()),
            _ => {
                let problem = format!("expected a number, true, false or {}", Kind::Text.words());
                return Err((value.span(), problem));
            }
        };
        let parameter = Parameter { name: name.get_ref().to_string(), value };
        Ok(Self { parameter, kind, place, used: false })
    }

    /// As it stands in the file, where it is used.
    fn literal(&self) -> String {
        let value = &self.parameter.value;
        if self.kind == Kind::Text { format!("\"{value}\"") } else { value.clone() }
    }
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::Text => "a text of at most 100 bytes without quotes, \\ or control characters",
            Kind::Whole => "a whole number",
            Kind::Number => "a number",
            Kind::Switch => "true or false",
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}

/// Whether it can be quoted without escapes.
fn is_plain(text: &str) -> bool {
    text.len() <= LONGEST && !text.contains(|c: char| c.is_control() || matches!(c, '"' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Parameter {
        Parameter { name: name.to_owned(), value: value.to_owned() }
    }

    const TEXT: &str =
        "a = \"$block\" # \"$block\"\n[parameters]\nblock = \"6kB\"\ntimes = 3\n[b]\nc = [{ d = '$times' }]\n";

    #[test]
    fn values_are_put_where_they_are_used() {
        let filled = fill("f", TEXT, &[]).unwrap();
        assert_eq!(filled.text, TEXT.replacen("\"$block\"", "\"6kB\"", 1).replace("'$times'", "3"));
        assert_eq!(filled.parameters, [setting("block", "6kB"), setting("times", "3")]);
        let filled = fill("f", TEXT, &[setting("block", "750B"), setting("times", " 4 ")]).unwrap();
        assert!(filled.text.starts_with("a = \"750B\"") && filled.text.contains("d = 4 "));
        assert_eq!(filled.parameters, [setting("block", "750B"), setting("times", "4")]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text: &str, settings: &[Parameter]| fill("f", text, settings).unwrap_err().to_string();
        assert_eq!(
            said(TEXT, &[setting("blok", "1B")]),
            "f: no parameter \"blok\"; parameters of this workload: block, times"
        );
        assert_eq!(said(TEXT, &[setting("times", "x")]), "f: parameter \"times\" must be a whole number, not \"x\"");
        assert!(said(TEXT, &[setting("block", "\"")]).contains("a text of at most 100 bytes"));
        assert!(said("a = 1", &[setting("block", "1B")]).contains("parameters of this workload: none"));
        assert!(said("[parameters]\nb = 1\n", &[]).contains("line 2: this parameter is not used"));
        assert!(said("[parameters]\nb = []\na = \"$b\"", &[]).contains("line 2: expected a number, true, false or"));
        assert!(said("[x]\n\nb = \"$c\"\n", &[]).contains("line 3: there is no parameter \"c\""));
        assert!(said("[parameters]\nB = 1\n", &[]).contains("line 2: expected a parameter name"));
        assert!(said("parameters = 1", &[]).contains("a table of parameter names"));
        assert!(said("a = ", &[]).contains("line 1"));
    }

    #[test]
    fn a_wrong_value_is_told_where_it_is_used() {
        let filled = fill("f", TEXT, &[setting("block", "much")]).unwrap();
        let error = filled.wrong("f", TEXT, &(4..10), "no size").to_string();
        assert_eq!(error, "f, line 1: no size ($block is much), in: a = \"$block\" # \"$block\"");
        let times = filled.text.find("times").unwrap();
        assert_eq!(filled.wrong("f", TEXT, &(times..times + 1), "x").line, 4);
    }

    #[test]
    fn other_texts_with_a_dollar_stay() {
        for text in ["a = \"costs $5\"\n", "a = \"$5\"\n", "a = \"\"\"$b\"\"\"\n", "a = \"$B\"\n"] {
            assert_eq!(fill("f", text, &[]).unwrap().text, text);
        }
    }
}
