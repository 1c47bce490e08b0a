//! What the page's script needs: the panel to try a word, and the files inside the page.

use super::MAX_PAGE_BYTES;
use super::base64::base64;
use super::contents::PageContents;
use super::escape::{html_text, json_in_script, visible};
use super::html::paragraph;
use super::run_files::RunFiles;
use super::values::texts;
use crate::format::shell_word;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The module of `crates/page`, compressed; `crates/page/build.sh` makes it.
const MODULE: &[u8] = include_bytes!("page.wasm.gz");

/// Symbols that have a button.
const MAX_BUTTONS: usize = 40;

/// The files inside a page.
#[derive(Default)]
pub(super) struct Embedded {
    /// Script elements with data, which no browser runs.
    pub html: String,
}

/// The panel to try a word. If there is nothing to step, it says why, or is empty.
pub(super) fn panel(files: &RunFiles, contents: &PageContents) -> String {
    let steps = match (&contents.automaton, contents.has_network()) {
        (Some(_), true) => "the automaton and the network",
        (Some(_), false) => "the automaton",
        (None, true) => "the network",
        (None, false) => return missing_network(files, contents),
    };
    let predict = html_text(&shell_word(&files.folder.to_string_lossy()));
    let off = format!(
        "Stepping a word through {steps} needs scripts and WebAssembly, which are off. \
         <code>srnn predict {predict} WORD</code> does the same on the command line."
    );
    let symbols = Symbols::of(files);
    let path = if contents.automaton.is_some() { "The picture shows the path." } else { "" };
    format!(
        "<div id=\"try\">\n<h3>Try a word</h3>\n<p id=\"try-off\">{off}</p>\n{}\
         <div id=\"try-panel\" hidden>\n{}<form id=\"try-form\">\n<p><label for=\"try-word\">Word</label> \
         <input id=\"try-word\" type=\"text\" autocomplete=\"off\" autocapitalize=\"off\" \
         spellcheck=\"false\" dir=\"ltr\" aria-describedby=\"try-help\"></p>\n\
         <p id=\"try-help\" class=\"help\">{}</p>\n{}\
         <p class=\"buttons\"><button type=\"button\" data-move=\"start\">To the start</button> \
         <button type=\"button\" data-move=\"back\">Step back</button> \
         <button type=\"submit\">Step</button> \
         <button type=\"button\" data-move=\"end\">To the end</button></p>\n</form>\n\
         <div id=\"try-result\" role=\"status\" aria-live=\"polite\"></div>\n\
         <ol id=\"try-path\" aria-label=\"Path of the word\"></ol>\n</div>\n</div>\n",
        missing_network(files, contents),
        paragraph(&format!("Type a word and step through {steps}, symbol by symbol. {path}")),
        symbols.help(),
        symbols.buttons(),
    )
}

/// Why the network is not in the page, if a network was kept.
fn missing_network(files: &RunFiles, contents: &PageContents) -> String {
    match (&files.network, contents.has_network()) {
        (Some(network), false) => paragraph(&format!(
            "The network has {} kB of weights. With it, the page would be larger than {} kB, so the \
             network cannot be stepped here.",
            network.weight_bytes.div_ceil(1000),
            MAX_PAGE_BYTES / 1000
        )),
        _ => String::new(),
    }
}

/// How symbols are typed.
struct Symbols {
    /// Whether every symbol is one character, so that words need no blanks.
    joined: bool,
    /// What is typed for each symbol; unique.
    typed: Vec<String>,
    /// What is shown for each symbol.
    shown: Vec<String>,
}

impl Symbols {
    fn of(files: &RunFiles) -> Symbols {
        let names = texts(&files.data["alphabet"]);
        let is_character = |name: &String| {
            let mut chars = name.chars();
            chars.next().is_some_and(|c| !c.is_whitespace()) && chars.next().is_none()
        };
        let joined = names.iter().all(is_character) && !names.is_empty();
        let mut used = BTreeSet::new();
        let typed = names.iter().enumerate().map(|(number, name)| {
            let shown = visible(name);
            let typable = !shown.is_empty() && !shown.contains(char::is_whitespace);
            let free = !shown.starts_with('#') && (!joined || shown == *name);
            match typable && free && used.insert(shown.clone()) {
                true => shown,
                false => format!("#{number}"),
            }
        });
        let typed: Vec<String> = typed.collect();
        let joined = joined && typed.iter().all(|name| name.chars().count() == 1);
        let shown = names.iter().map(|name| visible(name)).collect();
        Symbols { joined, typed, shown }
    }

    fn help(&self) -> &'static str {
        let all_typable = self.typed.iter().all(|typed| !typed.starts_with('#'));
        match (self.joined, all_typable) {
            (true, _) => "Symbols are single characters. Enter steps on.",
            (false, true) => {
                "Symbols are separated by blanks. A button adds its symbol. Enter steps on."
            }
            (false, false) => {
                "Symbols are separated by blanks. A button adds its symbol: a name with a blank is \
                 typed as # and its number. Enter steps on."
            }
        }
    }

    fn buttons(&self) -> String {
        let button = |(number, (typed, shown)): (usize, (&String, &String))| {
            let (typed, shown) = (html_text(typed), html_text(shown));
            let title = if typed == shown { String::new() } else { format!(" title=\"{typed}\"") };
            format!(
                "<button type=\"button\" data-symbol=\"{number}\"{title}><code>{shown}</code></button>"
            )
        };
        let symbols = self.typed.iter().zip(&self.shown).enumerate();
        let buttons: Vec<String> = symbols.take(MAX_BUTTONS).map(button).collect();
        format!("<p class=\"symbols\">{}</p>\n", buttons.join(" "))
    }
}

/// The files inside the page, with the module. Empty if there is nothing to step.
pub(super) fn embedded(files: &RunFiles, contents: &PageContents) -> Embedded {
    if contents.is_empty() {
        return Embedded::default();
    }
    let Symbols { joined, typed, shown } = Symbols::of(files);
    let unknown = files.network.as_ref().and_then(|network| {
        let config: Value = serde_json::from_slice(&network.config).ok()?;
        config["unknown"].as_u64()
    });
    let PageContents { automaton, config, weights, certificate } = contents;
    let data = json!({
        "symbols": typed,
        "names": shown,
        "joined": joined,
        "unknown": unknown,
        "module": base64(MODULE),
        "files": [automaton, config, weights, certificate],
    });
    let json = json_in_script(&data);
    let html = format!("<script type=\"application/json\" id=\"page-data\">{json}</script>\n");
    Embedded { html }
}
