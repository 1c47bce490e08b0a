//! DOT, as AALpy writes it and the Automata Wiki describes it.
//!
//! A DFA: accepting states are double circles, an edge's label is its symbol, and an edge without a
//! label from a node that is no state marks the start.
//!
//! ```text
//! digraph "even" {
//! s0 [label="s0", shape=doublecircle];
//! s1 [label="s1"];
//! s0 -> s0 [label="0"];
//! s0 -> s1 [label="1"];
//! s1 -> s1 [label="0"];
//! s1 -> s0 [label="1"];
//! __start0 [label="", shape=none];
//! __start0 -> s0 [label=""];
//! }
//! ```
//!
//! A Moore machine has its outputs in the states' labels, `"s0|output"`. The reader also takes labels
//! joined by commas or line breaks (`"0, 1"`), with or without quotes, comments, node defaults and
//! chains of edges. A comma within brackets joins nothing: `"(1, 2)"` is one symbol.
//!
//! States are numbered in the order in which they are named, and their names are not kept. Symbols
//! and outputs that would be misread are escaped (`\,`, `\/`, `\|`, `&#10;`), so that whatever is
//! written is read back as it was.

mod label;
mod syntax;

use super::{NameTable, TextEdge, TextError, assemble, check_bytes, error, keep};
use crate::limits::Limits;
use crate::moore::{Dfa, Moore};
use crate::partial::Partial;
use label::Label;
use syntax::{Attributes, Statement, Statements};

/// Reads a DFA. AALpy leaves no transition out; where a file does, they are unknown in the result.
pub fn read_dfa(text: &str, limits: &Limits) -> Result<Partial<bool>, TextError> {
    let graph = DotGraph::read(text, limits)?;
    let accepts = graph.nodes.iter().any(|node| node.accepting);
    let states_with_output = graph.states().filter(|node| node.output.is_some()).count();
    if !accepts && states_with_output > 0 && states_with_output == graph.states().count() {
        return Err(error(
            1,
            "every state has an output (\"name|output\") and none is a double circle",
            "read it as a Moore machine",
        ));
    }
    graph.finish(limits, |node| Ok(node.accepting))
}

/// Reads a Moore machine; outputs are text.
pub fn read_moore(text: &str, limits: &Limits) -> Result<Partial<String>, TextError> {
    DotGraph::read(text, limits)?.finish(limits, |node| {
        node.output.clone().ok_or_else(|| {
            error(
                node.line as usize,
                "this state has no output",
                "label it \"name|output\", or read the text as a DFA",
            )
        })
    })
}

/// Writes a DFA under a graph name.
pub fn write_dfa(dfa: &Dfa, name: &str) -> String {
    write(dfa, name, |state, &accepting| {
        let shape = if accepting { ", shape=doublecircle" } else { "" };
        format!("label=\"{state}\"{shape}")
    })
}

/// Writes a Moore machine under a graph name.
pub fn write_moore<O: std::fmt::Display>(moore: &Moore<O>, name: &str) -> String {
    write(moore, name, |state, output| {
        let output = label::escape(&output.to_string());
        format!("label=\"{state}|{output}\", shape=record, style=rounded")
    })
}

fn write<O>(moore: &Moore<O>, name: &str, attributes: impl Fn(&str, &O) -> String) -> String {
    let mut text = format!("digraph \"{}\" {{\n", label::escape(name));
    for state in moore.states() {
        let name = format!("s{}", state.0);
        let attributes = attributes(&name, moore.output(state));
        text.push_str(&format!("{name} [{attributes}];\n"));
    }
    let symbols: Vec<String> = moore.alphabet().names().iter().map(|n| label::escape(n)).collect();
    for from in moore.states() {
        for (symbol, to) in symbols.iter().zip(moore.successors(from)) {
            text.push_str(&format!("s{} -> s{} [label=\"{symbol}\"];\n", from.0, to.0));
        }
    }
    text.push_str("__start0 [label=\"\", shape=none];\n");
    text.push_str(&format!("__start0 -> s{} [label=\"\"];\n}}\n", moore.start().0));
    text
}

/// What the text says about a node.
#[derive(Clone, Default)]
struct DotNode {
    line: u32,
    accepting: bool,
    output: Option<String>,
    /// Drawn as nothing, or named as AALpy names the mark of the start.
    ghostly: bool,
    entered: bool,
}

/// An edge without a label: it may mark the start.
struct UnlabelledEdge {
    line: u32,
    from: u32,
    to: u32,
}

#[derive(Default)]
struct DotGraph {
    names: NameTable,
    nodes: Vec<DotNode>,
    default: DotNode,
    symbols: NameTable,
    edges: Vec<TextEdge>,
    bare: Vec<UnlabelledEdge>,
    /// Edges whose label has a slash: all of them in a Mealy machine.
    slashes: usize,
    lines: usize,
}

impl DotGraph {
    fn read(text: &str, limits: &Limits) -> Result<DotGraph, TextError> {
        check_bytes(text, limits)?;
        let mut graph = DotGraph { lines: text.lines().count().max(1), ..DotGraph::default() };
        let mut statements = Statements::new(text)?;
        while let Some((line, statement)) = statements.next()? {
            match statement {
                Statement::Defaults(attributes) => apply(&mut graph.default, &attributes),
                Statement::Node(name, attributes) => {
                    let node = graph.node(line, &name, limits)?;
                    apply(&mut graph.nodes[node as usize], &attributes);
                }
                Statement::Edges(names, attributes) => {
                    graph.add_edges(line, &names, &attributes, limits)?;
                }
            }
        }
        graph.refuse_mealy()?;
        Ok(graph)
    }

