//! The least radii with which every cell's images lie in their cells.

use super::arithmetic::Errors;
use super::cell::Computed;
use super::network::Network;
use super::outline::Outline;
use super::set::{Ball, Set, step};

/// An image that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Overflow {
    /// The cell it comes from.
    pub cell: usize,
    /// The word that leads there.
    pub word: Vec<u32>,
    /// The cell it should lie in.
    pub target: usize,
    /// How far it reaches from that cell's centre, in the worst coordinate.
    pub reach: f64,
    /// How far the source cell reaches, in its worst coordinate.
    pub from: f64,
}

/// Rounds of growing before giving up.
const ROUNDS: usize = 80;
/// Rounds of shrinking once the radii hold.
const POLISH: usize = 12;
/// While growing, radii are taken this much larger than needed: with a contraction they then hold
/// after few rounds.
const GROWTH: f64 = 1.02;
/// What is left above the need at the end: room for a checker that rounds otherwise.
const SLACK: f64 = 1.0 + 1e-6;
const LEAST: f64 = 1e-15;
/// A cell that reaches this far has lost its state.
const WIDEST: f64 = 0.9;

/// Why there are no radii.
#[derive(Clone, Debug, PartialEq)]
pub enum Unclosed {
    /// An image outgrows every radius.
    Expands(Overflow),
    /// The steps allowed were taken before an answer was there.
    OutOfSteps,
}

/// Radii for the cells; `steps` is what may be spent, in enclosures of a step, and goes down.
pub fn close(
    network: &Network,
    outline: &Outline,
    errors: Errors,
    steps: &mut usize,
) -> Result<Vec<Ball>, Unclosed> {
    let ball = |centre: &Vec<f64>| Ball { centre: centre.clone(), radii: vec![0.0; centre.len()] };
    let mut balls: Vec<Ball> = outline.centres.iter().map(ball).collect();
    let mut images = Images::new(network, outline, errors);
    for _ in 0..ROUNDS {
        if images.update(&balls, steps).is_none() {
            return Err(Unclosed::OutOfSteps);
        }
        if let Some(overflow) = images.overflow(&balls) {
            return Err(Unclosed::Expands(overflow));
        }
        let needs = images.needs();
        if holds(&balls, &needs) {
            return Ok(polish(&mut images, balls, steps));
        }
        for (ball, need) in balls.iter_mut().zip(&needs) {
            for (radius, &need) in ball.radii.iter_mut().zip(need) {
                *radius = if need > *radius { need * GROWTH + LEAST } else { *radius };
            }
        }
    }
    Err(Unclosed::Expands(images.widest(&balls)))
}

/// Radii that hold, made as small as they may be. The needs of smaller cells are smaller as a rule,
/// not always: another coordinate may become the widest, and with it other generators. So every
/// round is tried, and the last one that holds is kept.
fn polish(images: &mut Images, mut balls: Vec<Ball>, steps: &mut usize) -> Vec<Ball> {
    for _ in 0..POLISH {
        let (smaller, change) = shrunk(&balls, &images.needs());
        let followed = images.update(&smaller, steps).is_some();
        if !followed || !holds(&smaller, &images.needs()) {
            break;
        }
        balls = smaller;
        if change < 1e-3 {
            break;
        }
    }
    balls
}

/// The balls with radii near their needs, and the largest relative change.
fn shrunk(balls: &[Ball], needs: &[Vec<f64>]) -> (Vec<Ball>, f64) {
    let (mut balls, mut change) = (balls.to_vec(), 0f64);
    for (ball, need) in balls.iter_mut().zip(needs) {
        for (radius, &need) in ball.radii.iter_mut().zip(need) {
            // The initial state is a point and must stay one.
            let room = if need > 0.0 { LEAST } else { 0.0 };
            let smaller = radius.min(need * SLACK + room);
            change = change.max((*radius - smaller) / radius.max(LEAST));
            *radius = smaller;
        }
    }
    (balls, change)
}

fn holds(balls: &[Ball], needs: &[Vec<f64>]) -> bool {
    let pairs = balls.iter().zip(needs).flat_map(|(ball, need)| ball.radii.iter().zip(need));
    pairs.into_iter().all(|(radius, need)| need <= radius)
}

/// Where every cell's words land, for the radii last seen.
struct Images<'a> {
    network: &'a Network,
    outline: &'a Outline,
    errors: Errors,
    /// The start's distance from its cell's centre.
    start: Vec<f64>,
    seen: Vec<Option<Vec<f64>>>,
    landings: Vec<Vec<Landing>>,
}

