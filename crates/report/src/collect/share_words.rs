//! Shares in sentences: one that is not 0 never looks like 0, and one that is not all never like all.

/// Two digits, three below 10 % and above 99 %: `1.4 %`, `52 %`, `99.5 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if (9.95..99.0).contains(&p) => format!("{p:.0} %"),
        // A sum of binary fractions may be slightly below 100.
        p if p <= 0.0 || p >= 100.0 - 1e-9 => format!("{p:.0} %"),
        _ => tenths(share),
    }
}

/// To a tenth of a per cent: `18.4 %`.
pub(crate) fn tenths(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.05 => "less than 0.1 %".to_owned(),
        p if p > 99.95 && p < 100.0 => "more than 99.9 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, tenths};

    #[test]
    fn shares_never_round_to_nothing_or_all() {
        let shown = [0.0, 0.0001, 0.0996, 0.184, 0.991, 0.99999, 1.0].map(|share| [percent(share), tenths(share)]);
        let expected = [
            ["0 %", "0.0 %"],
            ["less than 0.1 %", "less than 0.1 %"],
            ["10 %", "10.0 %"],
            ["18 %", "18.4 %"],
            ["99.1 %", "99.1 %"],
            ["more than 99.9 %", "more than 99.9 %"],
            ["100 %", "100.0 %"],
        ];
        assert_eq!(shown, expected);
    }
}
