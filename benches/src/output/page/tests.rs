use std::collections::BTreeMap;

use super::page;
use crate::output::hgrm::Curve;
use crate::results::{Results, Row};

fn results() -> Results {
    let row = |system: &str, p50: f64| Row {
        workload: "rtt".to_owned(),
        system: system.to_owned(),
        reps: vec![BTreeMap::from([("p50_us".to_owned(), p50)])],
        work_clean: true,
        ..Row::default()
    };
    let mut failed = row("tonic", 0.0);
    failed.reps.clear();
    failed.failures.push("it said <nothing> & ended".to_owned());
    Results {
        rows: vec![row("tcp_block", 20.0), row("ringmain", 22.0), failed],
        command: "bench --x \"y\"".to_owned(),
        ..Results::default()
    }
}

#[test]
fn a_page_has_a_line_for_each_distribution_and_a_row_for_each_system() {
    let results = results();
    let points = vec![(0.0, 15.0), (0.5, 20.0), (0.99, 44.0), (1.0, 90.0)];
    let curve = Curve { points, count: 500 };
    let stems = results.rows[..2].iter().map(Row::file_stem);
    let curves = stems.map(|stem| (stem, curve.clone())).collect();
    let page = page(&results, &curves, None);
    // Two lines and their two keys.
    assert_eq!(page.matches("<path class=\"line ").count(), 4, "{page}");
    assert!(page.contains("line ours dash0") && page.contains("line floor dash0"));
    assert!(
        page.contains("<tr class=\"ours\"><td class=\"name\">ringmain</td>"),
        "{page}"
    );
    assert!(page.contains("1.10x tcp_block"), "{page}");
    assert!(
        page.contains("it said &lt;nothing&gt; &amp; ended"),
        "{page}"
    );
    assert!(page.contains("bench --x &quot;y&quot;"));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page(&results(), &BTreeMap::new(), None);
    for outside in ["http://", "https://", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("class=\"chart\""));
}
