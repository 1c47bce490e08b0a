//! Random permutations as numpy makes them: the pixel order of permuted MNIST is defined so.

/// The text of `numpy.random.RandomState(seed).permutation(length)`, numbers between spaces.
pub fn permutation_text(seed: u32, length: u32) -> String {
    let numbers: Vec<String> = permutation(seed, length).iter().map(u32::to_string).collect();
    format!("{}\n", numbers.join(" "))
}

/// Fisher and Yates from the end. Indices are drawn by rejection from the fewest bits that hold them.
fn permutation(seed: u32, length: u32) -> Vec<u32> {
    let mut random = MersenneTwister::new(seed);
    let mut order: Vec<u32> = (0..length).collect();
    for last in (1..length).rev() {
        let mask = u32::MAX >> last.leading_zeros();
        let other = loop {
            let drawn = random.next() & mask;
            if drawn <= last {
                break drawn;
            }
        };
        order.swap(last as usize, other as usize);
    }
    order
}

/// MT19937 (Matsumoto & Nishimura 1998).
struct MersenneTwister {
    state: [u32; N],
    at: usize,
}

const N: usize = 624;
const M: usize = 397;

impl MersenneTwister {
    fn new(seed: u32) -> MersenneTwister {
        let mut state = [seed; N];
        for i in 1..N {
            let before = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = before.wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        MersenneTwister { state, at: N }
    }

    fn next(&mut self) -> u32 {
        if self.at == N {
            self.advance();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn advance(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_its_authors() {
        // The first outputs for the seed 5489, as in the C++ standard: output 10,000 is 4123659995.
        let mut random = MersenneTwister::new(5489);
        let outputs: Vec<u32> = (0..10_000).map(|_| random.next()).collect();
        assert_eq!((outputs[0], outputs[9_999]), (3_499_211_612, 4_123_659_995));
    }

    #[test]
    fn a_permutation_of_no_or_one_number_draws_nothing() {
        assert_eq!(permutation(1, 0), [0u32; 0]);
        assert_eq!(permutation(1, 1), [0]);
    }
}
