//! Labels of edges: the symbols of one pair of states, as short as they stay readable.

/// Sets of at least this many symbols may be named by the symbols that they lack.
const MIN_COMPLEMENT: usize = 5;

/// The label of the symbols `taken` of an alphabet: a list with ranges, or `all but a, b` if that is
/// shorter. Symbols are indices in ascending order.
pub(super) fn symbols_label(names: &[String], taken: &[usize]) -> String {
    let listed = list(names, taken);
    if taken.len() < MIN_COMPLEMENT {
        return listed;
    }
    let missing: Vec<usize> =
        (0..names.len()).filter(|symbol| taken.binary_search(symbol).is_err()).collect();
    let others = match missing.len() {
        0 => "all".to_string(),
        _ => format!("all but {}", list(names, &missing)),
    };
    if others.chars().count() < listed.chars().count() { others } else { listed }
}

/// Names separated by commas; four or more consecutive characters become `a–f`.
fn list(names: &[String], symbols: &[usize]) -> String {
    let mut parts = Vec::new();
    let mut rest = symbols;
    while let [first, ..] = rest {
        let follows = |pair: &&[usize]| follows(&names[pair[0]], &names[pair[1]]);
        let run = 1 + rest.windows(2).take_while(follows).count();
        let taken = if run >= 4 { run } else { 1 };
        parts.push(match taken {
            1 => names[*first].clone(),
            run => format!("{}–{}", names[*first], names[rest[run - 1]]),
        });
        rest = &rest[taken..];
    }
    parts.join(", ")
}

fn follows(left: &str, right: &str) -> bool {
    let code = |name: &str| {
        let mut chars = name.chars();
        chars.next().filter(|_| chars.next().is_none()).map(u32::from)
    };
    matches!((code(left), code(right)), (Some(a), Some(b)) if a + 1 == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn consecutive_characters_are_ranges() {
        let all = names("a b c d f open x y z");
        let taken: Vec<usize> = (0..9).filter(|&symbol| symbol != 4).collect();
        assert_eq!(symbols_label(&all, &[0, 1, 2, 3]), "a–d");
        assert_eq!(symbols_label(&all, &[0, 1, 2]), "a, b, c");
        assert_eq!(symbols_label(&all, &taken), "all but f");
    }

    #[test]
    fn the_shorter_of_a_list_and_its_complement_is_shown() {
        let events = names("open close lock unlock ring knock");
        assert_eq!(symbols_label(&events, &[0, 1, 2, 3, 4, 5]), "all");
        assert_eq!(symbols_label(&events, &[0, 1, 3, 4, 5]), "all but lock");
        assert_eq!(symbols_label(&events, &[0, 1]), "open, close");
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        let but = |left_out: &[usize]| {
            let taken: Vec<usize> = (0..26).filter(|s| !left_out.contains(s)).collect();
            symbols_label(&letters, &taken)
        };
        assert_eq!(but(&[25]), "a–y");
        assert_eq!(but(&[3, 9, 13, 20]), "all but d, j, n, u");
        assert_eq!(symbols_label(&names("0 1"), &[0, 1]), "0, 1");
    }
}
