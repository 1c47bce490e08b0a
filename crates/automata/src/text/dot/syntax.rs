//! The grammar of DOT without subgraphs, one statement at a time.

use crate::text::{TextError, error};

/// The attributes of a statement that are relevant for automata. Escapes in values are not resolved.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) label: Option<String>,
    pub(super) shape: Option<String>,
    pub(super) style: Option<String>,
}

pub(super) enum Statement {
    /// Default attributes of nodes that first appear after this statement.
    Defaults(Attributes),
    Node(String, Attributes),
    /// A chain of at least two nodes.
    Edges(Vec<String>, Attributes),
}

pub(super) struct Statements<'a> {
    lexer: Lexer<'a>,
    next: Option<(usize, DotToken)>,
    line: usize,
}

/// Limits the length of a statement, because the parser holds a whole statement in memory.
const LONGEST_CHAIN: usize = 10_000;

impl Attributes {
    /// Sets an attribute; the last value of a name wins.
    fn set(&mut self, name: &str, value: String) {
        match name {
            "label" => self.label = Some(value),
            "shape" => self.shape = Some(value),
            "style" => self.style = Some(value),
            _ => {}
        }
    }
}

impl<'a> Statements<'a> {
    /// Parses the text up to the opening brace.
    pub(super) fn new(text: &'a str) -> Result<Statements<'a>, TextError> {
        let mut this = Statements { lexer: Lexer { text, line: 1 }, next: None, line: 1 };
        this.advance()?;
        this.take_word("strict")?;
        if !this.take_word("digraph")? {
            let remedy = "begin with `digraph name {`";
            return Err(error(this.line, "this is not a directed graph in DOT", remedy));
        }
        if !this.is(&DotToken::Sign('{')) {
            this.identifier()?;
        }
        this.expect('{')?;
        Ok(this)
    }

    /// The next relevant statement with its line; `None` at the end of the graph.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Statement)>, TextError> {
        loop {
            while self.take(';')? {}
            if self.take('}')? {
                return self.end();
            }
            let line = self.line();
            if let Some(statement) = self.statement()? {
                return Ok(Some((line, statement)));
            }
        }
    }

    fn end(&mut self) -> Result<Option<(usize, Statement)>, TextError> {
        match self.next {
            None => Ok(None),
            Some(_) => {
                let remedy = "keep one graph in a text";
                Err(error(self.line(), "there is text after the end of the graph", remedy))
            }
        }
    }

    fn statement(&mut self) -> Result<Option<Statement>, TextError> {
        for word in ["graph", "edge"] {
            if self.take_word(word)? {
                self.attributes()?;
                return Ok(None);
            }
        }
        if self.take_word("node")? {
            return Ok(Some(Statement::Defaults(self.attributes()?)));
        }
        if self.is_word("subgraph") || self.is(&DotToken::Sign('{')) {
            let remedy = "move its statements into the graph itself";
            return Err(error(self.line(), "subgraphs are not supported", remedy));
        }
        let mut names = vec![self.identifier()?];
        if self.take('=')? {
            self.identifier()?;
            return Ok(None);
        }
        self.skip_port()?;
        while self.is(&DotToken::Arrow) {
            self.advance()?;
            names.push(self.identifier()?);
            if names.len() > LONGEST_CHAIN {
                let cause = format!("a chain of more than {LONGEST_CHAIN} edges");
                return Err(error(self.line(), cause, "write one statement per edge"));
            }
            self.skip_port()?;
        }
        let attributes = self.attributes()?;
        Ok(Some(match names.len() {
            1 => Statement::Node(names.swap_remove(0), attributes),
            _ => Statement::Edges(names, attributes),
        }))
    }

