use super::*;
use crate::key::{Key, Rng};

const SEEDS: [(&str, Option<Format>, &str); 6] = [
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
        Some(Format::Events),
        "case;activity;time;label\n1;a;2024-01-01T10:00:00+01:00;x\n2;b;2024-01-01T10:00Z;y\n",
    ),
];

/// Bytes that mean something to some reader.
const TELLING: &[u8] = b"\"\\,;\t\n\r {}[]:-+.0129Tx\xff\xc3\xef\xbb\xbf\x1f\x8b\0";

fn mutate(bytes: &mut Vec<u8>, stream: &mut Rng) {
    for _ in 0..1 + stream.below(4) {
        let at = stream.below(bytes.len() + 1);
        let telling = TELLING[stream.below(TELLING.len())];
        match stream.below(5) {
            0 => bytes.insert(at, telling),
            1 if at < bytes.len() => bytes[at] = telling,
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            _ => {
                let end = at + stream.below(bytes.len() + 1 - at);
                let piece = bytes[at..end].to_vec();
                let to = stream.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
        }
    }
}

fn options(format: Option<Format>, stream: &mut Rng) -> ReadOptions {
    let separator = Tokens::Separator("b".into());
    let rules = [Tokens::Guess, Tokens::Whitespace, Tokens::Characters, separator];
    ReadOptions {
        format,
        tokens: rules[stream.below(4)].clone(),
        contradictions: [Contradictions::Refuse, Contradictions::Keep][stream.below(2)],
        unlabelled: [Unlabelled::Refuse, Unlabelled::Skip][stream.below(2)],
        header: [Header::Guess, Header::Present, Header::Absent][stream.below(3)],
        ..ReadOptions::default()
    }
}

/// Whatever was read is consistent, and whatever was not has a place and a remedy.
fn check(name: &str, result: Result<Samples, DataError>) -> bool {
    match result {
        Ok(samples) => {
            let Dataset { alphabet, classes, sequences } = &samples.data;
            assert_eq!(samples.lines.len(), sequences.len());
            assert!(alphabet.is_sorted() && classes.is_sorted());
            assert!(sequences.iter().all(|s| (s.label as usize) < classes.len()));
            let mut tokens = sequences.iter().flat_map(|s| &s.tokens);
            assert!(tokens.all(|&token| (token as usize) < alphabet.len()));
            assert_ne!(samples.tokens, Tokens::Guess);
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
            let mut stream = Key::new(round).child("fuzz", at as u64).rng();
            let mut bytes = text.as_bytes().to_vec();
            mutate(&mut bytes, &mut stream);
            if stream.below(8) == 0 {
                bytes = gzip(&bytes);
                mutate(&mut bytes, &mut stream);
            }
            let options = options(format, &mut stream);
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
        let mut stream = Key::new(round).child("noise", 0).rng();
        let byte = |stream: &mut Rng| match stream.below(2) {
            0 => TELLING[stream.below(TELLING.len())],
            _ => stream.bits() as u8,
        };
        let bytes: Vec<u8> = (0..stream.below(200)).map(|_| byte(&mut stream)).collect();
        for (name, format, _) in SEEDS {
            check(name, read_from(name, &bytes[..], &options(format, &mut stream)));
        }
    }
}
