//! Code that `learn` and `resume` share: settings, data, and the job itself.

mod budget;
mod callbacks;
mod data;
mod job;
mod next_job;
mod next_settings;
mod page;
mod progress;
mod resolve;
mod settings;

pub use budget::{
    bytes as memory_text, check_memory, default_limit as default_memory_limit, parse_bytes,
};
pub use data::{data_record, data_warnings, describe_data, read_data};
pub use job::{LearnJob, finished_result, run_job};
pub use next_job::{
    NextJob, describe_tokens, digests as tokens_digests, next_plan, read_tokens, run_next_job,
    tokens_record,
};
pub use next_settings::ResolvedNext;
pub use resolve::Resolved;
pub use settings::{ComparisonSettings, DataSettings, NetworkSettings, Settings, is_unset};