    fn skip_port(&mut self) -> Result<(), TextError> {
        while self.take(':')? {
            self.identifier()?;
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<Attributes, TextError> {
        let mut attributes = Attributes::default();
        while self.take('[')? {
            while !self.take(']')? {
                let name = self.identifier()?;
                let value = match self.take('=')? {
                    true => self.identifier()?,
                    false => "true".to_string(),
                };
                attributes.set(&name, value);
                if !self.take(',')? {
                    self.take(';')?;
                }
            }
        }
        Ok(attributes)
    }

    fn identifier(&mut self) -> Result<String, TextError> {
        match self.next.take() {
            Some((_, DotToken::Word(text) | DotToken::Quoted(text))) => {
                self.advance()?;
                Ok(text)
            }
            other => Err(unexpected(self.line, other, "a name")),
        }
    }

    fn expect(&mut self, sign: char) -> Result<(), TextError> {
        match self.take(sign)? {
            true => Ok(()),
            false => Err(unexpected(self.line, self.next.take(), &format!("`{sign}`"))),
        }
    }

    fn take(&mut self, sign: char) -> Result<bool, TextError> {
        let found = self.is(&DotToken::Sign(sign));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take_word(&mut self, word: &str) -> Result<bool, TextError> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn is(&self, token: &DotToken) -> bool {
        self.next.as_ref().is_some_and(|(_, next)| next == token)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.next, Some((_, DotToken::Word(next))) if next.eq_ignore_ascii_case(word))
    }

    fn line(&self) -> usize {
        self.next.as_ref().map_or(self.line, |(line, _)| *line)
    }

    fn advance(&mut self) -> Result<(), TextError> {
        self.next = self.lexer.token()?;
        self.line = self.next.as_ref().map_or(self.lexer.line, |(line, _)| *line);
        Ok(())
    }
}

fn unexpected(line: usize, token: Option<(usize, DotToken)>, wanted: &str) -> TextError {
    match token {
        None => error(line, "the text ends inside the graph", "close it with `}`"),
        Some((line, token)) => {
            let found = match token {
                DotToken::Word(text) | DotToken::Quoted(text) => {
                    format!("{:?}", text.chars().take(40).collect::<String>())
                }
                DotToken::Arrow => "`->`".to_string(),
                DotToken::Sign(sign) => format!("`{sign}`"),
            };
            error(line, format!("found {found}, expected {wanted}"), "see the DOT language")
        }
    }
}

#[derive(Debug, PartialEq)]
enum DotToken {
    /// Text without quotes, which may be a keyword.
    Word(String),
    /// Text in quotes or angle brackets, which is never a keyword. Escapes are kept.
    Quoted(String),
    Arrow,
    Sign(char),
}

struct Lexer<'a> {
    text: &'a str,
    line: usize,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Option<(usize, DotToken)>, TextError> {
        self.skip_white_space()?;
        let line = self.line;
        let Some(c) = self.text.chars().next() else { return Ok(None) };
        let token = match c {
            '"' => DotToken::Quoted(self.quoted()?),
            '<' => DotToken::Quoted(self.bracketed()?),
            '{' | '}' | '[' | ']' | '=' | ';' | ',' | ':' => {
                self.skip(1);
                DotToken::Sign(c)
            }
            '-' if self.text.starts_with("->") => {
                self.skip(2);
                DotToken::Arrow
            }
            '-' if self.text.starts_with("--") => {
                let remedy = "write `->`: transitions have a direction";
                return Err(error(line, "an edge has no direction (`--`)", remedy));
            }
            c if is_word(c) || c == '-' || c == '.' => DotToken::Word(self.word(c.len_utf8())),
            c => {
                return Err(error(
                    line,
                    format!("{c:?} is not part of DOT"),
                    "put names in quotes",
                ));
            }
        };
        Ok(Some((line, token)))
    }

    /// A name or number. `first` is the byte length of its first character.
    fn word(&mut self, first: usize) -> String {
        let more = self.text[first..].find(|c| !is_word(c) && c != '.');
        let word = self.text[..more.map_or(self.text.len(), |more| first + more)].to_string();
        self.skip(word.len());
        word
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.text.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.text = rest;
    }

    fn skip_white_space(&mut self) -> Result<(), TextError> {
        loop {
            let text = self.text.trim_start();
            self.skip(self.text.len() - text.len());
            if text.starts_with("//") || text.starts_with('#') {
                self.skip(text.find('\n').unwrap_or(text.len()));
            } else if text.starts_with("/*") {
                let end = text
                    .find("*/")
                    .ok_or_else(|| error(self.line, "this comment is not closed", "add `*/`"))?;
                self.skip(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn quoted(&mut self) -> Result<String, TextError> {
        let mut escaped = false;
        let end = self.text[1..].find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        self.delimited(end, "this quote is not closed", "add `\"`")
    }

    fn bracketed(&mut self) -> Result<String, TextError> {
        let mut depth = 1;
        let end = self.text[1..].find(|c| {
            depth += i64::from(c == '<') - i64::from(c == '>');
            depth == 0
        });
        self.delimited(end, "this `<` is not closed", "add `>`")
    }

    /// The text between two delimiters of one byte. `end` is its length.
    fn delimited(
        &mut self,
        end: Option<usize>,
        cause: &str,
        remedy: &str,
    ) -> Result<String, TextError> {
        let end = end.ok_or_else(|| error(self.line, cause, remedy))?;
        let inner = self.text[1..1 + end].to_string();
        self.skip(end + 2);
        Ok(inner)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
