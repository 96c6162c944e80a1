"""Records what a Hugging Face decoder attends to, as .kva: `Recorder`, or the command `kvplan-record`.

The model is not edited: an attention function is registered under the name "kvplan", which calls the model's own eager
function and shows what went in and came out. Reading order: hook.py, facts.py, recorder.py, sequence.py, __main__.py.
"""

from .errors import RecorderError
from .recorder import PARTS, Recorder

VERSION = "0.1.0"
__all__ = ["PARTS", "Recorder", "RecorderError", "VERSION"]
