//! The tokens of the Moses tokenizer for English, which the paper's texts are made of.
//!
//! The rules are those of Moses with its default options: dashes inside words are kept, and
//! characters with a meaning in XML are escaped (`'` becomes `&apos;`). Each rule is applied to the
//! whole text before the next one, and replaces from left to right without overlap. Some results
//! depend on that: the second comma of `a,,5` stays with the 5.
//!
//! Letters and digits are those of Unicode.

/// The tokens of a text, with a space between two. Letters keep their case.
pub fn tokenize(text: &str) -> String {
    let mut chars = separate_symbols(&clean(text));
    rewrite(&mut chars, |rest, out| match *rest {
        [before, ',', ..] if !is_number(before) => replace(2, out, [before, ' ', ',', ' ']),
        _ => 0,
    });
    rewrite(&mut chars, |rest, out| match *rest {
        [',', after, ..] if !is_number(after) => replace(2, out, [' ', ',', ' ', after]),
        [before, ','] if is_number(before) => replace(2, out, [before, ' ', ',', ' ']),
        _ => 0,
    });
    separate_apostrophes(&mut chars);
    join_tokens(&chars.into_iter().collect::<String>())
}

/// Abbreviations that keep their period, sorted. A single capital letter is one, too.
const ABBREVIATIONS: [&str; 76] = [
    "Adj", "Adm", "Adv", "Apr", "Asst", "Aug", "Bart", "Bldg", "Brig", "Bros", "Capt", "Cmdr",
    "Col", "Comdr", "Con", "Corp", "Cpl", "DR", "Dec", "Dr", "Drs", "Ens", "Feb", "Gen", "Gov",
    "Hon", "Hosp", "Hr", "Insp", "Jan", "Jul", "Jun", "Lt", "MM", "MR", "MRS", "MS", "Maj", "Mar",
    "Messrs", "Mlle", "Mme", "Mr", "Mrs", "Ms", "Msgr", "Nos", "Nov", "Nr", "Oct", "Op", "Ord",
    "Pfc", "Ph", "Prof", "Pvt", "Rep", "Reps", "Res", "Rev", "Rs", "Rt", "Sen", "Sens", "Sep",
    "Sfc", "Sgt", "Sr", "St", "Supt", "Surg", "e.g", "i.e", "rev", "v", "vs",
];

/// Abbreviations that keep their period before a number.
const NUMERIC_ABBREVIATIONS: [&str; 3] = ["Art", "No", "pp"];

/// The zeros of all scripts in the Basic Multilingual Plane. The other nine digits follow each.
const ZEROS: [u32; 37] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// White space as single spaces, without control characters.
fn clean(text: &str) -> Vec<char> {
    let mut chars = Vec::with_capacity(text.len());
    let mut after_space = true;
    for c in text.trim().chars() {
        if c.is_whitespace() {
            if !after_space {
                chars.push(' ');
            }
        } else if c >= ' ' {
            chars.push(c);
        }
        after_space = c.is_whitespace();
    }
    chars
}

/// Puts spaces around symbols, and around runs of two or more periods, which are one token.
fn separate_symbols(text: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let periods = rest.iter().take_while(|&&c| c == '.').count();
        if periods > 1 {
            out.push(' ');
            out.extend(&rest[..periods]);
            out.push(' ');
            rest = &rest[periods..];
            continue;
        }
        match is_alphanumeric(*first) || " .'`,-".contains(*first) {
            true => out.push(*first),
            false => out.extend([' ', *first, ' ']),
        }
        rest = tail;
    }
    out
}

/// Separates quotes, and contractions like `'s` from their words.
fn separate_apostrophes(chars: &mut Vec<char>) {
    let quotes: [fn(char, char) -> bool; 3] = [
        |before, after| !before.is_alphabetic() && !after.is_alphabetic(),
        |before, after| !before.is_alphabetic() && !is_number(before) && after.is_alphabetic(),
        |before, after| before.is_alphabetic() && !after.is_alphabetic(),
    ];
    for is_quote in quotes {
        rewrite(chars, |rest, out| match *rest {
            [a, '\'', b, ..] if is_quote(a, b) => replace(3, out, [a, ' ', '\'', ' ', b]),
            _ => 0,
        });
    }
    let contractions: [fn(char, char) -> bool; 2] = [
        |before, after| before.is_alphabetic() && after.is_alphabetic(),
        |before, after| is_number(before) && after == 's',
    ];
    for is_contraction in contractions {
        rewrite(chars, |rest, out| match *rest {
            [a, '\'', b, ..] if is_contraction(a, b) => replace(3, out, [a, ' ', '\'', b]),
            _ => 0,
        });
    }
}

/// Rewrites a text from left to right. `rule` sees the rest of the text. Where it matches, it writes
/// the replacement and returns the number of characters it replaces; otherwise it returns 0.
fn rewrite(text: &mut Vec<char>, rule: impl Fn(&[char], &mut Vec<char>) -> usize) {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    let mut at = 0;
    while at < text.len() {
        match rule(&text[at..], &mut out) {
            0 => {
                out.push(text[at]);
                at += 1;
            }
            replaced => at += replaced,
        }
    }
    *text = out;
}

/// Writes a replacement of `count` characters.
fn replace<const N: usize>(count: usize, out: &mut Vec<char>, replacement: [char; N]) -> usize {
    out.extend(replacement);
    count
}

