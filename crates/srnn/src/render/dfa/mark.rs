//! Marks of classes: a shape and a colour for each, so that neither alone must be told apart.

use crate::render::paint::Paint;

/// The number of shapes.
const SHAPES: usize = 8;
const SIZE: f64 = 6.5;

/// The mark of a class around a point. 56 classes have different marks.
pub(super) fn class_mark(class: usize, (x, y): (f64, f64)) -> String {
    let colours = Paint::Series(class).fill_with_stroke(Paint::Paper);
    format!("<path d=\"{}\" {colours} stroke-width=\"1.2\"/>\n", outline(class % SHAPES, (x, y)))
}

fn outline(shape: usize, (x, y): (f64, f64)) -> String {
    // Corners as an angle in turns, from the top, and a distance.
    let corners: Vec<(f64, f64)> = match shape {
        0 => (0..16).map(|i| (f64::from(i) / 16.0, 0.85)).collect(),
        1 => (0..4).map(|i| (f64::from(i) / 4.0 + 0.125, 1.1)).collect(),
        2 => (0..3).map(|i| (f64::from(i) / 3.0, 1.15)).collect(),
        3 => (0..4).map(|i| (f64::from(i) / 4.0, 1.15)).collect(),
        4 => (0..12).map(plus_corner).collect(),
        5 => (0..3).map(|i| (f64::from(i) / 3.0 + 0.5, 1.15)).collect(),
        6 => (0..10).map(|i| (f64::from(i) / 10.0, if i % 2 == 0 { 1.25 } else { 0.55 })).collect(),
        _ => (0..6).map(|i| (f64::from(i) / 6.0, 1.0)).collect(),
    };
    let point = |&(turns, distance): &(f64, f64)| {
        let (sin, cos) = (turns * std::f64::consts::TAU).sin_cos();
        format!("{:.1},{:.1}", x + SIZE * distance * sin, y - SIZE * distance * cos)
    };
    let points: Vec<String> = corners.iter().map(point).collect();
    format!("M{}Z", points.join(" L"))
}

/// A corner of a plus: two at the end of each arm, then one between arms.
fn plus_corner(corner: i32) -> (f64, f64) {
    let arm = f64::from(corner / 3) / 4.0;
    match corner % 3 {
        0 => (arm - 0.055, 1.15),
        1 => (arm + 0.055, 1.15),
        _ => (arm + 0.125, 0.54),
    }
}

#[test]
fn different_classes_have_different_marks() {
    let marks: std::collections::BTreeSet<String> =
        (0..56).map(|class| class_mark(class, (0.0, 0.0))).collect();
    assert_eq!(marks.len(), 56);
}
