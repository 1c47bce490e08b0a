use super::*;
use crate::model::Tokenizer;

fn default() -> ReadOptions {
    ReadOptions::default()
}

#[test]
fn every_format_reads_the_same_sequences() {
    let expected = ["yes:a|b", "no:b", "no:"];
    let csv = "id,label,sequence\n1,yes,ab\n2,no,b\n3,no,\n";
    let cases = [
        ("d.csv", csv.to_string()),
        ("d.csv", csv.replace(',', ";")),
        ("d.csv", csv.replace(',', "\t")),
        ("D.CSV", csv.replace('\n', "\r\n")),
        ("d.csv", format!("\u{feff}{csv}")),
        ("d.csv", "Label,Sequence\nyes,\"ab\"\n\nno,\"b\"\nno,\"\"".into()),
        ("d.tsv", csv.replace(',', "\t")),
        ("d.jsonl", "{\"label\":\"yes\",\"sequence\":\"ab\"}\n{\"label\":\"no\",\"x\":[{}],\"sequence\":[\"b\"]}\n{\"sequence\":[],\"label\":\"no\"}".into()),
        ("d.txt", "yes ab\nno b\r\n\nno\n".into()),
        ("d.dat", "3 2\nyes 2 a b\nno 1 b\nno 0\n".into()),
    ];
    for (name, text) in cases {
        assert_eq!(lines(name, &text, &default()), expected, "{name} {text}");
    }
}

#[test]
fn gzip_is_seen_from_the_bytes_and_may_have_several_members() {
    let mut bytes = gzip(b"yes ab\nno");
    bytes.extend(gzip(b" b\n"));
    for name in ["d.txt.gz", "d.txt"] {
        let samples = read_from(name, &bytes[..], &default()).unwrap();
        assert_eq!(named(&samples.data), [(vec!["a", "b"], "yes"), (vec!["b"], "no")]);
    }
}

#[test]
fn one_blank_anywhere_makes_all_texts_words() {
    assert_eq!(
        lines("d.csv", "label,seq\nx,ab\ny,\nx, c d \n", &default()),
        ["x:ab", "y:", "x:c|d"]
    );
    assert_eq!(lines("d.csv", "label,seq\nx,ab \ny,ba\n", &default()), ["x:a|b", "y:b|a"]);
    let mixed = "{\"label\":1,\"text\":[\"a b\",\"c\"]}\n{\"label\":2,\"text\":\"ab\"}\n{\"label\":2,\"text\":\"c d\"}";
    assert_eq!(lines("d.jsonl", mixed, &default()), ["1:a b|c", "2:ab", "2:c|d"]);
    let rule = |text| read_text("d.txt", text, &default()).unwrap().tokens;
    assert_eq!(rule("x ab\ny b"), TokenRule::Characters);
    assert_eq!(rule("x ab\ny b a"), TokenRule::Whitespace);
}

#[test]
fn the_alphabet_after_a_wrong_guess_holds_no_left_over_characters() {
    let samples = read_text("d.txt", "x ab\ny\ny b a", &default()).unwrap();
    assert_eq!(samples.data.alphabet, ["a", "ab", "b"]);
    assert!(samples.data.sequences[1].tokens.is_empty());
}

#[test]
fn tokens_are_split_by_the_rule_given() {
    let with = |tokens| ReadOptions { tokens, ..default() };
    let text = "x a b,c\ny b,a";
    assert_eq!(lines("d.txt", text, &with(TokenRule::Characters))[0], "x:a| |b|,|c");
    assert_eq!(lines("d.txt", text, &with(TokenRule::Separator(",".into())))[0], "x:a b|c");
    assert_eq!(lines("d.txt", text, &with(TokenRule::Whitespace))[1], "y:b,a");
    let rule = TokenRule::Text(Tokenizer::MosesLowerCase);
    assert_eq!(
        lines("d.txt", "x It's A, b.\ny", &with(rule.clone())),
        ["x:it|&apos;s|a|,|b|.", "y:"]
    );
    let comma = TokenRule::Separator(",".into());
    for tokens in [TokenRule::Characters, TokenRule::Whitespace, comma, rule] {
        let samples = read_text("d.txt", text, &with(tokens.clone())).unwrap();
        let expected: Vec<Vec<String>> = named(&samples.data)
            .iter()
            .map(|s| s.0.iter().map(|t| t.to_string()).collect())
            .collect();
        assert_eq!([tokenize("a b,c", &tokens), tokenize("b,a", &tokens)], expected[..]);
    }
}

#[test]
fn columns_are_found_by_name_by_position_and_without_a_header() {
    let options = |sequence: &str, label: &str| ReadOptions {
        sequence_column: sequence.into(),
        label_column: label.into(),
        ..default()
    };
    let text = "+\tS10\tTAC\n-\tS11\tGAC\n";
    assert_eq!(lines("dna.tsv", text, &options("3", "1")), ["+:T|A|C", "-:G|A|C"]);
    let text = "label,sequence,other\n1,ab,cd\n2,ba,dc\n";
    assert_eq!(lines("d.csv", text, &options("other", "label")), ["1:c|d", "2:d|c"]);
    let headed = ReadOptions { header: TableHeader::Present, ..options("3", "1") };
    assert_eq!(lines("d.csv", text, &headed), ["1:c|d", "2:d|c"]);
}

