//! The one place where errors become Python exceptions.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Error;

pyo3::import_exception!(spinney._common.messages, InvalidParameterError);

/// The exception for a hyperparameter of an estimator, in scikit-learn's words: it shows the value
/// as Python does, if it is one of `params`.
pub fn of_estimator(error: Error, estimator: &str, params: &Bound<'_, PyDict>) -> PyErr {
    let Error::InvalidParameter { name, expected, got } = error else { return error.into() };
    let message = |got| format!("The '{name}' parameter of {estimator} must be {expected}. Got {got} instead.");
    match params.get_item(name).and_then(|value| value.map(|value| value.repr()).transpose()) {
        Ok(Some(value)) => InvalidParameterError::new_err(message(value.to_string())),
        Ok(None) => InvalidParameterError::new_err(message(got)),
        Err(error) => error,
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
            Error::Panicked { .. } => PyRuntimeError::new_err(error.to_string()),
            Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
            Error::InvalidParameter { .. }
            | Error::InvalidArgument { .. }
            | Error::InvalidSparse { .. }
            | Error::Damaged { .. }
            | Error::NewerFormat { .. }
            | Error::ShapeMismatch { .. }
            | Error::TooLarge { .. } => PyValueError::new_err(error.to_string()),
        }
    }
}
