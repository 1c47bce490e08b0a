//! State-regularized recurrent networks (Wang & Niepert, ICML 2019), and the automata they learn.
//!
//! [`learn`](learn::learn) does the whole job: it trains several seeds, keeps the best, extracts its
//! automaton and proves that network and automaton agree on every word.
//!
//! ```
//! use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
//! use srnn::task::tomita::Grammar;
//!
//! // Words over {0, 1} without a 0, made as the paper makes them.
//! let data = LearnData::tomita(Grammar::T1);
//! let mut request = LearnRequest::new(&data);
//! # request.recipe.train.schedule = request.recipe.train.schedule.scaled_to(600);
//! request.seeds = vec![1, 2];
//! let learned = learn(&request, &NoCallbacks)?;
//!
//! assert_eq!(learned.valid.accuracy, 1.0);
//! assert!(learned.is_proved());
//! assert_eq!(learned.automaton().unwrap().state_count(), 2);
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! learned.save("runs/tomita-1")?; // model/, automaton/, certificate.json, result.json
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`engine`] holds models and what computes them, [`train`] the training loop, [`extract`] and
//! [`certify`] automata and proofs, [`task`] data, [`report`] and [`render`] what people read.

pub mod certify;
pub mod experiment;
pub mod explain;
pub mod extract;
pub mod files;
pub mod format;
pub mod learn;
pub mod noise;
pub mod notation;
pub mod render;
pub mod report;
pub mod run;
pub mod stream;
pub mod task;
pub mod train;
mod user_error;

pub use srnn_engine as engine;
pub use srnn_engine::{atomic, key, model};
pub use user_error::UserError;
