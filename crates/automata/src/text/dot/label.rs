//! Labels: symbols, outputs and escapes.

/// The characters of a label, each with a flag whether it was escaped. Escaped characters are literal.
pub(super) struct Label {
    chars: Vec<(char, bool)>,
}

impl Label {
    /// Resolves escapes: `\n`, `\l` and `\r` are line breaks, `&#N;` is the character with that code, and
    /// any other character after a backslash is that character.
    pub(super) fn decode(text: &str) -> Label {
        let mut chars = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let decoded = match c {
                '&' => match entity(rest.as_str()) {
                    Some((character, after)) => {
                        rest = after.chars();
                        (character, true)
                    }
                    None => ('&', false),
                },
                '\\' => match rest.next() {
                    Some('n' | 'l' | 'r') => ('\n', false),
                    Some(escaped) => (escaped, true),
                    None => ('\\', true),
                },
                c => (c, false),
            };
            chars.push(decoded);
        }
        Label { chars }
    }

    /// The symbols of an edge label; none if it is blank.
    pub(super) fn symbols(&self) -> Vec<String> {
        let parts: Vec<String> = self.parts().into_iter().map(plain_text).collect();
        let whole = plain_text(&self.chars);
        match parts.iter().any(String::is_empty) {
            true if whole.is_empty() => Vec::new(),
            true => vec![whole],
            false => parts,
        }
    }

    /// The output of a Moore state: the text after the first bar.
    pub(super) fn output(&self) -> Option<String> {
        let chars = match self.chars.as_slice() {
            [('{', false), inner @ .., ('}', false)] => inner,
            all => all,
        };
        let bar = chars.iter().position(|&c| c == ('|', false))?;
        Some(plain_text(&chars[bar + 1..]))
    }

    /// Whether a slash separates an input from an output.
    pub(super) fn has_slash(&self) -> bool {
        self.chars.contains(&('/', false))
    }

    /// The inputs and outputs of an edge of a Mealy machine: the texts before and after the first slash
    /// of each part, or of the whole label if a part has none. `None` without a slash.
    pub(super) fn transitions(&self) -> Option<Vec<(String, String)>> {
        let split = |chars: &[(char, bool)]| {
            let slash = chars.iter().position(|&c| c == ('/', false))?;
            Some((plain_text(&chars[..slash]), plain_text(&chars[slash + 1..])))
        };
        let parts: Option<Vec<(String, String)>> = self.parts().into_iter().map(split).collect();
        parts.or_else(|| split(&self.chars).map(|one| vec![one]))
    }

    fn parts(&self) -> Vec<&[(char, bool)]> {
        let chars = trim(&self.chars);
        let (mut parts, mut depth, mut first) = (Vec::new(), 0usize, 0);
        for (at, &(c, escaped)) in chars.iter().enumerate() {
            match c {
                _ if escaped => {}
                // A bracket right before a comma is a symbol, not the start of a tuple.
                '(' | '[' | '{' if chars.get(at + 1) != Some(&(',', false)) => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ',' | '\n' if depth == 0 => {
                    parts.push(&chars[first..at]);
                    first = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&chars[first..]);
        parts
    }
}

/// Escapes a symbol, an output or a name so that it is read back unchanged.
pub(super) fn escape(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut escaped = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let edge = at == 0 || at + 1 == chars.len();
        let code = (c == '&' && chars.get(at + 1) == Some(&'#'))
            || (c == ' ' && edge)
            || (c != ' ' && c.is_whitespace())
            || c.is_control();
        match c {
            c if code => escaped.push_str(&format!("&#{};", u32::from(c))),
            '"' | '\\' | ',' | '/' | '|' | '{' | '}' | '<' | '>' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

fn plain_text(chars: &[(char, bool)]) -> String {
    trim(chars).iter().map(|&(c, _)| c).collect()
}

/// The characters without white space around them; escaped white space stays.
fn trim(chars: &[(char, bool)]) -> &[(char, bool)] {
    let blank = |&(c, escaped): &(char, bool)| c.is_whitespace() && !escaped;
    let first = chars.iter().position(|c| !blank(c)).unwrap_or(chars.len());
    let end = chars.iter().rposition(|c| !blank(c)).map_or(first, |last| last + 1);
    &chars[first..end]
}

/// The character of `#N;` and the text after it.
fn entity(text: &str) -> Option<(char, &str)> {
    // No code is longer. A search to the end of the text at every `&#` would take quadratic time.
    const LONGEST: usize = 8;
    let text = text.strip_prefix('#')?;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    Some((char::from_u32(text[..end].parse().ok()?)?, &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_can_have_several_symbols() {
        let check = |text: &str, symbols: &[&str]| {
            assert_eq!(Label::decode(text).symbols(), symbols, "{text}");
        };
        check("0", &["0"]);
        check("0, 1", &["0", "1"]);
        check("0,1,two words", &["0", "1", "two words"]);
        check("0\\n1\\l", &["0", "1"]);
        check("0\\n1", &["0", "1"]);
        check("(1, 2)", &["(1, 2)"]);
        check("f(1, 2), g", &["f(1, 2)", "g"]);
        check("(, )", &["(", ")"]);
        check("), (", &[")", "("]);
        check(",", &[","]);
        check("a\\,b", &["a,b"]);
        check(" ", &[]);
        check("&#32;", &[" "]);
        check("a & b &# &#x; &#99999999;", &["a & b &# &#x; &#99999999;"]);
    }

    #[test]
    fn transitions_of_mealy_machines_have_an_input_and_an_output() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let expected = expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            assert_eq!(Label::decode(text).transitions(), Some(expected), "{text}");
        };
        check("a/0", &[("a", "0")]);
        check("SYN / SYN+ACK", &[("SYN", "SYN+ACK")]);
        check("a/0, b/1", &[("a", "0"), ("b", "1")]);
        check("HELLO / CERT,DONE", &[("HELLO", "CERT,DONE")]);
        check("a\\/b/c/d", &[("a/b", "c/d")]);
        check("a/", &[("a", "")]);
        assert_eq!(Label::decode("a\\/b").transitions(), None);
    }

    #[test]
    fn outputs_follow_the_first_bar() {
        assert_eq!(Label::decode("s0|yes").output().as_deref(), Some("yes"));
        assert_eq!(Label::decode("{s0|a b}").output().as_deref(), Some("a b"));
        assert_eq!(Label::decode("s0|a\\|b").output().as_deref(), Some("a|b"));
        assert_eq!(Label::decode("s0|").output().as_deref(), Some(""));
        assert_eq!(Label::decode("s0").output(), None);
    }
}
