//! What must hold after a run, for each of its calls.

use std::time::Duration;

use ringmain_client::CallError;
use ringmain_codec::{Started, Status};
use ringmain_testkit::sim::{Errand, Fate, Habit, JobKind, Ledger, Record, Report};

use crate::plan::{Fault, MESSAGE_BYTES_MAX, Plan, Weather};

/// A deadline may be noticed this late: the timer's grain.
const DEADLINE_GRAIN: Duration = Duration::from_millis(5);

/// Checks all calls; returns how many messages were compared.
///
/// # Panics
///
/// With the seed and all that is wrong; also when there was nothing to compare.
pub(crate) fn check(plan: &Plan, reports: &[Report], ledger: &Ledger) -> u64 {
    let mut wrong = ledger.faults();
    if reports.len() != plan.errands.len() {
        wrong.push(format!(
            "{} calls and {} reports",
            plan.errands.len(),
            reports.len()
        ));
    }
    let stops = |fault: &Fault| matches!(fault, Fault::FreezeClient);
    let client_stops = plan.faults.iter().any(|(_, fault)| stops(fault));
    for report in reports {
        let record = ledger.record(report.errand.job.number);
        check_one(plan.weather, report, record, &mut wrong);
        if !is_deadline_right(report, client_stops) {
            wrong.push(format!("a deadline passes on time: {report:?}"));
        }
    }
    let seed = plan.seed;
    let weather = plan.weather;
    assert!(
        wrong.is_empty(),
        "seed {seed} ({weather:?}):\n{}",
        wrong.join("\n")
    );
    assert!(
        !reports.is_empty(),
        "seed {seed} ({weather:?}): no call was made"
    );
    let messages = reports
        .iter()
        .map(|report| u64::from(report.received))
        .sum();
    let compared = messages > 0 || weather.breaks();
    assert!(
        compared,
        "seed {seed} ({weather:?}): no message was compared"
    );
    messages
}

fn check_one(weather: Weather, report: &Report, record: Record, wrong: &mut Vec<String>) {
    wrong.extend(report.faults.iter().cloned());
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{what}: {report:?} {record:?}"));
        }
    };
    must(record.runs <= 1, "a handler runs at most once");
    must(record.ended == record.runs, "no handler is left");
    must(
        report.received <= record.sent,
        "nothing arrives that was not sent",
    );
    must(
        report.received == 0 || record.runs == 1,
        "messages come from a handler",
    );
    if report.started() == Some(Started::No) {
        must(record.runs == 0, "started = no: the handler never ran");
    }
    if report.started() == Some(Started::Yes) && !was_cut_short(report) {
        must(record.runs == 1, "started = yes: the handler ran");
    }
    match &report.fate {
        Fate::Refused(error) => must(may_refuse(weather, &report.errand, error), "a refusal"),
        Fate::Ended { status, .. } => {
            must(
                may_end(weather, &report.errand, *status),
                "a status that may be",
            );
            must(
                is_complete(weather, report, *status),
                "a good end comes after every message",
            );
        }
        Fate::Abandoned | Fate::Dropped => {}
    }
}

/// Whether the stream may have ended before its handler took a first step.
fn was_cut_short(report: &Report) -> bool {
    let status = report.status();
    matches!(report.errand.habit, Habit::Stop(_) | Habit::Kill(_))
        || matches!(status, Some(Status::DeadlineExceeded | Status::Overloaded))
        || status.is_some_and(is_of_network)
}

const fn is_of_network(status: Status) -> bool {
    matches!(status, Status::ConnectionLost | Status::PeerUnresponsive)
}

/// Never early; and late only for a caller that is slow itself, or whose process is stopped.
fn is_deadline_right(report: &Report, client_stops: bool) -> bool {
    let took = report.ended - report.made;
    let Errand {
        deadline,
        read_pace,
        ..
    } = report.errand;
    let exceeded = report.status() == Some(Status::DeadlineExceeded);
    match deadline {
        None => !exceeded,
        Some(deadline) => {
            let in_time = took <= deadline + DEADLINE_GRAIN || !read_pace.is_zero() || client_stops;
            !exceeded || (took >= deadline && in_time)
        }
    }
}

/// What may keep a call from being taken.
fn may_refuse(weather: Weather, errand: &Errand, error: &CallError) -> bool {
    match error {
        CallError::DeadlineExceeded { .. } => errand.deadline.is_some(),
        CallError::Rejected(rejected) => may_end(weather, errand, rejected.status),
        CallError::Connect { .. } | CallError::NoInstances { .. } => weather.breaks(),
        CallError::Overloaded { .. } => weather == Weather::Tight,
        CallError::UnknownInstance { .. }
        | CallError::Discovery { .. }
        | CallError::Invalid { .. }
        | CallError::Closed => false,
        _ => false,
    }
}

/// What a stream may end with.
fn may_end(weather: Weather, errand: &Errand, status: Status) -> bool {
    let stops = matches!(errand.habit, Habit::Stop(_));
    match status {
        Status::Ok => !matches!(errand.job.kind, JobKind::Fail | JobKind::Panic),
        Status::Cancelled => stops,
        Status::Killed => matches!(errand.habit, Habit::Kill(_)),
        Status::DeadlineExceeded => errand.deadline.is_some(),
        Status::Application => errand.job.kind == JobKind::Fail,
        Status::HandlerPanicked => errand.job.kind == JobKind::Panic,
        Status::TooLarge => is_too_large(weather, errand),
        Status::Overloaded => weather.breaks() || weather == Weather::Tight,
        Status::Draining => weather == Weather::Restarts,
        status => weather.breaks() && is_of_network(status),
    }
}

/// Whether a message of the call is longer than both ends take.
fn is_too_large(weather: Weather, errand: &Errand) -> bool {
    let longest = errand.request_bytes.max(errand.job.size as usize);
    weather == Weather::Tight && longest > MESSAGE_BYTES_MAX as usize
}

/// A stream that ended as its handler wanted has all of its messages.
fn is_complete(weather: Weather, report: &Report, status: Status) -> bool {
    let job = report.errand.job;
    match status {
        // Its input was refused where it was made, and ended there.
        Status::Ok if job.kind.takes_input() && is_too_large(weather, &report.errand) => true,
        Status::Ok | Status::Application | Status::HandlerPanicked => {
            report.received == job.answer_len()
        }
        _ => report.received <= job.answer_len(),
    }
}
