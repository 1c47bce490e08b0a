//! State-regularized recurrent networks (Wang & Niepert, ICML 2019), and the automata they learn.

pub mod key;
pub mod render;
