//! What cannot be learned from or gone on with: exit code 2, the place, and a remedy.

mod common;

use common::{SMALL, TestFolder};
use serde_json::Value;

/// Files that most cases share.
fn prepared() -> TestFolder {
    let place = TestFolder::new();
    let rows: String = (0..20).map(|i| format!("{} {}\n", i % 2, "ab".repeat(i + 1))).collect();
    place.write("good.txt", &rows);
    place.write("empty.csv", "");
    place.write("one-class.txt", "1 ab\n1 ba\n1 bb\n");
    place.write("one-symbol.txt", "1 a\n0 aa\n1 aaa\n");
    place.write("contradiction.txt", "1 ab\n0 ba\n0 ab\n");
    place.write("table.csv", "sequence,label\nab,1\nba,0\nbb,1\n");
    place.write("unlabelled.csv", "sequence,label\nab,1\nba,\nbb,0\n");
    place.write("quote.csv", "sequence,label\n\"ab,1\n");
    place.write("broken.jsonl", "{\"sequence\": [\"a\", \"label\": 1}\n");
    place.write("unseen.txt", "7 ab\n");
    place.write("strange.txt", "1 abx\n0 bay\n");
    place.write("noise.bin", "\u{0}\u{1}");
    place.write("unknown-key.toml", "source = 'tomita:1'\nunits = 8\n");
    place.write("no-toml.toml", "source = \n");
    place.write("sample.toml", "[train]\ntransition = 'argmax'\n");
    place.write("batch.toml", "[train]\nbatch_size = 0\n");
    place.write("saturate.toml", "[train.schedule]\nsaturation = 1.5\nharden = 0\n");
    std::fs::create_dir(place.path("folder")).unwrap();
    place
}

