//! Falsified versions of a certificate. Edits of text, names and lists are always false. Edits of
//! numbers are kept only if the simulation refutes them. Only the three files are needed, so
//! certificates of trained networks can be tested, too.

use super::certify::{index, set_automaton, statement};
use super::model::{tensor_sizes, update_digests, with_tensor};
use super::refute::refuted;
use super::{Files, Random};
use serde_json::{Value, json};

/// Falsified files and a description of the change.
pub struct Tampering {
    pub name: String,
    pub files: Files,
}

/// All falsified versions of a certificate; about `draws` of them are random edits of numbers.
pub fn tamperings(files: &Files, draws: usize, seed: u64) -> Vec<Tampering> {
    let value: Value = serde_json::from_slice(&files.certificate).unwrap();
    let mut tamperer = Tamperer { files, value, list: vec![] };
    tamperer.texts();
    tamperer.model();
    tamperer.claims();
    tamperer.graph();
    tamperer.automaton();
    tamperer.cells_as_automaton();
    tamperer.sizes();
    tamperer.weights();
    tamperer.numbers(draws, &mut Random(seed));
    tamperer.list
}

struct Tamperer<'a> {
    files: &'a Files,
    value: Value,
    list: Vec<Tampering>,
}

impl Tamperer<'_> {
    fn push_bytes(&mut self, name: String, certificate: Vec<u8>) {
        let files = Files { certificate, ..self.files.clone() };
        self.list.push(Tampering { name, files });
    }

    /// Adds an edit that is always false.
    fn edit(&mut self, name: impl Into<String>, change: impl Fn(&mut Value)) {
        let mut value = self.value.clone();
        change(&mut value);
        assert_ne!(value, self.value, "the edit changes nothing");
        self.push_bytes(name.into(), serde_json::to_vec(&value).unwrap());
    }

    /// Adds an edit if the simulation refutes it: once as it is, once with automaton and statement
    /// updated.
    fn edit_if_refuted(&mut self, name: impl Into<String>, change: impl Fn(&mut Value)) {
        let mut value = self.value.clone();
        change(&mut value);
        if value == self.value || !refuted(self.files, &value) {
            return;
        }
        let name = name.into();
        self.push_bytes(name.clone(), serde_json::to_vec(&value).unwrap());
        set_automaton(&mut value);
        self.push_bytes(format!("{name}, automaton updated"), serde_json::to_vec(&value).unwrap());
    }

    fn cells(&self) -> usize {
        self.value["cells"].as_array().unwrap().len()
    }

    fn texts(&mut self) {
        let bytes = self.files.certificate.clone();
        let end =
            bytes.len() - 1 - bytes.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
        for part in 0..200 {
            let cut = part * end / 200;
            self.push_bytes(format!("truncated at {cut}"), bytes[..cut].to_vec());
        }
        self.push_bytes("one byte short".into(), bytes[..end].to_vec());
        let text = String::from_utf8(bytes).unwrap();
        let spliced = |field: &str| text.replacen('{', &format!("{{{field},"), 1);
        for field in [
            "\"format\":\"srnn-certificate\"",
            "\"version\":1",
            "\"start\":0",
            "\"cells\":[]",
            "\"proved\":true",
            "\"margin\":1e9",
            "\"statement\":\"For every word\"",
        ] {
            self.push_bytes(format!("{field} added"), spliced(field).into_bytes());
        }
        self.push_bytes("text behind the end".into(), format!("{text}{{}}").into_bytes());
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        self.push_bytes("nested deeply".into(), deep.into_bytes());
        for number in ["NaN", "1e999", "-1e999", "Infinity", "null", "\"0\"", "[]"] {
            for field in ["\"margin\":", "\"depth\":", "\"start\":", "\"decision\":"] {
                let odd = text.replacen(field, &format!("{field}{number},\"_\":"), 1);
                let lone = odd.find(",\"_\":").map(|at| {
                    let rest = &odd[at + 5..];
                    let after = rest.find([',', '}']).unwrap();
                    format!("{}{}", &odd[..at], &rest[after..])
                });
                if let Some(odd) = lone {
                    self.push_bytes(format!("{field}{number}"), odd.into_bytes());
                }
            }
        }
    }

    fn model(&mut self) {
        let digest = self.value["model"]["digest"].as_str().unwrap().to_string();
        for at in 0..digest.len() {
            let other = if &digest[at..=at] == "0" { "1" } else { "0" };
            let mut changed = digest.clone();
            changed.replace_range(at..=at, other);
            self.edit(format!("digest, place {at}"), |v| v["model"]["digest"] = json!(changed));
        }
        self.arch();
        self.names("alphabet");
        self.names("classes");
    }

    fn arch(&mut self) {
        let arch = self.value["model"]["arch"].clone();
        for (l, layer) in arch["layers"].as_array().unwrap().iter().enumerate() {
            let tau = layer["centroids"]["tau"].as_f64().unwrap();
            for other in [0.5 * tau, 2.0 * tau, tau.next_up(), tau.next_down(), 1e-3 * tau] {
                self.edit(format!("tau {other}"), |v| {
                    v["model"]["arch"]["layers"][l]["centroids"]["tau"] = json!(other)
                });
            }
            for (path, a, b) in [
                ("/gate", "sigmoid", "hard-sigmoid"),
                ("/cell/reset", "after-matrix", "before-matrix"),
                ("/centroids/score", "dot", "euclidean"),
            ] {
                let other = if *layer.pointer(path).unwrap() == a { b } else { a };
                self.edit(path, |v| {
                    let layer = &mut v["model"]["arch"]["layers"][l];
                    *layer.pointer_mut(path).unwrap() = json!(other);
                });
            }
            let bias = layer["bias"] == true;
            self.edit("bias", |v| v["model"]["arch"]["layers"][l]["bias"] = json!(!bias));
            let units = index(&layer["units"]) + 1;
            self.edit("units", |v| v["model"]["arch"]["layers"][l]["units"] = json!(units));
        }
        for field in ["start", "end"] {
            let other = arch["input"][field] != true;
            self.edit(field, |v| v["model"]["arch"]["input"][field] = json!(other));
        }
        let from = if arch["readout"]["from"] == "h" { "u" } else { "h" };
        self.edit("readout", |v| v["model"]["arch"]["readout"]["from"] = json!(from));
    }

    fn names(&mut self, list: &'static str) {
        let names = self.value["model"][list].as_array().unwrap().clone();
        for at in 0..names.len() {
            self.edit(format!("{list}: another name"), |v| v["model"][list][at] = json!("other"));
            self.edit(format!("{list}: one less"), |v| {
                v["model"][list].as_array_mut().unwrap().remove(at);
            });
        }
        self.edit(format!("{list}: one more"), |v| {
            v["model"][list].as_array_mut().unwrap().push(json!("more"))
        });
        if names.len() > 1 {
            self.edit(format!("{list}: the other way round"), |v| {
                v["model"][list].as_array_mut().unwrap().reverse();
                v["statement"] = json!(statement(v));
            });
        }
    }

    fn claims(&mut self) {
        let statement_text = self.value["statement"].as_str().unwrap().to_string();
        let stronger = [
            statement_text.replace("in real arithmetic", "in any arithmetic"),
            statement_text.replace("reference", "reference, cuda"),
            statement_text.replace("automaton", "specification"),
            statement_text.replace("state", "equivalent state"),
            format!("{statement_text} It is also robust."),
            statement_text.replace("{", "{any, "),
            "For every word the network is right.".into(),
        ];
        for claim in stronger {
            self.edit("statement", |v| v["statement"] = json!(claim));
        }
        for engines in [json!(["reference", "cpu", "cuda"]), json!(["cuda"])] {
            self.edit("engines", |v| {
                v["engines"] = engines.clone();
                v["statement"] = json!(statement(v));
            });
        }
        if self.value["arithmetic"] == "f64" {
            self.edit("engines of f32", |v| v["engines"] = json!(["reference", "cpu"]));
            self.edit_if_refuted("f32", |v| {
                v["arithmetic"] = json!("f32");
                v["engines"] = json!(["reference", "cpu"]);
                v["statement"] = json!(statement(v));
            });
        }
        self.edit("arithmetic", |v| v["arithmetic"] = json!("f16"));
        self.edit("version", |v| v["version"] = json!(2));
        self.edit("format", |v| v["format"] = json!("srnn-model"));
    }

    /// Edits of successors, decisions and start, and removed cells.
    fn graph(&mut self) {
        let (cells, classes) = (self.cells(), index(&self.value["model"]["arch"]["classes"]));
        let symbols = index(&self.value["model"]["arch"]["input"]["symbols"]);
        for other in 0..cells {
            self.edit_if_refuted(format!("start {other}"), |v| v["start"] = json!(other));
        }
        for cell in 0..cells {
            for class in 0..classes {
                let name = format!("cell {cell} decides {class}");
                self.edit_if_refuted(name, |v| v["cells"][cell]["decision"] = json!(class));
            }
            for (symbol, other) in (0..symbols * cells).map(|at| (at / cells, at % cells)) {
                self.edit_if_refuted(format!("{cell} leads to {other} on {symbol}"), |v| {
                    v["cells"][cell]["successors"][symbol] = json!(other)
                });
            }
            for replacement in (0..cells).filter(|&replacement| replacement != cell) {
                let name = format!("cell {cell} removed, replaced by {replacement}");
                self.edit_if_refuted(name, |v| remove_cell(v, cell, replacement));
            }
            self.edit(format!("cell {cell} removed"), |v| {
                v["cells"].as_array_mut().unwrap().remove(cell);
            });
            for depth in [0, 1000] {
                self.edit("depth", |v| v["cells"][cell]["depth"] = json!(depth));
            }
            for (field, wrong) in [("decision", classes), ("state", 1 << 20)] {
                self.edit(field, |v| v["cells"][cell][field] = json!(wrong));
            }
            self.edit("successors", |v| v["cells"][cell]["successors"][0] = json!(cells));
        }
        self.edit("start nowhere", |v| v["start"] = json!(cells));
        self.edit("no cells", |v| v["cells"] = json!([]));
    }

    fn automaton(&mut self) {
        let automaton = self.value["automaton"].clone();
        let states = automaton["outputs"].as_array().unwrap().len();
        let classes = index(&self.value["model"]["arch"]["classes"]);
        for state in 0..states {
            let output = (index(&automaton["outputs"][state]) + 1) % classes;
            self.edit("output", |v| v["automaton"]["outputs"][state] = json!(output));
            let row = automaton["transitions"][state].as_array().unwrap().clone();
            for (symbol, other) in (0..row.len() * states).map(|at| (at / states, at % states)) {
                if index(&row[symbol]) != other {
                    self.edit("transition", |v| {
                        v["automaton"]["transitions"][state][symbol] = json!(other)
                    });
                }
            }
            if index(&automaton["start"]) != state {
                self.edit("start of the automaton", |v| v["automaton"]["start"] = json!(state));
            }
            // A copy of a state: first unreachable, then reachable but not minimal.
            let duplicate = |v: &mut Value| {
                let copy = v["automaton"]["transitions"][state].clone();
                v["automaton"]["transitions"].as_array_mut().unwrap().push(copy);
                let output = v["automaton"]["outputs"][state].clone();
                v["automaton"]["outputs"].as_array_mut().unwrap().push(output);
                v["statement"] = json!(statement(v));
            };
            self.edit("an unreachable state", duplicate);
            self.edit("two equivalent states", |v| {
                duplicate(v);
                v["automaton"]["transitions"][states][0] = json!(states);
                v["automaton"]["transitions"][state][0] = json!(states);
            });
        }
        self.edit("no automaton", |v| v["automaton"]["outputs"] = json!([]));
    }

    fn cells_as_automaton(&mut self) {
        if self.cells() == self.value["automaton"]["outputs"].as_array().unwrap().len() {
            return;
        }
        self.edit("the cells themselves: not minimal", |v| {
            let of = |field: &str| -> Vec<Value> {
                v["cells"].as_array().unwrap().iter().map(|cell| cell[field].clone()).collect()
            };
            v["automaton"] = json!({
                "start": v["start"], "transitions": of("successors"), "outputs": of("decision"),
            });
            let cells = v["cells"].as_array_mut().unwrap();
            cells.iter_mut().enumerate().for_each(|(at, cell)| cell["state"] = json!(at));
            v["statement"] = json!(statement(v));
        });
    }

    fn sizes(&mut self) {
        for cell in 0..self.cells() {
            for list in ["centre", "radii", "successors"] {
                self.edit(format!("{list} too long"), |v| {
                    v["cells"][cell][list].as_array_mut().unwrap().push(json!(0))
                });
                self.edit(format!("{list} too short"), |v| {
                    v["cells"][cell][list].as_array_mut().unwrap().pop();
                });
            }
            self.edit("a negative radius", |v| v["cells"][cell]["radii"][0] = json!(-1e-3));
            self.edit("an unknown field", |v| v["cells"][cell]["note"] = json!(1));
        }
        self.edit("an unknown field", |v| v["model"]["tau"] = json!(1));
        self.edit("an unknown field", |v| v["model"]["arch"]["dropout"] = json!(0));
        self.edit("an unknown field", |v| v["automaton"]["names"] = json!([]));
    }

    /// Other weights with the old digest and, if the simulation refutes the certificate, with
    /// updated digests.
    fn weights(&mut self) {
        for (name, size) in tensor_sizes(&self.files.weights) {
            for at in [0, size / 2, size - 1] {
                let flip =
                    |i: usize, x: f32| if i == at { f32::from_bits(x.to_bits() ^ 1) } else { x };
                self.other_weights(format!("{name}[{at}], last bit"), &name, flip);
                let negate = |i: usize, x: f32| if i == at { -x } else { x };
                self.other_weights(format!("-{name}[{at}]"), &name, negate);
            }
            self.other_weights(format!("-{name}"), &name, |_, x| -x);
            self.other_weights(format!("2 {name}"), &name, |_, x| 2.0 * x);
        }
    }

    fn other_weights(&mut self, name: String, tensor: &str, change: impl Fn(usize, f32) -> f32) {
        let weights = with_tensor(&self.files.weights, tensor, change);
        if weights == self.files.weights {
            return;
        }
        let mut files = Files { weights, ..self.files.clone() };
        self.list.push(Tampering { name: name.clone(), files: files.clone() });
        update_digests(&mut files);
        let value = serde_json::from_slice(&files.certificate).unwrap();
        if refuted(&files, &value) {
            self.list.push(Tampering { name: format!("{name}, digests updated"), files });
        }
    }

    fn numbers(&mut self, draws: usize, random: &mut Random) {
        let enough = self.list.len() + draws;
        // Bounds the number of tries if few edits are false.
        for _ in 0..20 * draws {
            if self.list.len() >= enough {
                break;
            }
            let cell = random.below(self.cells());
            let at = random.below(self.value["cells"][cell]["centre"].as_array().unwrap().len());
            let factor = 10f64.powf(8.0 * random.sign());
            let what = ["centre", "radii", "margin", "all radii"][random.below(4)];
            let sign = random.sign();
            self.edit_if_refuted(format!("{what} of cell {cell} times or plus {factor:e}"), |v| {
                let claim = &mut v["cells"][cell];
                let times = |x: &Value, by: f64| json!(x.as_f64().unwrap() * by);
                match what {
                    "centre" => move_centre(claim, at, sign * factor.min(1.0)),
                    "radii" => claim["radii"][at] = times(&claim["radii"][at], factor.min(1.0)),
                    "margin" => claim["margin"] = times(&claim["margin"], 1.0 + factor),
                    _ => {
                        let radii = claim["radii"].as_array().unwrap().clone();
                        let radii: Vec<_> =
                            radii.iter().map(|x| times(x, factor.min(1.0))).collect();
                        claim["radii"] = json!(radii);
                    }
                }
            });
        }
    }
}

fn move_centre(claim: &mut Value, at: usize, by: f64) {
    let moved = claim["centre"][at].as_f64().unwrap() + by;
    claim["centre"][at] = json!(moved);
}

/// Removes a cell; its predecessors lead to `replacement` instead.
fn remove_cell(value: &mut Value, cell: usize, replacement: usize) {
    let moved = |at: usize| {
        let at = if at == cell { replacement } else { at };
        if at > cell { at - 1 } else { at }
    };
    value["start"] = json!(moved(index(&value["start"])));
    let cells = value["cells"].as_array_mut().unwrap();
    cells.remove(cell);
    for cell in cells {
        for next in cell["successors"].as_array_mut().unwrap() {
            *next = json!(moved(index(next)));
        }
    }
}
