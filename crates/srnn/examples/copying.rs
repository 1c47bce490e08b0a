//! The copying memory task: cross-entropy on the test set along a run, against the baseline of
//! what has no memory, as CSV.
//!
//! ```text
//! cargo run --release -p srnn --example copying -- arch=sr-lstm-p T=100 k=5 updates=10000
//! ```
//! Arguments, each `name=value`: `arch` (sr-lstm-p), `T` (100), `k` (5), `units` (128 up to T = 100,
//! else 256), `updates`, `warmup` and `ramp` (of these, at λ = 0 and while λ rises; 0), `rule` (adam
//! or rmsprop), `rate` and `last` (the step size goes from one to the other along half a cosine),
//! `clip`, `forget` (its bias at the beginning), `chrono` (steps; 0 is none), `embedding` (its bound
//! at the beginning), `tau` (1), `batch`, `seed` (1), `train` (100000 sequences), `test` (10000), `every` (updates between two
//! rows; 200), `threads` (1). What is not given is the recipe's. The data are the same for every
//! seed: those of data key 1. Nothing is selected, so the test set stands where the validation set
//! does.

use srnn::engine::cpu::Cpu;
use srnn::key::Key;
use srnn::model::{Model, Temperature};
use srnn::task::Split;
use srnn::task::copying::{Counts, baseline, sets};
use srnn::train::{
    Control, Event, Job, LearningRate, Nowhere, Optimiser, Recipe, Rule, Schedule, Sizes,
    recipe_copying, train,
};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Instant;

const HEADER: &str =
    "update,lambda,rate,gradient_norm,train_loss,test_loss,test_accuracy,baseline,seconds";

fn main() {
    let given = Given::of(std::env::args().skip(1));
    let delay = NonZeroUsize::new(given.number("T", 100)).expect("T is at least 1");
    let counts = Counts {
        train: given.number("train", 100_000),
        valid: 0,
        test: given.number("test", 10_000),
    };
    let data = sets(delay, &counts, &Key::new(1));
    let split =
        Split { train: data.train, valid: data.test.expect("it was asked for"), test: None };
    let Recipe { arch, init, train: config } = given.recipe(delay);
    let key = Key::new(given.number("seed", 1));
    let model = Model::new(arch, &init, key).expect("a valid architecture");
    let mut engine = Cpu::new(&model, config.optimiser, given.number("threads", 1));
    let job = Job { split: &split, config: &config, key };
    println!("# {}", given.said);
    println!("{HEADER}");
    let (baseline, begin) = (baseline(delay), Instant::now());
    let mut row = |event: &Event<'_>| {
        if let Event::Evaluated(r) = event {
            let (test, seconds) = (r.valid, begin.elapsed().as_secs_f64());
            println!(
                "{},{:.4},{:e},{:.4},{:.6},{:.6},{:.6},{baseline:.6},{seconds:.1}",
                r.update,
                r.lambda,
                r.learning_rate,
                r.gradient_norm,
                r.task,
                test.loss,
                test.accuracy
            );
        }
        Control::Continue
    };
    let run = train(&mut engine, &job, &mut Nowhere, &mut row).expect("a valid job");
    println!("# {}", run.stop);
}

/// What was given on the command line.
struct Given {
    said: String,
    values: BTreeMap<String, String>,
}

impl Given {
    fn of(arguments: impl Iterator<Item = String>) -> Given {
        let arguments: Vec<String> = arguments.collect();
        let pair = |argument: &String| {
            let (name, value) = argument.split_once('=').expect("arguments are name=value");
            (name.to_string(), value.to_string())
        };
        Given { said: arguments.join(" "), values: arguments.iter().map(pair).collect() }
    }

    fn number<A: std::str::FromStr>(&self, name: &str, default: A) -> A {
        let Some(value) = self.values.get(name) else { return default };
        value.parse().unwrap_or_else(|_| panic!("{name}={value}: give a number"))
    }

    fn recipe(&self, delay: NonZeroUsize) -> Recipe {
        let arch = self.values.get("arch").map_or("sr-lstm-p", String::as_str);
        let sizes = Sizes::copying(arch.parse().expect("an architecture"), delay);
        let sizes = Sizes {
            units: self.number("units", sizes.units),
            k: self.number("k", sizes.k),
            tau: Temperature::new(self.number("tau", 1.0)).expect("a temperature"),
            ..sizes
        };
        let mut recipe = recipe_copying(&sizes, delay);
        let default = recipe.init.chrono.unwrap_or(0);
        recipe.init.chrono = Some(self.number("chrono", default)).filter(|&steps| steps > 0);
        recipe.init.forget_bias = self.number("forget", recipe.init.forget_bias);
        recipe.init.embedding = self.number("embedding", recipe.init.embedding);
        let config = &mut recipe.train;
        config.batch_size = self.number("batch", config.batch_size);
        config.validate_every = self.number("every", 200);
        config.optimiser = self.optimiser(config.optimiser);
        let [first, end] = [0, 1].map(|update| config.learning_rate.at(update, 1));
        let rate = self.number("rate", first);
        let last = self.number("last", rate * end / first);
        config.learning_rate = LearningRate::Cosine { rate, last };
        config.schedule = self.schedule(&config.schedule);
        recipe
    }

    fn optimiser(&self, default: Optimiser) -> Optimiser {
        let rule = match self.values.get("rule").map(String::as_str) {
            None => default.rule,
            Some("adam") => Rule::ADAM,
            Some("rmsprop") => {
                Rule::RmsProp { decay: 0.9, momentum: 0.0, epsilon: 1e-6, centred: false }
            }
            Some(other) => panic!("no rule {other}: adam or rmsprop"),
        };
        Optimiser { rule, clip: self.number("clip", default.clip), ..default }
    }

    fn schedule(&self, default: &Schedule) -> Schedule {
        let updates: u64 = self.number("updates", default.updates());
        let (warmup, ramp) = (self.number("warmup", 0), self.number("ramp", 0));
        Schedule { warmup, ramp, ..Schedule::plain(updates.saturating_sub(warmup + ramp)) }
    }
}
