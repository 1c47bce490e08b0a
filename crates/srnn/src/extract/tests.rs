//! Every extraction method on networks whose automata are known.

use super::counting::CountedTransition;
use super::cover::SoftCell;
use super::test_networks::*;
use super::*;
use crate::engine::cpu::Cpu;
use crate::engine::reference::Network;
use crate::engine::{Fields, Mode, Runner, Transition};
use crate::key::Key;
use crate::model::{Arch, Cell, Input, Model, ReadFrom, When};
use srnn_automata::{Alphabet, Word, shortlex};

const HARD: Mode = Mode { transition: Transition::Argmax, lambda: 1.0, tau: 1.0 };

fn short_words(longest: usize) -> WordSet {
    WordSet::UpTo { symbols: 2, longest }
}

fn extraction(model: &Model<f64>, truth: &Moore<u32>) -> Extraction {
    let data: Vec<Word> = shortlex(2, 6).collect();
    let request = ExtractRequest { alphabet: &bits(), data: &data, truth: Some(truth) };
    let config = ExtractConfig { words: 2047, ..ExtractConfig::default() };
    extract(&mut engine(model), &request, &config).unwrap()
}

fn check_right(found: &EvaluatedAutomaton, truth: &Moore<u32>) {
    assert_eq!(found.extracted.minimal.as_ref().unwrap(), &truth.minimize());
    assert_eq!(found.truth, Some(TruthComparison { equal: true, shortest_difference: None }));
    assert!(found.on_words.is_total(), "{:?}", found.on_words);
    assert!(found.on_data.is_total(), "{:?}", found.on_data);
    assert_eq!((found.on_words.compared, found.on_data.compared), (2047, 127));
}

#[test]
fn every_method_finds_the_automaton_a_hard_network_was_built_from() {
    for truth in [parity(), modulo_3(), no_three_zeros()] {
        for end in [false, true] {
            let model = compiled(&truth, end, ReadFrom::H, 0.25);
            let found = extraction(&model, &truth);
            let found_by_method = [
                &found.counted_soft.as_ref().unwrap().evaluated,
                &found.counted_hard.as_ref().unwrap().evaluated,
                found.hard_table.as_ref().unwrap(),
                found.cover_evaluated.as_ref().unwrap(),
            ];
            let start = CentroidState::Tuple(vec![truth.state_count() as u32 * 2]);
            for evaluated in found_by_method {
                check_right(evaluated, &truth);
                assert_eq!(evaluated.extracted.start(), &start);
                // Every pair (state, symbol) is taken, and the start token's centroid.
                let states = evaluated.extracted.automaton.state_count();
                assert_eq!(states, truth.state_count() * 2 + 1);
                assert_eq!(
                    evaluated.extracted.used_centroids,
                    UsedCentroids { layers: vec![states], tuples: states }
                );
            }
            let kept = found.cover.kept.unwrap();
            assert_eq!(kept.status, CoverStatus::Confirmed { finer: 0.05 });
            assert_eq!(kept.cover.tolerance, 0.1);
        }
    }
}

#[test]
fn the_fast_engine_gives_the_same_extraction() {
    let truth = no_three_zeros();
    let model = compiled(&truth, true, ReadFrom::H, 0.25);
    assert_eq!(model.to_f32().to_f64(), model, "weights that single precision holds exactly");
    let data: Vec<Word> = shortlex(2, 6).collect();
    let request = ExtractRequest { alphabet: &bits(), data: &data, truth: Some(&truth) };
    let config = ExtractConfig { words: 2047, ..ExtractConfig::default() };
    let fast = extract(&mut Cpu::new(&model.to_f32(), 2), &request, &config);
    assert_eq!(fast, Ok(extraction(&model, &truth)));
}

