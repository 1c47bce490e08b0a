//! Turns what readers find into numbered tokens and labels, within limits.

use std::collections::HashMap;

use crate::task::summary::repeats;
use crate::task::{Dataset, Sequence};

use super::error::{Cause, Fault, LONGEST_NAME, fault};
use super::options::{Contradictions, Limits, ReadOptions, Tokens, Unlabelled, is_blank};
use super::samples::Samples;

/// Collects sequences one by one.
pub(super) struct Collector<'a> {
    options: &'a ReadOptions,
    /// Remains a guess while no text has held a blank; until then texts are read by character.
    tokens: Tokens,
    symbols: Names,
    classes: Names,
    sequences: Vec<Sequence>,
    lines: Vec<u64>,
    /// Which sequences came as texts, and so depend on the guess.
    texts: Vec<bool>,
    unlabelled: usize,
    /// PERF: the numbers of ASCII characters, once known: 41 MB of characters read in 0.5
    /// instead of 1.2 s without a hash for each.
    ascii: [Option<u32>; 128],
}

/// Names with their numbers, in the order of their first appearance.
#[derive(Default)]
pub(super) struct Names(HashMap<String, u32>);

impl Names {
    /// The number of a name; nothing if it is new and there are `limit` already.
    pub(super) fn id(&mut self, name: &str, limit: usize) -> Option<u32> {
        if let Some(&id) = self.0.get(name) {
            return Some(id);
        }
        let id = self.0.len();
        if id >= limit.min(u32::MAX as usize) {
            return None;
        }
        self.0.insert(name.into(), id as u32);
        Some(id as u32)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The names by number.
    pub(super) fn in_order(self) -> Vec<String> {
        let mut pairs: Vec<(String, u32)> = self.0.into_iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.1);
        pairs.into_iter().map(|(name, _)| name).collect()
    }

    /// The names sorted, and for each old number the new one.
    fn sorted(self) -> (Vec<String>, Vec<u32>) {
        let mut pairs: Vec<(String, u32)> = self.0.into_iter().collect();
        pairs.sort_unstable();
        let mut renumber = vec![0; pairs.len()];
        for (new, (_, old)) in pairs.iter().enumerate() {
            renumber[*old as usize] = new as u32;
        }
        (pairs.into_iter().map(|(name, _)| name).collect(), renumber)
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(options: &'a ReadOptions) -> Self {
        Collector {
            options,
            tokens: options.tokens.clone(),
            symbols: Names::default(),
            classes: Names::default(),
            sequences: Vec::new(),
            lines: Vec::new(),
            texts: Vec::new(),
            unlabelled: 0,
            ascii: [None; 128],
        }
    }

    /// How many different tokens were met.
    pub(super) fn symbols(&self) -> usize {
        self.symbols.len()
    }

    /// Whether sequences without a label are wanted.
    pub(super) fn keeps_unlabelled(&self) -> bool {
        self.options.unlabelled == Unlabelled::Keep
    }

    /// A sequence that is known to be without a label on purpose.
    pub(super) fn skip(&mut self) {
        self.unlabelled += 1;
    }

    /// A sequence as a text, to be divided by the options' rule.
    pub(super) fn text(&mut self, line: u64, text: &str, label: &str) -> Result<(), Fault> {
        if !self.is_labelled(line, label)? {
            return Ok(());
        }
        if self.tokens == Tokens::Guess && text.trim_ascii().contains(is_blank) {
            self.guess_whitespace(line)?;
        }
        let mut buffer = [0; 4];
        let tokens = match &self.tokens {
            Tokens::Guess => self.characters(line, text.trim_ascii(), &mut buffer),
            Tokens::Characters => self.characters(line, text, &mut buffer),
            Tokens::Whitespace => self.encode(line, text.split_ascii_whitespace()),
            Tokens::Separator(_) if text.is_empty() => Ok(Vec::new()),
            Tokens::Separator(separator) => {
                let separator = separator.clone();
                if let Some(position) = text.split(&separator).position(str::is_empty) {
                    return Err(Cause::EmptyToken { position: position + 1, separator }.at(line));
                }
                self.encode(line, text.split(&separator))
            }
        }?;
        self.push(line, tokens, label, true)
    }

    /// A sequence whose tokens are known.
    pub(super) fn list<'t>(
        &mut self,
        line: u64,
        tokens: impl Iterator<Item = &'t str>,
        label: &str,
    ) -> Result<(), Fault> {
        if !self.is_labelled(line, label)? {
            return Ok(());
        }
        let tokens = self.encode(line, tokens)?;
        self.push(line, tokens, label, false)
    }

    /// What was collected, tokens and classes sorted by name.
    pub(super) fn finish(self, file: &str) -> Result<Samples, Fault> {
        if self.sequences.is_empty() {
            return Err(fault(Cause::Empty));
        }
        let tokens = self.settled_rule();
        let (alphabet, new_symbol) = self.symbols.sorted();
        let (classes, new_class) = self.classes.sorted();
        let mut sequences = self.sequences;
        for sequence in &mut sequences {
            sequence.label = new_class[sequence.label as usize];
            for token in &mut sequence.tokens {
                *token = new_symbol[*token as usize];
            }
        }
        let samples = Samples {
            file: file.into(),
            data: Dataset { alphabet, classes, sequences },
            lines: self.lines,
            tokens,
            texts: self.texts.iter().filter(|&&text| text).count(),
            unlabelled: self.unlabelled,
        };
        if self.options.contradictions == Contradictions::Refuse {
            refuse_contradictions(&samples)?;
        }
        Ok(samples)
    }

