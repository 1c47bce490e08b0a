//! From labelled words to the automaton a network learned of them:
//! `cargo run --release -p srnn --example tomita`.

use srnn::engine::Hardware;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use srnn::task::tomita::Grammar;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 100 units, 50 centroids, 4,600 updates: about a quarter of a minute.
    let data = LearnData::tomita(Grammar::T4);
    let request =
        LearnRequest { seeds: vec![1, 2], hardware: Hardware::cpu(2), ..LearnRequest::new(&data) };
    let learned = learn(&request, &NoCallbacks)?;
    println!("right on {:.1} % of the validation words", 100.0 * learned.valid.accuracy);
    println!("proved equal to its automaton on every word: {}", learned.is_proved());
    if let Some(automaton) = learned.automaton() {
        println!("{} states; pictures and proof in runs/tomita-4", automaton.state_count());
    }
    learned.save("runs/tomita-4")?;
    Ok(())
}