/// Separates the periods that end a sentence, escapes, and removes superfluous spaces.
fn join_tokens(spaced: &str) -> String {
    let mut tokens = spaced.split(' ').filter(|token| !token.is_empty()).peekable();
    let mut joined = String::with_capacity(spaced.len() + spaced.len() / 8);
    while let Some(token) = tokens.next() {
        let next = tokens.peek().copied();
        match (token.strip_suffix('.'), token.strip_suffix(".'")) {
            (Some(word), _) if !word.is_empty() && !keeps_period(word, next) => {
                push_escaped(&mut joined, word);
                push_escaped(&mut joined, ".");
            }
            (_, Some(word)) if next.is_none() => {
                [word, ".", "'"].into_iter().for_each(|part| push_escaped(&mut joined, part));
            }
            _ => push_escaped(&mut joined, token),
        }
    }
    joined
}

/// Whether the period after `word` belongs to it; `next` is the next token.
fn keeps_period(word: &str, next: Option<&str>) -> bool {
    let is_run = word.bytes().all(|byte| byte == b'.');
    let is_initial = matches!(word.as_bytes(), [b'A'..=b'Z']);
    let has_periods = word.contains('.') && word.contains(char::is_alphabetic);
    let numeric = NUMERIC_ABBREVIATIONS.contains(&word);
    is_run
        || is_initial
        || has_periods
        || ABBREVIATIONS.binary_search(&word).is_ok()
        || next.is_some_and(|next| next.starts_with(char::is_lowercase))
        || numeric && next.is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
}

/// Appends a token, after a space if it is not the first.
fn push_escaped(joined: &mut String, token: &str) {
    if !joined.is_empty() && !token.is_empty() {
        joined.push(' ');
    }
    for c in token.chars() {
        match c {
            '&' => joined.push_str("&amp;"),
            '|' => joined.push_str("&#124;"),
            '<' => joined.push_str("&lt;"),
            '>' => joined.push_str("&gt;"),
            '\'' => joined.push_str("&apos;"),
            '"' => joined.push_str("&quot;"),
            '[' => joined.push_str("&#91;"),
            ']' => joined.push_str("&#93;"),
            c => joined.push(c),
        }
    }
}

/// Letters and decimal digits.
fn is_alphanumeric(c: char) -> bool {
    let is_digit = || ZEROS.iter().any(|&zero| (zero..zero + 10).contains(&(c as u32)));
    c.is_alphabetic() || c.is_ascii_digit() || c.is_numeric() && is_digit()
}

/// Digits, Roman numerals, fractions and the like.
fn is_number(c: char) -> bool {
    c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, tokens: &str) {
        assert_eq!(tokenize(text), tokens, "{text}");
    }

    #[test]
    fn symbols_are_tokens_and_dashes_inside_words_are_not() {
        check("Well-made (in parts)!", "Well-made ( in parts ) !");
        check("a<br />b", "a &lt; br / &gt; b");
        check("R&B | [x] \"y\"", "R &amp; B &#124; &#91; x &#93; &quot; y &quot;");
        check("half: ½, café № 7", "half : ½ , café № 7");
        check("", "");
        check(" \t\u{85}\u{a0} ", "");
        check("a\u{8}b  c\td", "ab c d");
    }

    #[test]
    fn apostrophes_stay_with_what_follows_in_a_contraction_and_are_tokens_as_quotes() {
        check("It's the dogs' bone.", "It &apos;s the dogs &apos; bone .");
        check("the 1990's or '90s", "the 1990 &apos;s or &apos; 90s");
        check("he said 'go' twice", "he said &apos; go &apos; twice");
        check("don't", "don &apos;t");
        check("'tis", "&apos;tis");
        check("'Stop.'", "&apos;Stop . &apos;");
        check(".'", ". &apos;");
    }

    #[test]
    fn commas_inside_numbers_are_no_tokens() {
        check("1,000,000 or 2, 3,4", "1,000,000 or 2 , 3,4");
        check("a,b,c,d", "a , b , c , d");
        check("year 5,", "year 5 ,");
        check("a,,5 and ,5", "a , ,5 and , 5");
    }

    #[test]
    fn a_period_ends_a_sentence_unless_it_belongs_to_a_word() {
        check("It ends. It ends.", "It ends . It ends .");
        check("Mr. Oak met J. Elm of the U.S. Navy.", "Mr. Oak met J. Elm of the U.S. Navy .");
        check("No. 5 is it. No. Not it.", "No. 5 is it . No . Not it .");
        check("wait.what now. and then 3.5.", "wait.what now. and then 3.5 .");
        check("1.5. Yes", "1.5 . Yes");
        check("Hm...what..?", "Hm ... what .. ?");
        check(".", ".");
        check("....", "....");
    }

    #[test]
    fn abbreviations_are_sorted_for_binary_search() {
        assert!(ABBREVIATIONS.is_sorted());
    }

    #[test]
    fn digits_of_every_script_are_letters_of_words_and_other_numbers_are_symbols() {
        assert!("a7é٣७".chars().all(is_alphanumeric));
        assert!(!"²½-".chars().any(is_alphanumeric));
        check("x²", "x ²");
    }

    #[test]
    fn tokens_never_contain_a_space_and_any_text_has_them() {
        let mut rng = crate::key::Key::new(7).rng();
        let alphabet: Vec<char> = "aB5.,' -`\"&\t\u{1}é…".chars().collect();
        for _ in 0..2_000 {
            let length = rng.below(12);
            let text: String = (0..length).map(|_| alphabet[rng.below(alphabet.len())]).collect();
            let joined = tokenize(&text);
            let visible = |s: &str| s.chars().filter(|c| *c > ' ').collect::<String>();
            let plain = joined.replace("&apos;", "'").replace("&quot;", "\"").replace("&amp;", "&");
            assert_eq!(visible(&plain), visible(&text), "{text:?}");
            let clean = joined.is_empty() || joined.split(' ').all(|token| !token.is_empty());
            assert!(clean, "{text:?}: {joined:?}");
        }
    }
}
