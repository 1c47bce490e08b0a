//! State-regularized recurrent networks (Wang & Niepert, ICML 2019), and the automata they learn.
//!
//! [`learn`](learn::learn) runs the whole pipeline: it trains several seeds, selects the best,
//! extracts its automaton and proves that network and automaton agree on every word.
//!
//! ```
//! use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
//! use srnn::task::tomita::Grammar;
//!
//! // The paper's sets of words over {0, 1}; words without a 0 are accepted.
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
//! [`task`] provides data, [`engine`] models and the programs that run and train them, [`train`] the
//! training loop, [`extract`] automata, [`certify`] proofs, [`report`] and [`render`] text, JSON and
//! pictures.

#![forbid(unsafe_code)]

pub mod bench;
pub mod certify;
pub mod compile;
pub mod experiment;
pub mod explain;
pub mod extract;
pub mod files;
pub mod format;
pub mod learn;
pub mod next;
pub mod noise;
pub mod notation;
pub mod page;
pub mod render;
pub mod report;
pub mod run;
pub mod stream;
pub mod task;
pub mod train;
mod user_error;

pub use srnn_engine as engine;
pub use user_error::UserError;

use srnn_engine::{atomic, key, model};
