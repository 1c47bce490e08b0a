//! Elements of a page as HTML. Texts of data are escaped by the caller, through `escape`.

use super::escape::html_text;
use serde_json::Value;

/// A section with a heading; `body` is HTML. Nothing if the body is empty.
pub(super) fn section(id: &str, heading: &str, body: &str) -> String {
    match body.is_empty() {
        true => String::new(),
        false => format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{heading}</h2>\n\
             {body}</section>\n"
        ),
    }
}

/// A part that can be opened. What is long starts closed.
pub(super) fn details(summary: &str, body: &str, open: Open) -> String {
    let open = if open == Open::Yes { " open" } else { "" };
    format!("<details{open}><summary>{summary}</summary>\n{body}</details>\n")
}

/// Whether a part starts open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Yes,
    No,
}

impl Open {
    /// Open if there are at most `limit` rows.
    pub(super) fn up_to(rows: usize, limit: usize) -> Open {
        if rows <= limit { Open::Yes } else { Open::No }
    }
}

/// A paragraph; `body` is HTML.
pub(super) fn paragraph(body: &str) -> String {
    format!("<p>{body}</p>\n")
}

/// A table. Cells are HTML; `head` cells beginning with `#` are columns of numbers. The first cell of a
/// row is its heading.
pub(super) fn table(caption: &str, head: &[&str], rows: &[TableLine]) -> String {
    let label = without_markup(caption);
    let is_number = |column: usize| head.get(column).is_some_and(|name| name.starts_with('#'));
    let class = |column: usize| if is_number(column) { " class=\"n\"" } else { "" };
    let names = head.iter().enumerate().map(|(column, name)| {
        format!("<th scope=\"col\"{}>{}</th>", class(column), name.trim_start_matches('#'))
    });
    let names: String = names.collect();
    let lines: String = rows.iter().map(|row| line(row, &class)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{label}, table\"><table>\
         <caption>{caption}</caption>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{lines}</tbody>\
         </table></div>\n"
    )
}

/// HTML without its elements, for an attribute.
fn without_markup(html: &str) -> String {
    let parts = html.split('<').enumerate().map(|(number, part)| match number {
        0 => part,
        _ => part.split_once('>').map_or("", |(_, text)| text),
    });
    parts.collect()
}

/// The first rows of a table, so that they take at most [`MAX_TABLE_BYTES`], and the number of others.
pub(super) fn fitting(rows: Vec<TableLine>) -> (Vec<TableLine>, usize) {
    let mut bytes = 0;
    let fits = |row: &&TableLine| {
        bytes += row.cells.iter().map(String::len).sum::<usize>();
        bytes <= MAX_TABLE_BYTES
    };
    let count = rows.iter().take_while(fits).count();
    let left_out = rows.len() - count;
    (rows.into_iter().take(count).collect(), left_out)
}

/// A larger table would take the page from the rest.
const MAX_TABLE_BYTES: usize = 80_000;

/// A row of a table.
pub(super) struct TableLine {
    /// Cells as HTML.
    pub cells: Vec<String>,
    /// Attributes of the row as HTML; they begin with a blank.
    pub attributes: String,
}

impl TableLine {
    pub(super) fn plain(cells: Vec<String>) -> TableLine {
        TableLine { cells, attributes: String::new() }
    }
}

fn line(row: &TableLine, class: &impl Fn(usize) -> &'static str) -> String {
    let cell = |(column, cell): (usize, &String)| match column {
        0 => format!("<th scope=\"row\"{}>{cell}</th>", class(column)),
        _ => format!("<td{}>{cell}</td>", class(column)),
    };
    let cells: String = row.cells.iter().enumerate().map(cell).collect();
    format!("<tr{}>{cells}</tr>\n", row.attributes)
}

/// A list of terms with their descriptions as HTML.
pub(super) fn facts(rows: &[(&str, String)]) -> String {
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n");
    format!("<dl>\n{}</dl>\n", rows.iter().map(fact).collect::<String>())
}

/// Characters of a name that are shown.
const MAX_NAME: usize = 200;

/// A name from the data.
pub(super) fn name(text: &str) -> String {
    let length = text.chars().count();
    if length > MAX_NAME {
        let shown: String = text.chars().take(MAX_NAME).collect();
        return format!("<code>{}…</code> <small>({length} characters)</small>", html_text(&shown));
    }
    let empty = if text.trim().is_empty() { " class=\"blank\"" } else { "" };
    format!("<code{empty}>{}</code>", html_text(text))
}

/// Tokens that a word shows; the rest is counted.
pub(super) const SHOWN_TOKENS: usize = 60;

/// A word of the data. Tokens of one character are joined; others are separated by a small space.
/// `length` is that of the whole word, of which `tokens` may be the beginning.
pub(super) fn word(tokens: &[String], length: usize) -> String {
    if tokens.is_empty() {
        return "<em>the empty word</em>".into();
    }
    let shown = &tokens[..tokens.len().min(SHOWN_TOKENS)];
    let joined = shown.iter().all(|token| {
        let mut chars = token.chars();
        chars.next().is_some_and(|c| !c.is_whitespace()) && chars.next().is_none()
    });
    let text = match joined {
        true => format!("<code>{}</code>", html_text(&shown.concat())),
        false => shown.iter().map(|token| name(token)).collect::<Vec<_>>().join(" "),
    };
    match length - shown.len() {
        0 => format!("<span class=\"word\">{text}</span>"),
        more => format!("<span class=\"word\">{text} <small>… and {more} more</small></span>"),
    }
}

/// The word of an object with `tokens` and `length`.
pub(super) fn stored_word(value: &Value) -> String {
    let tokens = super::values::texts(&value["tokens"]);
    word(&tokens, super::values::count(&value["length"]).max(tokens.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tokens: &[&str], length: usize) -> String {
        word(&tokens.iter().map(|token| token.to_string()).collect::<Vec<_>>(), length)
    }

    #[test]
    fn long_tables_are_cut_and_labels_have_no_markup() {
        let row = || TableLine::plain(vec!["x".repeat(30_000)]);
        let (shown, left_out) = fitting((0..5).map(|_| row()).collect());
        assert_eq!((shown.len(), left_out), (2, 3));
        assert_eq!(without_markup("For <code class=\"a\">&lt;b&gt;</code>!"), "For &lt;b&gt;!");
        assert!(name(&"y".repeat(500)).contains("(500 characters)"));
    }

    #[test]
    fn words_of_characters_are_joined_and_others_are_not() {
        assert!(of(&["0", "<"], 2).contains("<code>0&lt;</code>"));
        assert!(of(&["open", "x"], 2).contains("<code>open</code> <code>x</code>"));
        assert!(of(&["a", " "], 2).contains("<code class=\"blank\"> </code>"));
        assert!(of(&["a"], 9).contains("and 8 more"));
        assert_eq!(of(&[], 0), "<em>the empty word</em>");
    }
}
