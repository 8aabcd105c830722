//! Chance that can be had again by its seed.

/// SplitMix64.
pub(crate) struct Chance(u64);

impl Chance {
    /// With the seed in `SEED`, or a new one, which is printed.
    pub(crate) fn new() -> Self {
        let seed = std::env::var("SEED").ok().map(|seed| seed.parse());
        let seed = seed.map_or_else(|| u64::from(std::process::id()), |seed| seed.expect("SEED"));
        eprintln!("SEED={seed}");
        Self(seed)
    }

    /// The same each time.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn one_of<'c, T>(&mut self, choice: &'c [T]) -> &'c T {
        &choice[self.below(choice.len() as u64) as usize]
    }
}
