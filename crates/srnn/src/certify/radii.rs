//! The smallest radii with which the images of every cell lie in the target cells.

use super::cell_graph::CellGraph;
use super::error_model::ErrorModel;
use super::gru::RoundedForm;
use super::network::EnclosedNetwork;
use super::parallel::parallel_map;
use super::zonotope::{StateBox, Zonotope, step};

/// An image of a cell that is too large for its target cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageOutsideCell {
    /// The source cell.
    pub cell: usize,
    /// The word that leads from the source cell to the image.
    pub word: Vec<u32>,
    /// The target cell.
    pub target: usize,
    /// Largest distance, over all coordinates, of the image from the target's centre.
    pub image_radius: f64,
    /// Largest radius of the source cell.
    pub source_radius: f64,
}

/// The search fails after this many rounds of growing.
const GROW_ROUNDS: usize = 80;
/// The most rounds of shrinking once the radii suffice.
const SHRINK_ROUNDS: usize = 12;
/// Factor by which a radius grows beyond the required one, so that few rounds are needed if the
/// network contracts.
const GROWTH: f64 = 1.02;
/// Factor by which final radii exceed the required ones, because the checker may round differently.
const SLACK: f64 = 1.0 + 1e-6;
/// A relative change of a smaller radius does not count.
const MIN_RADIUS: f64 = 1e-15;
/// Radius of an image from which on the search fails: such a set no longer tells states apart.
const MAX_IMAGE_RADIUS: f64 = 0.9;

/// Why no radii were found.
#[derive(Clone, Debug, PartialEq)]
pub enum ClosureFailure {
    /// An image is too large for any radius.
    Expands(ImageOutsideCell),
    /// The limit on enclosures of a step was reached.
    OutOfSteps,
}

/// Boxes around the centres of `graph` such that the images of every box lie in the target boxes.
/// Every radius exceeds the required one by `slack`; a cell that requires radius 0 keeps it. `steps` is the remaining number
/// of enclosures of a step, and is decreased.
pub fn find_radii(
    network: &EnclosedNetwork,
    graph: &CellGraph,
    errors: ErrorModel,
    slack: f64,
    steps: &mut usize,
) -> Result<Vec<StateBox>, ClosureFailure> {
    let point =
        |centre: &Vec<f64>| StateBox { centre: centre.clone(), radii: vec![0.0; centre.len()] };
    let mut boxes: Vec<StateBox> = graph.centres.iter().map(point).collect();
    let mut images = CellImages::new(network, graph, errors);
    for _ in 0..GROW_ROUNDS {
        if images.update(&boxes, steps).is_none() {
            return Err(ClosureFailure::OutOfSteps);
        }
        if let Some(image) = images.too_large(&boxes) {
            return Err(ClosureFailure::Expands(image));
        }
        let required = images.required_radii();
        if suffice(&boxes, &required, slack) {
            return Ok(shrink(&mut images, boxes, slack, steps));
        }
        for (region, required) in boxes.iter_mut().zip(&required) {
            for (radius, &need) in region.radii.iter_mut().zip(required) {
                let grown = if need > 0.0 { need * GROWTH + slack } else { 0.0 };
                *radius = if with_slack(need, slack) > *radius { grown } else { *radius };
            }
        }
    }
    Err(ClosureFailure::Expands(images.largest(&boxes)))
}

/// Shrinks radii that suffice. Smaller cells usually require smaller radii, but not always: another
/// coordinate may become the widest one, which changes the generators. So every round is verified,
/// and the last radii that suffice are returned.
fn shrink(
    images: &mut CellImages,
    mut boxes: Vec<StateBox>,
    slack: f64,
    steps: &mut usize,
) -> Vec<StateBox> {
    for _ in 0..SHRINK_ROUNDS {
        let (smaller, change) = shrunk(&boxes, &images.required_radii(), slack);
        let updated = images.update(&smaller, steps).is_some();
        if !updated || !suffice(&smaller, &images.required_radii(), slack) {
            break;
        }
        boxes = smaller;
        if change < 1e-3 {
            break;
        }
    }
    boxes
}

/// The boxes with radii slightly above the required ones, and the largest relative change.
fn shrunk(boxes: &[StateBox], required: &[Vec<f64>], slack: f64) -> (Vec<StateBox>, f64) {
    let (mut boxes, mut change) = (boxes.to_vec(), 0f64);
    for (region, required) in boxes.iter_mut().zip(required) {
        for (radius, &need) in region.radii.iter_mut().zip(required) {
            let smaller = radius.min(with_slack(need, slack));
            change = change.max((*radius - smaller) / radius.max(MIN_RADIUS));
            *radius = smaller;
        }
    }
    (boxes, change)
}

fn suffice(boxes: &[StateBox], required: &[Vec<f64>], slack: f64) -> bool {
    let pairs = boxes.iter().zip(required).flat_map(|(b, required)| b.radii.iter().zip(required));
    pairs.into_iter().all(|(radius, &need)| with_slack(need, slack) <= *radius)
}

/// A radius that the checker accepts, too. The initial state is a point and must stay one.
fn with_slack(need: f64, slack: f64) -> f64 {
    if need > 0.0 { need * SLACK + slack } else { 0.0 }
}

