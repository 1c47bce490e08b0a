//! Errors for the person who runs the program.

/// What is wrong and where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// What is wrong, with the file and the place in it.
    pub message: String,
    /// What to do; empty if the message says it.
    pub remedy: String,
}

impl UserError {
    /// An error with its remedy.
    pub fn new(message: impl ToString, remedy: impl ToString) -> UserError {
        UserError { message: message.to_string(), remedy: remedy.to_string() }
    }
}
