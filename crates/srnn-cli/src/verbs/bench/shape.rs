//! Sizes and cells as arguments.

use crate::reading::parse_count;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use srnn::bench::{BenchCell, BenchShape};
use srnn::engine::model::When;

/// Parses `--shape`: `B,T,IN,D,K`, or `B,T,IN,D,K,V` for tokens.
pub fn parse_shape(text: &str) -> Result<BenchShape, String> {
    const LETTERS: [&str; 6] = ["B", "T", "IN", "D", "K", "V"];
    let form = "give five numbers B,T,IN,D,K, or six, B,T,IN,D,K,V, for tokens of V symbols";
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if !(5..=6).contains(&parts.len()) {
        return Err(format!("{} numbers: {form}", parts.len()));
    }
    let number = |(letter, part): (&str, &&str)| {
        parse_count(part).map_err(|error| format!("{letter} is {part:?}: {error}; {form}"))
    };
    let numbers = LETTERS.into_iter().zip(&parts).map(number).collect::<Result<Vec<_>, _>>()?;
    let symbols = numbers.get(5).copied();
    if symbols == Some(0) {
        return Err("V is 0: leave V out for a real input, without symbols".into());
    }
    let [rows, steps, width, units, k] = numbers[..5] else { unreachable!("counted above") };
    let (symbols, classes, when) = (symbols.unwrap_or(0), 2, When::Last);
    Ok(BenchShape { rows, steps, width, units, k, symbols, classes, when })
}

/// Parses `--cell`.
pub fn cell_parser() -> impl TypedValueParser<Value = BenchCell> {
    PossibleValuesParser::new(BenchCell::ALL.map(BenchCell::name)).map(|text| {
        let found = BenchCell::ALL.into_iter().find(|cell| cell.name() == text);
        found.expect("one of the possible values")
    })
}
