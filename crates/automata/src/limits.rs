//! What hostile text may cost.

/// What readers accept at most. The defaults keep a reader below 64 MiB beyond its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text. Default 64 MiB.
    pub bytes: usize,
    /// States of an automaton, also of one made from an expression. Default 200,000.
    pub states: usize,
    /// Symbols of an alphabet. Default 65,536.
    pub symbols: usize,
    /// Entries of a transition table, states × symbols. Default 8,000,000.
    pub entries: usize,
    /// Groups within groups of an expression. Default 250: a parser that calls itself that often
    /// stays far from the end of a 2 MiB stack.
    pub depth: usize,
    /// Characters of an expression read; symbols and operators of one made from an automaton, whose
    /// size can grow exponentially with the states. Default 100,000.
    pub expression: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes: 64 << 20,
            states: 200_000,
            symbols: 65_536,
            entries: 8_000_000,
            depth: 250,
            expression: 100_000,
        }
    }
}