    fn node(&mut self, line: usize, name: &str, limits: &Limits) -> Result<u32, TextError> {
        // One more than there may be states: the mark of the start is a node, too.
        let limit = limits.states.saturating_add(1);
        let number = self.names.number(name, line, "nodes", limit)?;
        if number as usize == self.nodes.len() {
            let ghostly = self.default.ghostly || name.starts_with("__start");
            self.nodes.push(DotNode { line: line as u32, ghostly, ..self.default.clone() });
        }
        Ok(number)
    }

    fn add_edges(
        &mut self,
        line: usize,
        names: &[String],
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<(), TextError> {
        let symbols = match &attributes.label {
            Some(text) => self.symbols_of(line, &Label::decode(text), limits)?,
            None => Vec::new(),
        };
        let nodes = names.iter().map(|name| self.node(line, name, limits));
        let nodes = nodes.collect::<Result<Vec<u32>, TextError>>()?;
        let line = line as u32;
        for pair in nodes.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            self.nodes[to as usize].entered = true;
            if symbols.is_empty() {
                self.bare.push(UnlabelledEdge { line, from, to });
            }
            for &symbol in &symbols {
                keep(&mut self.edges, TextEdge { line, from, symbol, to }, limits)?;
            }
        }
        Ok(())
    }

    fn symbols_of(
        &mut self,
        line: usize,
        label: &Label,
        limits: &Limits,
    ) -> Result<Vec<u32>, TextError> {
        let names = label.symbols();
        self.slashes += usize::from(label.has_slash()) * names.len();
        let number = |name: &String| self.symbols.number(name, line, "symbols", limits.symbols);
        names.iter().map(number).collect()
    }

    fn refuse_mealy(&self) -> Result<(), TextError> {
        let acceptor = self.nodes.iter().any(|node| node.accepting || node.output.is_some());
        if acceptor || self.edges.is_empty() || self.slashes < self.edges.len() {
            return Ok(());
        }
        Err(error(
            self.edges[0].line as usize,
            "every transition has an output (\"input/output\"): this is a Mealy machine",
            "only DFAs and Moore machines are read; write `\\/` where a slash belongs to a symbol",
        ))
    }

    /// Whether a node only marks the start.
    fn is_mark(&self, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.ghostly && !node.entered
    }

    fn states(&self) -> impl Iterator<Item = &DotNode> {
        let marks = (0..self.nodes.len() as u32).map(|node| self.is_mark(node));
        self.nodes.iter().zip(marks).filter(|(_, mark)| !mark).map(|(node, _)| node)
    }

    fn start(&self) -> Result<u32, TextError> {
        if let Some(bare) = self.bare.iter().find(|bare| !self.is_mark(bare.from)) {
            return Err(error(
                bare.line as usize,
                format!("the edge from {:?} has no label", self.names.names[bare.from as usize]),
                "give it the symbol it reads, as in `s0 -> s1 [label=\"a\"];`",
            ));
        }
        match self.bare.as_slice() {
            [] => Err(error(self.lines, "nothing marks the start", "add `__start0 -> s0;`")),
            [first, rest @ ..] => match rest.iter().find(|bare| bare.to != first.to) {
                Some(second) => {
                    let remedy = format!("line {} has the first; keep one", first.line);
                    Err(error(second.line as usize, "a second start is marked", remedy))
                }
                None => Ok(first.to),
            },
        }
    }

    fn finish<O>(
        mut self,
        limits: &Limits,
        output: impl Fn(&DotNode) -> Result<O, TextError>,
    ) -> Result<Partial<O>, TextError> {
        let start = self.start()?;
        let mut place = Vec::with_capacity(self.nodes.len());
        let mut count = 0;
        for node in 0..self.nodes.len() as u32 {
            place.push(count);
            count += u32::from(!self.is_mark(node));
        }
        if count as usize > limits.states {
            return Err(super::too_many(self.lines, "states", limits.states));
        }
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            if self.is_mark(edge.from) {
                return Err(error(
                    edge.line as usize,
                    "the edge that marks the start has a label",
                    "remove the label, or give the node a visible shape",
                ));
            }
            (edge.from, edge.to) = (place[edge.from as usize], place[edge.to as usize]);
        }
        let outputs = self.states().map(output).collect::<Result<Vec<O>, TextError>>()?;
        assemble(self.symbols.names, place[start as usize], outputs, &edges, limits)
    }
}

fn apply(node: &mut DotNode, attributes: &Attributes) {
    if let Some(shape) = &attributes.shape {
        node.accepting = shape == "doublecircle";
        node.ghostly |= ["none", "point", "plaintext", "plain"].contains(&shape.as_str());
    }
    node.ghostly |= attributes.style.as_deref() == Some("invis");
    if let Some(label) = &attributes.label {
        node.output = Label::decode(label).output();
    }
}

#[cfg(test)]
mod tests;
