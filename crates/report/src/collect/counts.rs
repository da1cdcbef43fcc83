//! Counts in sentences.

/// `1 packet`, `1,200 packets`.
pub(crate) fn plural(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// `1 packet is`, `1,200 packets are`.
pub(crate) fn are(count: u64, what: &str) -> String {
    format!("{} {}", plural(count, what), if count == 1 { "is" } else { "are" })
}

/// `23665` as `23,665`.
pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn counts_read_well() {
        assert_eq!(plural(1, "packet"), "1 packet");
        assert_eq!(plural(1200, "TCP packet"), "1,200 TCP packets");
        assert_eq!(plural(123, "packet"), "123 packets");
        assert_eq!(plural(1_234_567, "packet"), "1,234,567 packets");
    }
}
