//! Numbers as people read them.

/// Three significant digits, thousands apart: `0.139`, `27.6`, `1,722`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 || size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.0005 => 3,
        // Below that the digits say no more than that it is almost nothing.
        _ => 5,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A ratio: `1.09x`.
pub(crate) fn times(value: f64) -> String {
    format!("{}x", number(value))
}

#[cfg(test)]
mod tests {
    use super::{number, times};

    #[test]
    fn three_digits_are_shown() {
        for (value, text) in [
            (0.0, "0"),
            (0.139_4, "0.139"),
            (0.000_04, "0.00004"),
            (1.234, "1.23"),
            (27.61, "27.6"),
            (99.96, "100"),
            (1722.4, "1,722"),
            (6_734_221.0, "6,734,221"),
            (-1234.0, "-1,234"),
            (-0.5, "-0.500"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(times(1.087), "1.09x");
    }
}
