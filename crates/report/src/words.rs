//! Counts in words, as terminal and report write them.

/// A count with its thousands set apart: `82,582`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 flow`, `2 flows`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// Connections by how their ends took turns; `totals_only` are those of flow records, which do not say it.
pub fn by_pattern(sequential: u64, concurrent: u64, totals_only: u64) -> String {
    let of_pattern = [(sequential, "sequential"), (concurrent, "concurrent")];
    let of_pattern = of_pattern.into_iter().filter(|(count, _)| totals_only == 0 || *count > 0);
    let totals_only = (totals_only > 0).then_some((totals_only, "known by totals only"));
    let kinds = of_pattern.chain(totals_only).map(|(count, name)| format!("{} {name}", thousands(count)));
    kinds.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_flow_records_are_not_called_sequential() {
        assert_eq!(by_pattern(0, 2, 0), "0 sequential, 2 concurrent");
        assert_eq!(by_pattern(0, 0, 1_000), "1,000 known by totals only");
        assert_eq!(by_pattern(3, 0, 1), "3 sequential, 1 known by totals only");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(82_582), "82,582");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000_000), "1,000,000");
    }
}
