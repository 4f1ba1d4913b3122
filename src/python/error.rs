//! The one place where errors become Python exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};

use crate::error::Error;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
            Error::InvalidParameter { .. }
            | Error::InvalidArgument { .. }
            | Error::InvalidSparse { .. }
            | Error::ShapeMismatch { .. }
            | Error::TooLarge { .. } => PyValueError::new_err(error.to_string()),
        }
    }
}
