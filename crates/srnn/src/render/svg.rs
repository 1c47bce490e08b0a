//! What every picture needs: escaped text, its width, and the bounds of what was drawn.

/// Text as XML character data: markup is escaped, and control characters, which XML forbids, are
/// shown as Rust would write them.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(c.escape_default());
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// About how wide a text is in a sans-serif font of this size. The reader's font is not known, so this
/// is on the generous side.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!'
        | ' ' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '…' => 0.95,
        c if c.is_control() => 3.0,
        c if u32::from(c) >= 0x2e80 => 1.05,
        c if c.is_uppercase() => 0.72,
        _ => 0.6,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The first characters of a text, with an ellipsis where some are left out.
pub(super) fn shorten(text: &str, longest: usize) -> String {
    match text.chars().count() > longest {
        true => text.chars().take(longest - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// The smallest rectangle around everything drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Bounds {
    pub(super) fn nothing() -> Bounds {
        let far = f64::INFINITY;
        Bounds { left: far, top: far, right: -far, bottom: -far }
    }

    /// Makes room for a rectangle around a centre.
    pub(super) fn include(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.left = self.left.min(x - width / 2.0);
        self.right = self.right.max(x + width / 2.0);
        self.top = self.top.min(y - height / 2.0);
        self.bottom = self.bottom.max(y + height / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(escape("\u{0}\n"), "\\u{0}\\n");
    }

    #[test]
    fn long_texts_end_in_an_ellipsis() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcde…");
    }
}
