//! Heat maps, such as hidden states or transition probabilities along a string.

use super::axes::{
    ChartAxis, ChartTooLarge, FONT, GAP, PlotArea, ValueRange, check_size, display_name,
    draw_label_below, draw_label_left, draw_names_below, slot_width,
};
use super::paint::Paint;
use super::svg::{Anchor, Canvas, INFALLIBLE, width};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// The title above the map; none if empty.
    pub title: String,
    /// The vertical axis; the first row is on top.
    pub rows: ChartAxis,
    /// The horizontal axis.
    pub columns: ChartAxis,
    /// Rows of equal lengths; NaN is grey.
    pub values: Vec<Vec<f64>>,
    /// The colours.
    pub scale: ColourScale,
    /// The label of the colour bar.
    pub value_label: String,
}

/// Maps values to colours; values beyond the ends have the colours of the ends. Both scales suit
/// every kind of colour vision: one differs in lightness, the other between blue and orange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColourScale {
    /// From light to dark.
    Sequential {
        /// The value of the lightest colour.
        low: f64,
        /// The value of the darkest colour.
        high: f64,
    },
    /// White at 0, blue below, orange above.
    Diverging {
        /// The absolute value of the darkest colours.
        reach: f64,
    },
}

impl ColourScale {
    /// The diverging scale that just covers all values.
    pub fn around_zero(values: &[Vec<f64>]) -> ColourScale {
        let sizes = values.iter().flatten().map(|value| value.abs());
        let reach = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
        ColourScale::Diverging { reach: if reach > 0.0 { reach } else { 1.0 } }
    }

    fn range(self) -> ValueRange {
        match self {
            ColourScale::Sequential { low, high } if low < high => ValueRange { low, high },
            ColourScale::Diverging { reach } if reach > 0.0 => {
                ValueRange { low: -reach, high: reach }
            }
            ColourScale::Sequential { low, .. } => ValueRange::around([low].into_iter()),
            ColourScale::Diverging { .. } => ValueRange { low: -1.0, high: 1.0 },
        }
    }

    fn stops(self) -> [[f64; 3]; 5] {
        match self {
            ColourScale::Sequential { .. } => [
                [253.0, 252.0, 243.0],
                [178.0, 217.0, 200.0],
                [82.0, 164.0, 178.0],
                [38.0, 94.0, 144.0],
                [26.0, 28.0, 74.0],
            ],
            ColourScale::Diverging { .. } => [
                [24.0, 72.0, 122.0],
                [112.0, 164.0, 204.0],
                [250.0, 250.0, 248.0],
                [230.0, 160.0, 98.0],
                [142.0, 62.0, 8.0],
            ],
        }
    }

