//! How the texts that a model reads become tokens.

use serde::{Deserialize, Serialize};

/// How a text in natural language becomes tokens. The engines never see texts: `srnn::task::text`
/// has the tokenizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokenizer {
    /// The tokens of the Moses tokenizer for English with its default options, lower-cased.
    MosesLowerCase,
}

impl Tokenizer {
    /// All tokenizers.
    pub const ALL: [Tokenizer; 1] = [Tokenizer::MosesLowerCase];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::MosesLowerCase => "moses-lower-case",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_name_of_a_tokenizer() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(serde_json::to_value(tokenizer).unwrap(), tokenizer.name());
        }
    }
}
