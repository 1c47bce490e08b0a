//! Code that `learn` and `resume` share: settings, data, and the job itself.

mod budget;
mod callbacks;
mod data;
mod job;
mod progress;
mod resolve;
mod settings;

pub use budget::{check_memory, parse_bytes};
pub use data::{LearnSource, data_record, data_warnings, describe_data, read_data};
pub use job::{LearnJob, finished_result, run_job};
pub use resolve::Resolved;
pub use settings::{ComparisonSettings, DataSettings, NetworkSettings, Settings, is_unset};
