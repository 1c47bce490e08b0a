use super::*;
use crate::extract::json::{JsonLimits, from_json};
use crate::learn::{
    Feature, KeptModel, LearnData, LearnRequest, Learned, NgramModel, NoCallbacks, learn,
};
use crate::report::{LearnReport, Requirements};
use crate::task::tests::dataset;
use crate::task::tomita::Grammar;
use crate::task::{Dataset, Sequence, Split};
use crate::train::{ArchName, Sizes, recipe_default};
use serde_json::{Value, json};
use srnn_page::{PageFile, PageFiles};
use std::fs;

/// A small network for the data.
fn learned(data: &LearnData, arch: ArchName, updates: u64) -> Learned<'_> {
    let Dataset { alphabet, classes, .. } = &data.split.train;
    let sizes = Sizes::of(alphabet.len(), classes.len());
    let mut recipe = recipe_default(&Sizes { arch, units: 12, k: 5, ..sizes });
    recipe.train.schedule = recipe.train.schedule.scaled_to(updates);
    let mut request = LearnRequest { recipe, ..LearnRequest::new(data) };
    request.extraction.words = 1_000;
    learn(&request, &NoCallbacks).unwrap()
}

/// The files of a run as `srnn learn` writes them.
fn saved(learned: &Learned<'_>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = learned.data;
    let record = json!({
        "source": data.source, "alphabet": data.split.train.alphabet,
        "classes": data.split.train.classes, "digest": data.digests(), "tokens": "characters",
        "train": data.split.train.summary(), "valid": data.split.valid.summary(), "test": null,
    });
    fs::write(folder.path().join("config.toml"), "source = \"<b>\"\nseed = 1\n").unwrap();
    fs::write(folder.path().join("data.json"), record.to_string()).unwrap();
    learned.save_parts(folder.path()).unwrap();
    let run = folder.path().to_path_buf();
    let requirements = Requirements::default();
    LearnReport { learned, run, requirements, seconds: Default::default() }.save().unwrap();
    folder
}

/// The part of a page between two texts.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let after = page.split(start).nth(1).unwrap_or_else(|| panic!("no {start} in the page"));
    after.split(end).next().unwrap()
}

/// Rules that every page obeys: nothing is loaded, nothing but the one script runs, and it is small.
fn check_page(page: &str) {
    assert!(page.len() <= MAX_PAGE_BYTES, "{} bytes", page.len());
    let lower = page.to_lowercase();
    let outside_script = match lower.split_once("<script>") {
        Some((before, _)) => before.to_string(),
        None => lower.clone(),
    };
    for word in ["src=", "http:", "https:", "url(", "@import", "<iframe", "<object", "<img"] {
        let data = between(&(outside_script.clone() + "<style>"), "<body>", "<style>").to_string();
        let shown = data.replace("&lt;img src=", "");
        assert!(!shown.contains(word), "{word} in the page");
    }
    for link in page.split(" href=\"").skip(1) {
        assert!(link.starts_with('#') || link.starts_with("data:,\""), "{}", &link[..40]);
    }
    let scripts = lower.matches("<script").count();
    let expected = if page.contains("page-data") { 2 } else { 0 };
    assert_eq!(scripts, expected, "scripts");
    for id in page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id} is not unique");
    }
}

#[test]
fn the_page_of_a_proved_run_shows_what_its_files_have() {
    let data = LearnData::tomita(Grammar::T1);
    let learned = learned(&data, ArchName::SrGru, 800);
    let run = saved(&learned);
    let path = write_page(run.path()).unwrap();
    let page = fs::read_to_string(path).unwrap();
    check_page(&page);
    assert!(page.contains("automaton with 2 states"), "{page}");
    let text = fs::read_to_string(run.path().join("automaton/automaton.json")).unwrap();
    let automaton = from_json(&text, &JsonLimits::default()).unwrap();
    // The picture: states, accept marks and edges, each marked for the script.
    let picture = between(&page, "id=\"picture\"", "</figure>");
    let partial = automaton.automaton();
    let accepting = partial.outputs().iter().filter(|&&class| class == 1).count();
    assert_eq!(picture.matches("<circle ").count(), partial.state_count() + accepting);
    for state in partial.states() {
        assert_eq!(picture.matches(&format!("data-state=\"{}\"", state.0)).count(), 1);
    }
    for (from, to) in picture::edges(&automaton) {
        let edge = format!("data-from=\"{from}\" data-to=\"{to}\"");
        assert!(picture.contains(&edge), "{edge}");
        assert_eq!(picture.matches(&format!("data-label=\"{from}-{to}\"")).count(), 1, "{edge}");
    }
    // The table: every transition.
    let table = between(&page, "<caption>Transitions</caption>", "</table>");
    for state in partial.states() {
        let row = between(table, &format!("data-row=\"{}\"", state.0), "</tr>");
        let cells: Vec<&str> =
            row.split("<td>").skip(2).map(|cell| cell.trim_end_matches("</td>")).collect();
        let next = partial.successors(state).iter().map(|to| to.unwrap().0.to_string());
        assert_eq!(cells, next.collect::<Vec<_>>(), "{row}");
    }
    let certificate = fs::read_to_string(run.path().join("certificate.json")).unwrap();
    let certificate: Value = serde_json::from_str(&certificate).unwrap();
    let statement = escape::html_text(certificate["statement"].as_str().unwrap());
    assert!(page.contains(&statement), "{statement}");
    assert!(page.contains(&learned.data.split.train.digest()));
    let [right, total] = [&learned.valid.confusion, &learned.valid.confusion]
        .map(|counts| counts.iter().flatten().sum::<u64>());
    assert_eq!(right, total);
    assert!(
        page.contains(&format!("{0} of {0}", crate::format::grouped(total))),
        "accuracy with its counts"
    );
}