/// The images of every cell under its words, cached for the radii they were computed with.
struct CellImages<'a> {
    network: &'a EnclosedNetwork,
    graph: &'a CellGraph,
    errors: ErrorModel,
    /// Distance of the start set from the centre of the start cell `[n]`.
    start: Vec<f64>,
    /// The radii that `images` was computed with `[cells]`.
    radii: Vec<Option<Vec<f64>>>,
    /// The images of each cell `[cells]`.
    images: Vec<Vec<WordImage>>,
}

/// The image of a cell under a word whose length is the cell's depth.
struct WordImage {
    word: Vec<u32>,
    /// The cell that must contain the image.
    target: usize,
    /// Distance of the image from the target's centre `[n]`.
    distance: Vec<f64>,
}

impl<'a> CellImages<'a> {
    fn new(
        network: &'a EnclosedNetwork,
        graph: &'a CellGraph,
        errors: ErrorModel,
    ) -> CellImages<'a> {
        let start = start_set(network, errors).distance_from(&graph.centres[0]);
        let (radii, cells) = (vec![None; graph.centres.len()], graph.centres.len());
        let images = (0..cells).map(|_| vec![]).collect();
        CellImages { network, graph, errors, start, radii, images }
    }

    /// Recomputes the images of cells whose radii have changed; `None` if `steps` does not suffice.
    fn update(&mut self, boxes: &[StateBox], steps: &mut usize) -> Option<()> {
        let is_changed = |&cell: &usize| self.radii[cell].as_ref() != Some(&boxes[cell].radii);
        let changed: Vec<usize> = (0..boxes.len()).filter(is_changed).collect();
        for &cell in &changed {
            *steps = steps.checked_sub(self.graph.word_count(cell))?;
        }
        let images = parallel_map(changed.len(), |i| {
            let set = Zonotope::of_box(self.network, &boxes[changed[i]], self.errors);
            self.images_of(changed[i], &set)
        });
        for (cell, images) in changed.into_iter().zip(images) {
            self.images[cell] = images;
            self.radii[cell] = Some(boxes[cell].radii.clone());
        }
        Some(())
    }

    fn images_of(&self, cell: usize, set: &Zonotope) -> Vec<WordImage> {
        let mut images = vec![];
        let depth = self.graph.depths[cell];
        visit_images(self.network, self.graph, cell, set, depth, self.errors, &mut |visited| {
            if visited.word.len() == depth {
                let distance = visited.set.distance_from(&self.graph.centres[visited.cell]);
                let word = visited.word.to_vec();
                images.push(WordImage { word, target: visited.cell, distance });
            }
        });
        images
    }

    /// The radii with which every cell contains the images that target it `[cells][n]`.
    fn required_radii(&self) -> Vec<Vec<f64>> {
        let mut required: Vec<Vec<f64>> =
            self.graph.centres.iter().map(|centre| vec![0.0; centre.len()]).collect();
        required[0].clone_from(&self.start);
        for image in self.images.iter().flatten() {
            let radii = required[image.target].iter_mut().zip(&image.distance);
            radii.for_each(|(radius, &distance)| *radius = radius.max(distance));
        }
        required
    }

    fn too_large(&self, boxes: &[StateBox]) -> Option<ImageOutsideCell> {
        Some(self.largest(boxes)).filter(|image| image.image_radius >= MAX_IMAGE_RADIUS)
    }

    /// The image with the largest distance from its target's centre.
    fn largest(&self, boxes: &[StateBox]) -> ImageOutsideCell {
        let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let all = self.images.iter().enumerate();
        let all = all.flat_map(|(cell, images)| images.iter().map(move |image| (cell, image)));
        let (cell, image) = all
            .max_by(|a, b| largest(&a.1.distance).total_cmp(&largest(&b.1.distance)))
            .expect("a cell has successors");
        ImageOutsideCell {
            cell,
            word: image.word.clone(),
            target: image.target,
            image_radius: largest(&image.distance),
            source_radius: largest(&boxes[cell].radii),
        }
    }
}

/// The states in which the first symbol is read.
pub fn start_set(network: &EnclosedNetwork, errors: ErrorModel) -> Zonotope {
    let origin = Zonotope::origin(network);
    match network.arch.input.start() {
        Some(token) => step(network, &origin, token, errors).set,
        None => origin,
    }
}

/// The image of a cell under a word.
pub struct VisitedSet<'a> {
    /// The word.
    pub word: &'a [u32],
    /// The cell that the word leads to in the cell graph.
    pub cell: usize,
    /// An enclosure of the states after the word.
    pub set: &'a Zonotope,
    /// u of the last step.
    pub u: &'a RoundedForm,
}

/// Calls `visit` for the image of `set` under every word of length 1 to `depth`; `set` lies in
/// `cell`.
pub fn visit_images(
    network: &EnclosedNetwork,
    graph: &CellGraph,
    cell: usize,
    set: &Zonotope,
    depth: usize,
    errors: ErrorModel,
    visit: &mut impl FnMut(VisitedSet<'_>),
) {
    let mut open = vec![(vec![], cell, set.clone())];
    while let Some((word, cell, set)) = open.pop() {
        for (symbol, &next) in graph.successors[cell].iter().enumerate() {
            let stepped = step(network, &set, symbol as u32, errors);
            let mut word: Vec<u32> = word.clone();
            word.push(symbol as u32);
            visit(VisitedSet { word: &word, cell: next, set: &stepped.set, u: &stepped.u });
            if word.len() < depth {
                open.push((word, next, stepped.set));
            }
        }
    }
}
