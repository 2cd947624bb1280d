//! Numbers as people read them.

/// So many of something: `1 file`, `1,200 files`.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(count))
}

/// Digits in groups of three.
pub(crate) fn grouped(count: impl TryInto<u64>) -> String {
    let digits = count.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part from 0 to 1.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        for (count, expected) in [(0, "0"), (12, "12"), (123, "123"), (1234, "1,234"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(count), expected);
        }
    }

    #[test]
    fn one_is_not_many() {
        for (count, expected) in [(0_u64, "0 files"), (1, "1 file"), (1000, "1,000 files")] {
            assert_eq!(counted(count, "file"), expected);
        }
    }
}
