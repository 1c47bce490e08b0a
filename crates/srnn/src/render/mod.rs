//! Plain data in, text out: pictures and tables.
//!
//! Nothing here knows a model or a file. What users call things (symbols, classes, titles) is data:
//! it is escaped for the format it is written into.

pub mod dfa;
mod svg;
pub mod table;
