"""Framescribe asks nobody anything by itself: libraries that would call home are told not to before one is imported.

Every process of the project comes through here first, workers and decoding children too. What the user set stays.
`weights fetch`, object stores and clusters, which are asked for, do not depend on any of this.
"""

import os
import sys

SILENT = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime: a device id in the home folder, its maker's host is looked up
    "HF_HUB_OFFLINE": "1",  # timm's hub
    "HF_HUB_DISABLE_TELEMETRY": "1",
}

for _name, _value in SILENT.items():
    os.environ.setdefault(_name, _value)
# OpenVINO sends an event when it is imported and knows no variable; without this package it has a silent stand-in.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
