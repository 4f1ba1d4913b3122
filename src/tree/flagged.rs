//! Numbers with a flag, in as few bytes as they fit in.

/// The flag of a number of 32 bits.
pub(super) const FLAG: u32 = 1 << 31;

/// A number with a flag in its highest bit.
pub(super) trait Flagged: Copy + Into<u32> {
    /// The flag. Numbers are below.
    const FLAG: u32;

    /// A number of 32 bits in this type; `None` if it does not fit.
    fn narrow(number: u32) -> Option<Self>;

    /// The number in 32 bits, with the flag in the highest bit.
    #[inline]
    fn widen(self) -> u32 {
        let number: u32 = self.into();
        number & !Self::FLAG | if number & Self::FLAG == 0 { 0 } else { FLAG }
    }
}

macro_rules! flagged {
    ($($type:ty),+) => { $(
        impl Flagged for $type {
            const FLAG: u32 = 1 << (<$type>::BITS - 1);

            fn narrow(number: u32) -> Option<Self> {
                let value = number & !FLAG;
                let flag = if number & FLAG == 0 { 0 } else { <Self as Flagged>::FLAG };
                (value < <Self as Flagged>::FLAG).then_some((value | flag) as Self)
            }
        }
    )+ };
}

flagged!(u8, u16, u32);

/// All numbers in a type; `None` if one does not fit.
pub(super) fn narrow<T: Flagged>(numbers: &[u32]) -> Option<Box<[T]>> {
    numbers.iter().map(|&number| T::narrow(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_or_do_not_fit() {
        fn check<T: Flagged>(most: u32) {
            for number in [0, 1, most - 1, most] {
                for number in [number, number | FLAG] {
                    assert_eq!(T::narrow(number).map(T::widen), Some(number));
                }
            }
            assert!(most == u32::MAX >> 1 || T::narrow(most + 1).is_none() && T::narrow(FLAG | (most + 1)).is_none());
        }
        check::<u8>(127);
        check::<u16>((1 << 15) - 1);
        check::<u32>(u32::MAX >> 1);
        assert!(narrow::<u8>(&[1, 127 | FLAG]).is_some() && narrow::<u8>(&[1, 128]).is_none());
    }
}