#[test]
fn the_cover_is_right_and_counting_wrong_where_the_mixture_carries_the_state() {
    let model = in_the_mixture(&parity(), &[0.9, 0.6], 0.75);
    let found = extraction(&model, &parity());
    check_right(found.cover_evaluated.as_ref().unwrap(), &parity());
    let kept = found.cover.kept.as_ref().unwrap();
    assert_eq!(kept.cover.cells.len(), 2);
    assert_eq!(
        kept.cover.extracted.centroid_states,
        [CentroidState::Tuple(vec![0]), CentroidState::Tuple(vec![0])]
    );
    for (cell, alpha) in kept.cover.cells.iter().zip([0.9, 0.6]) {
        assert!((cell.centre[0][0] - alpha).abs() < 1e-4, "{cell:?}");
    }
    for counted in [&found.counted_soft, &found.counted_hard] {
        let evaluated = &counted.as_ref().unwrap().evaluated;
        assert_eq!(evaluated.extracted.used_centroids.tuples, 1);
        assert_eq!(evaluated.truth.as_ref().unwrap().shortest_difference, Some(word("1")));
        assert_eq!(evaluated.on_words.difference, Some(word("1")));
    }
    let hard = found.hard_table.unwrap();
    assert_eq!(hard.truth.unwrap().shortest_difference, Some(word("1")));
}

#[test]
fn a_cover_too_coarse_is_refined_until_it_agrees() {
    // Remainders 1 and 2 have the same class and are 0.3 apart in L1.
    let truth = modulo_3().map_outputs(|&remainder| u32::from(remainder == 0));
    let model = in_the_mixture(&truth, &[0.85, 0.7, 0.55], 0.775);
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    let config = RefineConfig { tolerance: 0.4, ..RefineConfig::default() };
    let refined = refine(&system, &[classify_short_words(&system, 8)], &config);
    let tried = refined.attempts.iter().map(|attempt| {
        let closed = attempt.closed.as_ref().unwrap();
        (attempt.tolerance, attempt.cells, closed.minimal_states, closed.agreement.is_total())
    });
    assert_eq!(
        tried.collect::<Vec<_>>(),
        [(0.4, 2, 2, false), (0.2, 3, 3, true), (0.1, 3, 3, true)]
    );
    let kept = refined.kept.unwrap();
    assert_eq!((kept.minimal, kept.cover.tolerance), (truth, 0.2));
    assert_eq!(kept.status, CoverStatus::Confirmed { finer: 0.1 });

    // A cover that may not be refined is kept although it disagrees.
    let config = RefineConfig { halvings: 0, ..config };
    let kept = refine(&system, &[classify_short_words(&system, 8)], &config).kept.unwrap();
    assert_eq!(kept.status, CoverStatus::Disagrees);
    assert!(kept.agreement.difference.is_some());
}

#[test]
fn transitions_never_observed_are_unknown_and_not_compared() {
    let model = compiled(&no_three_zeros(), false, ReadFrom::H, 0.25);
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    let words = WordSet::List(vec![word(""), word("0110"), word("11")]);
    let counts = count_transitions(&mut engine(&model), &words, Mode::default()).unwrap();
    let counted = automaton_from_counts(&counts, &system).unwrap();
    let automaton = &counted.extracted.automaton;
    let missing = counted.extracted.minimal.as_ref().unwrap_err();
    assert_eq!(missing.unknown, automaton.unknown());
    assert!(automaton.run(&word("0110")).is_some());
    assert!(automaton.run(&word("00")).is_none());
    let agreement = agreement(&classify_short_words(&system, 3), automaton);
    assert_eq!(agreement.compared + agreement.unknown, 15);
    assert_eq!(agreement.equal, agreement.compared);
    assert!(agreement.unknown > 0 && !agreement.is_total());
}

