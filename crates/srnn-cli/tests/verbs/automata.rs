//! `compare` and `convert`.

use super::program::{run_folder, srnn, srnn_reading};
use serde_json::json;

#[test]
fn an_expression_equals_the_grammar_it_describes() {
    let folder = tempfile::tempdir().unwrap();
    let value = srnn(folder.path(), &["compare", "re:(10)*", "tomita:2", "--json"]).yes().json();
    assert_eq!(value["equal"], json!(true));
    assert_eq!(value["word"], json!(null));
    assert_eq!(value["left"]["minimal_states"], json!(3));
}

#[test]
fn the_shortest_difference_comes_with_both_classes() {
    let folder = tempfile::tempdir().unwrap();
    let ran = srnn(folder.path(), &["compare", "tomita:1", "--regex", "1?", "--json"]).no();
    let value = ran.json();
    assert_eq!(value["word"], json!(["1", "1"]));
    assert_eq!(value["spelled"], json!("11"));
    assert_eq!(value["left"], json!({ "name": "tomita:1", "minimal_states": 2, "says": "accept" }));
    assert_eq!(value["right"]["says"], json!("reject"));
    let text = srnn(folder.path(), &["compare", "tomita:1", "--regex", "1?"]).no().stdout;
    assert!(text.contains("on which they differ is \"11\""), "{text}");
}

