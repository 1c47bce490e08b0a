//! The tokens of a model and their ids.

use serde::{Deserialize, Serialize};

/// The name of the token that represents all unknown tokens.
pub const UNKNOWN: &str = "<unk>";

/// The tokens of a model. Their names are unique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredVocabulary", into = "StoredVocabulary")]
pub struct Vocabulary {
    symbols: Vec<String>,
    unknown: Option<u32>,
    /// The ids, sorted by name for binary search.
    by_name: Vec<u32>,
}

/// A token that is not in a vocabulary without an unknown token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token {token:?}, number {} of the sequence, was not seen in training", position + 1)]
pub struct UnseenToken {
    /// Its index in the sequence.
    pub position: usize,
    /// The token.
    pub token: String,
}

/// Why a vocabulary is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVocabulary {
    /// Two ids have the same name.
    #[error("the vocabulary has two tokens {0:?}")]
    Duplicate(String),
    /// The id of the unknown token is out of range.
    #[error("the unknown token is number {unknown} of a vocabulary of {symbols}")]
    UnknownOutOfRange {
        /// Its id.
        unknown: u32,
        /// The number of tokens.
        symbols: usize,
    },
}

impl Vocabulary {
    /// A vocabulary in which `symbols[id]` is the name of token `id`; `unknown` is the id of
    /// the token that represents all others.
    pub fn new(symbols: Vec<String>, unknown: Option<u32>) -> Result<Self, BadVocabulary> {
        if let Some(unknown) = unknown.filter(|&id| id as usize >= symbols.len()) {
            return Err(BadVocabulary::UnknownOutOfRange { unknown, symbols: symbols.len() });
        }
        let mut by_name: Vec<u32> = (0..symbols.len() as u32).collect();
        by_name.sort_by_key(|&id| &symbols[id as usize]);
        for pair in by_name.windows(2) {
            if symbols[pair[0] as usize] == symbols[pair[1] as usize] {
                return Err(BadVocabulary::Duplicate(symbols[pair[0] as usize].clone()));
            }
        }
        Ok(Vocabulary { symbols, unknown, by_name })
    }

    /// The name of every token, by id.
    pub fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// The id of the token that represents all unknown tokens.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// The id of a token, or of the unknown token; `None` if there is neither.
    pub fn id(&self, token: &str) -> Option<u32> {
        let named = |&id: &u32| self.symbols[id as usize].as_str().cmp(token);
        self.by_name.binary_search_by(named).ok().map(|at| self.by_name[at]).or(self.unknown)
    }

    /// The ids of tokens.
    pub fn encode(&self, tokens: &[String]) -> Result<Vec<u32>, UnseenToken> {
        let id = |(position, token): (usize, &String)| {
            self.id(token).ok_or_else(|| UnseenToken { position, token: token.clone() })
        };
        tokens.iter().enumerate().map(id).collect()
    }

    /// The names of these ids.
    ///
    /// # Panics
    /// If an id is out of range.
    pub fn decode(&self, ids: &[u32]) -> Vec<String> {
        ids.iter().map(|&id| self.symbols[id as usize].clone()).collect()
    }
}

/// The serialised form. [`Vocabulary::new`] checks it again when it is read.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredVocabulary {
    symbols: Vec<String>,
    unknown: Option<u32>,
}

impl TryFrom<StoredVocabulary> for Vocabulary {
    type Error = BadVocabulary;

    fn try_from(stored: StoredVocabulary) -> Result<Self, BadVocabulary> {
        Vocabulary::new(stored.symbols, stored.unknown)
    }
}

impl From<Vocabulary> for StoredVocabulary {
    fn from(vocabulary: Vocabulary) -> Self {
        StoredVocabulary { symbols: vocabulary.symbols, unknown: vocabulary.unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn encoding_and_decoding_are_inverse_whatever_the_order_of_names() {
        let vocabulary = Vocabulary::new(names("z a m"), None).unwrap();
        let tokens = names("a m z z");
        let ids = vocabulary.encode(&tokens).unwrap();
        assert_eq!(ids, [1, 2, 0, 0]);
        assert_eq!(vocabulary.decode(&ids), tokens);
    }

    #[test]
    fn an_unseen_token_is_an_error_unless_there_is_an_unknown_token() {
        let closed = Vocabulary::new(names("a b"), None).unwrap();
        let unseen = closed.encode(&names("a c")).unwrap_err();
        assert_eq!(unseen, UnseenToken { position: 1, token: "c".into() });
        assert!(unseen.to_string().contains("\"c\", number 2"), "{unseen}");
        let open = Vocabulary::new(names("<unk> a b"), Some(0)).unwrap();
        assert_eq!(open.encode(&names("a c")).unwrap(), [1, 0]);
    }

    #[test]
    fn a_stored_vocabulary_is_checked_when_it_is_read() {
        let vocabulary = Vocabulary::new(names("<unk> a"), Some(0)).unwrap();
        let text = serde_json::to_string(&vocabulary).unwrap();
        assert_eq!(serde_json::from_str::<Vocabulary>(&text).unwrap(), vocabulary);
        for bad in [
            r#"{"symbols":["a","a"],"unknown":null}"#,
            r#"{"symbols":["a"],"unknown":1}"#,
            r#"{"symbols":["a"],"unknown":null,"more":1}"#,
        ] {
            assert!(serde_json::from_str::<Vocabulary>(bad).is_err(), "{bad}");
        }
    }
}
