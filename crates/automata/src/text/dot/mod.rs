//! The DOT format of AALpy and the Automata Wiki.
//!
//! In a DFA, accepting states are double circles and the label of an edge is its symbol. An edge
//! without a label, from a node that is not a state, marks the start.
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
//! A Moore machine has its outputs in the labels of the states, `"s0|output"`. The reader also accepts
//! several symbols per label, separated by commas or line breaks (`"0, 1"`), labels without quotes,
//! comments, node defaults and chains of edges. A comma within brackets does not separate: `"(1, 2)"`
//! is one symbol.
//!
//! The edges of a Mealy machine are labelled `input/output`. It is read as the Moore machine that
//! remembers the last output: the class of a word is the output of its last transition, and that of the
//! empty word is empty.
//!
//! States are numbered in order of appearance, and their names are not kept. The writer escapes symbols
//! and outputs that would be misread (`\,`, `\/`, `\|`, `&#10;`), so a written automaton is read back
//! unchanged.

mod label;
mod mealy;
mod syntax;

use super::{NameTable, TextEdge, TextError, add_edge, build, check_bytes, error};
use crate::limits::Limits;
use crate::moore::{Dfa, Moore};
use crate::partial::Partial;
use label::Label;
use syntax::{Attributes, Statement, Statements};

/// Reads a DFA. Transitions that are missing in the text are unknown in the result.
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

/// Reads a Moore machine with outputs as text.
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

/// Whether the text is a Mealy machine: every edge is labelled `input/output`, and no state accepts or
/// has an output.
pub fn is_mealy(text: &str, limits: &Limits) -> bool {
    DotGraph::parse(text, limits, EdgeLabels::Symbols).is_ok_and(|graph| graph.is_mealy())
}

/// Reads a Mealy machine as a Moore machine with outputs as text; see [the module](self).
pub fn read_mealy(text: &str, limits: &Limits) -> Result<Partial<String>, TextError> {
    let mut graph = DotGraph::parse(text, limits, EdgeLabels::InputsAndOutputs)?;
    let (start, edges) = graph.numbered_edges(limits)?;
    let states = vec![(); graph.states().count()];
    let machine = build(graph.symbols.names, start, states, &edges, limits)?;
    let outputs = mealy::EdgeOutputs { edges, of: graph.edge_outputs, names: graph.outputs.names };
    mealy::to_moore(&machine, &outputs, limits)
}

/// Writes a DFA as a graph of this name.
pub fn write_dfa(dfa: &Dfa, name: &str) -> String {
    write(dfa, name, |state, &accepting| {
        let shape = if accepting { ", shape=doublecircle" } else { "" };
        format!("label=\"{state}\"{shape}")
    })
}

/// Writes a Moore machine as a graph of this name; `show` gives the text of an output.
pub fn write_moore<'a, O>(
    moore: &'a Moore<O>,
    name: &str,
    show: impl Fn(&'a O) -> &'a str,
) -> String {
    write(moore, name, |state, output| {
        let output = label::escape(show(output));
        format!("label=\"{state}|{output}\", shape=record, style=rounded")
    })
}

