//! SVG documents: fonts, escaped text and its width, and the bounds of the drawing.

use super::paint::{Paint, style_sheet};
use crate::format::is_display_control;
use std::fmt::Write;

pub(super) const INFALLIBLE: &str = "writing to a string succeeds";
const FONT: &str = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif";
const TITLE_FONT: f64 = 17.0;
const MARGIN: f64 = 14.0;

/// The part of a text that is at the given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing and its bounds.
pub(super) struct Canvas {
    pub body: String,
    pub bounds: Bounds,
}

impl Canvas {
    pub(super) fn new() -> Canvas {
        Canvas { body: String::new(), bounds: Bounds::empty() }
    }

    /// Draws a line of text around a centre. The caller extends the bounds.
    pub(super) fn text(&mut self, x: f64, y: f64, size: f64, colour: Paint, text: &str) {
        self.draw_text((x, y), size, colour, "text-anchor=\"middle\"", text);
    }

    /// Draws a line of text, vertically centred at y, and extends the bounds.
    pub(super) fn label(&mut self, (x, y): (f64, f64), size: f64, anchor: Anchor, text: &str) {
        let wide = width(text, size);
        let middle = match anchor {
            Anchor::Start => x + wide / 2.0,
            Anchor::Middle => x,
            Anchor::End => x - wide / 2.0,
        };
        self.bounds.include(middle, y, wide, size);
        self.draw_text(
            (x, y),
            size,
            Paint::Soft,
            &format!("text-anchor=\"{}\"", anchor.name()),
            text,
        );
    }

    /// Draws a line of text that reads upwards, and extends the bounds.
    pub(super) fn vertical_label(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        anchor: Anchor,
        text: &str,
    ) {
        let wide = width(text, size);
        let middle = match anchor {
            Anchor::Start => y - wide / 2.0,
            Anchor::Middle => y,
            Anchor::End => y + wide / 2.0,
        };
        self.bounds.include(x, middle, size, wide);
        // The text is rotated around a point of its baseline.
        let x = x + 0.35 * size;
        let style =
            format!("text-anchor=\"{}\" transform=\"rotate(-90 {x:.1} {y:.1})\"", anchor.name());
        self.draw_text((x, y - 0.35 * size), size, Paint::Soft, &style, text);
    }

    /// Renderers disagree on `dominant-baseline`, so the baseline is computed: the height of capitals
    /// is about 0.7 of the font size.
    fn draw_text(&mut self, (x, y): (f64, f64), size: f64, colour: Paint, style: &str, text: &str) {
        writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{size}\" {} {style} \
             xml:space=\"preserve\">{}</text>",
            y + 0.35 * size,
            colour.fill(),
            escape(text)
        )
        .expect(INFALLIBLE);
    }

    /// The SVG document. Without a title, `kind` is the accessible name of the picture.
    pub(super) fn finish(mut self, title: &str, kind: &str) -> String {
        if self.bounds.left > self.bounds.right {
            self.bounds.include(0.0, 0.0, 0.0, 0.0);
        }
        if !title.is_empty() {
            let middle = (self.bounds.left + self.bounds.right) / 2.0;
            let y = self.bounds.top - TITLE_FONT;
            self.text(middle, y, TITLE_FONT, Paint::Ink, title);
            self.bounds.include(middle, y, width(title, TITLE_FONT), TITLE_FONT);
        }
        let Bounds { left, top, right, bottom } = self.bounds;
        let (x, y) = (left - MARGIN, top - MARGIN);
        let (wide, high) = (right - left + 2.0 * MARGIN, bottom - top + 2.0 * MARGIN);
        let name = if title.is_empty() { kind } else { title };
        let paper = format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" rx=\"6\" \
             {}/>\n",
            Paint::Paper.fill()
        );
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"srnn-svg\" role=\"img\" \
             width=\"{wide:.0}\" height=\"{high:.0}\" \
             viewBox=\"{x:.1} {y:.1} {wide:.1} {high:.1}\" \
             font-family=\"{FONT}\">\n<title>{}</title>\n{}{paper}{}</svg>\n",
            escape(name),
            style_sheet(&format!("{paper}{}", self.body)),
            self.body
        )
    }
}

/// Text as XML character data. Markup is escaped; control characters, which XML forbids, are written
/// as Rust escapes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_display_control(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(c.escape_default());
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// An upper estimate of the width of a text in a sans-serif font of this size; the actual font is
/// unknown.
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

/// The first characters of a text, with an ellipsis if some are left out.
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
    pub(super) fn empty() -> Bounds {
        let far = f64::INFINITY;
        Bounds { left: far, top: far, right: -far, bottom: -far }
    }

    /// Extends the bounds to a rectangle around a centre.
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
