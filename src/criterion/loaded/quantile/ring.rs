//! Lists of places in ascending order, which remove a member in O(1) and find the neighbours of any
//! member.
//!
//! * [`PlaceLinks`]: a doubly linked list. Each link lies beside its target, so that one line of the
//!   cache has both.
//! * [`Mask`]: up to 63 places as the bits of a word; neighbours are found by counting zeros.
//!   Nothing has to be set up, and the list stays in registers.

use super::line::Line;

/// A list of places, from 1 on. Place 0 closes the ring: it is before the first member and after
/// the last.
pub(super) trait Ring {
    /// The fixed-point target at a place.
    fn value(&self, place: u32) -> i64;
    /// The member before this one, or 0 if this is the first.
    fn before(&self, place: u32) -> u32;
    /// The member after this one, or 0 if this is the last. After 0 comes the first member.
    fn after(&self, place: u32) -> u32;
    /// The member after this one or before it, chosen without a branch.
    fn neighbour(&self, place: u32, is_after: bool) -> u32;
    /// Removes the member at a place.
    fn unlink(&mut self, place: u32);
}

#[derive(Debug, Clone, Copy)]
struct PlaceLink {
    value: i64,
    /// The member before, then the member after.
    neighbours: [u32; 2],
}

/// The storage of a doubly linked list: one link per place.
#[derive(Debug, Default)]
pub(super) struct PlaceLinks(Vec<PlaceLink>);

impl PlaceLinks {
    /// Makes all places of a line members.
    pub fn link_all(&mut self, line: &Line) {
        let n = line.len() as u32;
        let link = |(place, &value): (u32, &i64)| PlaceLink { value, neighbours: [place.wrapping_sub(1), place + 1] };
        self.0.clear();
        self.0.extend((0..).zip(&line.values).map(link));
        self.0[0].neighbours[0] = n;
        self.0[n as usize].neighbours[1] = 0;
    }

    /// The list, to remove members from.
    pub fn ring(&mut self) -> Linked<'_> {
        Linked(&mut self.0)
    }

    /// Makes this list equal to another.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Undoes the removal of these places, which were removed in this order: links them again, the
    /// last one first.
    pub fn relink(&mut self, removed: &[u32]) {
        for &place in removed.iter().rev() {
            let [before, after] = self.0[place as usize].neighbours;
            self.0[before as usize].neighbours[1] = place;
            self.0[after as usize].neighbours[0] = place;
        }
    }
}

/// A doubly linked list whose members can be removed.
pub(super) struct Linked<'a>(&'a mut [PlaceLink]);

#[allow(clippy::inline_always, reason = "as `Peel::remove`")]
impl Ring for Linked<'_> {
    #[inline(always)]
    fn value(&self, place: u32) -> i64 {
        self.0[place as usize].value
    }

    #[inline(always)]
    fn before(&self, place: u32) -> u32 {
        self.0[place as usize].neighbours[0]
    }

    #[inline(always)]
    fn after(&self, place: u32) -> u32 {
        self.0[place as usize].neighbours[1]
    }

    #[inline(always)]
    fn neighbour(&self, place: u32, is_after: bool) -> u32 {
        self.0[place as usize].neighbours[usize::from(is_after)]
    }

    #[inline(always)]
    fn unlink(&mut self, place: u32) {
        let [before, after] = self.0[place as usize].neighbours;
        self.0[before as usize].neighbours[1] = after;
        self.0[after as usize].neighbours[0] = before;
    }
}

/// A list as the bits of a word. The lowest bit is place 0 and stays set.
pub(super) struct Mask<'a> {
    values: &'a [i64],
    members: u64,
}

impl<'a> Mask<'a> {
    /// The largest number of places.
    pub const MAX: usize = 63;

    /// The list of all `n` places of a line.
    pub fn new(line: &'a Line, n: usize) -> Self {
        debug_assert!(n == line.len() && n <= Self::MAX);
        Self { values: &line.values, members: u64::MAX >> (Self::MAX - n) }
    }
}

#[allow(clippy::inline_always, reason = "as `Peel::remove`")]
impl Ring for Mask<'_> {
    #[inline(always)]
    fn value(&self, place: u32) -> i64 {
        self.values[place as usize]
    }

    #[inline(always)]
    fn before(&self, place: u32) -> u32 {
        let below = self.members & ((1 << place) - 1);
        // Below every other place there is place 0 at least. For place 0 itself the result is 0.
        (below | 1).ilog2()
    }

    #[inline(always)]
    fn after(&self, place: u32) -> u32 {
        // If no member is above, the number of zeros is 64, and the result is 0.
        (self.members & (u64::MAX - 1) << place).trailing_zeros() & 63
    }

    #[inline(always)]
    fn neighbour(&self, place: u32, is_after: bool) -> u32 {
        let (before, after) = (self.before(place), self.after(place));
        before ^ ((before ^ after) & u32::from(is_after).wrapping_neg())
    }

    #[inline(always)]
    fn unlink(&mut self, place: u32) {
        self.members &= !(1 << place);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rings_agree(order in (1..=Mask::MAX as u32).prop_flat_map(|n| Just((1..=n).collect::<Vec<_>>()).prop_shuffle())) {
            let n = order.len();
            let mut line = Line::default();
            line.clear();
            line.values.extend((1..=n as i64).map(|place| place * place));
            let mut links = PlaceLinks::default();
            links.link_all(&line);
            let (mut linked, mut masked) = (links.ring(), Mask::new(&line, n));
            let mut left: Vec<u32> = (0..=n as u32).collect();
            for &gone in &order {
                for (i, &place) in left.iter().enumerate().skip(1) {
                    let (before, after) = (left[i - 1], left.get(i + 1).copied().unwrap_or(0));
                    prop_assert_eq!([linked.before(place), linked.after(place)], [before, after]);
                    prop_assert_eq!([masked.before(place), masked.after(place)], [before, after]);
                    prop_assert_eq!([linked.neighbour(place, false), linked.neighbour(place, true)], [before, after]);
                    prop_assert_eq!([masked.neighbour(place, false), masked.neighbour(place, true)], [before, after]);
                    prop_assert_eq!([linked.value(place), masked.value(place)], [line.values[place as usize]; 2]);
                }
                prop_assert_eq!([linked.after(0), masked.after(0)], [left[1]; 2]);
                linked.unlink(gone);
                masked.unlink(gone);
                left.retain(|&place| place != gone);
            }
            prop_assert_eq!([linked.after(0), masked.after(0)], [0; 2]);
            links.relink(&order);
            let mut fresh = PlaceLinks::default();
            fresh.link_all(&line);
            prop_assert!(links.0.iter().zip(&fresh.0).all(|(a, b)| a.neighbours == b.neighbours));
        }
    }
}
