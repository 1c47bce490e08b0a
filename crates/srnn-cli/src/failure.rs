//! How a verb ends.

use serde_json::{Value, json};
use srnn::UserError;
use std::any::Any;

/// A verb that ran to its end: was the answer yes?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1: not equal, below `--fail-under`, not certified.
    No,
    /// Exit code 2: the answer was given, but a file that it should leave could not be written.
    Unsaved,
}

/// A verb that could not run to its end.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it; empty where the message says it.
    pub remedy: String,
    /// 2 for errors, 130 when interrupted.
    pub code: u8,
}

impl Failure {
    /// An error with its remedy.
    pub fn new(message: impl ToString, remedy: impl ToString) -> Failure {
        Failure { message: message.to_string(), remedy: remedy.to_string(), code: 2 }
    }

    /// As an object.
    pub fn value(&self) -> Value {
        let Failure { message, remedy, code } = self;
        json!({ "error": message, "remedy": remedy, "code": code })
    }

    /// Ctrl-C: what was saved, and how to go on.
    pub fn interrupted(message: impl ToString, remedy: impl ToString) -> Failure {
        Failure { code: 130, ..Failure::new(message, remedy) }
    }
}

/// A [`UserError`] has its remedy apart; other errors of the library say it in their message.
impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        match (&error as &dyn Any).downcast_ref::<UserError>() {
            Some(UserError { message, remedy }) => Failure::new(message, remedy),
            None => Failure::new(error, ""),
        }
    }
}
