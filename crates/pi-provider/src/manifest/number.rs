//! Numbers as people write them: those that are whole without a fraction.

use serde::{Serialize, Serializer};
use serde_json::Value;

pub(super) fn one<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    number.map(plain).serialize(serializer)
}

pub(super) fn pair<S: Serializer>(pair: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    pair.map(|(from, to)| [plain(from), plain(to)]).serialize(serializer)
}

fn plain(number: f64) -> Value {
    // Up to here every whole number has a place of its own among floating ones.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    if number.fract() == 0.0 && number.abs() <= LARGEST { Value::from(number as i64) } else { Value::from(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (number, expected) in [(128_000.0, "128000"), (0.5, "0.5"), (-2.0, "-2"), (1e300, "1e+300"), (0.0, "0")] {
            assert_eq!(plain(number).to_string(), expected);
        }
    }
}
