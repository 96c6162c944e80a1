"""How long a prompt may be, and of what: checked before anything runs."""

from .errors import RecorderError
from .prompts import MOST_TOKENS


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


def _whole(number):
    return number if type(number) is int and number > 0 else 0