struct Landing {
    word: Vec<u32>,
    target: usize,
    distance: Vec<f64>,
}

impl<'a> Images<'a> {
    fn new(network: &'a Network, outline: &'a Outline, errors: Errors) -> Images<'a> {
        let start = start(network, errors).distance_from(&outline.centres[0]);
        let (seen, cells) = (vec![None; outline.centres.len()], outline.centres.len());
        let landings = (0..cells).map(|_| vec![]).collect();
        Images { network, outline, errors, start, seen, landings }
    }

    /// Follows the cells whose radii have changed; nothing where that takes too many steps.
    fn update(&mut self, balls: &[Ball], steps: &mut usize) -> Option<()> {
        for (cell, ball) in balls.iter().enumerate() {
            if self.seen[cell].as_ref() != Some(&ball.radii) {
                *steps = steps.checked_sub(self.outline.words(cell))?;
                let set = Set::of_ball(self.network, ball, self.errors);
                self.landings[cell] = self.follow(cell, &set);
                self.seen[cell] = Some(ball.radii.clone());
            }
        }
        Some(())
    }

    fn follow(&self, cell: usize, set: &Set) -> Vec<Landing> {
        let mut landings = vec![];
        let depth = self.outline.depths[cell];
        walk(self.network, self.outline, cell, set, depth, self.errors, &mut |passed| {
            if passed.word.len() == depth {
                let distance = passed.set.distance_from(&self.outline.centres[passed.cell]);
                let word = passed.word.to_vec();
                landings.push(Landing { word, target: passed.cell, distance });
            }
        });
        landings
    }

    /// What each cell must reach.
    fn needs(&self) -> Vec<Vec<f64>> {
        let mut needs: Vec<Vec<f64>> =
            self.outline.centres.iter().map(|centre| vec![0.0; centre.len()]).collect();
        needs[0].clone_from(&self.start);
        for landing in self.landings.iter().flatten() {
            let need = needs[landing.target].iter_mut().zip(&landing.distance);
            need.for_each(|(need, &distance)| *need = need.max(distance));
        }
        needs
    }

    fn overflow(&self, balls: &[Ball]) -> Option<Overflow> {
        Some(self.widest(balls)).filter(|overflow| overflow.reach >= WIDEST)
    }

    /// The image that reaches farthest.
    fn widest(&self, balls: &[Ball]) -> Overflow {
        let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let all = self.landings.iter().enumerate();
        let all = all.flat_map(|(cell, landings)| landings.iter().map(move |l| (cell, l)));
        let (cell, landing) = all
            .max_by(|a, b| largest(&a.1.distance).total_cmp(&largest(&b.1.distance)))
            .expect("a cell has successors");
        Overflow {
            cell,
            word: landing.word.clone(),
            target: landing.target,
            reach: largest(&landing.distance),
            from: largest(&balls[cell].radii),
        }
    }
}

/// The states in which the first symbol is read.
pub fn start(network: &Network, errors: Errors) -> Set {
    let origin = Set::origin(network);
    match network.arch.input.start() {
        Some(token) => step(network, &origin, token, errors).set,
        None => origin,
    }
}

/// A set passed on the way from a cell.
pub struct Passed<'a> {
    /// The word that leads there.
    pub word: &'a [u32],
    /// The cell that word leads to.
    pub cell: usize,
    /// The states.
    pub set: &'a Set,
    /// u of the step that led there.
    pub u: &'a Computed,
}

/// Visits the sets that all words up to `depth` lead to from `set`, which lies in `cell`.
pub fn walk(
    network: &Network,
    outline: &Outline,
    cell: usize,
    set: &Set,
    depth: usize,
    errors: Errors,
    visit: &mut impl FnMut(Passed<'_>),
) {
    let mut open = vec![(vec![], cell, set.clone())];
    while let Some((word, cell, set)) = open.pop() {
        for (symbol, &next) in outline.successors[cell].iter().enumerate() {
            let stepped = step(network, &set, symbol as u32, errors);
            let mut word: Vec<u32> = word.clone();
            word.push(symbol as u32);
            visit(Passed { word: &word, cell: next, set: &stepped.set, u: &stepped.u });
            if word.len() < depth {
                open.push((word, next, stepped.set));
            }
        }
    }
}