    /// The level of a value among [`LEVELS`]; `None` for NaN.
    fn level(self, value: f64) -> Option<usize> {
        let part = self.range().fraction(value).clamp(0.0, 1.0);
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

/// The largest number of cells.
pub(crate) const MAX_CELLS: usize = 500_000;
/// The number of colours; odd, so that 0 has its own colour on the diverging scale.
const LEVELS: usize = 65;
const NAN_COLOUR: &str = "#b8c1cc";
const BAR_WIDTH: f64 = 14.0;
const MIN_BAR_HEIGHT: f64 = 110.0;

/// Draws a map as SVG.
pub fn svg(map: &HeatMap) -> Result<String, ChartTooLarge> {
    let (mut canvas, area) = draw(map)?;
    draw_colour_bar(&mut canvas, map, area);
    Ok(canvas.finish(&map.title, "heat map"))
}

/// Draws maps below each other, each with its own title, under one title. They have the colour bar of
/// the first one.
pub fn panels(title: &str, maps: &[HeatMap]) -> Result<String, ChartTooLarge> {
    /// The space between two maps.
    const SPACE: f64 = 18.0;
    let mut all = Canvas::new();
    let mut top = 0.0;
    for (number, map) in maps.iter().enumerate() {
        let (mut one, area) = draw(map)?;
        if number == 0 {
            draw_colour_bar(&mut one, map, area);
        }
        let at = (0.0, one.bounds.top - FONT);
        one.label(at, FONT + 1.0, Anchor::Start, &map.title);
        let bounds = one.bounds;
        let down = top - bounds.top;
        writeln!(all.body, "<g transform=\"translate(0 {down:.1})\">\n{}</g>", one.body)
            .expect(INFALLIBLE);
        let middle =
            ((bounds.left + bounds.right) / 2.0, (bounds.top + bounds.bottom) / 2.0 + down);
        let size = (bounds.right - bounds.left, bounds.bottom - bounds.top);
        all.bounds.include(middle.0, middle.1, size.0, size.1);
        top = bounds.bottom + down + SPACE;
    }
    Ok(all.finish(title, "heat maps"))
}

/// The drawing of a map without its title and its colour bar.
fn draw(map: &HeatMap) -> Result<(Canvas, PlotArea), ChartTooLarge> {
    let columns = map.values.first().map_or(0, Vec::len);
    check_size("cells", map.values.len().saturating_mul(columns), MAX_CELLS)?;
    let wide = slot_width(columns);
    let high = (380.0 / map.values.len().max(1) as f64).clamp(3.0, 24.0);
    let area =
        PlotArea { width: wide * columns.max(1) as f64, height: high * map.values.len() as f64 };
    let mut canvas = Canvas::new();
    draw_cells(&mut canvas, map, wide, high);
    let PlotArea { width, height } = area;
    canvas.bounds.include(width / 2.0, height / 2.0, width + 2.0, height + 2.0);
    writeln!(
        canvas.body,
        "<rect x=\"0\" y=\"0\" width=\"{width:.1}\" height=\"{height:.1}\" {}/>",
        Paint::Soft.stroke()
    )
    .expect(INFALLIBLE);
    match &map.columns {
        ChartAxis::Names(names) => draw_names_below(&mut canvas, area, names),
        ChartAxis::Numbers(label) => draw_column_numbers(&mut canvas, area, columns, label),
    }
    draw_row_labels(&mut canvas, map, area, high);
    Ok((canvas, area))
}

/// Draws the cells. One path per colour is much shorter than one rectangle per cell.
fn draw_cells(canvas: &mut Canvas, map: &HeatMap, wide: f64, high: f64) {
    let mut paths: BTreeMap<Option<usize>, String> = BTreeMap::new();
    for (i, row) in map.values.iter().enumerate() {
        let mut from = 0;
        while from < row.len() {
            let level = map.scale.level(row[from]);
            let run = row[from..].iter().take_while(|&&v| map.scale.level(v) == level).count();
            let (x, y, width) = (from as f64 * wide, i as f64 * high, run as f64 * wide);
            let path = paths.entry(level).or_default();
            write!(path, "M{x:.2},{y:.2}h{width:.2}v{high:.2}h-{width:.2}z").expect(INFALLIBLE);
            from += run;
        }
    }
    for (level, path) in paths {
        let colour = level.map_or(NAN_COLOUR.to_string(), |level| map.scale.colour(level));
        writeln!(
            canvas.body,
            "<path d=\"{path}\" fill=\"{colour}\" shape-rendering=\"crispEdges\"/>"
        )
        .expect(INFALLIBLE);
    }
}

fn draw_column_numbers(canvas: &mut Canvas, area: PlotArea, columns: usize, label: &str) {
    let slot = area.width / columns.max(1) as f64;
    for (number, text) in index_ticks(columns, (area.width / 60.0) as usize) {
        let at = ((number as f64 + 0.5) * slot, area.height + GAP + FONT / 2.0);
        canvas.label(at, FONT, Anchor::Middle, &text);
    }
    draw_label_below(canvas, area, label);
}

/// Draws the names of the rows if these are high enough, else some of their numbers.
fn draw_row_labels(canvas: &mut Canvas, map: &HeatMap, area: PlotArea, high: f64) {
    let count = map.values.len();
    let shown: Vec<(usize, String)> = match &map.rows {
        ChartAxis::Names(names) if high >= FONT * 0.95 => {
            names.iter().take(count).map(|name| display_name(name)).enumerate().collect()
        }
        _ => index_ticks(count, (area.height / 24.0) as usize),
    };
    let mut widest: f64 = 0.0;
    for (number, text) in shown {
        canvas.label((-GAP, (number as f64 + 0.5) * high), FONT, Anchor::End, &text);
        widest = widest.max(width(&text, FONT));
    }
    if let ChartAxis::Numbers(label) = &map.rows {
        draw_label_left(canvas, area, widest, label);
    }
}

/// Round indices below `count`.
fn index_ticks(count: usize, most: usize) -> Vec<(usize, String)> {
    let last = count.saturating_sub(1);
    match last {
        0 => (0..count).map(|number| (number, number.to_string())).collect(),
        last => {
            let ticks = ValueRange { low: 0.0, high: last as f64 }.ticks(most.clamp(1, last));
            let whole = ticks.into_iter().filter(|(value, _)| value.fract().abs() < 1e-9);
            whole.map(|(value, _)| (value as usize, format!("{value:.0}"))).collect()
        }
    }
}

fn draw_colour_bar(canvas: &mut Canvas, map: &HeatMap, area: PlotArea) {
    let (left, high) = (area.width + 3.0 * GAP, area.height.max(MIN_BAR_HEIGHT));
    let step = high / LEVELS as f64;
    for level in 0..LEVELS {
        let y = high - (level + 1) as f64 * step;
        writeln!(
            canvas.body,
            "<rect x=\"{left:.1}\" y=\"{y:.2}\" width=\"{BAR_WIDTH}\" height=\"{:.2}\" fill=\"{}\" \
             shape-rendering=\"crispEdges\"/>",
            step + 0.4,
            map.scale.colour(level)
        )
        .expect(INFALLIBLE);
    }
    canvas.bounds.include(left + BAR_WIDTH / 2.0, high / 2.0, BAR_WIDTH, high);
    let (range, mut widest) = (map.scale.range(), 0.0f64);
    for (value, text) in range.ticks(4) {
        let y = (1.0 - range.fraction(value)) * high;
        canvas.label((left + BAR_WIDTH + GAP / 2.0, y), FONT, Anchor::Start, &text);
        widest = widest.max(width(&text, FONT));
    }
    if !map.value_label.is_empty() {
        let x = left + BAR_WIDTH + GAP + widest + FONT;
        canvas.vertical_label((x, high / 2.0), FONT, Anchor::Middle, &map.value_label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::check_well_formed;

    fn map(values: Vec<Vec<f64>>, scale: ColourScale) -> HeatMap {
        let names = (0..values.first().map_or(0, Vec::len)).map(|t| format!("<script>{t}\"'&"));
        HeatMap {
            title: "</svg>".into(),
            columns: ChartAxis::Names(names.collect()),
            rows: ChartAxis::Numbers("<unit>".into()),
            values,
            scale,
            value_label: "α".into(),
        }
    }

    #[test]
    fn the_ends_and_the_middle_have_their_own_colours() {
        let scale = ColourScale::Diverging { reach: 2.0 };
        let levels = [-9.0, -2.0, 0.0, 2.0, f64::INFINITY].map(|value| scale.level(value));
        assert_eq!(levels, [0, 0, 32, 64, 64].map(Some));
        assert_eq!(scale.level(f64::NAN), None);
        assert_eq!(scale.colour(32), "#fafaf8");
        let lightness = |level: usize| {
            let colour = ColourScale::Sequential { low: 0.0, high: 1.0 }.colour(level);
            let part = |i: usize| u32::from_str_radix(&colour[i..i + 2], 16).unwrap();
            2 * part(1) + 7 * part(3) + part(5)
        };
        assert!((1..LEVELS).all(|level| lightness(level) < lightness(level - 1)));
    }

    #[test]
    fn cells_of_one_colour_are_one_path_and_names_are_escaped() {
        let values = vec![vec![0.0, 0.0, 1.0, f64::NAN], vec![1.0, 0.0, 1.0, 0.0]];
        let drawn = svg(&map(values, ColourScale::Sequential { low: 0.0, high: 1.0 })).unwrap();
        check_well_formed(&drawn);
        assert!(!drawn.contains("<script") && !drawn.contains("NaN"), "{drawn}");
        assert_eq!(drawn.matches("<path").count(), 3);
    }

    #[test]
    fn panels_are_below_each_other_and_have_their_titles() {
        let scale = ColourScale::Sequential { low: 0.0, high: 1.0 };
        let maps = [0.25, 0.75].map(|value| map(vec![vec![value; 3]; 2], scale));
        let drawn = panels("both", &maps).unwrap();
        check_well_formed(&drawn);
        let down = |part: &str| part.split(')').next().unwrap().parse::<f64>().unwrap();
        let tops: Vec<f64> = drawn.split("translate(0 ").skip(1).map(down).collect();
        assert!(tops.len() == 2 && tops[0] + 48.0 < tops[1], "{tops:?}");
        assert_eq!(drawn.matches("&lt;/svg&gt;</text>").count(), 2);
        // The colours of the cells are those of their values.
        for value in [0.25, 0.75] {
            let colour = scale.colour(scale.level(value).unwrap());
            assert!(drawn.contains(&format!("fill=\"{colour}\" shape-rendering")), "{value}");
        }
    }

    #[test]
    fn maps_without_cells_or_without_range_are_drawn_and_large_ones_refused() {
        for values in [vec![], vec![vec![]], vec![vec![2.0]], vec![vec![f64::NAN; 3]; 200]] {
            let scale = ColourScale::around_zero(&values);
            check_well_formed(&svg(&map(values.clone(), scale)).unwrap());
            check_well_formed(
                &svg(&map(values, ColourScale::Sequential { low: 2.0, high: 2.0 })).unwrap(),
            );
        }
        let huge = map(vec![vec![0.0; 1000]; 501], ColourScale::Diverging { reach: 1.0 });
        assert!(svg(&huge).unwrap_err().to_string().contains("501000 cells"));
    }
}
