//! Heat maps: centroids, hidden states along a string, probabilities along a string.

use super::chart::{
    Axis, FONT, Frame, GAP, Span, TooLarge, axis_label, check, label_left, names_below,
    place_width, short,
};
use super::svg::{Anchor, Canvas, SOFT, WRITES, width};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a map shows.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// A line above the map; none where it is empty.
    pub title: String,
    /// What the rows are, the first on top.
    pub rows: Axis,
    /// What the columns are.
    pub columns: Axis,
    /// Rows of equal lengths; what is no number is grey.
    pub values: Vec<Vec<f64>>,
    /// The colours.
    pub scale: Scale,
    /// What the colours stand for.
    pub value_label: String,
}

/// From values to colours; values beyond the ends have the colours of the ends. Both scales are read
/// by every kind of colour vision: one by lightness alone, the other by blue against orange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From light to dark.
    Sequential {
        /// What is light.
        low: f64,
        /// What is dark.
        high: f64,
    },
    /// White at 0, blue below, orange above.
    Diverging {
        /// The size of the values with the darkest colours.
        reach: f64,
    },
}

impl Scale {
    /// The diverging scale that just holds all values.
    pub fn around_zero(values: &[Vec<f64>]) -> Scale {
        let sizes = values.iter().flatten().map(|value| value.abs());
        let reach = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
        Scale::Diverging { reach: if reach > 0.0 { reach } else { 1.0 } }
    }

    fn span(self) -> Span {
        match self {
            Scale::Sequential { low, high } if low < high => Span { low, high },
            Scale::Diverging { reach } if reach > 0.0 => Span { low: -reach, high: reach },
            Scale::Sequential { low, .. } => Span::around([low].into_iter()),
            Scale::Diverging { .. } => Span { low: -1.0, high: 1.0 },
        }
    }

    fn stops(self) -> [[f64; 3]; 5] {
        match self {
            Scale::Sequential { .. } => [
                [253.0, 252.0, 243.0],
                [178.0, 217.0, 200.0],
                [82.0, 164.0, 178.0],
                [38.0, 94.0, 144.0],
                [26.0, 28.0, 74.0],
            ],
            Scale::Diverging { .. } => [
                [24.0, 72.0, 122.0],
                [112.0, 164.0, 204.0],
                [250.0, 250.0, 248.0],
                [230.0, 160.0, 98.0],
                [142.0, 62.0, 8.0],
            ],
        }
    }

    /// The level of a value among [`LEVELS`]; `None` for what is no number.
    fn level(self, value: f64) -> Option<usize> {
        let part = self.span().part(value).clamp(0.0, 1.0);
        (!value.is_nan()).then(|| (part * (LEVELS - 1) as f64).round() as usize)
    }

