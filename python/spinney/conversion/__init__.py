"""Models of other libraries, and for them."""

from spinney.conversion._from_sklearn import from_sklearn
from spinney.conversion._nested import to_sklearn
from spinney.conversion._to_m2cgen import register_m2cgen
from spinney.conversion._to_mlflow import register_mlflow
from spinney.conversion._to_onnx import register_onnx

__all__ = ["from_sklearn", "register_m2cgen", "register_mlflow", "register_onnx", "to_sklearn"]
