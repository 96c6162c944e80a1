"""What may be asked for: how long a prompt may be and of what, numbers, and choices that have something to choose
from. The command and the library check by the same, each by the name that its caller knows; nothing here loads
PyTorch, so the command refuses before a model is loaded."""

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
    """Tokens that the model says it attends over, 0 where it does not say. It is `max_position_embeddings` (or what the
    model's class calls that), which most extended models state as extended; where YaRN is laid over a model (Qwen 2.5),
    the length that it was made for times the factor, if that is more. Other scalings change nothing here."""
    text = config.get_text_config()
    stated = _whole(getattr(text, "max_position_embeddings", None))
    rope = getattr(text, "rope_parameters", None)
    if stated and isinstance(rope, dict) and rope.get("rope_type") == "yarn":
        made_for = _whole(rope.get("original_max_position_embeddings"))
        stated = max(stated, int(made_for * (rope.get("factor") or 1)))
    return stated


def check_prompt(what, ids, prompt_tokens, new_tokens, vocabulary, context):
    """RecorderError with one line if `ids`, the first `prompt_tokens` of them the prompt (None: all), and so many new
    tokens cannot be recorded. The last new token is not fed to the model, so it takes no place. `context` 0: any."""
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
    """RecorderError of what is no whole number in the range of `what`."""
    least, most = RANGES[what]
    if type(value) is bool or not isinstance(value, numbers.Integral) or not least <= value <= most:
        raise RecorderError(f"{name or what}: expected a whole number from {least} to {most}, found {value!r}")


def check_parts(parts, name="parts"):
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise RecorderError(f"{name}: expected some of {', '.join(PARTS)}, found "
                            f"{', '.join(map(str, unknown)) or 'none'}")


def check_choice(name, given, parts, needed):
    """RecorderError of an option that is given although none of the parts is there that it is about."""
    if given is not None and not any(part in parts for part in needed):
        raise RecorderError(f"{name}: expected none, or {' or '.join(needed)} among the parts that are recorded")


def check_row_range(name, rows):
    """`rows` is None, or (first, last) with a row in it."""
    good = rows is None or isinstance(rows, (tuple, list)) and len(rows) == 2 and all(
        isinstance(one, numbers.Integral) for one in rows) and 0 <= rows[0] < min(rows[1], MOST_TOKENS)
    if not good:
        raise RecorderError(f"{name}: expected a first row below the last one and below {MOST_TOKENS}, found {rows}")


def _whole(number):
    return number if type(number) is int and number > 0 else 0
