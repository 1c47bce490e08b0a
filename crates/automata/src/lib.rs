//! Finite automata as values.
