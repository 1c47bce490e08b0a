//! Plain data in, text out: pictures and tables.
//!
//! Nothing here knows a model or a file. What users call things (symbols, classes, titles) is data:
//! it is escaped for the format it is written into.

pub mod bars;
pub mod chart;
pub mod dfa;
pub mod heat;
pub mod lines;
pub mod pushdown;
mod svg;
pub mod table;
#[cfg(test)]
mod testing;
