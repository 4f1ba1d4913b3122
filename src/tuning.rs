//! Constants that were chosen by measurement, and the way to sweep them.
//!
//! No result depends on a tuned constant, only speed does. With the Cargo feature `tuning` an environment variable of the
//! constant's name (`SPINNEY_HISTOGRAM_FROM`, say) takes its place, which is how the bench `sweep` measures each of them on
//! both sides of its value. Without the feature a constant is a constant.

/// Defines tuned constants, each as a function.
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

/// The value that the environment gives to a tuned constant.
#[cfg(feature = "tuning")]
pub(crate) fn swept<T: std::str::FromStr>(name: &str) -> Option<T> {
    let variable = format!("SPINNEY_{}", name.to_uppercase());
    let value = std::env::var(&variable).ok()?;
    match value.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{variable} must be a number, got {value:?}"),
    }
}
