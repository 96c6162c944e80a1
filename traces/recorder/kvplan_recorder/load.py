"""Loads models by name or by folder, or builds them from a configuration alone with random weights."""

import pathlib

import huggingface_hub
import torch
import transformers

from .errors import RecorderError
from .hook import first_line
from .prompts import NoTokenizer

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def load(name, kind=None, device="cpu", random=False, seed=0):
    """(model, tokenizer or NoTokenizer). `kind`: a key of TYPES, the type of the weights in memory; None: as stored."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.logging.set_verbosity_error()  # hides its retries; a failure is reported at the end
    try:
        torch.empty(0, device=device)  # a missing device is refused before gigabytes are read
    except (RuntimeError, AssertionError) as error:  # AssertionError: PyTorch without CUDA
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
    except Exception as error:  # any error: a model without a tokenizer takes prompts of ids
        tokenizer = NoTokenizer(first_line(error))
    return model, tokenizer
