//! The colours of pictures, for light and dark pages.
//!
//! An element has its light colour as an attribute, for viewers without style sheets, and a class. The
//! style sheet of the picture gives the class its colour through a custom property, which is another one
//! in dark mode. A page may set the properties (`--srnn-ink` and so on) to its own colours.

use std::fmt::Write;

/// A colour of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Text and the rings of states.
    Ink,
    /// Less important text, edges and axes.
    Soft,
    /// The background.
    Paper,
    /// Grid lines.
    Grid,
    /// Curves without a name, and cells without a value.
    Faint,
    /// The inside of a state.
    State,
    /// The inside of an accepting state.
    Accepting,
    /// One of the colours that suit every kind of colour vision (Okabe and Ito 2008), without the
    /// yellow, which is too light on white.
    Series(usize),
    /// A light tone of the same colours, behind text.
    Tint(usize),
}

/// The number of colours of [`Paint::Series`].
pub(super) const SERIES: usize = 7;
/// Light and dark variants.
const SERIES_COLOURS: [[&str; 2]; SERIES] = [
    ["#0072b2", "#4fb0e8"],
    ["#d55e00", "#ff8c42"],
    ["#009e73", "#2cc79b"],
    ["#cc79a7", "#e39fc6"],
    ["#e69f00", "#f2b632"],
    ["#56b4e9", "#9bd4f5"],
    ["#1f2933", "#e6eaee"],
];
const LIGHT_PAPER: &str = "#ffffff";
const DARK_PAPER: &str = "#151a20";

impl Paint {
    /// The attributes of an element that is filled.
    pub(super) fn fill(self) -> String {
        format!("class=\"srnn-f-{}\" fill=\"{}\"", self.name(), self.light())
    }

    /// The attributes of an element that is a line.
    pub(super) fn stroke(self) -> String {
        format!("class=\"srnn-s-{}\" fill=\"none\" stroke=\"{}\"", self.name(), self.light())
    }

    /// The attributes of an element that is filled, with a line of another colour.
    pub(super) fn fill_with_stroke(self, line: Paint) -> String {
        format!(
            "class=\"srnn-f-{} srnn-s-{}\" fill=\"{}\" stroke=\"{}\"",
            self.name(),
            line.name(),
            self.light(),
            line.light()
        )
    }

    fn name(self) -> String {
        match self {
            Paint::Ink => "ink".into(),
            Paint::Soft => "soft".into(),
            Paint::Paper => "paper".into(),
            Paint::Grid => "grid".into(),
            Paint::Faint => "faint".into(),
            Paint::State => "state".into(),
            Paint::Accepting => "accepting".into(),
            Paint::Series(number) => format!("series-{}", number % SERIES),
            Paint::Tint(number) => format!("tint-{}", number % SERIES),
        }
    }

    /// The colour on light pages.
    pub(super) fn light(self) -> String {
        self.colours()[0].clone()
    }

    fn colours(self) -> [String; 2] {
        let fixed = |light: &str, dark: &str| [light.to_string(), dark.to_string()];
        match self {
            Paint::Ink => fixed("#1f2933", "#e6eaee"),
            Paint::Soft => fixed("#52606d", "#a9b4bf"),
            Paint::Paper => fixed(LIGHT_PAPER, DARK_PAPER),
            Paint::Grid => fixed("#e4e7eb", "#2c343d"),
            Paint::Faint => fixed("#b8c1cc", "#4b5763"),
            Paint::State => fixed("#f5f7fa", "#222a33"),
            Paint::Accepting => fixed("#e3f2e8", "#1c3d2d"),
            Paint::Series(number) => {
                let [light, dark] = SERIES_COLOURS[number % SERIES];
                fixed(light, dark)
            }
            Paint::Tint(number) => {
                let [light, dark] = SERIES_COLOURS[number % SERIES];
                [mixed(light, LIGHT_PAPER, 0.15), mixed(dark, DARK_PAPER, 0.2)]
            }
        }
    }
}

/// `part` of a colour and the rest of another one.
fn mixed(colour: &str, other: &str, part: f64) -> String {
    let channel = |text: &str, at: usize| {
        f64::from(u8::from_str_radix(&text[at..at + 2], 16).expect("a colour as #rrggbb"))
    };
    let mix = |at: usize| part * channel(colour, at) + (1.0 - part) * channel(other, at);
    let [r, g, b] = [1, 3, 5].map(|at| mix(at).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The style sheet of the colours that a drawing uses.
pub(super) fn style_sheet(body: &str) -> String {
    let plain = [
        Paint::Ink,
        Paint::Soft,
        Paint::Paper,
        Paint::Grid,
        Paint::Faint,
        Paint::State,
        Paint::Accepting,
    ];
    let series = (0..SERIES).map(Paint::Series).chain((0..SERIES).map(Paint::Tint));
    let (mut light, mut dark, mut rules) = (String::new(), String::new(), String::new());
    for paint in plain.into_iter().chain(series) {
        let name = paint.name();
        let used = |kind: char| {
            let class = format!("srnn-{kind}-{name}");
            body.contains(&format!("{class}\"")) || body.contains(&format!("{class} "))
        };
        let uses = [('f', "fill"), ('s', "stroke")].map(|(kind, style)| (used(kind), kind, style));
        for (_, kind, style) in uses.iter().filter(|(used, ..)| *used) {
            let _ = write!(rules, ".srnn-{kind}-{name}{{{style}:var(--srnn-{name})}}");
        }
        if uses.iter().any(|(used, ..)| *used) {
            let [on_light, on_dark] = paint.colours();
            let _ = write!(light, "--srnn-{name}:{on_light};");
            let _ = write!(dark, "--srnn-{name}:{on_dark};");
        }
    }
    if body.contains("data-from=") {
        // An edge can be followed if the pointer is on it.
        rules.push_str("[data-from]:hover path{stroke-width:3.2}");
    }
    // Viewers that know no properties skip the rules, and take the attributes.
    format!(
        "<style>:where(.srnn-svg){{{light}}}\n@media (prefers-color-scheme:dark){{\
         :where(.srnn-svg){{{dark}}}}}\n@supports (fill:var(--srnn-ink)){{{rules}}}</style>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours as the WCAG define it.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let channel = |at: usize| {
                let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
                let part = f64::from(value) / 255.0;
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_readable_on_every_colour_behind_it_in_both_modes() {
        let behind = [Paint::Paper, Paint::State, Paint::Accepting];
        for back in behind.into_iter().chain((0..SERIES).map(Paint::Tint)) {
            for (mode, least) in [(0, 4.5), (1, 4.5)] {
                for text in [Paint::Ink, Paint::Soft] {
                    let ratio = contrast(&text.colours()[mode], &back.colours()[mode]);
                    assert!(ratio >= least, "{text:?} on {back:?} in mode {mode}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn a_style_sheet_has_the_colours_that_are_used_and_no_others() {
        let body = format!("<path {}/><text {}/>", Paint::Series(1).stroke(), Paint::Ink.fill());
        let sheet = style_sheet(&body);
        assert!(
            sheet.contains("--srnn-series-1:#d55e00;--srnn")
                || sheet.contains("--srnn-series-1:#d55e00;}")
        );
        assert!(sheet.contains(".srnn-s-series-1{stroke:var(--srnn-series-1)}"), "{sheet}");
        assert_eq!(sheet.matches('{').count(), sheet.matches('}').count(), "{sheet}");
        assert!(
            sheet.contains("prefers-color-scheme:dark") && sheet.contains("--srnn-ink:#e6eaee")
        );
        assert!(!sheet.contains("soft") && !sheet.contains("series-0"), "{sheet}");
    }
}
