"""Records what a Hugging Face decoder attends to, as .kva: `Recorder`, or the command `kvplan-record`.

The model is not edited: an attention function with the name "kvplan" is registered. It calls the model's own eager
function and shows its inputs and outputs. Reading order: hook.py, facts.py, recorder.py, sequence.py, __main__.py.
"""

from .errors import RecorderError
from .recorder import PARTS, Recorder

VERSION = "0.1.0"
__all__ = ["PARTS", "Recorder", "RecorderError", "VERSION"]