#[test]
fn quotes_are_data_in_tsv_and_marks_in_csv() {
    assert_eq!(lines("d.tsv", "label\ttext\nx\t\"a b\ny\tb \"", &default())[0], "x:\"a|b");
    let csv = "label,text\nx,\"a\n,\"\"b\"\"\r\n c\"\ny,b a\n";
    assert_eq!(lines("d.csv", csv, &default()), ["x:a|,\"b\"|c", "y:b|a"]);
    let samples = read_text("d.csv", csv, &default()).unwrap();
    assert_eq!(samples.lines, [2, 5]);
}

#[test]
fn numbers_and_booleans_in_json_are_read_as_their_text() {
    let text = "{\"y\":true,\"input\":[1,-2,\"a\"]}\n{\"y\":0.5,\"input\":[1]}\n";
    assert_eq!(lines("d.jsonl", text, &default()), ["true:1|-2|a", "0.5:1"]);
}

#[test]
fn unlabelled_rows_are_counted_and_leave_no_trace_when_skipped() {
    let options = ReadOptions { unlabelled: Unlabelled::Skip, ..default() };
    for (name, text) in [
        ("d.csv", "label,sequence\nx,ab\n,zz\ny,b\n"),
        (
            "d.jsonl",
            "{\"label\":\"x\",\"sequence\":\"ab\"}\n{\"label\":null,\"sequence\":\"zz\"}\n{\"label\":\"y\",\"sequence\":\"b\"}",
        ),
        ("d.dat", "3 2\nx 2 a b\n-1 2 z z\ny 1 b\n"),
    ] {
        let samples = read_text(name, text, &options).unwrap();
        assert_eq!((samples.unlabelled, samples.data.sequences.len()), (1, 2), "{name}");
        assert_eq!(samples.data.alphabet, ["a", "b"], "{name}");
    }
}

#[test]
fn unlabelled_rows_keep_the_empty_label_when_they_are_to_be_predicted() {
    let absent = ReadOptions {
        unlabelled: Unlabelled::Keep,
        label_column: ColumnChoice::Absent,
        contradictions: Contradictions::Keep,
        ..default()
    };
    for (name, text) in [
        ("a.csv", "sequence,other\na b,x\nb a,y\n"),
        ("a.tsv", "sequence\tother\na b\tx\nb a\ty\n"),
        ("a.jsonl", "{\"sequence\":\"a b\",\"label\":\"x\"}\n{\"sequence\":[\"b\",\"a\"]}\n"),
        ("a.dat", "2 2\n-1 2 a b\n-1 2 b a\n"),
    ] {
        assert_eq!(lines(name, text, &absent), [":a|b", ":b|a"], "{name}");
    }
    let log = "case,activity,time\n1,a,1\n1,b,2\n2,b,1\n2,a,2\n";
    let events = ReadOptions { format: Some(format("events")), ..absent.clone() };
    assert_eq!(lines("log.csv", log, &events), [":a|b", ":b|a"]);
    let some = ReadOptions { label_column: ColumnChoice::Usual, ..absent };
    assert_eq!(lines("a.csv", "label,sequence\nx,a b\n,b a\n", &some), ["x:a|b", ":b|a"]);
}

#[test]
fn the_first_line_tells_the_format_if_the_name_does_not() {
    let read = |name: &str, text: &str| read_from(name, text.as_bytes(), &default()).unwrap();
    let abbadingo = "2 2\n1 2 0 1\n0 1 1\n";
    assert_eq!(read("train.aba", abbadingo), {
        let samples = read("train.dat", abbadingo);
        Samples { file: "train.aba".into(), ..samples }
    });
    let json = "\u{feff}{\"label\": \"x\", \"sequence\": \"a b\"}\n{\"label\": \"y\", \"sequence\": \"b\"}";
    let samples = read("log", json);
    assert_eq!((samples.lines, samples.data.sequences.len()), (vec![1, 2], 2));
}

#[test]
fn kept_contradictions_are_counted() {
    let options = ReadOptions { contradictions: Contradictions::Keep, ..default() };
    let summary = read_text("d.txt", "x ab\ny ab\ny b", &options).unwrap().data.summary();
    assert_eq!((summary.count, summary.contradictions), (3, 1));
}

#[test]
fn events_are_grouped_by_case_in_the_order_of_time() {
    let options = ReadOptions { format: Some(format("events")), ..default() };
    let log = "Case ID;Activity;Complete Timestamp;label\n\
               A;x;2024-01-09 22:00:00;\n\
               B;start;2024-01-02 10:00:00;\n\
               A;end it;2024-01-10 09:00:00;good\n\
               A;start;2024-01-09 23:00:00;\n\
               B;x;2024-01-02 10:00:00;bad\n\
               B;first;2024/01/02 9:59;bad\n";
    assert_eq!(lines("log.csv", log, &options), ["good:x|start|end it", "bad:first|start|x"]);
    let samples = read_text("log.csv", log, &options).unwrap();
    assert_eq!(samples.lines, [2, 3]);
    let numbers = "case,activity,time,label\n1,b,10,x\n1,a,9,x\n2,b,1.5,y\n2,a,1.25,y\n2,c,-3,y\n";
    assert_eq!(lines("log.csv", numbers, &options), ["x:a|b", "y:c|a|b"]);
}

#[test]
fn a_chosen_delimiter_and_format_win_over_the_guess() {
    let options = ReadOptions { delimiter: Delimiter::Is('|'), ..default() };
    assert_eq!(lines("d.csv", "label|text\nx|a,b c\ny|c\n", &options), ["x:a,b|c", "y:c"]);
    let options = ReadOptions { format: Some(format("plain")), ..default() };
    assert_eq!(lines("d.csv", "x a,b\ny b", &options)[0], "x:a|,|b");
}
