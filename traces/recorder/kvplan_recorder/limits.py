"""Checks of arguments: length and tokens of a prompt, numbers, and options that need a certain part. The command and
the library share these checks; each passes the name that its caller knows. Nothing here loads PyTorch, so that the
command can refuse an argument before a model is loaded."""

import numbers

from .errors import RecorderError
from .prompts import MOST_NUMBER, MOST_TOKENS

PARTS = ("rows", "queries", "keys", "values", "top_rows", "value_norms", "layer_inputs", "output_weights")
OF_ROWS = ("rows", "top_rows")
RANGES = {"top": (1, MOST_TOKENS), "max_prompt_tokens": (0, MOST_TOKENS), "max_new_tokens": (0, MOST_TOKENS),
          "prefill_tokens": (0, MOST_TOKENS), "flush_tokens": (1, MOST_TOKENS), "top_k": (0, MOST_NUMBER),
          "threads": (0, 1024), "seed": (0, MOST_NUMBER)}


class ContextError(RecorderError):
    """A prompt, with what is generated after it, is longer than the model's context."""


def context_of(config):
    """Length of the model's context in tokens, 0 if the model does not state it. It is `max_position_embeddings` (or
    its name in the model's class), which in most extended models is the extended length. If YaRN is laid over a model
    (Qwen 2.5), it is the original length times the factor, if that is more. Other scalings change nothing here."""
    text = config.get_text_config()
    stated = _whole(getattr(text, "max_position_embeddings", None))
    rope = getattr(text, "rope_parameters", None)
    if stated and isinstance(rope, dict) and rope.get("rope_type") == "yarn":
        made_for = _whole(rope.get("original_max_position_embeddings"))
        stated = max(stated, int(made_for * (rope.get("factor") or 1)))
    return stated


def check_prompt(what, ids, prompt_tokens, new_tokens, vocabulary, context):
    """RecorderError with one line if `ids` (`prompt_tokens` of prompt, None: all, then a text) and this many new tokens
    cannot be recorded. The last new token takes no place, since the model does not read it. `context` 0: no limit."""
    if not ids:
        raise RecorderError(f"{what}: expected at least one token")
    if min(ids) < 0 or max(ids) >= vocabulary:
        raise RecorderError(f"{what}: expected token ids 0 to {vocabulary - 1}: it is of another tokenizer")
    if prompt_tokens is not None and not 0 <= prompt_tokens <= len(ids):
        raise RecorderError(f"{what}: prompt_tokens: expected at most {len(ids)}")
    if len(ids) + new_tokens > MOST_TOKENS:
        raise RecorderError(f"{what}: expected at most {MOST_TOKENS} tokens, found {len(ids)} and {new_tokens} new")
    if context and len(ids) + max(new_tokens - 1, 0) > context:
        new = f" and {new_tokens} new ones" if new_tokens else ""
        raise ContextError(f"{what}: {len(ids)} tokens{new}, expected at most the {context} of the model's context")


def check_number(what, value, name=None):
    """RecorderError unless the value is a whole number in the range of `what`."""
    least, most = RANGES[what]
    if type(value) is bool or not isinstance(value, numbers.Integral) or not least <= value <= most:
        raise RecorderError(f"{name or what}: expected a whole number from {least} to {most}, found {value!r}")


def check_parts(parts, name="parts"):
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise RecorderError(f"{name}: expected some of {', '.join(PARTS)}, found "
                            f"{', '.join(map(str, unknown)) or 'none'}")


def check_choice(name, given, parts, needed):
    """RecorderError if an option is given that only concerns parts that are not recorded."""
    if given is not None and not any(part in parts for part in needed):
        raise RecorderError(f"{name}: expected none, or {' or '.join(needed)} among the parts that are recorded")


def check_row_range(name, rows):
    """RecorderError unless `rows` is None, or (first, last) with at least one row."""
    good = rows is None or isinstance(rows, (tuple, list)) and len(rows) == 2 and all(
        isinstance(one, numbers.Integral) for one in rows) and 0 <= rows[0] < min(rows[1], MOST_TOKENS)
    if not good:
        raise RecorderError(f"{name}: expected a first row below the last one and below {MOST_TOKENS}, found {rows}")


def _whole(number):
    return number if type(number) is int and number > 0 else 0
