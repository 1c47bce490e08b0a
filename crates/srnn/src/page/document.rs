//! The whole page: sections in their order, style, scripts.

use super::contents::PageContents;
use super::escape::html_text;
use super::html::section;
use super::interactive::{self, Embedded};
use super::run_files::RunFiles;
use super::{
    MAX_PAGE_BYTES, accuracy, automaton, certificate, curves, data, examples, headline, labels,
    ngrams, repeat, states,
};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = include_str!("policy.txt");

/// The page of a run that classifies, with as many of its files inside as fit.
pub(super) fn page(files: &RunFiles) -> String {
    let mut page = String::new();
    for contents in PageContents::choices(files) {
        page = page_with(files, &contents);
        if page.len() <= MAX_PAGE_BYTES {
            break;
        }
    }
    page
}

fn page_with(files: &RunFiles, contents: &PageContents) -> String {
    let has_automaton = files.automaton.is_some();
    // Beside the picture, if there is one: it shows the path of the word.
    let (beside, alone) = match has_automaton {
        true => (interactive::panel(files, contents), String::new()),
        false => (String::new(), interactive::panel(files, contents)),
    };
    let sections = [
        ("automaton", "The automaton", automaton::body(files, &beside)),
        ("network", "The network", alone),
        ("proof", "The proof", certificate::body(files, contents)),
        ("ngrams", "What the n-grams say", ngrams::body(files)),
        ("accuracy", "Accuracy on held-out data", accuracy::body(files)),
        ("curves", "Training", curves::body(files)),
        ("states", "States", if has_automaton { states::body(files) } else { String::new() }),
        ("examples", "Right and wrong answers", examples::body(files)),
        ("labels", "Labels believed wrong", labels::body(files)),
        ("data", "Data", data::body(files)),
        ("again", "Make it again", repeat::body(files)),
    ];
    assemble(
        &files.title(),
        &headline::headline(files),
        &sections,
        &interactive::embedded(files, contents),
    )
}

/// Puts a page together. Sections without content are left out.
pub(super) fn assemble(
    title: &str,
    headline: &str,
    sections: &[(&str, &str, String)],
    embedded: &Embedded,
) -> String {
    let title = html_text(title);
    let filled = || sections.iter().filter(|(_, _, body)| !body.is_empty());
    let links: String = filled()
        .map(|(id, heading, _)| format!("<li><a href=\"#{id}\">{heading}</a></li>\n"))
        .collect();
    let body: String = filled().map(|(id, heading, body)| section(id, heading, body)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} – what srnn learned</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header>\n<p class=\"kind\">srnn report</p>\n<h1>{title}</h1>\n{headline}\
         <nav aria-label=\"Sections\"><ul>\n{links}</ul></nav>\n</header>\n\
         <main id=\"main\">\n{body}</main>\n\
         <footer><p>Made by srnn. This file is complete: it loads nothing from elsewhere.</p></footer>\n\
         {}</body>\n</html>\n",
        policy(),
        scripts(embedded),
    )
}

/// The data for the script, and the script; nothing if there is no data.
fn scripts(embedded: &Embedded) -> String {
    match embedded.html.as_str() {
        "" => String::new(),
        data => format!("{data}<script>{SCRIPT}</script>\n"),
    }
}

/// What the page may do: apply its own style, and run this one script. A text of the data that became
/// markup by mistake could still neither run nor load anything.
fn policy() -> String {
    let digest = Sha256::digest(SCRIPT.as_bytes());
    POLICY.replace("{script}", &super::base64::base64(&digest))
}
