//! Which crate and which module may use which: the tables of ARCHITECTURE.md.

use super::source::SourceFile;
use super::{check, planted};
use std::collections::BTreeMap;

/// A crate's folder, and the crates of the workspace it may depend on.
const CRATES: [(&str, &[&str]); 7] = [
    ("automata", &[]),
    ("engine", &[]),
    ("srnn-check", &[]),
    ("page", &["srnn-automata", "srnn-engine", "srnn-check"]),
    ("srnn", &["srnn-automata", "srnn-engine", "srnn-check"]),
    ("srnn-cli", &["srnn", "srnn-automata", "srnn-check"]),
    ("bench", &["srnn", "srnn-automata", "srnn-check", "srnn-engine"]),
];

/// A module of a crate, and the modules of the crate it may use.
type Modules = &'static [(&'static str, &'static [&'static str])];

/// Modules of `srnn`: each uses only what stands above it. Every module may use the engine.
const SRNN: Modules = &[
    ("user_error", &[]),
    ("format", &[]),
    ("files", &["user_error"]),
    ("task", &[]),
    ("train", &["task"]),
    ("bench", &["user_error", "files", "task", "train"]),
    ("extract", &[]),
    ("noise", &["task", "extract"]),
    ("stream", &[]),
    ("certify", &["extract"]),
    ("compile", &["extract", "certify"]),
    ("explain", &[]),
    ("render", &["format", "explain"]),
    ("notation", &["user_error", "files", "extract", "render"]),
    ("experiment", &["task", "train", "explain"]),
    ("learn", &["task", "train", "extract", "noise", "certify", "compile"]),
    ("next", &["user_error", "format", "files", "task", "train", "extract", "learn"]),
    ("run", &["user_error", "format", "files", "train", "learn"]),
    (
        "report",
        &[
            "user_error",
            "format",
            "files",
            "task",
            "train",
            "extract",
            "noise",
            "certify",
            "render",
            "notation",
            "learn",
            "run",
        ],
    ),
    ("page", &["user_error", "format", "files", "extract", "render", "notation", "learn", "run"]),
];

/// Modules of `srnn-engine`: `model` knows no engine, and engines do not know each other.
/// `hardware` is the one place that creates an engine by its name.
const ENGINE: Modules = &[
    ("key", &[]),
    ("hex", &[]),
    ("atomic", &[]),
    ("arithmetic", &[]),
    ("cuda_error", &[]),
    ("device_error", &["cuda_error"]),
    ("model", &["key", "hex", "atomic"]),
    ("layer_state", &["model"]),
    ("form", &["model", "layer_state"]),
    ("batch", &["model", "layer_state"]),
    ("tokens", &["batch"]),
    ("trace", &["key", "layer_state"]),
    ("dropout", &[]),
    ("objective", &["model", "batch", "dropout"]),
    ("snapshot", &[]),
    ("optimiser", &["snapshot"]),
    ("softmax", &[]),
    (
        "traits",
        &[
            "model",
            "layer_state",
            "batch",
            "softmax",
            "trace",
            "objective",
            "snapshot",
            "optimiser",
            "device_error",
        ],
    ),
    ("weights", &["model", "objective", "snapshot", "optimiser", "traits"]),
    ("reference", ENGINES),
    ("cpu", ENGINES),
    ("cuda", ENGINES),
    ("hardware", &["model", "optimiser", "device_error", "traits", "cpu", "cuda"]),
];

/// What the engines use.
const ENGINES: &[&str] = &[
    "key",
    "hex",
    "atomic",
    "cuda_error",
    "device_error",
    "model",
    "form",
    "layer_state",
    "batch",
    "tokens",
    "trace",
    "dropout",
    "objective",
    "snapshot",
    "optimiser",
    "softmax",
    "traits",
    "weights",
];

/// Modules of `srnn` that know no model and no engine.
const WITHOUT_MODELS: [&str; 4] = ["user_error", "format", "files", "render"];

#[test]
fn tables_have_no_cycle() {
    for table in [SRNN, ENGINE] {
        for (row, (module, uses)) in table.iter().enumerate() {
            let above = |used: &&str| table[..row].iter().any(|(name, _)| name == used);
            assert!(uses.iter().all(above), "{module} uses a module below it");
        }
    }
}

#[test]
fn pictures_know_no_model() {
    check(uses_of_models);
    let model = "use crate::model::Model;\n";
    planted(uses_of_models, &[("crates/srnn/src/render/dfa.rs", model)], "render uses model");
}

fn uses_of_models(files: &[SourceFile]) -> Vec<String> {
    let mut problems = vec![];
    for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
        let Some(inside) = file.path.strip_prefix("crates/srnn/src/") else { continue };
        let own = first_name(inside);
        let code = file.code();
        let used = names_after(&code, "crate::").into_iter();
        for name in used.filter(|name| ["model", "engine"].contains(name)) {
            if WITHOUT_MODELS.contains(&own) {
                problems.push(format!("{}: {own} uses {name}", file.path));
            }
        }
    }
    problems
}

