//! Text of data and files as HTML and as JSON inside a page. Nothing of it can become markup or code.

use crate::format::is_display_control;
use serde_json::Value;

/// Text as HTML, for elements and for quoted attributes. Characters that hide or reorder the text
/// around them are shown as Rust escapes.
pub(super) fn html_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_hidden(c) => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text with visible escapes, but without markup: what [`html_text`] shows.
pub(super) fn visible(text: &str) -> String {
    let shown = |c: char| match is_hidden(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// JSON for a script element. No text in it can end the element or a line of script.
pub(super) fn json_in_script(value: &Value) -> String {
    let mut escaped = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a character is invisible, or changes how the text around it is shown.
fn is_hidden(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}');
    invisible || is_display_control(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn markup_quotes_and_hidden_characters_are_escaped() {
        assert_eq!(html_text("<b a=\"c\">&'"), "&lt;b a=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(
            html_text("a\u{202e}b\u{2028}\u{7}\u{200b}é中"),
            "a\\u{202e}b\\u{2028}\\u{7}\\u{200b}é中"
        );
        assert_eq!(visible("<\u{202e}>"), "<\\u{202e}>");
    }

    #[test]
    fn json_in_a_script_cannot_end_it_and_reads_back() {
        let value = json!({ "</script><!--": "a\u{2028}b\u{2029}&<script>" });
        let escaped = json_in_script(&value);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
