use super::*;

/// A file and the error that it must give.
struct BadFile {
    name: &'static str,
    content: Vec<u8>,
    options: ReadOptions,
    line: Option<u64>,
    /// Parts of the cause and of the remedy.
    words: &'static [&'static str],
}

fn case(
    name: &'static str,
    content: impl AsRef<[u8]>,
    line: impl Into<Option<u64>>,
    words: &'static [&'static str],
) -> BadFile {
    let options = ReadOptions::default();
    BadFile { name, content: content.as_ref().to_vec(), options, line: line.into(), words }
}

impl BadFile {
    fn with(self, change: impl FnOnce(&mut ReadOptions)) -> BadFile {
        let mut options = self.options;
        change(&mut options);
        BadFile { options, ..self }
    }

    fn events(self) -> BadFile {
        self.with(|options| options.format = Some(format("events")))
    }

    fn limited(self, change: impl FnOnce(&mut DataLimits)) -> BadFile {
        self.with(|options| change(&mut options.limits))
    }
}

fn check(case: &BadFile) {
    let result = read_from(case.name, &case.content[..], &case.options);
    let result =
        result.and_then(|samples| samples.check_trainable(OneSymbol::Refuse).map(|()| samples));
    let content = String::from_utf8_lossy(&case.content[..case.content.len().min(200)]);
    let Err(error) = result else { panic!("{} was accepted:\n{content}", case.name) };
    let place = match case.line {
        Some(line) => format!("{}:{line}: ", case.name),
        None => format!("{}: ", case.name),
    };
    let message = error.to_string();
    assert!(message.starts_with(&place), "{message:?} is not at {place:?} of\n{content}");
    for word in case.words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
    assert!(!error.cause.remedy().is_empty(), "{message} has no remedy");
    assert!(!message.contains('\u{1b}') && message.len() < 700, "{message:?}");
}

fn tables() -> Vec<BadFile> {
    vec![
        case("a.csv", "label,sequence\nx,ab\ny,\"b\nx,a\n", 3, &["never closed", "close it"]),
        case("a.csv", "label,sequence\nx,ab\ny,b\"a\"b\n", 3, &["quote", "b\\\"a", "double"]),
        case("a.csv", "label,sequence\nx,\"ab\"c\ny,b\n", 2, &["quote", "double"]),
        case("a.csv", "label,sequence\nx,ab\ny,a,b\n", 3, &["3 fields", "has 2", "--delimiter"]),
        case("a.csv", "label,sequence\nx\ny,ab\n", 2, &["1 fields", "has 2"]),
        case("a.tsv", "label\tsequence\nx\tab\ty\n", 2, &["3 fields", "has 2"]),
        case(
            "a.csv",
            "kind,sequence\nx,ab\n",
            1,
            &["no label column", "\"kind\", \"sequence\"", "--label-column"],
        ),
        case(
            "a.csv",
            "label,data\nx,ab\n",
            1,
            &["no sequence column", "\"data\"", "--sequence-column"],
        ),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            1,
            &["no label column \"lable\"", "there are \"label\""],
        )
        .with(|o| o.label_column = "lable".into()),
        case("a.csv", "x,ab\ny,b\n", 1, &["no sequence column \"3\"", "--sequence-column NUMBER"])
            .with(|o| (o.sequence_column, o.label_column) = ("3".into(), "1".into())),
        case("a.csv", "x,ab\ny,b\n", 1, &["no label column \"0\""])
            .with(|o| (o.sequence_column, o.label_column) = ("2".into(), "0".into())),
        case("a.csv", "label,sequence\nx,ab\n", 1, &["no sequence column", "none"])
            .with(|o| o.header = TableHeader::Absent),
        case("a.csv", "label,sequence,label\nx,ab,y\n", 1, &["two columns \"label\"", "rename"]),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            1,
            &["\"label\" is selected as sequence and as label", "different"],
        )
        .with(|o| o.sequence_column = "label".into()),
        case("a.csv", "case,activity,time,label\n1,a,1,x\n", 1, &["event log", "--format events"]),
        case("a.csv", "label,sequence\nx,ab\n,b\n", 3, &["no label", "--unlabelled skip"]),
        case("a.csv", "label,sequence\nx,ab\n  ,b\n", 3, &["no label"]),
        case("a.csv", "label,sequence\n", None, &["no sequences", "at least two"]),
        case("a.csv", "\n\n", None, &["no sequences"]),
        case("a.csv", "label,sequence\nx,a||b\n", 2, &["token 2 is empty", "--tokens"])
            .with(|o| o.tokens = TokenRule::Separator("|".into())),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            None,
            &["separator", "empty", "--tokens characters"],
        )
        .with(|o| o.tokens = TokenRule::Separator(String::new())),
    ]
}

