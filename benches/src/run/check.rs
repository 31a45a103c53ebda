//! Whether a repetition did the work that was asked for.

use std::collections::BTreeMap;

use ringmain_bench_harness::{Load, Plan};

/// Fails with what differs from the plan.
pub(crate) fn check(plan: &Plan, figures: &BTreeMap<String, f64>) -> Result<(), String> {
    let figure = |name: &str| figures.get(name).copied().unwrap_or(0.0);
    if figure("failed") > 0.0 {
        return Err(format!("{} calls failed", figure("failed")));
    }
    if figure("wrong") > 0.0 {
        return Err(format!(
            "{} calls had other items than asked",
            figure("wrong")
        ));
    }
    let (items, calls) = (figure("total_tokens"), figure("total_calls"));
    if calls < 1.0 {
        return Err("no call ended".to_owned());
    }
    if items < 1.0 {
        return Err("no item came".to_owned());
    }
    match plan.load {
        Load::Closed | Load::Open | Load::Burst | Load::Churn => {
            equal("items", items, calls * f64::from(plan.items))
        }
        Load::Cancel => equal("cancels seen", items, crate::stats::float(plan.streams)),
        // Long requests are whole multiples of the others.
        Load::Mixed => equal(
            "items beyond whole calls",
            items % f64::from(plan.items),
            0.0,
        ),
        // All streams have the same items, as many as fill the window.
        Load::Paced => equal("items beyond whole streams", items % calls, 0.0),
        Load::Trace => {
            let asked: f64 = plan.trace.iter().map(|call| f64::from(call.2.max(1))).sum();
            equal("items", items, asked)
        }
        // Each stream was checked by itself; how many of each kind fit is up to the system.
        Load::Large => Ok(()),
    }
}

fn equal(what: &str, got: f64, asked: f64) -> Result<(), String> {
    // Counts are whole numbers, far below 2^53.
    if (got - asked).abs() < 0.5 {
        return Ok(());
    }
    Err(format!("{got} {what}, {asked} asked"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ringmain_bench_harness::{ConnectArgs, Load, Plan, PlanKind};

    use super::check;

    fn plan(load: Load) -> Plan {
        Plan {
            load,
            kind: PlanKind::Ready,
            streams: 4,
            item_bytes: 64,
            items: 8,
            request_bytes: 64,
            interval_us: 0,
            rate: 0,
            warm_up_ms: 0,
            window_ms: 0,
            wedged: 0,
            trace: vec![(0, 64, 3), (1, 64, 4)],
            traced: false,
            server_pid: 0,
            broker_pid: None,
            connect: ConnectArgs::default(),
        }
    }

    fn figures(items: f64, calls: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([
            ("total_tokens".to_owned(), items),
            ("total_calls".to_owned(), calls),
        ])
    }

    #[test]
    fn work_is_what_was_asked() {
        for (load, items, calls, good) in [
            (Load::Closed, 80.0, 10.0, true),
            (Load::Closed, 79.0, 10.0, false),
            (Load::Closed, 0.0, 0.0, false),
            (Load::Cancel, 4.0, 4.0, true),
            (Load::Cancel, 3.0, 3.0, false),
            (Load::Mixed, 88.0, 9.0, true),
            (Load::Mixed, 89.0, 9.0, false),
            (Load::Paced, 44.0, 4.0, true),
            (Load::Paced, 45.0, 4.0, false),
            (Load::Trace, 7.0, 2.0, true),
            (Load::Trace, 6.0, 2.0, false),
        ] {
            let outcome = check(&plan(load), &figures(items, calls));
            assert_eq!(
                outcome.is_ok(),
                good,
                "{load:?} {items} {calls}: {outcome:?}"
            );
        }
    }

    #[test]
    fn a_failed_or_wrong_call_is_never_clean() {
        for name in ["failed", "wrong"] {
            let mut figures = figures(80.0, 10.0);
            figures.insert(name.to_owned(), 1.0);
            assert!(check(&plan(Load::Closed), &figures).is_err());
        }
    }
}
