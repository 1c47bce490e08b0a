//! Measures training steps of the engine `cpu` with a large vocabulary. Every row of the embedding
//! is updated in every step (`dense`), or only when it is read again (`lazy`).
//!
//! ```sh
//! cargo run --release -p srnn-bench --bin lazy_rows -- lazy 100000 64 1 1000
//! ```
//!
//! The numbers are V, E, threads and updates. An optional fifth is the number of updates after
//! which all rows are read, as an evaluation does (0: never; default 200, as in training). Tokens
//! follow Zipf's law, in batches of 32 sequences of 100, and no batch is repeated. The output is
//! one line: wall time and processor time of the calling thread in milliseconds per step, reads
//! included; peak memory of the process; and a digest of all parameters and moments at the end,
//! which must be the same for `dense` and `lazy`.

use srnn::engine::cpu::{CpuTrainer, CpuTuning};
use srnn::engine::key::{Key, Rng};
use srnn::engine::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Recurrent, Score,
    Temperature, When,
};
use srnn::engine::{
    Batch, Fields, Inputs, Mode, Optimiser, Regime, Rule, Runner as _, Snapshot, Targets,
    Trainer as _,
};
use std::time::{Duration, Instant};

/// Sequences in a batch.
const ROWS: usize = 32;
/// Length of a sequence.
const STEPS: usize = 100;
const REGIME: Regime = Regime::plain(1e-3);

const USAGE: &str = "usage: lazy_rows dense|lazy V E THREADS UPDATES [READ_EVERY]";

/// The arguments of the command line.
struct LazyRowsArguments {
    mode: String,
    /// Smallest vocabulary whose rows are updated lazily.
    defer_from: usize,
    vocabulary: usize,
    embedding: usize,
    threads: usize,
    updates: usize,
    read_every: usize,
}

impl LazyRowsArguments {
    fn parse(arguments: &[String]) -> Option<LazyRowsArguments> {
        let [mode, numbers @ ..] = arguments else { return None };
        let defer_from = match mode.as_str() {
            "dense" => usize::MAX,
            "lazy" => 0,
            _ => return None,
        };
        let numbers: Result<Vec<usize>, _> = numbers.iter().map(|n| n.parse()).collect();
        let (vocabulary, embedding, threads, updates, read_every) = match numbers.ok()?[..] {
            [v, e, threads, updates] => (v, e, threads, updates, 200),
            [v, e, threads, updates, read_every] => (v, e, threads, updates, read_every),
            _ => return None,
        };
        let mode = mode.clone();
        Some(LazyRowsArguments {
            mode,
            defer_from,
            vocabulary,
            embedding,
            threads,
            updates,
            read_every,
        })
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match LazyRowsArguments::parse(&arguments) {
        Some(arguments) => measure(&arguments),
        None => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn measure(arguments: &LazyRowsArguments) {
    let LazyRowsArguments { vocabulary: v, embedding: e, threads, updates, read_every, .. } =
        *arguments;
    let optimiser = Optimiser::new(Rule::ADAM, 1.0);
    let tuning = CpuTuning { defer_from: arguments.defer_from, ..CpuTuning::default() };
    let mut engine = CpuTrainer::tuned(&model(v, e), optimiser, threads, tuning);
    let zipf = Zipf::new(v);
    let (mut rng, mut seen) = (Key::new(1).rng(), vec![false; v]);
    let (mut wall, mut processor) = (Duration::ZERO, Duration::ZERO);
    for update in 1..=updates {
        let batch = batch(&zipf, &mut rng);
        let Inputs::Tokens(ids) = &batch.input else { unreachable!("batches of tokens") };
        ids.iter().for_each(|&id| seen[id as usize] = true);
        let (start, processor_before) = (Instant::now(), processor_time());
        engine.step(&batch, &REGIME).expect("the CPU engine does not fail");
        if read_every > 0 && update % read_every == 0 {
            let trace = engine.trace(&batch, Mode::default(), Fields::default());
            trace.expect("the CPU engine does not fail");
        }
        wall += start.elapsed();
        processor += processor_time() - processor_before;
    }
    let memory = peak_memory_mib();
    let per_step = |time: Duration| time.as_secs_f64() * 1e3 / updates as f64;
    println!(
        "{} V={v} E={e} threads={threads} updates={updates} read_every={read_every} \
         tokens_seen={}: {:.2} ms a step, {:.2} ms of the calling thread, {memory} MiB, \
         bits {:016x}",
        arguments.mode,
        seen.iter().filter(|seen| **seen).count(),
        per_step(wall),
        per_step(processor),
        digest(&engine.snapshot().expect("the CPU engine does not fail")),
    );
}

fn model(symbols: usize, embedding: usize) -> Model<f32> {
    let centroids = Centroids { k: 10, score: Score::Dot, tau: Temperature::ONE };
    let arch = Arch {
        input: Input::Tokens { symbols, embedding, start: false, end: false },
        layers: vec![Layer {
            cell: Cell::Lstm { peephole: true },
            units: 128,
            gate: Gate::Sigmoid,
            bias: true,
            centroids: Some(centroids),
        }],
        readout: Readout::new(ReadFrom::H, When::Last),
        classes: 2,
    };
    let init = Init { recurrent: Recurrent::Uniform, ..Init::default() };
    Model::new(arch, &init, Key::new(1)).expect("a valid architecture")
}

/// Zipf's law: token n is 1/n as frequent as the first.
struct Zipf {
    /// Cumulative weights.
    cumulative: Vec<f64>,
}

impl Zipf {
    fn new(tokens: usize) -> Zipf {
        let mut sum = 0.0;
        let weights = (1..=tokens).map(|n| 1.0 / n as f64);
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Zipf { cumulative: sums.collect() }
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        let at = rng.unit() * self.cumulative.last().expect("a token");
        self.cumulative.partition_point(|&sum| sum < at) as u32
    }
}

fn batch(zipf: &Zipf, rng: &mut Rng) -> Batch {
    Batch {
        offsets: (0..=ROWS).map(|b| b * STEPS).collect(),
        input: Inputs::Tokens((0..ROWS * STEPS).map(|_| zipf.draw(rng)).collect()),
        targets: Targets::Rows((0..ROWS).map(|_| rng.below(2) as u32).collect()),
        class_weights: vec![],
        initial: vec![],
    }
}

/// Processor time of the main thread; 0 if it is not known.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat");
    let own = text.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    Duration::from_nanos(own.unwrap_or(0))
}

/// Peak resident memory of the process in MiB; 0 if it is not known.
fn peak_memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}

/// FNV-1a over all bits of parameters and moments.
fn digest(snapshot: &Snapshot<f32>) -> u64 {
    let all = snapshot.moments.iter().flatten().chain(&snapshot.params);
    let bits = all.flat_map(|x| x.to_bits().to_le_bytes());
    bits.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3)
    })
}
