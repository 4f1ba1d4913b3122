//! Constants that were chosen by measurement, and a way to measure with other values.
//!
//! Speed depends on a tuned constant; no result does. With the Cargo feature `tuning`, the value of
//! an environment variable replaces the constant. The variable is named after the constant:
//! `SPINNEY_HISTOGRAM_FROM`, for example. In this way the bench `sweep` measures each constant on
//! both sides of its chosen value. Without the feature, the chosen value is compiled in.

/// Defines tuned constants, each as a function that returns the value.
macro_rules! tuned {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident() -> $type:ty = $value:expr;)+) => {
        $(
            $(#[$meta])*
            #[inline]
            $vis fn $name() -> $type {
                #[cfg(feature = "tuning")]
                {
                    static SWEPT: std::sync::LazyLock<Option<$type>> =
                        std::sync::LazyLock::new(|| $crate::tuning::swept(stringify!($name)));
                    if let Some(value) = *SWEPT {
                        return value;
                    }
                }
                $value
            }
        )+
    };
}

pub(crate) use tuned;

/// The value that the environment gives to the tuned constant `name`; `None` if the variable is not
/// set.
#[cfg(feature = "tuning")]
pub(crate) fn swept<T: std::str::FromStr>(name: &str) -> Option<T> {
    let variable = format!("SPINNEY_{}", name.to_uppercase());
    let value = std::env::var(&variable).ok()?;
    let Ok(number) = value.parse() else { panic!("{variable} must be a number, got {value:?}") };
    Some(number)
}
