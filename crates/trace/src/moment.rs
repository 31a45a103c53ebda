//! Points in time as traces write them: `2023-11-16 18:15:46.6805900`.

use std::time::Duration;

/// Reads a date and time as the span since 1970-01-01 UTC. Between the two may stand a space or a
/// `T`; behind them an offset from UTC (`Z`, `+00:00`), without which UTC is meant.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, offset_s) = split_offset(time)?;
    let (time, nanos) = split_fraction(time)?;
    let mut time = time.splitn(3, ':').map(digits);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of_month(month, leap)).contains(&day)
        && hour < 24
        && minute < 60
        // 60 is a leap second.
        && second <= 60;
    if !valid {
        return None;
    }
    let local = days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Duration::new(u64::try_from(local - offset_s).ok()?, nanos))
}

/// A number of plain digits; a sign or a space is no part of a date.
fn digits(text: &str) -> Option<i64> {
    let plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Splits the offset from UTC off a time of day, in seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let size_s = hours * 3_600 + minutes * 60;
    let valid = hours < 24 && minutes < 60;
    let offset_s = if time[at..].starts_with('-') {
        -size_s
    } else {
        size_s
    };
    valid.then_some((&time[..at], offset_s))
}

/// Splits the fraction of a second off a time of day, in nanoseconds; finer digits are dropped.
fn split_fraction(time: &str) -> Option<(&str, u32)> {
    let Some((time, fraction)) = time.split_once('.') else {
        return Some((time, 0));
    };
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(9)
        .collect();
    Some((time, nine.parse().ok()?))
}

fn days_of_month(month: i64, leap: bool) -> i64 {
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day is the last one.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const DAYS_TO_EPOCH: i64 = 719_468;
    let year = if month > 2 { year } else { year - 1 };
    let months_since_march = (month + 9) % 12;
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - DAYS_TO_EPOCH
}
