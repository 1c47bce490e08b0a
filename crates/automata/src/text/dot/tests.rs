use super::*;
use crate::alphabet::Alphabet;
use crate::moore::State;
use crate::random::{random_dfa, stream};
use crate::text::tests::{mutate, nasty_alphabet};

fn read(text: &str) -> Result<Partial<bool>, TextError> {
    read_dfa(text, &Limits::default())
}

fn with_start(dfa: &Dfa, start: u32) -> Dfa {
    let table = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
    Dfa::new(dfa.alphabet().clone(), State(start), dfa.outputs().to_vec(), table).unwrap()
}

#[test]
fn random_automata_over_nasty_symbols_are_read_back_as_written() {
    for seed in 0..300 {
        let mut bits = stream(seed);
        let states = 1 + (bits() % 12) as u32;
        let dfa = random_dfa(states, &nasty_alphabet(), 0.5, &mut bits);
        let dfa = with_start(&dfa, (bits() % u64::from(states)) as u32);
        let text = write_dfa(&dfa, "two \"words\" \\");
        assert_eq!(read(&text).unwrap().complete(false), dfa, "{text}");
    }
}

#[test]
fn outputs_of_any_text_are_read_back_as_written() {
    let outputs = nasty_alphabet();
    for seed in 0..100 {
        let mut bits = stream(seed);
        let dfa = random_dfa(8, &Alphabet::of_chars("ab").unwrap(), 0.5, &mut bits);
        let table = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
        let pick = |_| outputs.names()[(bits() % outputs.len() as u64) as usize].clone();
        let classes: Vec<String> = (0..8).map(pick).collect();
        let moore = Moore::new(dfa.alphabet().clone(), State(3), classes, table).unwrap();
        let again =
            read_moore(&write_moore(&moore, "m", String::as_str), &Limits::default()).unwrap();
        assert_eq!(again.complete(String::new()), moore);
    }
}

/// AALpy's dialect, with and without quotes, because its versions differ.
const AALPY: &str = r#"digraph even {
s0 [label=s0, shape=doublecircle];
s1 [label="s1"];
s0 -> s0  [label=0];
s0 -> s1  [label="1"];
s1 -> s1  [label="0"];
s1 -> s0  [label="1"];
__start0 [label="", shape=none];
__start0 -> s0  [label=""];
}
"#;

fn even() -> Dfa {
    let bits = Alphabet::of_chars("01").unwrap();
    Dfa::from_fn(bits, 2, |s| s.0 == 0, |s, a| State((s.0 + a.0) % 2)).unwrap()
}

#[test]
fn the_dialect_of_aalpy_is_read_and_written() {
    assert_eq!(read(AALPY).unwrap().to_moore().unwrap(), even());
    let plain = |text: &str| text.replace(['"', ' '], "");
    assert_eq!(plain(&write_dfa(&even(), "even")), plain(AALPY));
}

#[test]
fn other_styles_mean_the_same_automaton() {
    let styles = [
        "strict digraph{node[shape=doublecircle]a;node[shape=circle];b a->a[label=0]a->b[label=1]
         b->b[label=0]b->a[label=1] x[shape=point] x->a}",
        "/* even */ digraph \"e\" { rankdir=LR; graph [fontsize=12] edge [color=red];
         q0 [peripheries=2 shape=\"doublecircle\"]; // accepting
         # preprocessor line
         q0 -> q0 [label=\"0\"]; q0:e -> q1:w:n -> q0 [label=1; color=\"red\"];
         q1 -> q1 [label = 0]; \"\" [style=invis]; \"\" -> q0 [label=\" \"] }",
    ];
    for text in styles {
        assert_eq!(read(text).unwrap().complete(false), even(), "{text}");
    }
    let plain = "digraph { a [shape=none]; b [shape=none]; a -> a [label=x]; __start0 -> a;
                 b -> b [label=x]; }";
    assert_eq!(read(plain).unwrap().state_count(), 2, "states may be drawn without a shape");
    let joined = "digraph { __start0 -> a; a [shape=doublecircle]; a -> a [label=\"x, y\"];
                  a -> a [label=<z>] }";
    let dfa = read(joined).unwrap().to_moore().unwrap();
    assert_eq!(dfa.alphabet().names(), ["x", "y", "z"]);
}

