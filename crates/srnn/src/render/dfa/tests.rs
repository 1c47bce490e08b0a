use super::*;
use srnn_automata::{Alphabet, Dfa, Limits, Moore, State, regex};

fn compile(text: &str) -> Dfa {
    let bits = Alphabet::of_chars("01").unwrap();
    regex::compile(text, &bits, &Limits::default()).unwrap()
}

fn picture_of(dfa: &Dfa) -> DfaPicture {
    DfaPicture::of_automaton(&Partial::from(dfa), |&accepting| (String::new(), accepting))
}

#[test]
fn symbols_with_the_same_target_share_an_edge() {
    let picture = picture_of(&compile("0.*"));
    assert!(picture.edges.contains(&(1, 1, "0, 1".to_string())));
    assert_eq!(picture.edges.len(), 4);
    assert_eq!(
        join_names(&["a", "b", "c", "d", "f", "open", "x", "y", "z"]),
        "a–d, f, open, x, y, z"
    );
}

#[test]
fn a_picture_shows_every_state_once_and_accepting_ones_with_two_rings() {
    let dfa = compile("(0|10*1)*1?0");
    let drawn = svg(&picture_of(&dfa)).unwrap();
    let accepting = dfa.outputs().iter().filter(|&&o| o).count();
    assert_eq!(drawn.matches("<circle").count(), dfa.state_count() + accepting);
}

#[test]
fn the_same_automaton_always_gives_the_same_picture() {
    let mut bits = 1u64;
    let mut next = || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bits
    };
    let alphabet = Alphabet::of_chars("abc").unwrap();
    let picture = picture_of(&srnn_automata::random_dfa(20, &alphabet, 0.3, &mut next));
    let first = svg(&picture).unwrap();
    assert!((0..20).all(|_| svg(&picture).unwrap() == first));
}

#[test]
fn names_are_escaped() {
    let names = ["</svg>", "<script>alert(1)</script>", "\u{1}&\"'"].map(String::from).to_vec();
    let alphabet = Alphabet::new(names).unwrap();
    let moore = Moore::from_fn(alphabet, 2, |_| "<b>&class", |_, a| State(a.0 % 2)).unwrap();
    let mut picture =
        DfaPicture::of_automaton(&Partial::from(&moore), |note| (note.to_string(), false));
    picture.title = "<title> & \"more\"".to_string();
    let drawn = svg(&picture).unwrap();
    assert_eq!(drawn.matches("</svg>").count(), 1);
    assert!(!drawn.contains("<script") && !drawn.contains("<b>") && !drawn.contains('\u{1}'));
    assert!(drawn.contains("&lt;title&gt; &amp; &quot;more&quot;"));
}

#[test]
fn everything_drawn_lies_within_the_view() {
    for text in ["1*", "(10)*", ".*1...", "(0|1(01*0)*1)*", "∅"] {
        let drawn = svg(&picture_of(&compile(text))).unwrap();
        let number = |text: &str| text.parse::<f64>().unwrap();
        let attribute = |tag: &str, name: &str| {
            let after = tag.split(&format!(" {name}=\"")).nth(1).unwrap();
            after.split('"').next().unwrap().to_string()
        };
        let view: Vec<f64> = attribute(&drawn, "viewBox").split(' ').map(number).collect();
        for circle in drawn.split("<circle").skip(1) {
            let part = |name| number(&attribute(circle, name));
            let (x, y, r) = (part("cx"), part("cy"), part("r"));
            assert!(x - r >= view[0] && x + r <= view[0] + view[2], "{text}: {circle}");
            assert!(y - r >= view[1] && y + r <= view[1] + view[3], "{text}: {circle}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }
}

#[test]
fn pictures_that_are_too_large_or_inconsistent_are_refused() {
    let large = Dfa::from_fn(Alphabet::of_chars("a").unwrap(), 201, |_| true, |s, _| s).unwrap();
    let error = svg(&picture_of(&large)).unwrap_err().to_string();
    assert!(error.contains("201 states") && error.contains("limit 200"), "{error}");
    let mut broken = picture_of(&compile("1*"));
    broken.edges.push((0, 7, "x".to_string()));
    assert_eq!(svg(&broken), Err(PictureError::NoSuchState { state: 7, states: 2 }));
}

#[test]
fn text_in_a_state_stays_within_its_inner_ring() {
    let mut picture = picture_of(&compile("(10)*"));
    for (state, note) in picture.states.iter_mut().zip(["good enough", "insecure", "WWWWWWWW"]) {
        (state.note, state.accepting) = (note.into(), true);
    }
    let drawn = layout::layout(&picture);
    for circle in &drawn.circles {
        let half = crate::render::svg::width(&circle.note, layout::NOTE_FONT) / 2.0;
        let corner = half.hypot(layout::NOTE_OFFSET + 0.35 * layout::NOTE_FONT);
        assert!(corner < circle.radius - layout::RING_GAP, "{}", circle.note);
    }
}
