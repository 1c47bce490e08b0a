//! Flags of every verb that takes automata of different making.

use clap::Args;

/// How symbols and classes of what was named are meant.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// The symbols of expressions: characters, or names between commas; by default those of the
    /// other automaton, or else those that are named.
    #[arg(long, value_name = "SYMBOLS")]
    pub alphabet: Option<String>,
    /// The class that means yes, where one of the two only says yes or no.
    #[arg(long, value_name = "CLASS")]
    pub accept: Option<String>,
    /// The class of words whose transitions are not known.
    #[arg(long, value_name = "CLASS")]
    pub missing: Option<String>,
}
