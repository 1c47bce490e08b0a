//! `srnn bench` on tiny shapes.

use crate::program::srnn;
use std::path::Path;

fn bench(arguments: &[&str]) -> crate::program::Ran {
    let folder = tempfile::tempdir().unwrap();
    bench_in(folder.path(), arguments)
}

fn bench_in(folder: &Path, arguments: &[&str]) -> crate::program::Ran {
    let always = ["bench", "--json", "--repeats", "5", "--threads", "1"];
    srnn(folder, &[&always[..], arguments].concat())
}

#[test]
fn every_cell_is_checked_timed_and_compared_with_the_first() {
    let cells = ["sr-lstm-p", "sr-lstm", "sr-gru", "lstm-p", "lstm", "gru"];
    for shape in ["3,5,2,8,4", "3,5,2,8,4,6"] {
        let ran = bench(&["--shape", shape, "--cell", &cells.join(",")]).yes();
        let value = ran.json();
        assert_eq!(value["device"], "cpu");
        let lines = value["measured"].as_array().unwrap();
        let named: Vec<&str> = lines.iter().map(|line| line["cell"].as_str().unwrap()).collect();
        assert_eq!(named, cells);
        assert_eq!(lines[0]["times_first"], 1.0);
        for line in lines {
            assert!(line["milliseconds"].as_f64().unwrap() > 0.0, "{line}");
            assert_eq!(line["steps_timed"], 5);
            let checked = &line["checked"];
            assert_eq!((&checked["rows"], &checked["steps"]), (&3.into(), &5.into()), "{line}");
            let error = checked["gradient_error"].as_f64().unwrap();
            assert!(error > 0.0 && error < 1e-4, "{line}");
        }
    }
}

#[test]
fn shapes_that_cannot_be_are_refused_with_what_is_wrong() {
    for (shape, said) in [
        ("3,5,2", "3 numbers: give five numbers"),
        ("3,5,2,x,4", "invalid digit"),
        ("0,5,2,8,4", "B is 0"),
        ("3,0,2,8,4", "T is 0"),
        ("3,1,2,8,4,6", "T is 1"),
        ("3,5,0,8,4", "the input's width is 0"),
        ("3,5,2,0,4", "the number of units is 0"),
        ("3,5,2,8,0", "the number of centroids k is 0"),
        ("3,5,2,8,4,0", "no symbols"),
        ("9999999,9999999,9999999,8,4", "B·T·IN is above"),
    ] {
        let ran = bench(&["--shape", shape]);
        assert_eq!(ran.code, 2, "{shape}");
        assert!(ran.stderr.contains(said), "{shape}: {}", ran.stderr);
    }
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let ran = bench(&["--setting", "nope"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("one of bp, mnist"), "{}", ran.stderr);
    let ran = bench(&["--shape", "3,5,2,8,4", "--repeats", "0"]);
    assert_eq!(ran.code, 2);
}

#[test]
fn a_build_without_cuda_says_so_and_how_to_get_it() {
    let ran = bench(&["--shape", "3,5,2,8,4", "--device", "cuda"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--features cuda"), "{}", ran.stderr);
}