#[test]
fn equally_frequent_transitions_are_reported_and_the_first_is_kept() {
    let model = compiled(&parity(), false, ReadFrom::H, 0.25);
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    let at = |i: u32| CentroidState::Tuple(vec![i]);
    let mut counts = TransitionCounts::default();
    counts.starts.insert(at(4), 2);
    for (to, count) in [(3, 2), (1, 2), (0, 1)] {
        counts.transitions.insert(CountedTransition { from: at(4), symbol: 1, to: at(to) }, count);
    }
    let counted = automaton_from_counts(&counts, &system).unwrap();
    let tie = Tie { from: at(4), symbol: 1, to: vec![at(1), at(3)], count: 2 };
    assert_eq!(counted.ties, [tie]);
    let state = counted.extracted.automaton.run(&word("1")).unwrap();
    assert_eq!(counted.extracted.centroid_states[state.index()], at(1));
    let nothing = automaton_from_counts(&TransitionCounts::default(), &system).unwrap_err();
    assert_eq!(nothing, ExtractError::NoWords);
}

/// Random networks of one and two layers, with and without start and end token.
fn random_networks(from: ReadFrom) -> Vec<Model<f64>> {
    let layers = [gru(5, 8, 1.0), gru(4, 5, 1.0), gru(6, 7, 0.5)].map(euclidean);
    let [one, low, high] = layers;
    let stacks = [vec![one], vec![low, high], vec![gru(3, 1, 1.0)], vec![gru(5, 4, 1.0)]];
    let tokens = [(true, false), (false, false), (true, true), (false, true)];
    let shapes = stacks
        .iter()
        .flat_map(|stack| tokens.map(|(start, end)| arch(stack.clone(), start, end, from)));
    shapes.enumerate().map(|(seed, shape)| random(shape, seed as u64)).collect()
}

#[test]
fn the_hard_table_is_the_hard_network_on_every_short_word() {
    for from in [ReadFrom::H, ReadFrom::U] {
        for model in random_networks(from) {
            let alphabet = bits();
            let system = TransitionSystem::new(&model, &alphabet).unwrap();
            let table = hard_table(&system, 100).unwrap();
            let classified = classify_words(&mut engine(&model), short_words(8), HARD);
            let agreement = agreement(&classified, &table.automaton);
            assert!(agreement.is_total(), "{agreement:?} for {:?}", model.arch);
            let no_start_token = model.arch.input.start().is_none();
            assert_eq!(table.start() == &CentroidState::Initial, no_start_token);
            assert_eq!(table.used_centroids.layers.len(), model.arch.layers.len());
        }
    }
}

#[test]
fn counting_hard_runs_over_enough_words_gives_the_hard_table() {
    for model in random_networks(ReadFrom::H) {
        let alphabet = bits();
        let system = TransitionSystem::new(&model, &alphabet).unwrap();
        let table = hard_table(&system, 100).unwrap();
        let counts = count_transitions(&mut engine(&model), &short_words(10), HARD).unwrap();
        let counted = automaton_from_counts(&counts, &system).unwrap();
        assert_eq!(counted.ties, []);
        assert_eq!(counted.extracted.minimal, table.minimal);
        assert_eq!(counted.extracted.used_centroids, table.used_centroids);
    }
}

#[test]
fn states_of_two_layers_are_tuples() {
    let tuples = |model: &Model<f64>| {
        let alphabet = bits();
        let table = hard_table(&TransitionSystem::new(model, &alphabet).unwrap(), 100).unwrap();
        (table.used_centroids.tuples, table.used_centroids.layers.clone())
    };
    let layer = euclidean(gru(5, 6, 1.0));
    let shape = arch(vec![layer.clone(), layer], true, false, ReadFrom::H);
    let deep: Vec<_> = (0..20).map(|seed| tuples(&random(shape.clone(), seed))).collect();
    assert!(deep.iter().any(|(n, layers)| *n > layers[0].max(layers[1])), "{deep:?}");
    assert!(deep.iter().all(|(n, layers)| *n <= layers[0] * layers[1]), "{deep:?}");
}

#[test]
fn classification_by_prefixes_equals_that_of_the_engine() {
    for from in [ReadFrom::H, ReadFrom::U] {
        for mut model in random_networks(from) {
            for when in [When::Last, When::EveryStep] {
                model.arch.readout.when = when;
                let alphabet = bits();
                let system = TransitionSystem::new(&model, &alphabet).unwrap();
                let by_engine =
                    classify_words(&mut engine(&model), short_words(6), Mode::default());
                assert_eq!(classify_short_words(&system, 6), by_engine, "{:?}", model.arch);
            }
        }
    }
}

