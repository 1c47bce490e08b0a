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
    let both = |edge: &&EdgePicture| (edge.from, edge.to, &edge.label[..]) == (1, 1, "0, 1");
    assert_eq!(picture.edges.iter().filter(both).count(), 1);
    assert_eq!(picture.edges.len(), 4);
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
    broken.edges.push(EdgePicture { to: 7, ..EdgePicture::default() });
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

/// The value of an attribute of the tag at the start of `text`.
fn attribute<'t>(text: &'t str, name: &str) -> &'t str {
    let after = text.split(&format!("{name}=\"")).nth(1).expect("the attribute");
    after.split('"').next().expect("its end")
}

/// The lines of the label of each edge.
type DrawnLabels = BTreeMap<(usize, usize), Vec<String>>;

/// What a picture shows, read from the SVG: for each state its text and its number of rings, for each
/// edge the lines of its label.
fn read_back(drawn: &str) -> (Vec<(String, usize)>, DrawnLabels) {
    let unescape =
        |text: &str| text.replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&");
    let texts = |group: &str| -> Vec<String> {
        let parts = group.split("xml:space=\"preserve\">").skip(1);
        parts.map(|part| unescape(part.split("</text>").next().unwrap())).collect()
    };
    let group = |part: &str| part.split("</g>").next().unwrap().to_string();
    let states = drawn.split("<g data-state=").skip(1).map(|part| {
        let part = group(part);
        (texts(&part).join(" "), part.matches("<circle").count())
    });
    let lines: Vec<(usize, usize)> = drawn
        .split("<g data-from=")
        .skip(1)
        .map(|part| {
            let part = format!("data-from={}", group(part));
            assert!(part.contains("<path d=\"M"), "{part}");
            (
                attribute(&part, "data-from").parse().unwrap(),
                attribute(&part, "data-to").parse().unwrap(),
            )
        })
        .collect();
    let labels = drawn.split("<g data-label=\"").skip(1).map(|part| {
        let (from, to) = part.split('"').next().unwrap().split_once('-').unwrap();
        ((from.parse().unwrap(), to.parse().unwrap()), texts(&group(part)))
    });
    let labels: DrawnLabels = labels.collect();
    assert!(
        labels.keys().copied().collect::<Vec<_>>() == {
            let mut lines = lines.clone();
            lines.sort_unstable();
            lines
        }
    );
    (states.collect(), labels)
}

/// The symbols that a drawn label stands for.
fn symbols_of(label: &[String], names: &[String]) -> Vec<usize> {
    let text = label.join(" ");
    let (list, inverted) = match text.strip_prefix("all") {
        Some(rest) => (rest.trim_start_matches(" but ").to_string(), true),
        None => (text, false),
    };
    let place = |name: &str| names.iter().position(|other| other == name).expect(name);
    let mut listed = vec![];
    for part in list.split(", ").map(|part| part.trim_end_matches(',')).filter(|p| !p.is_empty()) {
        match part.split_once('–') {
            Some((first, last)) => listed.extend(place(first)..=place(last)),
            None => listed.push(place(part)),
        }
    }
    (0..names.len()).filter(|symbol| listed.contains(symbol) != inverted).collect()
}

#[test]
fn what_is_drawn_is_the_automaton() {
    let mut bits = 9u64;
    let mut next = || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bits
    };
    for (states, symbols) in [(1, 1), (2, 2), (5, 3), (6, 9), (12, 26), (40, 5)] {
        let letters: String = ('a'..='z').take(symbols).collect();
        let alphabet = Alphabet::of_chars(&letters).unwrap();
        let dfa = srnn_automata::random_dfa(states, &alphabet, 0.4, &mut next);
        let (drawn, labels) = read_back(&svg(&picture_of(&dfa)).unwrap());
        let expected: Vec<(String, usize)> =
            dfa.states().map(|s| (s.0.to_string(), 1 + usize::from(dfa.is_accepting(s)))).collect();
        assert_eq!(drawn, expected);
        let mut taken: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for state in dfa.states() {
            for (symbol, to) in dfa.successors(state).iter().enumerate() {
                taken.entry((state.index(), to.index())).or_default().push(symbol);
            }
        }
        assert_eq!(labels.keys().collect::<Vec<_>>(), taken.keys().collect::<Vec<_>>());
        for (ends, symbols) in &taken {
            // Labels of more than four lines are cut, and their titles are whole.
            if labels[ends].last().is_none_or(|line| !line.contains('…')) {
                assert_eq!(&symbols_of(&labels[ends], alphabet.names()), symbols, "{ends:?}");
            }
        }
    }
}