fn write<'a, O>(
    moore: &'a Moore<O>,
    name: &str,
    attributes: impl Fn(&str, &'a O) -> String,
) -> String {
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

/// The attributes of a node.
#[derive(Clone, Default)]
struct DotNode {
    line: u32,
    accepting: bool,
    output: Option<String>,
    /// Drawn without a shape, or named like AALpy's start marker.
    invisible: bool,
    has_incoming: bool,
}

/// An edge without a label, which may mark the start.
struct UnlabelledEdge {
    line: u32,
    from: u32,
    to: u32,
}

/// What the label of an edge is.
#[derive(Clone, Copy, Default, PartialEq)]
enum EdgeLabels {
    #[default]
    Symbols,
    InputsAndOutputs,
}

#[derive(Default)]
struct DotGraph {
    labels: EdgeLabels,
    names: NameTable,
    nodes: Vec<DotNode>,
    default: DotNode,
    symbols: NameTable,
    edges: Vec<TextEdge>,
    unlabelled: Vec<UnlabelledEdge>,
    /// The names of outputs, and that of each edge; empty unless edges have outputs.
    outputs: NameTable,
    edge_outputs: Vec<u32>,
    /// Edges whose label has a slash. In a Mealy machine all edges have one.
    slashes: usize,
    lines: usize,
}

impl DotGraph {
    fn read(text: &str, limits: &Limits) -> Result<DotGraph, TextError> {
        let graph = DotGraph::parse(text, limits, EdgeLabels::Symbols)?;
        graph.refuse_mealy()?;
        Ok(graph)
    }

    fn parse(text: &str, limits: &Limits, labels: EdgeLabels) -> Result<DotGraph, TextError> {
        check_bytes(text, limits)?;
        let lines = text.lines().count().max(1);
        let mut graph = DotGraph { lines, labels, ..DotGraph::default() };
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
        Ok(graph)
    }

    fn node(&mut self, line: usize, name: &str, limits: &Limits) -> Result<u32, TextError> {
        // One node more than states: the start marker is a node, too.
        let limit = limits.states.saturating_add(1);
        let number = self.names.number(name, line, "nodes", limit)?;
        if number as usize == self.nodes.len() {
            let invisible = self.default.invisible || name.starts_with("__start");
            self.nodes.push(DotNode { line: line as u32, invisible, ..self.default.clone() });
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
        let (symbols, outputs) = match (&attributes.label, self.labels) {
            (Some(text), EdgeLabels::Symbols) => {
                (self.symbols_of(line, &Label::decode(text), limits)?, vec![])
            }
            (Some(text), EdgeLabels::InputsAndOutputs) => {
                self.transitions_of(line, &Label::decode(text), limits)?
            }
            (None, _) => (vec![], vec![]),
        };
        let nodes = names.iter().map(|name| self.node(line, name, limits));
        let nodes = nodes.collect::<Result<Vec<u32>, TextError>>()?;
        let line = line as u32;
        for pair in nodes.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            self.nodes[to as usize].has_incoming = true;
            if symbols.is_empty() {
                self.unlabelled.push(UnlabelledEdge { line, from, to });
            }
            for &symbol in &symbols {
                add_edge(&mut self.edges, TextEdge { line, from, symbol, to }, limits)?;
            }
            self.edge_outputs.extend(&outputs);
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

    /// The inputs and outputs of an edge of a Mealy machine; none if the label is blank.
    fn transitions_of(
        &mut self,
        line: usize,
        label: &Label,
        limits: &Limits,
    ) -> Result<(Vec<u32>, Vec<u32>), TextError> {
        let Some(transitions) = label.transitions() else {
            return match label.symbols().is_empty() {
                true => Ok((vec![], vec![])),
                false => Err(error(
                    line,
                    "this transition of a Mealy machine has no output",
                    "label it \"input/output\"",
                )),
            };
        };
        let (mut inputs, mut outputs) = (vec![], vec![]);
        for (input, output) in &transitions {
            inputs.push(self.symbols.number(input, line, "symbols", limits.symbols)?);
            outputs.push(self.outputs.number(output, line, "outputs", limits.states)?);
        }
        Ok((inputs, outputs))
    }

    /// Whether every edge has an output, and no state has one or accepts.
    fn is_mealy(&self) -> bool {
        let acceptor = self.nodes.iter().any(|node| node.accepting || node.output.is_some());
        !acceptor && !self.edges.is_empty() && self.slashes >= self.edges.len()
    }

    fn refuse_mealy(&self) -> Result<(), TextError> {
        if !self.is_mealy() {
            return Ok(());
        }
        Err(error(
            self.edges[0].line as usize,
            "every transition has an output (\"input/output\"): this is a Mealy machine",
            "read it as a Mealy machine; write `\\/` for a slash in a symbol",
        ))
    }

    /// Whether a node is not a state but marks the start.
    fn is_start_marker(&self, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.invisible && !node.has_incoming
    }

    fn states(&self) -> impl Iterator<Item = &DotNode> {
        let markers = (0..self.nodes.len() as u32).map(|node| self.is_start_marker(node));
        self.nodes.iter().zip(markers).filter(|(_, marker)| !marker).map(|(node, _)| node)
    }

    fn start(&self) -> Result<u32, TextError> {
        if let Some(edge) = self.unlabelled.iter().find(|edge| !self.is_start_marker(edge.from)) {
            return Err(error(
                edge.line as usize,
                format!("the edge from {:?} has no label", self.names.names[edge.from as usize]),
                "give it the symbol it reads, as in `s0 -> s1 [label=\"a\"];`",
            ));
        }
        match self.unlabelled.as_slice() {
            [] => Err(error(self.lines, "nothing marks the start", "add `__start0 -> s0;`")),
            [first, rest @ ..] => match rest.iter().find(|edge| edge.to != first.to) {
                Some(second) => {
                    let remedy = format!("line {} has the first; keep one", first.line);
                    Err(error(second.line as usize, "a second start is marked", remedy))
                }
                None => Ok(first.to),
            },
        }
    }

    /// The number of the start state, and the edges with numbers of states.
    fn numbered_edges(&mut self, limits: &Limits) -> Result<(u32, Vec<TextEdge>), TextError> {
        let start = self.start()?;
        let mut state_numbers = Vec::with_capacity(self.nodes.len());
        let mut count = 0;
        for node in 0..self.nodes.len() as u32 {
            state_numbers.push(count);
            count += u32::from(!self.is_start_marker(node));
        }
        if count as usize > limits.states {
            return Err(super::too_many(self.lines, "states", limits.states));
        }
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            if self.is_start_marker(edge.from) {
                return Err(error(
                    edge.line as usize,
                    "the edge that marks the start has a label",
                    "remove the label, or give the node a visible shape",
                ));
            }
            (edge.from, edge.to) =
                (state_numbers[edge.from as usize], state_numbers[edge.to as usize]);
        }
        Ok((state_numbers[start as usize], edges))
    }

    fn finish<O>(
        mut self,
        limits: &Limits,
        output: impl Fn(&DotNode) -> Result<O, TextError>,
    ) -> Result<Partial<O>, TextError> {
        let (start, edges) = self.numbered_edges(limits)?;
        let outputs = self.states().map(output).collect::<Result<Vec<O>, TextError>>()?;
        build(self.symbols.names, start, outputs, &edges, limits)
    }
}

fn apply(node: &mut DotNode, attributes: &Attributes) {
    if let Some(shape) = &attributes.shape {
        node.accepting = shape == "doublecircle";
        node.invisible |= ["none", "point", "plaintext", "plain"].contains(&shape.as_str());
    }
    node.invisible |= attributes.style.as_deref() == Some("invis");
    if let Some(label) = &attributes.label {
        node.output = Label::decode(label).output();
    }
}

#[cfg(test)]
mod tests;
