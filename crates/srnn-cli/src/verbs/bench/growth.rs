//! How training steps grow with each size, as a table and as JSON.

use serde_json::{Value, json};
use srnn::bench::{BenchSetting, GROWTH_FACTORS, Growth};
use srnn::engine::Hardware;
use srnn::format::aligned;

/// The tables for a terminal.
pub fn text(hardware: &Hardware, base: &BenchSetting, growths: &[Growth]) -> String {
    let head = ["", "from"].map(String::from).into_iter();
    let factors = GROWTH_FACTORS.iter().map(|by| format!("×{by}, ms"));
    let mut rows: Vec<Vec<String>> =
        vec![head.chain(factors).chain(["exponent".to_string()]).collect()];
    for growth in growths {
        let front = [growth.axis.name().to_string(), growth.axis.size(base.shape).to_string()];
        let times = growth.timings.iter().map(|line| format!("{:.3}", 1e3 * line.times.median));
        let end = [format!("{:.2}", growth.exponent())];
        rows.push(front.into_iter().chain(times).chain(end).collect());
    }
    format!(
        "How training steps grow from B,T,IN,D,K[,V] = {} ({}), on {}:\n{}",
        base.shape,
        base.cell.name(),
        hardware,
        aligned(&rows)
    )
}

/// The tables as JSON.
pub fn value(hardware: &Hardware, base: &BenchSetting, growths: &[Growth]) -> Value {
    let of = |growth: &Growth| {
        let sizes = growth.timings.iter().map(|line| growth.axis.size(line.setting.shape));
        let times = growth.timings.iter().map(|line| 1e3 * line.times.median);
        json!({
            "axis": growth.axis.name(),
            "sizes": sizes.collect::<Vec<_>>(),
            "milliseconds": times.collect::<Vec<_>>(),
            "exponent": growth.exponent(),
        })
    };
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "cell": base.cell.name(),
        "base": base.shape.to_string(),
        "growth": growths.iter().map(of).collect::<Vec<_>>(),
    })
}
