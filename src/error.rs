//! The one error type of the crate. Each variant carries data. Its message names the argument, the
//! value that was given, and the values that are allowed. Only `python/error.rs` maps variants to
//! Python exceptions.

/// The failure of a call of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyperparameter outside its legal range.
    #[error("The '{name}' parameter must be {expected}. Got {got} instead.")]
    InvalidParameter {
        /// The parameter, as scikit-learn spells it.
        name: &'static str,
        /// The value that was given.
        got: String,
        /// The legal values, as words that follow "must be".
        expected: &'static str,
    },
    /// An array argument whose contents are not legal.
    #[error("{name} must be {expected}. Got {got} instead.")]
    InvalidArgument {
        /// The name of the argument, with which the message begins.
        name: &'static str,
        /// The contents that were found, in words.
        got: String,
        /// The legal contents, as words that follow "must be".
        expected: String,
    },
    /// A compressed sparse matrix whose arrays contradict each other.
    #[error("X is not a valid {format} matrix: {reason}")]
    InvalidSparse {
        /// `"CSC"` or `"CSR"`.
        format: &'static str,
        /// The first contradiction that was found.
        reason: String,
    },
    /// Two lengths that should agree and do not.
    #[error("{what} must have {expected}. Got {got} instead.")]
    ShapeMismatch {
        /// The argument and the axis.
        what: &'static str,
        /// The length that is needed, with its unit.
        expected: String,
        /// The length that was given, with its unit.
        got: String,
    },
    /// More rows, columns or nodes than the index types hold.
    #[error("{what} is limited to {limit}. Got {got} instead.")]
    TooLarge {
        /// The quantity in words, with which the message begins.
        what: &'static str,
        /// The largest legal value of the quantity.
        limit: u64,
        /// The value that was given.
        got: u64,
    },
    /// Bytes of a stored model or data set that are not what was stored.
    #[error("The section '{section}' is damaged: {reason}.")]
    Damaged {
        /// The section that is at fault.
        section: String,
        /// The fault, as the end of a sentence.
        reason: String,
    },
    /// A stored model of a format that did not exist when this version was made.
    #[error(
        "{what} has format {got}; this version of spinney reads formats up to {newest}. Load it with a newer version."
    )]
    NewerFormat {
        /// The kind of model or data set that is stored.
        what: &'static str,
        /// The number of its format.
        got: u64,
        /// The newest number that is known.
        newest: u64,
    },
    /// Memory that the system does not have.
    #[error("Unable to allocate {bytes} bytes for {what}.")]
    OutOfMemory {
        /// The use of the memory, in words.
        what: &'static str,
        /// How much was asked for.
        bytes: u64,
    },
    /// A panic, which is a bug of this crate.
    #[error(
        "spinney has failed with the message {message:?}. This is a bug in spinney. Please report it to its issue \
         tracker, together with the call and what standard error shows of it."
    )]
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// The caller asked the running call to stop.
    #[error("the call was interrupted")]
    Interrupted,
}

/// The result of a fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;
