//! Flags of verbs that compare automata.

use clap::Args;

/// Alphabet and classes of automata that do not define them.
#[derive(Args, Clone, Debug)]
pub struct AutomatonFlags {
    /// The alphabet of regular expressions: characters, or names separated by commas [default: that
    /// of the other automaton, or the symbols in the expressions].
    #[arg(long, value_name = "SYMBOLS")]
    pub alphabet: Option<String>,
    /// The accepting class, if one of the two is an acceptor.
    #[arg(long, value_name = "CLASS")]
    pub accept: Option<String>,
    /// The class of words with missing transitions.
    #[arg(long, value_name = "CLASS")]
    pub missing: Option<String>,
}
