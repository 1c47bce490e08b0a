use super::*;
use crate::key::{Key, Rng};
use crate::model::Tokenizer;

const SEEDS: [(&str, Option<&str>, &str); 6] = [
    ("f.csv", None, "label,sequence\nx,\"a\"\"b\"\ny,b c\nx,\n"),
    ("f.tsv", None, "label\tsequence\nx\tab\ny\tb c\n"),
    (
        "f.jsonl",
        None,
        "{\"label\":\"x\",\"sequence\":[\"a\",1,\"\\u00e4\"]}\n{\"label\":2,\"sequence\":\"a b\"}\n",
    ),
    ("f.txt", None, "x ab\ny b a\nx é\n"),
    ("f.dat", None, "3 2\n1 2 a b\n0 1 b\n-1 0\n"),
    (
        "f.csv",
        Some("events"),
        "case;activity;time;label\n1;a;2024-01-01T10:00:00+01:00;x\n2;b;2024-01-01T10:00Z;y\n",
    ),
];

/// Bytes with a meaning for some reader.
const SPECIAL: &[u8] = b"\"\\,;\t\n\r {}[]:-+.0129Tx\xff\xc3\xef\xbb\xbf\x1f\x8b\0";

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let special = SPECIAL[rng.below(SPECIAL.len())];
        match rng.below(5) {
            0 => bytes.insert(at, special),
            1 if at < bytes.len() => bytes[at] = special,
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            _ => {
                let end = at + rng.below(bytes.len() + 1 - at);
                let piece = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
        }
    }
}

fn options(format_name: Option<&str>, rng: &mut Rng) -> ReadOptions {
    let separator = TokenRule::Separator("b".into());
    let text = TokenRule::Text(Tokenizer::MosesLowerCase);
    let rules = [TokenRule::Guess, TokenRule::Whitespace, TokenRule::Characters, separator, text];
    ReadOptions {
        format: format_name.map(format),
        tokens: rules[rng.below(rules.len())].clone(),
        contradictions: [Contradictions::Refuse, Contradictions::Keep][rng.below(2)],
        unlabelled: [Unlabelled::Refuse, Unlabelled::Skip][rng.below(2)],
        header: [TableHeader::Guess, TableHeader::Present, TableHeader::Absent][rng.below(3)],
        ..ReadOptions::default()
    }
}

/// Checks that samples are consistent, and that errors have a file name and a remedy.
fn check(name: &str, result: Result<Samples, DataError>) -> bool {
    match result {
        Ok(samples) => {
            let Dataset { alphabet, classes, sequences } = &samples.data;
            assert_eq!(samples.lines.len(), sequences.len());
            assert!(alphabet.is_sorted() && classes.is_sorted());
            assert!(sequences.iter().all(|s| (s.label as usize) < classes.len()));
            let mut tokens = sequences.iter().flat_map(|s| &s.tokens);
            assert!(tokens.all(|&token| (token as usize) < alphabet.len()));
            assert_ne!(samples.tokens, TokenRule::Guess);
            true
        }
        Err(error) => {
            assert!(error.to_string().starts_with(name), "{error}");
            assert!(!error.cause.remedy().is_empty(), "{error}");
            false
        }
    }
}

#[test]
fn mutated_files_are_read_or_refused_but_never_panic() {
    let (mut read, mut refused) = (0, 0);
    for round in 0..4_000 {
        for (at, (name, format, text)) in SEEDS.into_iter().enumerate() {
            let mut rng = Key::new(round).child("fuzz", at as u64).rng();
            let mut bytes = text.as_bytes().to_vec();
            mutate(&mut bytes, &mut rng);
            if rng.below(8) == 0 {
                bytes = gzip(&bytes);
                mutate(&mut bytes, &mut rng);
            }
            let options = options(format, &mut rng);
            match check(name, read_from(name, &bytes[..], &options)) {
                true => read += 1,
                false => refused += 1,
            }
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} read, {refused} refused");
}

#[test]
fn random_bytes_never_panic() {
    for round in 0..2_000 {
        let mut rng = Key::new(round).child("noise", 0).rng();
        let byte = |rng: &mut Rng| match rng.below(2) {
            0 => SPECIAL[rng.below(SPECIAL.len())],
            _ => rng.bits() as u8,
        };
        let bytes: Vec<u8> = (0..rng.below(200)).map(|_| byte(&mut rng)).collect();
        for (name, format, _) in SEEDS {
            check(name, read_from(name, &bytes[..], &options(format, &mut rng)));
        }
    }
}
