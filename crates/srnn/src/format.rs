//! Formats numbers, words over an alphabet, and tables.

use srnn_automata::{Alphabet, Symbol};

/// Groups digits by thousands: 131,071.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A fraction in percent. Only 1 is shown as 100.00 %; smaller numbers are at most 99.99 %.
pub fn percent(fraction: f64) -> String {
    let hundredth = (fraction * 1e4).round() / 1e2;
    match fraction < 1.0 && hundredth >= 100.0 {
        true => "99.99 %".into(),
        false => format!("{hundredth:.2} %"),
    }
}

/// A count with its noun: 1 state, 2 states.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(count as u64))
}

/// A word in quotes, for use within a sentence. Symbols are concatenated if all names have one
/// character, and separated by spaces otherwise. If a name contains a space, each symbol is quoted.
pub fn quoted(alphabet: &Alphabet, word: &[Symbol]) -> String {
    let blank = |name: &String| name.contains(char::is_whitespace);
    let single = alphabet.names().iter().all(|name| name.chars().count() == 1);
    match word {
        [] => "the empty word".into(),
        word if !single && alphabet.names().iter().any(blank) => {
            let names = word.iter().map(|&symbol| format!("{:?}", alphabet.name(symbol)));
            names.collect::<Vec<_>>().join(" ")
        }
        word => format!("{:?}", alphabet.format_word(word)),
    }
}

/// Whether a character can change how a terminal shows the text around it: control characters, marks
/// of text direction, and separators of lines.
pub fn is_display_control(c: char) -> bool {
    let direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || matches!(c, '\u{2028}' | '\u{2029}') || c.is_control()
}

/// An argument as it is typed in a shell: in quotes unless all its characters are harmless.
pub fn shell_word(text: &str) -> String {
    let harmless = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    match !text.is_empty() && text.chars().all(harmless) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The largest width to which cells of a table are padded. Longer cells are not aligned.
const MAX_WIDTH: usize = 200;

/// A table with left-aligned columns, two spaces apart.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        // The last cell of a row is not padded.
        let cells = rows.iter().filter(|row| row.len() > column + 1);
        let widths = cells.map(|row| row[column].chars().count());
        widths.filter(|&width| width <= MAX_WIDTH).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_spaces_are_visible() {
        let of = |names: &[&str], word: &[u32]| {
            let alphabet = Alphabet::new(names.iter().map(|n| n.to_string()).collect()).unwrap();
            quoted(&alphabet, &word.iter().map(|&symbol| Symbol(symbol)).collect::<Vec<_>>())
        };
        assert_eq!(of(&["0", "1"], &[0, 1]), "\"01\"");
        assert_eq!(of(&["0", "1"], &[]), "the empty word");
        assert_eq!(of(&["a", " "], &[0, 1, 1]), "\"a  \"");
        assert_eq!(of(&["open", "x"], &[0, 1]), "\"open x\"");
        assert_eq!(of(&["open it", "x"], &[0, 1]), "\"open it\" \"x\"");
        assert_eq!(of(&["\u{1b}", "\""], &[0, 1]), "\"\\u{1b}\\\"\"");
    }

    #[test]
    fn tables_are_aligned_and_very_long_cells_are_not() {
        let rows =
            |cell: &str| vec![vec!["a".to_string(), "b".into()], vec![cell.into(), "c".into()]];
        assert_eq!(aligned(&rows("long")), "a     b\nlong  c\n");
        // Beyond 65,535 characters, the padding of `format!` panics.
        let long = "n".repeat(70_000);
        assert_eq!(aligned(&rows(&long)), format!("a  b\n{long}  c\n"));
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let words = ["runs/a-1", "my run", "it's", "", "$(rm)", "tomita:3"].map(shell_word);
        assert_eq!(words, ["runs/a-1", "'my run'", "'it'\\''s'", "''", "'$(rm)'", "tomita:3"]);
    }

    #[test]
    fn characters_that_change_the_display_are_known() {
        for c in ['\u{1b}', '\u{7f}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'] {
            assert!(is_display_control(c), "{c:?}");
        }
        for c in ['\u{202e}', '\u{2066}', '\u{9b}'] {
            assert!(is_display_control(c), "{c:?}");
        }
        assert!(!"aé中אع ‿🙂".chars().any(is_display_control));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts = [0, 999, 1_000, 131_071, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "131,071", "1,000,000"]);
    }

    #[test]
    fn one_is_not_plural() {
        assert_eq!([plural(1, "state"), plural(1000, "word")], ["1 state", "1,000 words"]);
    }

    #[test]
    fn only_one_is_a_hundred_percent() {
        assert_eq!(percent(1.0), "100.00 %");
        assert_eq!(percent(0.999_999_9), "99.99 %");
        assert_eq!(percent(0.875), "87.50 %");
    }
}
