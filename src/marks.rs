//! Marked places of a list, a bit each, that can be counted and found by number (Jacobson,
//! "Space-efficient static trees and graphs", FOCS 1989).

/// Bits for the places of a list, as words.
pub fn words_for(n_places: usize) -> usize {
    n_places.div_ceil(64)
}

/// Sets the bit of a place.
pub fn mark(words: &mut [u64], place: usize) {
    words[place / 64] |= 1 << (place % 64);
}

/// The marked places of a list, and how many are marked before each word.
#[derive(Debug, Clone)]
pub struct Marks<'a> {
    words: &'a [u64],
    before: Vec<u32>,
    n_places: usize,
    n_marked: usize,
}

impl<'a> Marks<'a> {
    /// The marks of `n_places` places, which must be fewer than 2^32. O(places / 64).
    pub fn new(words: &'a [u64], n_places: usize) -> Self {
        let mut n_marked = 0;
        let before = words.iter().map(|word| {
            let before = n_marked as u32;
            n_marked += word.count_ones() as usize;
            before
        });
        let before = before.collect();
        Self { words, before, n_places, n_marked }
    }

    /// Number of marked places.
    pub fn n_marked(&self) -> usize {
        self.n_marked
    }

    /// Number of words, which have 64 places each.
    pub fn n_words(&self) -> usize {
        self.words.len()
    }

    /// Whether a place is marked.
    pub fn contains(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 != 0
    }

    /// How many places before this one are marked. O(1).
    pub fn rank(&self, place: usize) -> usize {
        let below = (1u64 << (place % 64)) - 1;
        self.before[place / 64] as usize + (self.words[place / 64] & below).count_ones() as usize
    }

    /// The place of mark number `number`, or the number of places if there are fewer marks. O(log places).
    pub fn select(&self, number: usize) -> usize {
        if number >= self.n_marked {
            return self.n_places;
        }
        let at = self.before.partition_point(|&before| before as usize <= number) - 1;
        let mut word = self.words[at];
        for _ in 0..number - self.before[at] as usize {
            word &= word - 1;
        }
        at * 64 + word.trailing_zeros() as usize
    }

    /// The first marked place behind this one, or the number of places if there is none.
    pub fn next(&self, place: usize) -> usize {
        let (mut at, mut word) = ((place + 1) / 64, 0);
        if let Some(&first) = self.words.get(at) {
            word = first >> ((place + 1) % 64) << ((place + 1) % 64);
        }
        while word == 0 {
            at += 1;
            match self.words.get(at) {
                Some(&next) => word = next,
                None => return self.n_places,
            }
        }
        at * 64 + word.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_counted_and_found(bits in proptest::collection::vec(prop::bool::weighted(0.2), 1..400)) {
            let mut words = vec![0; words_for(bits.len())];
            let places: Vec<usize> = (0..bits.len()).filter(|&place| bits[place]).collect();
            for &place in &places {
                mark(&mut words, place);
            }
            let marks = Marks::new(&words, bits.len());
            prop_assert_eq!(marks.n_marked(), places.len());
            for (number, &place) in places.iter().enumerate() {
                prop_assert_eq!(marks.select(number), place);
            }
            prop_assert_eq!(marks.select(places.len()), bits.len());
            for place in 0..bits.len() {
                prop_assert_eq!(marks.contains(place), bits[place]);
                prop_assert_eq!(marks.rank(place), places.iter().filter(|&&marked| marked < place).count());
                let next = places.iter().copied().find(|&marked| marked > place).unwrap_or(bits.len());
                prop_assert_eq!(marks.next(place), next);
            }
        }
    }
}
