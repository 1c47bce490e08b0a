//! Results and errors of verbs, and their exit codes.

use crate::output::shorten;
use serde_json::{Value, json};
use srnn::UserError;
use std::any::Any;

/// The result of a verb that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1: not equal, below `--fail-under`, not certified, and the like.
    No,
    /// Exit code 2: the result was printed, but a file could not be written.
    Unsaved,
}

/// An error that ended a verb.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong, with file and line if known.
    pub message: String,
    /// What to do about it; may be empty.
    pub remedy: String,
    /// 2 for errors, 130 when interrupted.
    pub code: u8,
}

impl Failure {
    /// An error with exit code 2.
    pub fn new(message: impl ToString, remedy: impl ToString) -> Failure {
        Failure { message: message.to_string(), remedy: remedy.to_string(), code: 2 }
    }

    /// The error as a JSON object.
    pub fn value(&self) -> Value {
        let Failure { message, remedy, code } = self;
        let [message, remedy] = [message, remedy].map(|text| shorten(text));
        json!({ "error": message, "remedy": remedy, "code": code })
    }

    /// An interruption with exit code 130; the remedy says how to continue.
    pub fn interrupted(message: impl ToString, remedy: impl ToString) -> Failure {
        Failure { code: 130, ..Failure::new(message, remedy) }
    }
}

/// Takes the remedy of a [`UserError`]; other errors have it in their message.
impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        match (&error as &dyn Any).downcast_ref::<UserError>() {
            Some(UserError { message, remedy }) => Failure::new(message, remedy),
            None => Failure::new(error, ""),
        }
    }
}
