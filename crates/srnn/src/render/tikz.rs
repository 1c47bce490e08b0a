//! Automata as TikZ pictures for LaTeX, with the library `automata`.

use super::dfa::{DfaPicture, PictureError, positions};
use std::fmt::Write;

/// Centimetres per unit of the layout.
const SCALE: f64 = 1.0 / 38.0;

/// A `tikzpicture` of an automaton. The document needs `\usepackage{tikz}` and
/// `\usetikzlibrary{automata, positioning}`.
pub fn tikz(picture: &DfaPicture) -> Result<String, PictureError> {
    let places = positions(picture)?;
    let mut text = String::from(
        "% \\usepackage{tikz} \\usetikzlibrary{automata}\n\
         \\begin{tikzpicture}[->, shorten >=1pt, auto, initial text=]\n",
    );
    for (number, (state, (x, y))) in picture.states.iter().zip(&places).enumerate() {
        let mut style = vec!["state"];
        style.extend((number == picture.start).then_some("initial"));
        style.extend(state.accepting.then_some("accepting"));
        style.extend((!state.note.is_empty()).then_some("align=center"));
        let note = match state.note.is_empty() {
            true => String::new(),
            false => format!("\\\\ \\footnotesize {}", escape(&state.note)),
        };
        let (style, label) = (style.join(", "), escape(&state.label));
        // The y axis of TikZ points up.
        let (x, y) = (x * SCALE, -y * SCALE);
        let _ =
            writeln!(text, "  \\node[{style}] (s{number}) at ({x:.2}, {y:.2}) {{{label}{note}}};");
    }
    for edge in &picture.edges {
        let (from, to) = (edge.from, edge.to);
        let returns = picture.edges.iter().any(|other| (other.from, other.to) == (to, from));
        let bend = match () {
            () if from == to => "[loop above]",
            () if returns => "[bend left=18]",
            () => "",
        };
        let label = escape(&edge.label);
        let _ = writeln!(text, "  \\path (s{from}) edge {bend} node {{{label}}} (s{to});");
    }
    text.push_str("\\end{tikzpicture}\n");
    Ok(text)
}

/// Text for TeX; control characters are written as Rust escapes.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            '"' => escaped.push_str("\\textquotedbl{}"),
            '–' => escaped.push_str("--"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push_str(&escape(&c.escape_default().to_string())),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn_automata::{Alphabet, Partial, random_dfa};
    use std::collections::BTreeSet;

    #[test]
    fn the_picture_has_every_state_and_edge_of_the_automaton() {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let mut seed = 3u64;
        let mut bits = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(77);
            seed
        };
        let dfa = random_dfa(7, &alphabet, 0.5, &mut bits);
        let picture =
            DfaPicture::of_automaton(&Partial::from(&dfa), |&accepts| (String::new(), accepts));
        let text = tikz(&picture).unwrap();
        let nodes: Vec<&str> = text.lines().filter(|line| line.contains("\\node")).collect();
        assert_eq!(nodes.len(), 7);
        for (state, line) in dfa.states().zip(&nodes) {
            assert_eq!(line.contains(", accepting"), dfa.is_accepting(state), "{line}");
            assert_eq!(line.contains(", initial"), state == dfa.start(), "{line}");
        }
        // `(s0) edge [bend left=18] node {a, b} (s1);`
        let read = |line: &str| {
            let name = |part: &str| part.split(')').next().unwrap().to_string();
            let ends: Vec<String> = line.split("(s").skip(1).map(name).collect();
            let label = line.split("node {").nth(1).unwrap().split('}').next().unwrap();
            let symbols: Vec<String> = label.split(", ").map(String::from).collect();
            symbols.into_iter().map(move |symbol| (ends[0].clone(), symbol, ends[1].clone()))
        };
        let drawn: BTreeSet<_> =
            text.lines().filter(|line| line.contains(" edge ")).flat_map(read).collect();
        let moves = dfa.states().flat_map(|from| {
            let symbols = dfa.alphabet().symbols();
            symbols.map(move |symbol| (from, symbol)).collect::<Vec<_>>()
        });
        let moves = moves.map(|(from, symbol)| {
            let name = dfa.alphabet().name(symbol).to_string();
            (from.0.to_string(), name, dfa.next(from, symbol).0.to_string())
        });
        assert_eq!(drawn, moves.collect::<BTreeSet<_>>());
    }

    #[test]
    fn characters_that_tex_would_read_are_escaped() {
        assert_eq!(escape("a_b{$}\\"), "a\\_b\\{\\$\\}\\textbackslash{}");
        assert_eq!(escape("\u{1}<&>"), "\\textbackslash{}u\\{1\\}\\textless{}\\&\\textgreater{}");
    }
}