#[test]
fn what_cannot_be_learned_from_is_refused_with_its_place_and_a_remedy() {
    let place = prepared();
    // Arguments; what the message names; what the remedy says.
    let cases: &[(&[&str], &str, &str)] = &[
        (&["missing.csv"], "missing.csv: there is no such file", "check the path"),
        (&["folder"], "folder: this is a folder", "name a file in it"),
        (&["empty.csv"], "empty.csv: the file has no sequences", "at least two"),
        (&["one-class.txt"], "all labels are \"1\"", "--label-column"),
        (&["one-symbol.txt"], "only one token, \"a\"", "--one-symbol"),
        (
            &["contradiction.txt", "--contradictions", "refuse"],
            "contradiction.txt:3",
            "leave --contradictions refuse out",
        ),
        (&["table.csv", "--label-column", "class"], "no label column \"class\"", "--label-column"),
        (&["table.csv", "--delimiter", ";;"], "--delimiter", "--delimiter tab"),
        (&["table.csv", "--tokens", "letters"], "--tokens \"letters\"", "--tokens characters"),
        (&["unlabelled.csv"], "unlabelled.csv:3", "--unlabelled skip"),
        (&["quote.csv"], "quote.csv:2", "close it"),
        (&["broken.jsonl"], "broken.jsonl:1", "one object a line"),
        (&["noise.bin"], "noise.bin: the file name does not tell the format", "--format"),
        (&["good.txt", "--max-bytes", "10"], "more than 10 bytes in all", "--max-bytes"),
        (&["good.txt", "--max-bytes", "99999999999999999999"], "--max-bytes", "too large"),
        (&["good.txt", "--valid", "unseen.txt"], "unseen.txt:1", "training file"),
        (&["good.txt", "--valid", "strange.txt"], "strange.txt:1, \"x\"", "--min-count 2"),
        (&["good.txt", "--valid", "gone.txt"], "gone.txt: there is no such file", "check the path"),
        (&["good.txt", "--split", "0.9/0.9"], "0.9/0.9", "add up to 1"),
        (&["good.txt", "--split", "1/0"], "nothing is held out for valid", "--valid FILE"),
        (&["tomtia:3"], "tomtia:3: there is no such file or task", "did you mean tomita:3?"),
        (&["tomita:9"], "tomita:9", "tomita:1 to tomita:7"),
        (&["tomita"], "\"tomita\" is no built-in task", "tomita:1 to tomita:7"),
        (&["bp:huge:A"], "\"bp:huge:A\" is no built-in task", "./bp:huge:A"),
        (&["tomita:1", "--label-column", "x"], "tomita:1 is built in", "leave"),
        (&["tomita:1", "--k", "0"], "--k 0", "--k 1 or more"),
        (&["tomita:1", "--units", "0"], "--units 0", "--units 1 or more"),
        (&["tomita:1", "--updates", "0"], "--updates 0", "--updates 1 or more"),
        (&["tomita:1", "--seeds", "0"], "--seeds 0", "1 to"),
        (&["tomita:1", "--seed", "18446744073709551615"], "--seed", "a seed below"),
        (&["tomita:1", "--threads", "0"], "--threads 0", "--threads 1 or more"),
        (&["tomita:1", "--device", "gpu"], "unknown device \"gpu\"", "cpu, cuda or auto"),
        (&["tomita:1", "--tau", "0"], "--tau 0", "above 0"),
        (&["tomita:1", "--tau", "NaN"], "--tau NaN", "above 0"),
        (&["tomita:1", "--arch", "transformer"], "unknown architecture", "sr-gru"),
        (&["tomita:1", "--arch", "gru"], "this network has none", "--arch sr-gru"),
        (&["tomita:1", "--units", "1000000000"], "parameters", "lower units"),
        (&["tomita:1", "--memory-limit", "1KB"], "more than the limit of", "--memory-limit"),
        (&["tomita:1", "--memory-limit", "much"], "\"much\" is not an amount", "4GiB"),
        (&["tomita:1", "--fail-under", "95"], "--fail-under 95", "0.95"),
        (&["tomita:1", "--label-noise", "-1"], "--label-noise", "0 to 1"),
        (&["tomita:1", "--label-noise", "2"], "--label-noise 2", "0.05"),
        (&["tomita:1", "--split", "0.5/0.5"], "--split 0.5/0.5", "leave --split out"),
        (&["-"], "does not read stdin", "give a file"),
        (&["tomita:1", "--k", "-3"], "--k", "not a whole number"),
        (&["tomita:1", "--class-weights=a,b"], "--class-weights=a,b", "in the order"),
        (&["tomita:1", "--class-weights=1,2,3"], "3 class weights for 2 classes", "one for each"),
        (&["--config", "gone.toml"], "gone.toml", "--print-config"),
        (&["--config", "unknown-key.toml"], "unknown field `units`", "--print-config"),
        (&["--config", "no-toml.toml"], "no-toml.toml", "--print-config"),
        (&["tomita:1", "--config", "sample.toml"], "cannot be trained", "mixture"),
        (&["tomita:1", "--config", "batch.toml"], "batch_size is 0", "at least 1"),
        (&["tomita:1", "--config", "saturate.toml"], "schedule.saturation is 1.5", "harden is 0"),
        (&["bp:small:A", "--arch", "sr-gru"], "sr-gru has none", "another recipe"),
        (&["tomita:1", "--out", "good.txt"], "good.txt: this is a file", "--out DIR"),
        (&["tomita:1", "--out", "good.txt/run"], "good.txt", "--out DIR"),
        (&["tomita:1", "--out", "/proc/run"], "/proc", "is writable"),
        (&["tomita:1", "--force"], "--out", "required"),
        (&[], "SOURCE", "required"),
    ];
    assert!(cases.len() >= 20);
    for (args, message, remedy) in cases {
        // Flags given twice are refused before anything else, so small settings give way.
        let small = SMALL.chunks(2).filter(|pair| !args.contains(&pair[0])).flatten();
        let small: Vec<&str> = small.copied().collect();
        let ended = place.run(&[&["learn"], *args, &small[..]].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{args:?}: {message}: {}", ended.stderr);
        assert!(ended.stderr.contains(remedy), "{args:?}: {remedy}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{args:?}: {}", ended.stdout);
        assert!(!place.path("runs").exists(), "{args:?}: a folder for nothing");
    }
}

#[test]
fn errors_are_one_json_object_too() {
    let place = prepared();
    let ended = place.learn(&["missing.csv"]);
    assert_eq!(ended.code, Some(2));
    let error = ended.json();
    assert!(error["error"].as_str().unwrap().contains("missing.csv"));
    assert_eq!(error["code"], 2);
}

/// A change to a run's folder, and what resuming it then says.
type Damage = (fn(&TestFolder), &'static str, &'static str);

#[test]
fn what_cannot_be_gone_on_with_is_refused_with_its_place_and_a_remedy() {
    fn every_checkpoint(place: &TestFolder, change: impl Fn(&mut Vec<u8>)) {
        for checkpoint in std::fs::read_dir(place.path("run/checkpoints/seed-1")).unwrap() {
            let path = checkpoint.unwrap().path().join("state.safetensors");
            let mut bytes = std::fs::read(&path).unwrap();
            change(&mut bytes);
            std::fs::write(path, bytes).unwrap();
        }
    }
    fn edit(place: &TestFolder, name: &str, from: &str, to: &str) {
        let text = common::read(place.path(name));
        assert!(text.contains(from), "{text}");
        place.write(name, &text.replace(from, to));
    }
    let cases: &[Damage] = &[
        (
            |p| std::fs::remove_file(p.path("run/config.toml")).unwrap(),
            "this is not a run folder",
            "srnn learn",
        ),
        (
            |p| edit(p, "run/config.toml", "seeds = 2", "sedes = 2"),
            "unknown field `sedes`",
            "--print-config",
        ),
        (
            |p| edit(p, "run/config.toml", "rate = 0.001", "rate = 0.002"),
            "the same configuration",
            "new run",
        ),
        (|p| edit(p, "run/config.toml", "tau = 1.0", "tau = 0.0"), "temperature", "above 0"),
        (
            |p| edit(p, "run/config.toml", "source = \"tomita:1\"", "source = \"/gone.csv\""),
            "/gone.csv",
            "check the path",
        ),
        (
            |p| std::fs::remove_file(p.path("run/data.json")).unwrap(),
            "data.json",
            "start a new run",
        ),
        (|p| drop(p.write("run/data.json", "{")), "data.json", "start a new run"),
        (
            |p| edit(p, "run/data.json", "\"train\": \"", "\"train\": \"0"),
            "has changed",
            "restore the data",
        ),
        (
            |p| every_checkpoint(p, |bytes| bytes.truncate(100)),
            "none of the 2 checkpoints",
            "Restore the folder",
        ),
        (
            |p| every_checkpoint(p, |bytes| bytes[50] ^= 1),
            "none of the 2 checkpoints",
            "delete it and start again",
        ),
        (|p| drop(p.write("run/result.json", "{\"run\":")), "result.json", "remove"),
    ];
    for (damage, message, remedy) in cases {
        let place = TestFolder::new();
        place.write("more.toml", "[train]\ncheckpoint_every = 20\n");
        place.learn(&["tomita:1", "--out", "run", "--config", "more.toml"]).good();
        std::fs::remove_file(place.path("run/result.json")).unwrap();
        damage(&place);
        let ended = place.run(&["resume", "run"]);
        assert_eq!(ended.code, Some(2), "{message}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{message}: {}", ended.stderr);
        assert!(ended.stderr.contains(remedy), "{remedy}: {}", ended.stderr);
    }
    let place = prepared();
    for (run, message) in [
        ("gone", "no such run"),
        ("folder", "this is not a run folder"),
        ("good.txt", "this is not a run folder"),
    ] {
        let ended = place.run(&["resume", run, "--json"]);
        assert_eq!(ended.code, Some(2));
        let error: Value = ended.json();
        assert!(error["error"].as_str().unwrap().contains(message), "{error}");
    }
}
