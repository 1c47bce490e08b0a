//! What `learn` and `resume` share: settings, data, and a run from its folder to its answer.

mod budget;
mod data;
mod perform;
mod progress;
mod settings;
mod watcher;

pub use budget::{check_memory, parse_bytes};
pub use data::{account, describe, read_data, warnings};
pub use perform::{LearnJob, finished, perform};
pub use settings::{Data, Network, Resolved, Settings, says_nothing};