#[test]
fn moore_machines_of_aalpy_are_read() {
    let text = "digraph m { s0 [label=\"s0|low\", shape=record, style=rounded];
        s1 [label=\"{s1 | high}\", shape=record]; s0 -> s1 [label=up]; s1 -> s1 [label=up];
        __start0 [shape=none, label=\"\"]; __start0 -> s0 [label=\"\"]; }";
    let moore = read_moore(text, &Limits::default()).unwrap().to_moore().unwrap();
    assert_eq!(moore.outputs(), ["low", "high"]);
    assert!(read(text).unwrap_err().remedy.contains("Moore"));
    assert!(read_moore(AALPY, &Limits::default()).unwrap_err().cause.contains("no output"));
}

#[test]
fn text_that_is_not_a_dfa_is_refused_with_its_line_and_remedy() {
    let check = |text: &str, line: usize, cause: &str| {
        let error = read(text).unwrap_err();
        assert!(error.cause.contains(cause), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(!error.remedy.is_empty());
    };
    check("", 1, "not a directed graph");
    check("graph { a -- b }", 1, "not a directed graph");
    check("digraph {\na -- b }", 2, "no direction");
    check("digraph {\na -> b [label=x]\n", 3, "ends inside the graph");
    check("digraph {\na -> b [label=x];\n}", 3, "nothing marks the start");
    check("digraph {\n__start0 -> a;\n__start0 -> b;\n}", 3, "second start");
    check("digraph {\n__start0 -> a;\na -> b;\n}", 3, "no label");
    check(
        "digraph {\n__start0 -> a;\na -> b [label=x];\na -> a [label=x]}",
        4,
        "second transition",
    );
    check("digraph {\n__start0 -> a\na -> b [label=\"x / y\"]}", 3, "Mealy");
    check("digraph {\nsubgraph x { a } }", 2, "subgraphs");
    check("digraph {\na [label=\"x] }", 2, "quote is not closed");
    check("digraph {\n/* a }", 2, "comment is not closed");
    check("digraph { a }\ndigraph { b }", 2, "after the end");
    check("digraph {\na ! b }", 2, "'!' is not part of DOT");
    check("digraph {\n-> b }", 2, "found `->`, expected a name");
    check("digraph { __start0 [shape=none] }", 1, "nothing marks the start");
}

#[test]
fn limits_hold_and_damaged_texts_never_panic() {
    let few = Limits { states: 2, symbols: 1, bytes: 1000, ..Limits::default() };
    let text = |body: &str| format!("digraph {{ __start0 -> a; {body} }}");
    let cause = |body: &str| read_dfa(&text(body), &few).unwrap_err().cause;
    assert!(cause("a -> b [label=x]; b -> c [label=x]").contains("3 nodes"));
    assert!(cause("a -> b [label=\"x, y\"]").contains("1 symbols"));
    assert!(cause(&" ".repeat(1000)).contains("1000 bytes"));
    assert!(read_dfa(&text("a -> b [label=x]"), &few).is_ok());
    let chain = format!("digraph {{ a{} [label=x] }}", " -> a".repeat(10_001));
    assert!(read(&chain).unwrap_err().cause.contains("chain of more than 10000"));
    let entities =
        format!("digraph {{ __start0 -> a; a -> a [label=\"{}\"] }}", "&#".repeat(500_000));
    assert!(read(&entities).is_ok(), "a label of a megabyte is read in linear time");
    let narrow = Limits { entries: 1, ..Limits::default() };
    assert!(read_dfa(&text("a -> b [label=x]"), &narrow).unwrap_err().cause.contains("entries"));
    let nasty = write_dfa(&random_dfa(3, &nasty_alphabet(), 0.5, &mut stream(5)), "x");
    mutate(&nasty, 3000, |damaged| drop(read(damaged)));
    mutate(AALPY, 20_000, |damaged| {
        drop(read(damaged));
        drop(read_moore(damaged, &Limits::default()));
    });
}
