//! `--device`: how it is selected, reported, stored and resumed.

mod common;

use common::{Ended, SMALL, TestFolder, digests, read};
use serde_json::{Value, json};

/// The program on a machine without a GPU, whatever machine this is.
fn without_gpu(place: &TestFolder, args: &[&str]) -> Ended {
    Ended::of(place.command(args).env("CUDA_VISIBLE_DEVICES", "").output().unwrap())
}

fn learn(place: &TestFolder, args: &[&str]) -> Ended {
    without_gpu(place, &[&["learn", "tomita:1", "--json"], &SMALL[..], args].concat())
}

/// Exit code 2, and one line that says what to do.
fn assert_no_gpu(ended: &Ended) {
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("use --device cpu"), "{}", ended.stderr);
}

fn assert_on_cpu(device: &Value) {
    assert!(device.as_str().unwrap().starts_with("cpu, "), "{device}");
}

#[test]
fn cuda_without_a_gpu_is_refused_in_a_line_before_anything_is_begun() {
    let place = TestFolder::new();
    let ended = learn(&place, &["--device", "cuda"]);
    assert_no_gpu(&ended);
    assert_eq!(ended.json()["code"], json!(2));
    assert_no_gpu(&without_gpu(&place, &["reproduce", "tomita", "--quick", "--device", "cuda"]));
    assert_no_gpu(&without_gpu(&place, &["bench", "--shape", "3,5,2,8,4", "--device", "cuda"]));
    assert!(!place.path("runs").exists(), "a folder for nothing");
}

#[test]
fn auto_without_a_gpu_is_the_processor_and_says_so() {
    let place = TestFolder::new();
    let auto = learn(&place, &["--device", "auto", "--out", "auto", "--threads", "2"]);
    assert_on_cpu(&auto.good()["device"]);
    let device = auto.json()["device"].as_str().unwrap().to_string();
    assert!(auto.stderr.contains(&format!("device {device}, 2 threads\n")), "{}", auto.stderr);
    assert!(read(place.path("auto/config.toml")).contains("\ndevice = \"cpu\"\n"));
    let usual = learn(&place, &["--out", "usual"]).good();
    assert_eq!(digests(&usual), digests(&auto.json()));
    let configs = ["auto", "usual"].map(|run| read(place.path(run).join("config.toml")));
    assert_eq!(configs[0], configs[1]);
}

#[test]
fn a_run_goes_on_with_the_device_it_began_with_unless_told_otherwise() {
    let place = TestFolder::new();
    let whole = learn(&place, &["--out", "run"]).good();
    // As if it had begun on a GPU elsewhere, and been broken off.
    std::fs::remove_file(place.path("run/result.json")).unwrap();
    let config = read(place.path("run/config.toml"));
    place.write("run/config.toml", &config.replace("device = \"cpu\"", "device = \"cuda\""));
    assert_no_gpu(&without_gpu(&place, &["resume", "run"]));
    let resumed = without_gpu(&place, &["resume", "run", "--device", "cpu", "--json"]);
    assert_on_cpu(&resumed.good()["device"]);
    assert!(resumed.stderr.contains("note: the run was started on cuda"), "{}", resumed.stderr);
    assert_eq!(digests(&resumed.json()), digests(&whole));
}

#[test]
fn a_configuration_from_before_there_was_a_choice_is_one_for_the_processor() {
    let place = TestFolder::new();
    learn(&place, &["--out", "run"]).good();
    let config = read(place.path("run/config.toml"));
    place.write("old.toml", &config.replace("device = \"cpu\"\n", ""));
    let again = without_gpu(&place, &["learn", "--config", "old.toml", "--out", "two", "--json"]);
    assert_on_cpu(&again.good()["device"]);
    assert_eq!(read(place.path("two/config.toml")), config);
    let told = ["learn", "--config", "old.toml", "--device", "cuda", "--out", "three"];
    assert_no_gpu(&without_gpu(&place, &told));
}