#[test]
fn counts_paths_and_classes_are_drawn_as_they_are() {
    let dfa = compile("(10)*");
    let automaton = Partial::from(&dfa);
    let mut picture = picture_of(&dfa);
    let taken: Vec<Vec<u64>> = dfa.states().map(|s| vec![0, 1000 + u64::from(s.0)]).collect();
    let visits: Vec<u64> = dfa.states().map(|s| 7 * u64::from(s.0)).collect();
    picture.set_counts(&automaton, &visits, &taken);
    picture.mark_path(&automaton, &[1, 0, 1, 1], Some(3));
    picture.states[1].class = Some(2);
    let text = svg(&picture).unwrap();
    crate::render::testing::check_well_formed(&text);
    let (states, labels) = read_back(&text);
    for (state, count) in visits.iter().enumerate() {
        assert!(states[state].0.ends_with(&format!("×{count}")), "{states:?}");
    }
    let path = [automaton.start()];
    let path = path.into_iter().chain([1, 0, 1, 1].iter().scan(automaton.start(), |state, &a| {
        *state = automaton.next(*state, srnn_automata::Symbol(a)).unwrap();
        Some(*state)
    }));
    let path: Vec<usize> = path.map(State::index).collect();
    assert!(labels[&(path[0], path[1])].contains(&"steps 1, 3".to_string()), "{labels:?}");
    assert!(labels[&(path[2], path[3])].contains(&"steps 1, 3".to_string()), "{labels:?}");
    assert!(labels[&(path[3], path[4])].contains(&"step 4, not seen".to_string()), "{labels:?}");
    assert!(labels[&(path[1], path[2])].contains(&"×0".to_string()), "{labels:?}");
    // An edge that no sequence takes is faded, unless the path takes it.
    let faded: Vec<&str> = text
        .split("<g data-from=")
        .skip(1)
        .filter(|part| part.split('>').next().unwrap().contains("opacity"))
        .collect();
    let rare = picture.rare_edges();
    assert_eq!(faded.len(), rare.iter().filter(|&&rare| rare).count());
    assert_eq!(text.matches("stroke-dasharray").count(), 1);
}

#[test]
fn sinks_can_be_hidden_and_the_caption_names_them() {
    let dfa = compile("(10)*");
    let all = picture_of(&dfa);
    let hidden = all.clone().without_sinks();
    assert_eq!((all.states.len(), hidden.states.len()), (3, 2));
    assert_eq!(hidden.edges.len(), 2);
    assert!(hidden.caption.starts_with("Not shown: sink "), "{}", hidden.caption);
    assert!(svg(&hidden).unwrap().contains("Not shown: sink"));
    // An accepting state that nothing leaves is no sink, and the start is never hidden.
    let kept = picture_of(&compile("0.*"));
    assert_eq!(kept.clone().without_sinks().states.len(), kept.states.len() - 1);
    assert_eq!(picture_of(&compile("∅")).without_sinks().states.len(), 1);
}

#[test]
fn a_picture_of_200_states_has_all_of_them_and_no_overlapping_circles() {
    let alphabet = Alphabet::of_chars("abcde").unwrap();
    let mut bits = 5u64;
    let mut next = || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bits
    };
    let dfa = srnn_automata::random_dfa(200, &alphabet, 0.4, &mut next);
    let picture = merge_edges(&picture_of(&dfa));
    let circles = layout::layout(&picture).circles;
    for (i, a) in circles.iter().enumerate() {
        for b in &circles[i + 1..] {
            assert!((a.x - b.x).hypot(a.y - b.y) > a.radius + b.radius, "{} {}", a.name, b.name);
        }
    }
}