#[test]
fn the_programs_of_the_page_step_the_run_and_accept_its_proof() {
    let data = LearnData::tomita(Grammar::T1);
    let learned = learned(&data, ArchName::SrGru, 800);
    let run = saved(&learned);
    let read = |name: &str| fs::read(run.path().join(name)).unwrap();
    let mut files = PageFiles::default();
    files.load(PageFile::Automaton, read("automaton/automaton.json")).unwrap();
    files.load(PageFile::Config, read("model/config.json")).unwrap();
    files.load(PageFile::Weights, read("model/model.safetensors")).unwrap();
    files.load(PageFile::Certificate, read("certificate.json")).unwrap();
    let answer = files.step(&[1, 1, 0]).unwrap();
    for (step, class) in ["accept", "accept", "accept", "reject"].iter().enumerate() {
        assert_eq!(answer["automaton"][step]["class"], *class, "{answer}");
        assert_eq!(answer["network"][step][0]["class"], *class, "{answer}");
    }
    assert_eq!(files.check().unwrap()["states"], 2);
    let text = String::from_utf8(read("automaton/automaton.json")).unwrap();
    let other = text.replacen("\"output\":\"accept\"", "\"output\":\"reject\"", 1);
    files.load(PageFile::Automaton, other.into_bytes()).unwrap();
    let error = files.check().unwrap_err();
    assert!(error.contains("is not the proved one"), "{error}");
}

/// Tokens that attack a page: markup, quotes, control characters, and marks of direction.
const HOSTILE: [&str; 12] = [
    "<script>alert(1)</script>",
    "</script>",
    "<!--",
    "\"q\" onload=\"x",
    "'",
    "\u{202e}txt",
    "\u{2028}",
    "\u{7}",
    "\u{1b}[31m",
    "&amp;",
    "<img src=x onerror=alert(1)>",
    "a b",
];

/// Sequences of hostile tokens; `count` tokens in all.
fn hostile_data(count: usize) -> LearnData {
    let names = HOSTILE.iter().map(|name| name.to_string());
    let more = (HOSTILE.len()..count).map(|number| format!("<t{number}>\u{202e}"));
    let alphabet: Vec<String> = names.chain(more).collect();
    let sequence = |index: usize| Sequence {
        tokens: (0..1 + index % 5).map(|at| ((index * 7 + at * 3) % count) as u32).collect(),
        label: (index % 2) as u32,
    };
    let classes = vec!["<b>bad</b>".to_string(), "good\u{202e}".into()];
    let set = |range: std::ops::Range<usize>| Dataset {
        alphabet: alphabet.clone(),
        classes: classes.clone(),
        sequences: range.map(sequence).collect(),
    };
    let split = Split { train: set(0..400), valid: set(400..480), test: None };
    LearnData::new("<script>alert(2)</script>", split)
}

#[test]
fn hostile_tokens_become_no_markup_and_are_shown_with_visible_escapes() {
    for count in [HOSTILE.len(), 1_000] {
        let data = hostile_data(count);
        let learned = learned(&data, ArchName::SrGru, 30);
        let run = saved(&learned);
        let page = page(run.path()).unwrap();
        check_page(&page);
        assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{7}', '\u{1b}']), "hidden characters");
        assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains("<b>"));
        for shown in
            ["&lt;script&gt;alert(1)&lt;/script&gt;", "\\u{202e}txt", "\\u{2028}", "\\u{7}"]
        {
            assert!(page.contains(shown), "{shown}");
        }
        let json = between(&page, "id=\"page-data\">", "</script>");
        let json: Value = serde_json::from_str(json).unwrap();
        let typed = json["symbols"].as_array().unwrap();
        assert_eq!(typed.len(), count);
        assert_eq!(
            [&typed[0], &typed[5], &typed[11]],
            ["<script>alert(1)</script>", "\\u{202e}txt", "#11"]
        );
    }
}

