//! Errors with a remedy for the user.

/// An error and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// What is wrong, with file and line if known.
    pub message: String,
    /// What to do about it; may be empty.
    pub remedy: String,
}

impl UserError {
    /// Creates an error from a message and a remedy.
    pub fn new(message: impl ToString, remedy: impl ToString) -> UserError {
        UserError { message: message.to_string(), remedy: remedy.to_string() }
    }
}
