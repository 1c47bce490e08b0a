//! Limits for untrusted text.

/// The largest input that parsers accept. With the defaults a parser needs less than 64 MiB beside its
/// input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text. Default 64 MiB.
    pub bytes: usize,
    /// States of an automaton, including one made from an expression. Default 200,000.
    pub states: usize,
    /// Symbols of an alphabet. Default 65,536.
    pub symbols: usize,
    /// Entries of a transition table, states × symbols. Default 8,000,000.
    pub entries: usize,
    /// Nesting depth of groups in an expression. Default 250: the recursion of the parser stays far
    /// below a stack of 2 MiB.
    pub depth: usize,
    /// Characters of a parsed expression. Also the symbols and operators of one made from an
    /// automaton, whose size can be exponential in the states. Default 100,000.
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
