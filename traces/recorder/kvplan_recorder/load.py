"""Models by name, by folder, or of a configuration alone with random weights."""

import pathlib

import huggingface_hub
import torch
import transformers

from .errors import RecorderError
from .hook import first_line
from .prompts import NoTokenizer

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def load(name, kind=None, device="cpu", random=False, seed=0):
    """(model, tokenizer or NoTokenizer). `kind` of TYPES: how weights are held, None as they are stored."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.logging.set_verbosity_error()  # what it tries again; what fails is told at the end
    try:
        torch.empty(0, device=device)  # one that is not there is refused before gigabytes are read
    except (RuntimeError, AssertionError) as error:  # the latter of a PyTorch without CUDA
        raise RecorderError(f"device {device}: {first_line(error)}") from None
    try:
        if random:
            path = pathlib.Path(name)
            config = transformers.AutoConfig.from_pretrained(path.parent if path.name == "config.json" else name)
            torch.manual_seed(seed)
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=TYPES[kind or "f32"])
        else:
            model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=TYPES[kind] if kind else "auto")
        model = model.to(device)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise RecorderError(f"{name}: {first_line(error)}") from None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    except Exception as error:  # whatever it is: a model without a tokenizer takes prompts of ids
        tokenizer = NoTokenizer(first_line(error))
    return model, tokenizer
