//! What `learn` and `resume` share: settings, data, the run folder, the job, and how it is shown.

mod advice;
mod automata;
mod budget;
mod folder;
mod labels;
mod material;
mod metrics;
mod perform;
mod progress;
mod report;
mod result;
mod settings;
mod watcher;

pub use automata::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};
pub use budget::{check_memory, parse_bytes};
pub use folder::{Place, RunFolder, failed, locked};
pub use material::Material;
pub use perform::{Order, finished, perform};
pub use settings::{Data, Network, Resolved, Settings, says_nothing};

use crate::words::{grouped, percent};
