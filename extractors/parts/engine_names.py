"""The engines by name, and the packages that each needs: known without any of them, and without torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

Engine = Literal["eager", "compile", "onnxruntime", "openvino"]
Precision = Literal["float32", "bfloat16"]  # of the arithmetic; what is stored is another question
# What each needs besides torch; their versions decide bits
PACKAGES: dict[Engine, tuple[str, ...]] = {
    "eager": (),
    "compile": (),
    "onnxruntime": ("onnxruntime", "onnx", "onnxscript"),
    "openvino": ("openvino", "onnx", "onnxscript"),
}
EXPORTED = ("onnxruntime", "openvino")  # these run on the CPU, in float32


def missing_packages(engine: Engine) -> list[str]:
    return [name for name in PACKAGES[engine] if find_spec(name) is None]
