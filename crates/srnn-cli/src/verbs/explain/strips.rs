//! The probabilities of centroids along a sequence as lines of text.

use srnn::explain::Trajectory;
use srnn::explain::usage::used_centroids;
use srnn::format::aligned;
use srnn::render::sparkline::sparkline;

/// Centroids that are never more probable are not shown.
const LEAST_ALPHA: f64 = 0.1;
/// The largest number of centroids that are shown.
const MAX_STRIPS: usize = 8;

/// One line for each centroid that is used: its probability at every step, from ▁ for 0 to █ for 1. The
/// centroids are in the order of their first use. Empty without centroids.
pub fn strips(path: &Trajectory) -> String {
    let mut used = used_centroids(&path.alpha, LEAST_ALPHA);
    let first = |centroid: usize| {
        path.alpha.iter().position(|step| step[centroid] >= LEAST_ALPHA).unwrap_or(usize::MAX)
    };
    used.sort_by_key(|&centroid| (first(centroid), centroid));
    let hidden = used.len().saturating_sub(MAX_STRIPS);
    used.truncate(MAX_STRIPS);
    let row = |&centroid: &usize| {
        let values: Vec<f64> = path.alpha.iter().map(|step| step[centroid]).collect();
        vec![format!("α of {centroid}"), sparkline(&values, 0.0, 1.0)]
    };
    let mut text = aligned(&used.iter().map(row).collect::<Vec<_>>());
    if hidden > 0 {
        text.push_str(&format!("and {hidden} more centroids above {LEAST_ALPHA}\n"));
    }
    text
}

#[test]
fn used_centroids_have_a_line_in_the_order_of_their_use() {
    let alpha = vec![vec![0.0, 0.02, 1.0], vec![0.98, 0.02, 0.0]];
    let path = Trajectory { tokens: vec!["a".into(); 2], h: vec![], c: vec![], alpha };
    assert_eq!(strips(&path), "α of 2  █▁\nα of 0  ▁█\n");
}