fn contents() -> Vec<BadFile> {
    vec![
        case("a.txt", "", None, &["no sequences"]),
        case("a.txt", b"x ab\ny b\xe4\n", 2, &["not UTF-8", "save it as UTF-8"]),
        case("a.txt", b"\xff\xfex\0 \0a\0", 1, &["not UTF-8"]),
        case("a.xlsx", "x ab\n", None, &["format", "--format csv|tsv"]),
        case("noextension", "x ab\n", None, &["format", ".csv"]),
        case("noextension", "{\"label\": 1}\n", None, &["looks like jsonl", "--format jsonl"]),
        case("a.txt", "x aa\ny a\n", None, &["only one token, \"a\"", "length", "--one-symbol"]),
        case("a.txt", "x\ny\n", 2, &["the same sequence", "\"y\" here and \"x\" in line 1"]),
        case("a.txt", "x\ny a\n", None, &["only one token, \"a\""]),
        case(
            "a.txt",
            "x ab\nx b\n",
            None,
            &["all labels are \"x\"", "--label-column", "second class"],
        ),
        case(
            "a.txt",
            "x ab\ny b\nx b\n",
            3,
            &["label \"x\" here and \"y\" in line 2", "--contradictions refuse"],
        ),
        case(
            "a.csv",
            "label,seq\nx,a b\ny,c\n\ny,a  b\nz,c\n",
            5,
            &["\"y\" here and \"x\" in line 2", "(2 such)"],
        ),
        case("a.txt", "\u{1b}[31m ab\ny \u{1b}\nx \u{1b}\n", 3, &["label"]),
        case("a.txt.gz", &gzip(b"x ab\ny b\n")[..12], 1, &["damaged", "again"]),
        case("a.txt.gz", gzip(b"x ab\ny b b b\nz"), 3, &["bytes in all", "--max-bytes"])
            .limited(|l| l.max_bytes = 13),
    ]
}