#[test]
fn batches_are_bounded_and_hold_every_word_once() {
    let shape = arch(vec![gru(3, 2, 1.0)], true, true, ReadFrom::H);
    for words in [short_words(13), WordSet::List(vec![vec![]; 5000]), WordSet::List(vec![])] {
        let batches: Vec<_> = super::classify::batches(&shape, &words).collect();
        assert_eq!(batches.iter().map(|b| b.rows()).sum::<usize>(), words.len());
        assert!(batches.iter().all(|b| (1..=4096).contains(&b.rows())));
        assert!(batches.iter().all(|b| b.steps() < (1 << 16) + 20));
    }
}

#[test]
fn the_longest_length_is_the_largest_that_fits() {
    let longest = |symbols, most| match WordSet::at_most(symbols, most, 256) {
        WordSet::UpTo { longest, .. } => longest,
        WordSet::List(_) => unreachable!(),
    };
    assert_eq!(longest(2, 200_000), 16);
    assert_eq!(longest(28, 200_000), 3);
    assert_eq!(longest(1, 200_000), 256);
    assert_eq!(longest(1_000_000, 200_000), 0);
    assert_eq!(short_words(16).len(), 131_071);
}

#[test]
fn a_classifier_on_u_splits_states_by_class_and_is_refused_by_counting() {
    let truth = modulo_3();
    let model = compiled(&truth, false, ReadFrom::U, 0.25);
    let found = extraction(&model, &truth);
    check_right(found.hard_table.as_ref().unwrap(), &truth);
    check_right(found.cover_evaluated.as_ref().unwrap(), &truth);
    assert_eq!(found.counted_soft, Err(ExtractError::ReadsU));
    assert!(ExtractError::ReadsU.to_string().contains("use an end token"));
}

#[test]
fn a_cover_that_does_not_close_reports_the_cap() {
    let model = random(arch(vec![gru(8, 6, 1.0)], true, false, ReadFrom::H), 1);
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    let Cover::Open(open) = cover(&system, 1e-9, 20) else { panic!("the cover closed") };
    assert_eq!((open.cap, open.tolerance), (20, 1e-9));
    assert!(open.cells.len() > 20 && open.pending > 0);
    let config =
        RefineConfig { tolerance: 1e-9, coarsest: 1e-8, cap: 20, ..RefineConfig::default() };
    let refined = refine(&system, &[classify_short_words(&system, 4)], &config);
    assert_eq!(refined.kept, None);
    assert_eq!(refined.attempts.len(), 4);
    assert!(refined.attempts.iter().all(|attempt| attempt.closed.is_none()));
}

