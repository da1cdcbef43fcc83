//! Several errors, or reasons, as one text.

/// Combines several results that were all attempted: of several errors, the first is reported before the others.
///
/// # Errors
/// If one of them is an error.
pub fn all_of(results: impl IntoIterator<Item = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut errors = results.into_iter().filter_map(Result::err);
    let Some(first) = errors.next() else { return Ok(()) };
    let others: Vec<String> = errors.map(|error| format!("{error:#}")).collect();
    if others.is_empty() { Err(first) } else { Err(anyhow::anyhow!("{first:#}; besides, {}", others.join("; "))) }
}

/// The first of several reasons, and the number of others, for a line on standard error.
pub fn first_reason(reasons: &[String]) -> String {
    match reasons {
        [] => "unknown reason".to_owned(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} ({} more in the report)", others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;

    #[test]
    fn no_error_hides_another() {
        let failed = |what: &'static str| Err(anyhow::anyhow!(what));
        assert!(all_of([Ok(()), Ok(())]).is_ok());
        assert!(all_of([Ok(()), Err(Usage("one".to_owned()).into())]).is_err_and(|error| error.is::<Usage>()));
        let both = all_of([failed("one"), Ok(()), failed("two")]).map_err(|error| error.to_string());
        assert_eq!(both, Err("one; besides, two".to_owned()));
    }
}