#[test]
fn runs_of_other_shapes_have_a_page_and_an_unfinished_run_a_remedy() {
    let data = LearnData::tomita(Grammar::T1);
    let lstm = learned(&data, ArchName::Lstm, 20);
    let page_of_lstm = page(saved(&lstm).path()).unwrap();
    check_page(&page_of_lstm);
    assert!(page_of_lstm.contains("It has no automaton") && page_of_lstm.contains("plain LSTM"));
    assert!(page_of_lstm.contains("wrong"), "examples of wrong answers");

    let ngrams = NgramModel {
        classes: 2,
        features: vec![Feature::Ngram(vec![0]), Feature::Ngram(vec![0, 1])],
        weights: vec![1.5, -1.5, 0.25, 0.75],
        bias: vec![0.0, 0.1],
        penalty: 0.1,
    };
    let of_ngrams = Learned { model: KeptModel::Ngrams(ngrams), ..lstm };
    let run = saved(&of_ngrams);
    let page_of_ngrams = page(run.path()).unwrap();
    check_page(&page_of_ngrams);
    assert!(page_of_ngrams.contains("What the n-grams say"));
    // The weight of the class less that of the other one.
    let rejecting = between(&page_of_ngrams, "For <code>reject</code>", "</table>");
    assert!(rejecting.contains(">3.00</td>") && rejecting.contains(">-0.50</td>"), "{rejecting}");

    fs::remove_file(run.path().join("result.json")).unwrap();
    let error = page(run.path()).unwrap_err();
    assert!(error.message.contains("not finished") && error.remedy.contains("srnn resume"));
    fs::remove_file(run.path().join("config.toml")).unwrap();
    assert!(page(run.path()).unwrap_err().message.contains("not a run folder"));
}

#[test]
fn candidates_are_beside_the_kept_model_with_intervals() {
    let data = LearnData::tomita(Grammar::T1);
    let run = saved(&learned(&data, ArchName::SrGru, 20));
    let path = run.path().join("result.json");
    let mut result: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let candidate = |name: &str, valid: f64, kept: bool| {
        json!({ "name": name, "kind": name, "valid": valid, "interval": [valid - 0.01, valid + 0.01],
                "states": null, "proved": kept, "kept": kept, "note": "<note>", "remark": null })
    };
    result["candidates"] = json!([
        candidate("majority", 0.5, false),
        candidate("gru", 0.9321, false),
        candidate("automaton", 0.9123, true),
    ]);
    result["comparison"] = json!({ "measure": { "kind": "accuracy" }, "text": "kept: <it>." });
    fs::write(&path, result.to_string()).unwrap();
    let of_valid = page(run.path()).unwrap();
    check_page(&of_valid);
    let row = between(&of_valid, "<tr class=\"kept\">", "</tr>");
    assert!(row.contains("automaton") && row.contains("91.23 % ± 1.00"), "{row}");
    assert!(row.contains("aria-label=\"90.23 % to 92.23 %\""), "{row}");
    assert!(of_valid.contains("93.21 % ± 1.00") && of_valid.contains("&lt;note&gt;"));
    assert!(of_valid.contains("kept: &lt;it&gt;.") && of_valid.contains("on the "));
    // After a cross-validation, its score decides.
    result["candidates"][2]["score"] = json!(0.8877);
    result["comparison"]["folds"] = json!(5);
    fs::write(&path, result.to_string()).unwrap();
    let of_folds = page(run.path()).unwrap();
    assert!(between(&of_folds, "<tr class=\"kept\">", "</tr>").contains("88.77 %"));
    assert!(of_folds.contains("in 5 folds of"));
}

#[test]
fn a_model_that_is_too_large_is_left_out_and_the_page_says_so() {
    let data = LearnData::tomita(Grammar::T1);
    let mut learned = learned(&data, ArchName::SrGru, 20);
    let model = crate::model::Model::new(
        recipe_default(&Sizes { units: 420, ..Sizes::of(2, 2) }).arch,
        &crate::model::Init::default(),
        crate::key::Key::new(1),
    );
    learned.outcomes[0].model = model.unwrap();
    let page = page(saved(&learned).path()).unwrap();
    check_page(&page);
    assert!(page.contains("kB of weights"), "the reason");
}

#[test]
fn words_are_shown_by_the_sequences_of_the_run() {
    let split = Split {
        train: dataset(&[("ab", "x"), ("ba", "y"), ("aa", "x"), ("bb", "y")]),
        valid: dataset(&[("ab", "x"), ("ba", "y")]),
        test: None,
    };
    let data = LearnData::new("letters", split);
    let run = saved(&learned(&data, ArchName::SrGru, 30));
    let examples = fs::read_to_string(run.path().join("examples.json")).unwrap();
    let examples: Value = serde_json::from_str(&examples).unwrap();
    let set = &examples["sets"][0];
    let counts = ["right", "wrong"].map(|key| set[key].as_u64().unwrap());
    assert_eq!(counts.iter().sum::<u64>(), 2);
    let page = page(run.path()).unwrap();
    for word in ["ab", "ba"] {
        let shown = between(&page, "id=\"examples\"", "</section>");
        assert!(shown.contains(&format!("<code>{word}</code>")), "{shown}");
    }
}

#[test]
fn a_certificate_of_other_weights_is_refused() {
    let data = LearnData::tomita(Grammar::T1);
    let run = saved(&learned(&data, ArchName::SrGru, 20));
    let of_other = json!({ "model": { "digest": "0".repeat(64) } });
    fs::write(run.path().join("certificate.json"), of_other.to_string()).unwrap();
    let error = page(run.path()).unwrap_err().to_string();
    assert!(error.contains("about other weights"), "{error}");
}
