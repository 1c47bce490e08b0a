//! What a large vocabulary costs the engine `cpu`: training steps where every row of the embedding
//! is updated in every step (`dense`), and where rows wait until they are read (`lazy`).
//!
//! ```sh
//! cargo run --release -p srnn-bench --bin lazy_rows -- lazy 100000 64 1 1000
//! ```
//!
//! The numbers are V, E, threads and updates; a fifth, 0 for never, says after how many updates all
//! rows are read, as an evaluation does (200, as in training). Tokens are drawn by Zipf's law, 32
//! rows of 100, and no batch comes twice. One line: milliseconds a step, all reading counted, by
//! the clock and of the processor that the calling thread had; the largest memory of the process;
//! a number made of every bit of the parameters and moments at the end, which must be the same for
//! both.

use srnn::engine::cpu::{CpuTrainer, CpuTuning};
use srnn::engine::{
    Batch, Fields, Inputs, Mode, Optimiser, Regime, Rule, Runner as _, Snapshot, Targets,
    Trainer as _,
};
use srnn::key::{Key, Rng};
use srnn::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Recurrent, Score,
    Temperature, When,
};
use std::time::{Duration, Instant};

const ROWS: usize = 32;
const STEPS: usize = 100;
const REGIME: Regime = Regime::plain(1e-3);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|n| n.parse::<usize>().ok());
    let (Some(v), Some(e), Some(threads), Some(updates)) =
        (number(1), number(2), number(3), number(4))
    else {
        panic!("give dense or lazy, V, E, threads and updates, as the head of this file has it");
    };
    let read_every = number(5).unwrap_or(200);
    let defer_from = match arguments[0].as_str() {
        "dense" => usize::MAX,
        "lazy" => 0,
        other => panic!("{other}: give dense or lazy"),
    };
    let optimiser = Optimiser { rule: Rule::ADAM, clip: 1.0, l2: 0.0 };
    let tuning = CpuTuning { defer_from, ..CpuTuning::default() };
    let mut engine = CpuTrainer::tuned(&model(v, e), optimiser, threads, tuning);
    let zipf = Zipf::new(v);
    let (mut stream, mut met) = (Key::new(1).rng(), vec![false; v]);
    let (mut clock, mut busy) = (Duration::ZERO, Duration::ZERO);
    for update in 1..=updates {
        let batch = batch(&zipf, &mut stream);
        let Inputs::Tokens(ids) = &batch.input else { unreachable!("batches of tokens") };
        ids.iter().for_each(|&id| met[id as usize] = true);
        let (begin, busy_before) = (Instant::now(), processor_time());
        engine.step(&batch, &REGIME).expect("a CPU does not fail");
        if read_every > 0 && update % read_every == 0 {
            let trace = engine.trace(&batch, Mode::default(), Fields::default());
            trace.expect("a CPU does not fail");
        }
        clock += begin.elapsed();
        busy += processor_time() - busy_before;
    }
    let memory = largest_memory();
    let each = |time: Duration| time.as_secs_f64() * 1e3 / updates as f64;
    println!(
        "{} V={v} E={e} threads={threads} updates={updates} read_every={read_every} met={}: \
         {:.2} ms a step, {:.2} ms of the calling thread, {memory} MiB, bits {:016x}",
        arguments[0],
        met.iter().filter(|met| **met).count(),
        each(clock),
        each(busy),
        digest(&engine.snapshot().expect("a CPU does not fail")),
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
        readout: Readout { from: ReadFrom::H, when: When::Last },
        classes: 2,
    };
    let init = Init { recurrent: Recurrent::Uniform, ..Init::default() };
    Model::new(arch, &init, Key::new(1)).expect("a sound network")
}

/// Words by their rank: the n-th is 1/n as frequent as the first.
struct Zipf {
    /// The chance of a word up to each.
    up_to: Vec<f64>,
}

impl Zipf {
    fn new(words: usize) -> Zipf {
        let mut sum = 0.0;
        let chances = (1..=words).map(|n| 1.0 / n as f64);
        let sums = chances.map(|chance| {
            sum += chance;
            sum
        });
        Zipf { up_to: sums.collect() }
    }

    fn draw(&self, stream: &mut Rng) -> u32 {
        let at = stream.unit() * self.up_to.last().expect("a word");
        self.up_to.partition_point(|&up_to| up_to < at) as u32
    }
}

fn batch(zipf: &Zipf, stream: &mut Rng) -> Batch {
    Batch {
        offsets: (0..=ROWS).map(|b| b * STEPS).collect(),
        input: Inputs::Tokens((0..ROWS * STEPS).map(|_| zipf.draw(stream)).collect()),
        targets: Targets::Rows((0..ROWS).map(|_| stream.below(2) as u32).collect()),
        class_weights: vec![],
    }
}

/// What processors have spent on the calling thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat");
    let own = text.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    Duration::from_nanos(own.unwrap_or(0))
}

/// MiB.
fn largest_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}

/// FNV-1a over all bits.
fn digest(snapshot: &Snapshot<f32>) -> u64 {
    let all = snapshot.moments.iter().flatten().chain(&snapshot.params);
    let bits = all.flat_map(|x| x.to_bits().to_le_bytes());
    bits.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3)
    })
}