#[test]
fn crates_depend_on_what_the_table_allows() {
    check(crate_dependencies);
}

#[test]
fn a_planted_dependency_is_found() {
    let manifest = "[dependencies]\nsrnn-engine = { path = \"../engine\" }\n";
    planted(crate_dependencies, &[("crates/automata/Cargo.toml", manifest)], "srnn-engine");
}

#[test]
fn modules_use_what_the_table_allows() {
    check(module_uses);
}

#[test]
fn planted_uses_are_found() {
    let upward = "use crate::learn::Learned;\n";
    planted(module_uses, &[("crates/srnn/src/extract/mod.rs", upward)], "extract uses learn");
    let relative = "use super::super::report::LearnReport;\n";
    planted(module_uses, &[("crates/srnn/src/task/files.rs", relative)], "task uses report");
    let engine = "fn f() { crate::cpu::Cpu::new() }\n";
    planted(module_uses, &[("crates/engine/src/model/mod.rs", engine)], "model uses cpu");
    planted(module_uses, &[("crates/srnn/src/new.rs", "")], "not in the table");
    let nested = "use crate::{key::{Key, Rng}, cuda::Gpu};\n";
    planted(module_uses, &[("crates/engine/src/model/init.rs", nested)], "model uses cuda");
    let root = ("crates/engine/src/lib.rs", "pub use hardware::{Device, Hardware};\n");
    let exported = ("crates/engine/src/model/file.rs", "use crate::Hardware;\n");
    planted(module_uses, &[root, exported], "model uses hardware");
}

fn crate_dependencies(files: &[SourceFile]) -> Vec<String> {
    let mut problems = vec![];
    for file in files {
        let Some(folder) = crate_of_manifest(&file.path) else { continue };
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == folder) else {
            problems.push(format!("{}: this crate is not in the table", file.path));
            continue;
        };
        for dependency in dependencies(&file.text) {
            if dependency.starts_with("srnn") && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{}: may not depend on {dependency}", file.path));
            }
        }
    }
    problems
}

fn crate_of_manifest(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")
}

/// Names of the section `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    section
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().trim_end_matches(".workspace").to_string())
        .collect()
}

fn module_uses(files: &[SourceFile]) -> Vec<String> {
    let mut problems = vec![];
    for (prefix, table) in [("crates/srnn/src/", SRNN), ("crates/engine/src/", ENGINE)] {
        let root = files.iter().find(|file| file.path == format!("{prefix}lib.rs"));
        let exported = root.map(|root| exports(&root.code())).unwrap_or_default();
        for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
            let Some(inside) = file.path.strip_prefix(prefix) else { continue };
            if inside != "lib.rs" {
                problems.extend(uses_of_file(file, inside, table, &exported));
            }
        }
    }
    problems
}

/// Names that the crate's root re-exports, with the module each is from.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let path = statement.split(';').next().unwrap_or_default();
        let Some((module, names)) = path.split_once("::") else { continue };
        let names = names.trim().trim_start_matches('{').trim_end_matches('}');
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            exported.insert(name.to_string(), module.to_string());
        }
    }
    exported
}

fn uses_of_file(
    file: &SourceFile,
    inside: &str,
    table: Modules,
    exported: &BTreeMap<String, String>,
) -> Vec<String> {
    let parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    let own = parts[0];
    let Some((_, allowed)) = table.iter().find(|(name, _)| *name == own) else {
        return vec![format!("{}: the module {own} is not in the table", file.path)];
    };
    // `mod.rs` is the module of its folder.
    let depth = parts.len() - usize::from(parts.last() == Some(&"mod"));
    let code = file.code();
    let mut used: Vec<&str> = names_after(&code, "crate::");
    used.extend(names_after(&code, &"super::".repeat(depth)));
    let known = |name: &&str| table.iter().any(|(module, _)| module == name);
    let used = used.into_iter().map(|name| exported.get(name).map_or(name, String::as_str));
    let mut used: Vec<&str> = used.filter(known).filter(|name| *name != own).collect();
    used.sort_unstable();
    used.dedup();
    let forbidden = used.into_iter();
    let forbidden = forbidden.filter(|name| !allowed.contains(name));
    forbidden.map(|name| format!("{}: {own} uses {name}", file.path)).collect()
}

/// The first names of the paths that begin with `prefix`, groups in braces included.
fn names_after<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut names = vec![];
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => names.push(first_name(rest)),
            Some(group) => names.extend(names_of_group(group)),
        }
    }
    names
}

/// The first names of the paths in a group, up to its closing brace; groups inside are skipped.
fn names_of_group(group: &str) -> Vec<&str> {
    let (mut names, mut depth, mut start) = (vec![], 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(first_name(group[start..at].trim()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

fn first_name(path: &str) -> &str {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    &path[..end]
}
