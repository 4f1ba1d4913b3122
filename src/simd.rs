//! Loops that are compiled for several widths of vector registers. At run time, the version for the
//! widest registers of the machine is called.
//!
//! The loops are plain Rust, which the compiler vectorises. The result of a loop does not depend on the
//! width, since a loop computes each element alone or combines integers. Processors other than x86-64 have
//! one width only, their baseline's (NEON on ARM).

/// A width of vector registers that this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(LevelKind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelKind {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The width that every processor of the target has: 16 bytes on x86-64 and ARM.
    pub const BASELINE: Self = Self(LevelKind::Baseline);

    /// All widths that this machine has, ascending.
    pub fn supported() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let wide = with_features!(detected {});
        #[cfg(not(target_arch = "x86_64"))]
        let wide: [(LevelKind, bool); 0] = [];
        let wide = wide.into_iter().filter(|&(_, is_there)| is_there).map(|(kind, _)| Self(kind));
        std::iter::once(Self::BASELINE).chain(wide)
    }

    /// The greatest width that this machine has.
    pub fn widest() -> Self {
        Self::supported().last().unwrap_or(Self::BASELINE)
    }

    pub(crate) fn kind(self) -> LevelKind {
        self.0
    }
}

/// Asks for the cache line of an item before it is needed. Does nothing if there is no such item, or
/// if the processor is not x86-64.
#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "nothing is asked for"))]
pub fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this instruction, and the address points to an item.
        #[allow(unsafe_code, reason = "a read ahead cannot be written otherwise")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
}

/// Calls the macro `$then` with the processor features of each wide level, then `$tokens`. The
/// features that are asked for at run time and the features that loops are compiled with both come
/// from this list, so they cannot differ.
macro_rules! with_features {
    ($then:ident { $($tokens:tt)* }) => {
        $crate::simd::$then! {
            ["avx2" "bmi1" "bmi2" "lzcnt" "popcnt"]
            ["avx2" "avx512f" "avx512bw" "avx512dq" "avx512vl" "bmi1" "bmi2" "lzcnt" "popcnt"]
            $($tokens)*
        }
    };
}

/// The wide levels, each with whether this machine has all features of the level.
#[cfg(target_arch = "x86_64")]
macro_rules! detected {
    ([$($avx2:tt)*] [$($avx512:tt)*]) => {
        [
            (LevelKind::Avx2, true $(&& is_x86_feature_detected!($avx2))*),
            (LevelKind::Avx512, true $(&& is_x86_feature_detected!($avx512))*),
        ]
    };
}

/// Defines a function whose body is compiled for every width. The first argument of a call is the
/// [`Level`] to use. A function that the body calls is only vectorised if it is inlined into the
/// body.
macro_rules! vectorized {
    ($($function:tt)*) => {
        $crate::simd::with_features!(compiled { $($function)* });
    };
}

/// Does the work of [`vectorized`], given the features of each wide level before the function. What the
/// function is generic in may be constants, or a type with one bound and then constants.
macro_rules! compiled {
    (
        $avx2:tt $avx512:tt
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$(const $n:ident: usize),+>)? ($($arg:ident: $type:ty),* $(,)?) $(-> $output:ty)? $body:block
    ) => {
        $crate::simd::compiled! {
            @generic {$($(const $n: usize),+)?} {$($($n),+)?} $avx2 $avx512 {$(#[$meta])*}
            {$vis} $name ($($arg: $type),*) {$(-> $output)?} $body
        }
    };
    (
        $avx2:tt $avx512:tt
        $(#[$meta:meta])*
        $vis:vis fn $name:ident <$t:ident: $bound:path $(, const $n:ident: usize)*> ($($arg:ident: $type:ty),* $(,)?) $(-> $output:ty)? $body:block
    ) => {
        $crate::simd::compiled! {
            @generic {$t: $bound $(, const $n: usize)*} {$t $(, $n)*} $avx2 $avx512 {$(#[$meta])*}
            {$vis} $name ($($arg: $type),*) {$(-> $output)?} $body
        }
    };
    (
        @generic {$($parameter:tt)*} {$($argument:tt)*} [$($avx2:tt)*] [$($avx512:tt)*] {$($meta:tt)*}
        {$vis:vis} $name:ident ($($arg:ident: $type:ty),*) {$($output:tt)*} $body:block
    ) => {
        $($meta)*
        #[allow(clippy::too_many_arguments, reason = "a level, and those of the loop")]
        $vis fn $name<$($parameter)*>(level: $crate::simd::Level, $($arg: $type),*) $($output)* {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "compiled for each width")]
            fn body<$($parameter)*>($($arg: $type),*) $($output)* $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature($(enable = $avx2),*)]
            fn avx2<$($parameter)*>($($arg: $type),*) $($output)* {
                body::<$($argument)*>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature($(enable = $avx512),*)]
            fn avx512<$($parameter)*>($($arg: $type),*) $($output)* {
                body::<$($argument)*>($($arg),*)
            }

            match level.kind() {
                $crate::simd::LevelKind::Baseline => body::<$($argument)*>($($arg),*),
                // SAFETY: a level of this kind exists only where the processor has said that it has
                // these features.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code, reason = "the processor has been asked")]
                $crate::simd::LevelKind::Avx2 => unsafe { avx2::<$($argument)*>($($arg),*) },
                // SAFETY: a level of this kind too exists only where the processor has said that it
                // has these features.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code, reason = "the processor has been asked")]
                $crate::simd::LevelKind::Avx512 => unsafe { avx512::<$($argument)*>($($arg),*) },
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(crate) use detected;
pub(crate) use {compiled, vectorized, with_features};

#[cfg(test)]
mod tests {
    use super::*;

    vectorized! {
        fn sum(values: &[u32]) -> u32 {
            values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
        }
    }

    #[test]
    fn widths_agree() {
        let values: Vec<u32> = (0..1000u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let expected = sum(Level::BASELINE, &values);
        assert!(Level::supported().all(|level| sum(level, &values) == expected));
        assert_eq!(Level::supported().last(), Some(Level::widest()));
    }
}