    fn colour(self, level: usize) -> String {
        let stops = self.stops();
        let along = level as f64 / (LEVELS - 1) as f64 * (stops.len() - 1) as f64;
        let left = (along as usize).min(stops.len() - 2);
        let part = along - left as f64;
        let mixed = |i: usize| stops[left][i] * (1.0 - part) + stops[left + 1][i] * part;
        let [r, g, b] = [0, 1, 2].map(|i| mixed(i).round() as u8);
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// More cells than this are refused.
pub const MOST_CELLS: usize = 500_000;
/// An odd number, so that 0 has a colour of its own on the diverging scale.
const LEVELS: usize = 65;
const NO_NUMBER: &str = "#b8c1cc";
const BAR: f64 = 14.0;
const SHORTEST_BAR: f64 = 110.0;

/// Draws a map as SVG.
pub fn svg(map: &HeatMap) -> Result<String, TooLarge> {
    let columns = map.values.first().map_or(0, Vec::len);
    check("cells", map.values.len().saturating_mul(columns), MOST_CELLS)?;
    let wide = place_width(columns);
    let high = (380.0 / map.values.len().max(1) as f64).clamp(3.0, 24.0);
    let frame =
        Frame { width: wide * columns.max(1) as f64, height: high * map.values.len() as f64 };
    let mut canvas = Canvas::new();
    cells(&mut canvas, map, wide, high);
    let Frame { width, height } = frame;
    canvas.bounds.include(width / 2.0, height / 2.0, width + 2.0, height + 2.0);
    writeln!(
        canvas.body,
        "<rect x=\"0\" y=\"0\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"none\" \
         stroke=\"{SOFT}\"/>"
    )
    .expect(WRITES);
    match &map.columns {
        Axis::Names(names) => names_below(&mut canvas, frame, names),
        Axis::Numbers(label) => numbers_of_columns(&mut canvas, frame, columns, label),
    }
    rows(&mut canvas, map, frame, high);
    colour_bar(&mut canvas, map, frame);
    Ok(canvas.finish(&map.title, "heat map"))
}

/// One path a colour: much shorter than one rectangle a cell.
fn cells(canvas: &mut Canvas, map: &HeatMap, wide: f64, high: f64) {
    let mut paths: BTreeMap<Option<usize>, String> = BTreeMap::new();
    for (i, row) in map.values.iter().enumerate() {
        let mut from = 0;
        while from < row.len() {
            let level = map.scale.level(row[from]);
            let run = row[from..].iter().take_while(|&&v| map.scale.level(v) == level).count();
            let (x, y, width) = (from as f64 * wide, i as f64 * high, run as f64 * wide);
            let path = paths.entry(level).or_default();
            write!(path, "M{x:.2},{y:.2}h{width:.2}v{high:.2}h-{width:.2}z").expect(WRITES);
            from += run;
        }
    }
    for (level, path) in paths {
        let colour = level.map_or(NO_NUMBER.to_string(), |level| map.scale.colour(level));
        writeln!(
            canvas.body,
            "<path d=\"{path}\" fill=\"{colour}\" shape-rendering=\"crispEdges\"/>"
        )
        .expect(WRITES);
    }
}

fn numbers_of_columns(canvas: &mut Canvas, frame: Frame, columns: usize, label: &str) {
    let place = frame.width / columns.max(1) as f64;
    for (number, text) in whole_ticks(columns, (frame.width / 60.0) as usize) {
        let at = ((number as f64 + 0.5) * place, frame.height + GAP + FONT / 2.0);
        canvas.label(at, FONT, Anchor::Middle, &text);
    }
    axis_label(canvas, frame, label);
}

/// What the rows are, where they are high enough to be named one by one; else some of their numbers.
fn rows(canvas: &mut Canvas, map: &HeatMap, frame: Frame, high: f64) {
    let count = map.values.len();
    let shown: Vec<(usize, String)> = match &map.rows {
        Axis::Names(names) if high >= FONT * 0.95 => {
            names.iter().take(count).map(|name| short(name)).enumerate().collect()
        }
        _ => whole_ticks(count, (frame.height / 24.0) as usize),
    };
    let mut widest: f64 = 0.0;
    for (number, text) in shown {
        canvas.label((-GAP, (number as f64 + 0.5) * high), FONT, Anchor::End, &text);
        widest = widest.max(width(&text, FONT));
    }
    if let Axis::Numbers(label) = &map.rows {
        label_left(canvas, frame, widest, label);
    }
}

/// Round numbers of places, counted from 0.
fn whole_ticks(count: usize, most: usize) -> Vec<(usize, String)> {
    let last = count.saturating_sub(1);
    match last {
        0 => (0..count).map(|number| (number, number.to_string())).collect(),
        last => {
            let ticks = Span { low: 0.0, high: last as f64 }.ticks(most.clamp(1, last));
            let whole = ticks.into_iter().filter(|(value, _)| value.fract().abs() < 1e-9);
            whole.map(|(value, _)| (value as usize, format!("{value:.0}"))).collect()
        }
    }
}

fn colour_bar(canvas: &mut Canvas, map: &HeatMap, frame: Frame) {
    let (left, high) = (frame.width + 3.0 * GAP, frame.height.max(SHORTEST_BAR));
    let step = high / LEVELS as f64;
    for level in 0..LEVELS {
        let y = high - (level + 1) as f64 * step;
        writeln!(
            canvas.body,
            "<rect x=\"{left:.1}\" y=\"{y:.2}\" width=\"{BAR}\" height=\"{:.2}\" fill=\"{}\" \
             shape-rendering=\"crispEdges\"/>",
            step + 0.4,
            map.scale.colour(level)
        )
        .expect(WRITES);
    }
    canvas.bounds.include(left + BAR / 2.0, high / 2.0, BAR, high);
    let (span, mut widest) = (map.scale.span(), 0.0f64);
    for (value, text) in span.ticks(4) {
        let y = (1.0 - span.part(value)) * high;
        canvas.label((left + BAR + GAP / 2.0, y), FONT, Anchor::Start, &text);
        widest = widest.max(width(&text, FONT));
    }
    if !map.value_label.is_empty() {
        let x = left + BAR + GAP + widest + FONT;
        canvas.upwards((x, high / 2.0), FONT, Anchor::Middle, &map.value_label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::check_well_formed;

    fn map(values: Vec<Vec<f64>>, scale: Scale) -> HeatMap {
        let names = (0..values.first().map_or(0, Vec::len)).map(|t| format!("<script>{t}\"'&"));
        HeatMap {
            title: "</svg>".into(),
            columns: Axis::Names(names.collect()),
            rows: Axis::Numbers("<unit>".into()),
            values,
            scale,
            value_label: "α".into(),
        }
    }

    #[test]
    fn the_ends_and_the_middle_have_their_own_colours() {
        let scale = Scale::Diverging { reach: 2.0 };
        let levels = [-9.0, -2.0, 0.0, 2.0, f64::INFINITY].map(|value| scale.level(value));
        assert_eq!(levels, [0, 0, 32, 64, 64].map(Some));
        assert_eq!(scale.level(f64::NAN), None);
        assert_eq!(scale.colour(32), "#fafaf8");
        let lightness = |level: usize| {
            let colour = Scale::Sequential { low: 0.0, high: 1.0 }.colour(level);
            let part = |i: usize| u32::from_str_radix(&colour[i..i + 2], 16).unwrap();
            2 * part(1) + 7 * part(3) + part(5)
        };
        assert!((1..LEVELS).all(|level| lightness(level) < lightness(level - 1)));
    }

    #[test]
    fn cells_of_one_colour_are_one_path_and_names_are_data() {
        let values = vec![vec![0.0, 0.0, 1.0, f64::NAN], vec![1.0, 0.0, 1.0, 0.0]];
        let drawn = svg(&map(values, Scale::Sequential { low: 0.0, high: 1.0 })).unwrap();
        check_well_formed(&drawn);
        assert!(!drawn.contains("<script") && !drawn.contains("NaN"), "{drawn}");
        assert_eq!(drawn.matches("<path").count(), 3);
    }

    #[test]
    fn maps_without_cells_or_without_range_are_drawn_and_huge_ones_refused() {
        for values in [vec![], vec![vec![]], vec![vec![2.0]], vec![vec![f64::NAN; 3]; 200]] {
            let scale = Scale::around_zero(&values);
            check_well_formed(&svg(&map(values.clone(), scale)).unwrap());
            check_well_formed(
                &svg(&map(values, Scale::Sequential { low: 2.0, high: 2.0 })).unwrap(),
            );
        }
        let huge = map(vec![vec![0.0; 1000]; 501], Scale::Diverging { reach: 1.0 });
        assert!(svg(&huge).unwrap_err().to_string().contains("501000 cells"));
    }
}
