//! `srnn report`, and the page that `learn` writes.

mod common;

use common::{TestFolder, read};
use std::fs;

#[test]
fn learn_writes_the_page_and_report_writes_the_same_page_again() {
    let place = TestFolder::new();
    let learned = place.learn(&["tomita:1", "--out", "run"]);
    learned.good();
    assert!(learned.stderr.contains("report.html"), "{}", learned.stderr);
    let page = read(place.path("run/report.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("srnn learned"), "{page}");
    let written = place.run(&["report", "run", "--json"]).good();
    assert_eq!(written["bytes"], page.len());
    assert_eq!(read(place.path("run/report.html")), page);
    // Another file is not replaced without --force.
    assert_eq!(place.run(&["report", "run", "--out", "page.html"]).code, Some(0));
    assert_eq!(read(place.path("page.html")), page);
    assert_eq!(place.run(&["report", "run", "--out", "page.html"]).code, Some(2));
    assert_eq!(place.run(&["report", "run", "--out", "page.html", "--force"]).code, Some(0));
}

#[test]
fn what_has_no_page_is_an_error_with_a_remedy() {
    let place = TestFolder::new();
    place.learn(&["tomita:1", "--out", "run"]).good();
    fs::remove_file(place.path("run/result.json")).unwrap();
    let unfinished = place.run(&["report", "run"]);
    assert_eq!(unfinished.code, Some(2));
    assert!(unfinished.stderr.contains("not finished"), "{}", unfinished.stderr);
    assert!(unfinished.stderr.contains("srnn resume run"), "{}", unfinished.stderr);
    for missing in ["nothing", "."] {
        let refused = place.run(&["report", missing]);
        assert_eq!(refused.code, Some(2), "{missing}: {}", refused.stdout);
        assert!(refused.stderr.contains("try: "), "{}", refused.stderr);
    }
}

#[test]
fn a_page_that_cannot_be_written_does_not_cost_the_run() {
    let place = TestFolder::new();
    place.learn(&["tomita:1", "--out", "run"]).good();
    fs::remove_file(place.path("run/result.json")).unwrap();
    fs::remove_file(place.path("run/report.html")).unwrap();
    fs::create_dir(place.path("run/report.html")).unwrap();
    let resumed = place.run(&["resume", "run", "--json"]);
    resumed.good();
    assert!(resumed.stderr.contains("warning: run/report.html"), "{}", resumed.stderr);
    assert!(place.path("run/result.json").is_file());
}

#[test]
fn a_run_without_labels_has_a_page_of_its_models() {
    let place = TestFolder::new();
    place.write("events.txt", &"open read close\nopen write close\n".repeat(60));
    let options = ["learn", "--next", "events.txt", "--budget", "1s", "--seeds", "1"];
    let learned = place.run(&[&options[..], &["--out", "run"]].concat());
    assert_eq!(learned.code, Some(0), "{}", learned.stderr);
    let page = read(place.path("run/report.html"));
    assert!(page.contains("predict the next token") && page.contains("bits per token"), "{page}");
    assert!(!page.contains("<script"), "nothing to step");
}