    /// Whether a row counts. Asked before its tokens are read: they must not reach the alphabet
    /// if it does not.
    fn is_labelled(&mut self, line: u64, label: &str) -> Result<bool, Fault> {
        match self.options.unlabelled {
            _ if !label.is_empty() => Ok(true),
            Unlabelled::Keep => Ok(true),
            Unlabelled::Refuse => Err(Cause::Unlabelled.at(line)),
            Unlabelled::Skip => {
                self.skip();
                Ok(false)
            }
        }
    }

    fn push(&mut self, line: u64, tokens: Vec<u32>, label: &str, text: bool) -> Result<(), Fault> {
        let Limits { max_sequences, max_classes, .. } = self.options.limits;
        if self.sequences.len() >= max_sequences {
            return Err(too_much("sequences", max_sequences, "max-sequences").at(line));
        }
        check_name(label).map_err(|cause| cause.at(line))?;
        let label = self.classes.id(label, max_classes);
        let label =
            label.ok_or_else(|| too_much("classes", max_classes, "max-classes").at(line))?;
        self.sequences.push(Sequence { tokens, label });
        self.lines.push(line);
        self.texts.push(text);
        Ok(())
    }

    fn characters(
        &mut self,
        line: u64,
        text: &str,
        buffer: &mut [u8; 4],
    ) -> Result<Vec<u32>, Fault> {
        let mut tokens = Vec::new();
        for c in text.chars() {
            let known = self.ascii.get(c as usize).copied().flatten();
            match known.filter(|_| tokens.len() < self.options.limits.max_tokens) {
                Some(id) => tokens.push(id),
                None => self.add_token(line, c.encode_utf8(buffer), &mut tokens)?,
            }
            if let Some(entry) = self.ascii.get_mut(c as usize) {
                *entry = tokens.last().copied();
            }
        }
        tokens.shrink_to_fit();
        Ok(tokens)
    }

    fn encode<'t>(
        &mut self,
        line: u64,
        names: impl Iterator<Item = &'t str>,
    ) -> Result<Vec<u32>, Fault> {
        let mut tokens = Vec::new();
        for name in names {
            self.add_token(line, name, &mut tokens)?;
        }
        tokens.shrink_to_fit();
        Ok(tokens)
    }

    fn add_token(&mut self, line: u64, name: &str, tokens: &mut Vec<u32>) -> Result<(), Fault> {
        let Limits { max_tokens, max_alphabet, .. } = self.options.limits;
        if tokens.len() >= max_tokens {
            return Err(too_much("tokens in a sequence", max_tokens, "max-tokens").at(line));
        }
        check_name(name).map_err(|cause| cause.at(line))?;
        let id = self.symbols.id(name, max_alphabet);
        tokens.push(
            id.ok_or_else(|| too_much("different tokens", max_alphabet, "max-alphabet").at(line))?,
        );
        Ok(())
    }

    /// A text with a blank has come: every text before it was one word, not characters. This
    /// spares a second pass over the file, which may be a pipe.
    fn guess_whitespace(&mut self, line: u64) -> Result<(), Fault> {
        self.tokens = Tokens::Whitespace;
        let names = std::mem::take(&mut self.symbols).in_order();
        let mut sequences = std::mem::take(&mut self.sequences);
        let texts = std::mem::take(&mut self.texts);
        for (sequence, text) in sequences.iter_mut().zip(&texts) {
            let parts = sequence.tokens.iter().map(|&id| names[id as usize].as_str());
            sequence.tokens = if *text {
                let word: String = parts.collect();
                self.encode(line, word.split_ascii_whitespace())?
            } else {
                self.encode(line, parts)?
            };
        }
        (self.sequences, self.texts) = (sequences, texts);
        Ok(())
    }

    /// The rule that later texts are to be divided by.
    fn settled_rule(&self) -> Tokens {
        let one_character = |name: &String| name.chars().nth(1).is_none();
        match &self.tokens {
            Tokens::Guess if self.symbols.0.keys().all(one_character) => Tokens::Characters,
            Tokens::Guess => Tokens::Whitespace,
            settled => settled.clone(),
        }
    }
}

/// Refuses a name that a model could not hold, before anything is trained on it.
pub(super) fn check_name(name: &str) -> Result<(), Cause> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Cause::LongName { bytes: name.len(), start: name.chars().take(20).collect() })
}

/// The error about a limit of this name.
pub(super) fn too_much(what: &'static str, limit: usize, field: &'static str) -> Cause {
    Cause::TooMuch { what, limit: limit as u64, field }
}

fn refuse_contradictions(samples: &Samples) -> Result<(), Fault> {
    let (_, found) = repeats(&samples.data.sequences);
    let Some(one) = found.first() else { return Ok(()) };
    let label = |at: usize| samples.data.classes[samples.data.sequences[at].label as usize].clone();
    let cause = Cause::Contradiction {
        first: label(one.first),
        first_line: samples.lines[one.first],
        second: label(one.second),
        count: found.len(),
    };
    Err(cause.at(samples.lines[one.second]))
}