#[test]
fn a_number_of_repetitions_stands_in_braces() {
    let folder = tempfile::tempdir().unwrap();
    srnn(folder.path(), &["compare", "re:<open>{2,3}", "re:<open><open><open>?"]).yes();
    srnn(folder.path(), &["compare", "re:\\{3\\}", "re:[{]3[}]"]).yes();
    let ran = srnn(folder.path(), &["compare", "re:ab{x}", "re:abbb"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    for said in ["column 3: this is not a number of repetitions", "`{3,5}`"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn words_in_answers_are_quoted_so_that_blanks_and_the_empty_word_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    for (right, shown) in [
        ("re:<open>+", "is the empty word\n"),
        ("re:<open>?", "is \"open open\"\n"),
        ("re:<open>?|<open><open><open>*|< >", "is \" \"\n"),
        ("re:<open>*|<open><a b>", "is \"open\" \"a b\"\n"),
    ] {
        let text = srnn(folder.path(), &["compare", "re:<open>*", right]).no().stdout;
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn two_expressions_are_compared_over_the_symbols_they_name() {
    let folder = tempfile::tempdir().unwrap();
    srnn(folder.path(), &["compare", "re:a(ba)*", "re:(ab)*a"]).yes();
    srnn(folder.path(), &["compare", "re:.*", "re:a*", "--alphabet", "a"]).yes();
    let value =
        srnn(folder.path(), &["compare", "re:.*", "re:a*", "--alphabet", "a,b c", "--json"]);
    assert_eq!(value.no().json()["word"], json!(["b c"]));
}

#[test]
fn every_notation_survives_a_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    for grammar in ["tomita:1", "tomita:3", "tomita:5", "tomita:7"] {
        for file in ["a.json", "a.dot", "a.att", "a.jff", "a.re"] {
            srnn(folder.path(), &["convert", grammar, file, "--force"]).yes();
            srnn(folder.path(), &["compare", file, grammar]).yes();
            let text = std::fs::read(folder.path().join(file)).unwrap();
            if file != "a.re" {
                let ran = srnn_reading(folder.path(), &["compare", "-", grammar], &text);
                ran.yes();
            }
        }
    }
}

#[test]
fn a_moore_machine_keeps_its_classes_in_json_and_dot() {
    let folder = tempfile::tempdir().unwrap();
    let moore = r#"{"format": "srnn-automaton", "version": 1, "alphabet": ["a", "b"],
        "classes": ["low", "high", "very high"], "start": 0, "states": [
        {"output": "low", "next": [1, 0]}, {"output": "high", "next": [2, 0]},
        {"output": "very high", "next": [2, 2]}]}"#;
    std::fs::write(folder.path().join("m.json"), moore).unwrap();
    srnn(folder.path(), &["convert", "m.json", "m.dot"]).yes();
    srnn(folder.path(), &["compare", "m.dot", "m.json"]).yes();
    let value = srnn(folder.path(), &["convert", "m.dot", "again.json", "--json"]).yes().json();
    assert_eq!(value["classes"], json!(["low", "high", "very high"]));
    srnn(folder.path(), &["convert", "m.json", "m.svg"]).yes();
    let table = srnn(folder.path(), &["convert", "m.json", "-", "--to", "table"]).yes().stdout;
    assert!(table.contains("very high"), "{table}");
    let ran = srnn(
        folder.path(),
        &["compare", "m.json", "--regex", "b*a(b+a)*a.*", "--accept", "very high"],
    );
    ran.yes();
}

#[test]
fn unknown_transitions_are_kept_in_json_and_filled_only_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let partial = r#"{"format": "srnn-automaton", "version": 1, "alphabet": ["a"],
        "classes": ["reject", "accept"], "start": 0, "states": [{"output": "accept", "next": [null]}]}"#;
    std::fs::write(folder.path().join("p.json"), partial).unwrap();
    srnn(folder.path(), &["convert", "p.json", "q.json"]).yes();
    assert!(std::fs::read_to_string(folder.path().join("q.json")).unwrap().contains("[null]"));
    let ran = srnn(folder.path(), &["convert", "p.json", "p.dot"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--missing"), "{}", ran.stderr);
    srnn(folder.path(), &["compare", "p.json", "re:ε", "--missing", "reject"]).yes();
}

#[test]
fn a_run_folder_stands_for_its_automaton() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    srnn(folder.path(), &["compare", "run", "run/automaton/automaton.dot"]).yes();
    srnn(folder.path(), &["compare", "run/model", "run"]).yes();
}

#[test]
fn stdout_holds_the_text_or_one_object() {
    let folder = tempfile::tempdir().unwrap();
    let text = srnn(folder.path(), &["convert", "re:ab*", "-", "--to", "att"]).yes().stdout;
    assert!(text.starts_with("0\t"), "{text}");
    let ran = srnn(folder.path(), &["convert", "re:ab*", "-", "--to", "regex", "--json"]).yes();
    assert_eq!(ran.json()["text"], json!("ab*\n"));
    let minimal = ["convert", "re:(a|b)*", "-", "--to", "json", "--minimize", "--json"];
    assert_eq!(srnn(folder.path(), &minimal).yes().json()["states"], json!(1));
}

#[test]
fn a_mealy_machine_is_read_as_the_outputs_of_its_last_transitions() {
    let folder = tempfile::tempdir().unwrap();
    let text = "digraph g {\ns0 [label=\"s0\"];\ns0 -> s1 [label=\"coin/ready\"];\n\
                s0 -> s0 [label=\"push/beep\"];\ns1 -> s1 [label=\"coin/beep\"];\n\
                s1 -> s0 [label=\"push/tea\"];\n__start0 -> s0;\n}\n";
    std::fs::write(folder.path().join("m.dot"), text).unwrap();
    let value = srnn(folder.path(), &["convert", "m.dot", "m.json", "--json"]).yes().json();
    assert_eq!(value["classes"], json!(["(none)", "ready", "beep", "tea"]));
    let ran = srnn(folder.path(), &["predict", "--automaton", "m.json", "coin push", "push", ""]);
    assert_eq!(ran.yes().stdout, "tea\nbeep\n(none)\n");
}

#[test]
fn sinks_are_hidden_on_request_and_tikz_has_the_same_states() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = |options: &[&str]| {
        let all = [&["convert", "re:(10)*", "-", "--to"], options].concat();
        srnn(folder.path(), &all).yes().stdout
    };
    let (all, hidden) = (drawn(&["svg"]), drawn(&["svg", "--hide-sinks"]));
    let states = |svg: &str| svg.matches("<g data-state=").count();
    assert_eq!((states(&all), states(&hidden)), (3, 2));
    assert!(hidden.contains("Not shown: sink"), "{hidden}");
    assert_eq!(drawn(&["tikz", "--hide-sinks"]).matches("\\node[").count(), 2);
    let ran = srnn(folder.path(), &["inspect", "a.tex"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

#[test]
fn double_circles_mark_the_class_named_like_accept() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = |classes: [&str; 2]| {
        let states =
            json!([{ "output": classes[0], "next": [1] }, { "output": classes[1], "next": [0] }]);
        let automaton = json!({ "format": "srnn-automaton", "version": 1, "alphabet": ["a"],
            "classes": classes, "start": 0, "states": states });
        std::fs::write(folder.path().join("a.json"), automaton.to_string()).unwrap();
        let to = |notation| {
            srnn(folder.path(), &["convert", "a.json", "-", "--to", notation]).yes().stdout
        };
        (to("svg"), to("table"))
    };
    let (svg, table) = drawn(["accept", "reject"]);
    assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
    assert!(table.contains("→*  0") && !table.contains("*  1"), "{table}");
    assert!(svg.contains("<title>a.json</title>"), "{svg}");
    let (svg, table) = drawn(["good enough", "insecure"]);
    assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
    assert!(svg.contains(">insecure<") && table.contains("insecure"), "{table}");
    assert!(!table.contains('*'), "{table}");
}

#[test]
fn an_error_in_an_expression_over_names_shows_how_to_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let ran = srnn(folder.path(), &["compare", "re:x", "re:a", "--alphabet", "lock,open"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("use one of: <lock> <open>"), "{}", ran.stderr);
}