#[test]
fn cells_of_a_class_are_apart_and_contain_what_joined_them() {
    for model in random_networks(ReadFrom::H) {
        let alphabet = bits();
        let system = TransitionSystem::new(&model, &alphabet).unwrap();
        let tolerance = 0.02;
        let Cover::Closed(closed) = cover(&system, tolerance, 4096) else {
            panic!("the cover is open")
        };
        let l1 = |a: &SoftCell, b: &SoftCell| -> f64 {
            let layers = a.centre.iter().zip(&b.centre);
            let layer = |(a, b): (&Vec<f64>, &Vec<f64>)| -> f64 {
                a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
            };
            layers.map(layer).fold(0.0, f64::max)
        };
        for (i, a) in closed.cells.iter().enumerate() {
            assert!(a.radius <= tolerance);
            for b in closed.cells[..i].iter().filter(|b| b.class == a.class) {
                assert!(l1(a, b) > tolerance, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn networks_without_finite_states_are_refused_with_a_remedy() {
    let alphabet = bits();
    let refusal = |change: &dyn Fn(&mut Arch)| {
        let mut shape = arch(vec![gru(4, 3, 1.0), gru(4, 3, 1.0)], true, false, ReadFrom::H);
        change(&mut shape);
        TransitionSystem::new(&random(shape, 1), &alphabet).err().expect("a refusal").to_string()
    };
    let vanilla = refusal(&|a| a.layers[1].centroids = None);
    assert!(vanilla.contains("layer 1 has no centroids") && vanilla.contains("SR-GRU"));
    let lstm = refusal(&|a| a.layers[0].cell = Cell::Lstm { peephole: true });
    assert!(lstm.contains("layer 0 is an LSTM") && lstm.contains("train an SR-GRU"));
    let real = refusal(&|a| a.input = Input::Real { width: 3 });
    assert!(real.contains("vectors of 3 numbers"));
    let model = random(arch(vec![gru(4, 3, 1.0)], true, false, ReadFrom::H), 1);
    let three = Alphabet::of_chars("abc").unwrap();
    let error = TransitionSystem::new(&model, &three).err().unwrap();
    assert_eq!(error, ExtractError::Alphabet { names: 3, symbols: 2 });
    let mut broken = model.clone();
    broken.params[9] = f64::NAN;
    let error = TransitionSystem::new(&broken, &alphabet).err().unwrap();
    assert_eq!(error, ExtractError::NotFinite { tensor: "embedding.weight".into() });
}

#[test]
fn a_truth_over_other_symbols_is_refused() {
    let model = compiled(&parity(), false, ReadFrom::H, 0.25);
    let other = Alphabet::of_chars("ab").unwrap();
    let truth = Moore::from_fn(other, 1, |_| 0, |state, _| state).unwrap();
    let request = ExtractRequest { alphabet: &bits(), data: &[], truth: Some(&truth) };
    let error = extract(&mut engine(&model), &request, &ExtractConfig::default()).unwrap_err();
    assert!(matches!(error, ExtractError::Truth(_)), "{error}");
}

#[test]
fn an_lstm_can_be_counted_and_compared_but_has_no_automaton() {
    let mut shape = arch(vec![gru(4, 3, 1.0)], true, true, ReadFrom::H);
    shape.layers[0].cell = Cell::Lstm { peephole: false };
    let model = random(shape, 1);
    let counts = count_transitions(&mut engine(&model), &short_words(3), Mode::default()).unwrap();
    assert_eq!(counts.starts.values().sum::<u64>(), 15);
    assert_eq!(counts.transitions.values().sum::<u64>(), 2 + 2 * 4 + 3 * 8);
    let classified = classify_words(&mut engine(&model), short_words(3), Mode::default());
    assert_eq!(agreement(&classified, &Partial::from(&parity())).compared, 15);
}

#[test]
fn differences_are_the_shortest_and_first() {
    let one = ClassifiedWords {
        words: WordSet::List(["110", "01", "00", "1"].map(word).to_vec()),
        classes: vec![Some(0), Some(1), Some(0), None],
    };
    let agreement = agreement(&one, &Partial::from(&parity()));
    let expected = Agreement {
        compared: 3,
        equal: 0,
        unknown: 0,
        unanswered: 1,
        difference: Some(word("00")),
    };
    assert_eq!(agreement, expected);
    let other = Agreement { compared: 1, difference: Some(word("1")), ..Agreement::default() };
    assert_eq!(agreement.and(&other).difference, Some(word("1")));
}

#[test]
fn the_acceptor_of_two_classes_accepts_class_1() {
    let dfa = acceptor(&parity());
    assert!(dfa.accepts(&word("0110")) && !dfa.accepts(&word("1")));
}

/// The centroids a sampling run visits: each row of the trace's h is a centroid.
fn visited(model: &Model<f64>, words: &WordSet, mode: Mode) -> Vec<Vec<CentroidState>> {
    let fields = Fields { h: true, ..Fields::default() };
    let layout = model.layout();
    let network = Network { arch: &model.arch, layout: &layout, params: &model.params };
    let mut rows = Vec::new();
    for batch in super::classify::batches(&model.arch, words) {
        let Ok(trace) = engine(model).trace(&batch, mode, fields);
        let centroid = |l: usize, n: usize| {
            let d = model.arch.layers[l].units;
            let h = &trace.layers[l].h[n * d..][..d];
            let k = model.arch.layers[l].centroids.unwrap().k as u32;
            (0..k).find(|&i| network.centroid(l, i) == h).expect("h is a centroid")
        };
        let state =
            |n| CentroidState::Tuple((0..trace.layers.len()).map(|l| centroid(l, n)).collect());
        rows.extend((0..batch.rows()).map(|b| batch.row(b).map(state).collect::<Vec<_>>()));
    }
    rows
}

/// Theorem 3.1.
#[test]
fn sampled_runs_follow_the_probabilistic_automaton() {
    const ROWS: usize = 20_000;
    // Hoeffding: one frequency is off by more than this with probability 1e-9.
    let bound = ((2.0f64 / 1e-9).ln() / (2.0 * ROWS as f64)).sqrt();
    let text = word("0110");
    let mode = Mode { transition: Transition::Sample(Key::new(5)), ..Mode::default() };
    for stack in [vec![gru(4, 3, 3.0)], vec![gru(3, 2, 3.0), gru(4, 3, 3.0)]] {
        for start in [true, false] {
            let model = random(arch(stack.clone(), start, false, ReadFrom::H), 2);
            let alphabet = bits();
            let system = TransitionSystem::new(&model, &alphabet).unwrap();
            let automaton = probabilistic_automaton(&system, 1.0, 100).unwrap();
            let runs = visited(&model, &WordSet::List(vec![text.clone(); ROWS]), mode);
            for read in 1..=text.len() {
                let step = if start { read } else { read - 1 };
                let expected = automaton.distribution(&text[..read]);
                assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for (state, p) in automaton.states.iter().zip(expected) {
                    let seen = runs.iter().filter(|run| &run[step] == state).count();
                    let frequency = seen as f64 / ROWS as f64;
                    assert!((frequency - p).abs() < bound, "{state:?}: {frequency}, not {p}");
                }
            }
            let words = WordSet::List(vec![text.clone(); ROWS]);
            let sampled = classify_words(&mut engine(&model), words, mode).classes;
            let ones = sampled.iter().filter(|&&class| class == Some(1)).count() as f64;
            let p = automaton.probability(&text, 1);
            assert!((ones / ROWS as f64 - p).abs() < bound, "{ones} of {ROWS}, not {p}");
        }
    }
}

#[test]
fn a_probabilistic_automaton_beyond_its_cap_is_refused() {
    let model = random(arch(vec![gru(2, 5, 1.0), gru(2, 5, 1.0)], true, false, ReadFrom::H), 1);
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    let refusal = probabilistic_automaton(&system, 1.0, 24).unwrap_err();
    assert_eq!(refusal, ExtractError::TooManyTuples { tuples: 25, cap: 24 });
}

/// Theorem 3.2.
#[test]
fn mixture_sample_and_argmax_visit_the_same_states_at_low_temperature() {
    let mut diverged_at_first = 0;
    for seed in 0..8 {
        let layer = euclidean(gru(5, 6, 1.0));
        for stack in [vec![layer.clone()], vec![layer.clone(), layer]] {
            let model = random(arch(stack, true, false, ReadFrom::H), seed);
            let alphabet = bits();
            let system = TransitionSystem::new(&model, &alphabet).unwrap();
            diverged_at_first += usize::from(first_divergence(&system, 4.0, 8).is_some());
            // Random scores are never this close to a tie.
            let tau = 1e-6;
            assert_eq!(first_divergence(&system, tau, 8), None, "seed {seed}");
            let mode = |transition| Mode { transition, tau, ..Mode::default() };
            let hard = visited(&model, &short_words(8), mode(Transition::Argmax));
            let sample = mode(Transition::Sample(Key::new(seed)));
            assert_eq!(visited(&model, &short_words(8), sample), hard);
            assert_eq!(visited(&model, &short_words(8), mode(Transition::Mixture)), hard);
        }
    }
    assert!(diverged_at_first > 0, "the temperature made no difference");
}