fn json() -> Vec<BadFile> {
    let good = "{\"label\":\"x\",\"sequence\":\"ab\"}\n";
    let second = |bad: &str| format!("{good}{bad}\n");
    vec![
        case("a.jsonl", "{\"label\":\"x\"\n", 1, &["JSON", "column", "one object a line"]),
        case("a.jsonl", second("nonsense"), 2, &["JSON", "one object a line"]),
        case("a.jsonl", second("[1,2]"), 2, &["JSON", "an object"]),
        case("a.jsonl", second("{} {}"), 2, &["trailing"]),
        case("a.jsonl", second("{\"label\":1,\"sequence\":[]} x"), 2, &["trailing"]),
        case(
            "a.jsonl",
            second("{\"label\":\"y\"}"),
            2,
            &["no sequence column \"sequence\"", "there are \"label\""],
        ),
        case(
            "a.jsonl",
            second("{\"sequence\":\"b\",\"id\":1}"),
            2,
            &["no label column", "\"id\"", "--label-column"],
        ),
        case(
            "a.jsonl",
            second("{\"label\":null,\"sequence\":\"b\"}"),
            2,
            &["no label", "--unlabelled skip"],
        ),
        case("a.jsonl", second("{\"label\":[1],\"sequence\":\"b\"}"), 2, &["\"label\" is a list"]),
        case(
            "a.jsonl",
            second("{\"label\":1,\"sequence\":null}"),
            2,
            &["\"sequence\" is null", "a string or a number"],
        ),
        case("a.jsonl", second("{\"label\":1,\"sequence\":{\"a\":1}}"), 2, &["JSON", "a list"]),
        case("a.jsonl", second("{\"label\":1,\"sequence\":[\"a\",null]}"), 2, &["token must be"]),
        case("a.jsonl", second("{\"label\":1,\"sequence\":[[1]]}"), 2, &["list within a list"]),
        case(
            "a.jsonl",
            second("{\"label\":1,\"label\":2,\"sequence\":\"a\"}"),
            2,
            &["two fields \"label\""],
        ),
        case(
            "a.jsonl",
            "{\"label\":1,\"label\":2,\"sequence\":\"a\"}",
            1,
            &["two columns \"label\""],
        ),
        case(
            "a.jsonl",
            second(&format!("{{\"x\":{}", "[".repeat(100_000))),
            2,
            &["32 levels", "--max-json-depth"],
        ),
    ]
}

fn abbadingo() -> Vec<BadFile> {
    vec![
        case("a.dat", "x ab\n", 1, &["header", "\"x ab\"", "number of sequences"]),
        case("a.dat", "2\n1 1 a\n0 1 b\n", 1, &["header"]),
        case("a.dat", "2 2 2\n1 1 a\n0 1 b\n", 1, &["header"]),
        case("a.dat", "-2 2\n", 1, &["header"]),
        case("a.dat", "2 2\n1 1 a\n0 2 b\n", 3, &["declares 2 symbols and has 1", "length"]),
        case("a.dat", "2 2\n1 1 a b\n0 1 b\n", 2, &["declares 1 symbols and has 2"]),
        case("a.dat", "3 2\n1 1 a\n0 1 b\n", 3, &["declares 3 sequences", "has 2", "lost lines"]),
        case("a.dat", "1 2\n1 1 a\n0 1 b\n", 3, &["declares 1 sequences", "has 2"]),
        case("a.dat", "2 1\n1 1 a\n0 1 b\n", 3, &["declares 1 different symbols", "header"]),
        case("a.dat", "2 2\n1\n0 1 b\n", 2, &["record", "label, length and symbols"]),
        case("a.dat", "2 2\n1 one a\n0 1 b\n", 2, &["record"]),
        case("a.dat", "1 2\n-1 1 a\n", None, &["no sequences"]),
        case("a.dat", "18446744073709551616 2\n", 1, &["header"]),
        case("a.dat", "18446744073709551615 2\n1 1 a\n", 2, &["file has 1"]),
    ]
}

