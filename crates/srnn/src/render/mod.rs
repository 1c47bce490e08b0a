//! Draws plain data as SVG pictures and text tables.
//!
//! Nothing here depends on a model or a file. Names of symbols and classes and titles are data: they
//! are escaped for the output format.

mod axes;
pub mod bar_chart;
pub mod dfa;
pub mod heat_map;
pub mod line_plot;
mod paint;
pub mod pushdown;
pub mod sparkline;
pub mod stacked_bars;
mod svg;
#[cfg(test)]
mod testing;
pub mod tikz;
pub mod transition_table;

pub use axes::{ChartAxis, ChartTooLarge};
