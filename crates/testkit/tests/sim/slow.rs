//! Consumers that do not take what they get.

use std::time::Duration;

use ringmain_testkit::sim::{Errand, Fate, Habit, Job, JobKind, Route};

use crate::support::{Cluster, errand, is_whole, job, millis};

/// Wedged streams stall themselves alone: others on their link flow, keepalive holds.
#[test]
fn wedged_consumers_slow_nobody_else() {
    for route in [Route::Client, Route::Local] {
        let mut cluster = Cluster::new(1, millis(1_000), millis(1_000));
        for number in 0..300 {
            // More than any window, and a first look at it after twenty seconds.
            let count = 3_000;
            let wedged = Job {
                size: 1_000,
                ..job(number, JobKind::Emit, count, millis(0))
            };
            cluster.assign(Errand {
                route,
                read_pace: Duration::from_secs(20),
                ..errand(
                    millis(0),
                    wedged,
                    Habit::Drop(ringmain_testkit::sim::When::Messages(1)),
                )
            });
        }
        for number in 300..400 {
            let job = job(number, JobKind::Emit, 100, millis(10));
            cluster.assign(Errand {
                route,
                ..errand(millis(500), job, Habit::Patient)
            });
        }
        let reports = cluster.finish(Duration::from_secs(60));
        let (wedged, flowing) = reports.split_at(300);
        for report in flowing {
            assert!(is_whole(report), "{report:?}");
            // Its hundred pauses of ten milliseconds, each up to a tick longer, and the way.
            assert!(report.ended <= millis(500 + 100 * 12 + 100), "{report:?}");
        }
        for report in wedged {
            assert_eq!(report.fate, Fate::Dropped, "{report:?}");
        }
    }
}
