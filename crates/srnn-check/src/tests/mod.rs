//! Tests of what is not public: the elementary functions against an oracle, and the enclosures
//! against points.

#[path = "../../tests/common/mod.rs"]
mod common;
mod functions;
mod single;
mod soundness;
mod twofold;