fn events() -> Vec<BadFile> {
    let log = |rows: &str| format!("case,activity,time,label\n{rows}");
    vec![
        case("log.csv", "id,activity,time,label\n", 1, &["no case column", "--case-column"])
            .events(),
        case("log.csv", "case,what,time,label\n", 1, &["no activity column", "--activity-column"])
            .events(),
        case(
            "log.csv",
            "case;activity;when;label\n",
            1,
            &["no time column", "\"when\"", "--time-column"],
        )
        .events(),
        case("log.csv", "case,activity,time\n", 1, &["no label column", "--label-column"]).events(),
        case("log.csv", log("1,a,1,x\n1,b,soon,x\n"), 3, &["\"soon\" is no time", "2024-05-31"])
            .events(),
        case("log.csv", log("1,a,,x\n"), 2, &["\"\" is no time"]).events(),
        case("log.csv", log("1,a,NaN,x\n"), 2, &["no time"]).events(),
        case("log.csv", log("1,a,2024-02-30,x\n"), 2, &["no time"]).events(),
        case("log.csv", log("1,a,05/06/2024,x\n"), 2, &["no time", "the year first"]).events(),
        case(
            "log.csv",
            log("1,a,2024-01-01,x\n1,b,17,x\n"),
            3,
            &["cannot be ordered", "line 2", "all"],
        )
        .events(),
        case(
            "log.csv",
            log("1,a,2024-01-01T10:00Z,x\n1,b,2024-01-01T10:00,x\n"),
            3,
            &["cannot be ordered", "offset"],
        )
        .events(),
        case(
            "log.csv",
            log("1,a,1,x\n2,b,2,y\n1,b,2,y\n"),
            4,
            &["case \"1\"", "\"y\" here and \"x\" in line 2", "one label"],
        )
        .events(),
        case("log.csv", log("1,a,1,x\n2,b,2,\n"), 3, &["no label", "--unlabelled skip"]).events(),
        case("log.csv", log(",a,1,x\n"), 2, &["case is empty", "fill in"]).events(),
        case("log.csv", log("1,,1,x\n"), 2, &["activity is empty"]).events(),
        case("log.csv", log("1,a,1,x\n2,b,1,y\n"), 3, &["1 different tokens", "--max-alphabet"])
            .events()
            .limited(|l| l.max_alphabet = 1),
        case("log.csv", log("1,a,1,x\n2,b,1,y\n"), 3, &["1 sequences", "--max-sequences"])
            .events()
            .limited(|l| l.max_sequences = 1),
    ]
}

fn limits() -> Vec<BadFile> {
    let text = "x ab\ny ba\nz bc\n";
    vec![
        case("a.txt", text, 3, &["more than 2 sequences", "--max-sequences"])
            .limited(|l| l.max_sequences = 2),
        case("a.txt", text, 1, &["more than 1 tokens", "--max-tokens"])
            .limited(|l| l.max_tokens = 1),
        case("a.txt", text, 3, &["more than 2 different tokens", "--max-alphabet"])
            .limited(|l| l.max_alphabet = 2),
        case("a.txt", text, 3, &["more than 2 classes", "--max-classes"])
            .limited(|l| l.max_classes = 2),
        case("a.txt", text, 2, &["more than 9 bytes in all", "--max-bytes"])
            .limited(|l| l.max_bytes = 9),
        case("a.txt", text, 1, &["more than 4 bytes in a line", "--max-line"])
            .limited(|l| l.max_line = 4),
        case("a.csv", "label,seq\nx,\"a\nb\nc\nd\nx\n", 2, &["never closed"])
            .limited(|l| l.max_line = 10),
    ]
}

#[test]
fn every_bad_file_is_refused_with_its_place_and_a_remedy() {
    let cases: Vec<BadFile> = [tables(), contents(), json(), abbadingo(), events(), limits()]
        .into_iter()
        .flatten()
        .collect();
    assert!(cases.len() >= 40, "{}", cases.len());
    cases.iter().for_each(check);
}

#[test]
fn a_zip_bomb_is_stopped_by_the_limits() {
    // 64 MiB in 64 KiB: one endless line, and endless lines.
    let bombs = [vec![b'a'; 64 << 20], b"x a\n".repeat(16 << 20)];
    let limits = DataLimits { max_bytes: 4 << 20, ..DataLimits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    for bomb in bombs {
        let error = read_from("bomb.txt.gz", &gzip(&bomb)[..], &options).unwrap_err();
        assert!(matches!(error.cause, Cause::LimitExceeded { .. }), "{error}");
    }
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = std::env::temp_dir();
    let error = read(&folder, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.cause, Cause::Folder);
    assert!(error.to_string().contains(&folder.display().to_string()));
    let error = read(&folder.join("srnn no such file.csv"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.cause, Cause::Missing);
    assert!(error.to_string().contains("check the path"), "{error}");
}
