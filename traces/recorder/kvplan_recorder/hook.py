"""Listens to a model's attention through Transformers' registry of attention functions.

Transformers asks the registry by name for the function of every attention layer. Ours calls the eager function of the
model's own file, so that logits are the eager ones bit for bit, and shows a listener what the function was given and
what it returned.
"""

import sys
import weakref
from contextlib import contextmanager

from transformers import AttentionInterface, DynamicCache, cache_utils
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from .errors import RecorderError

NAME = "kvplan"
# Attention module -> listener, while a model is listened to.
_listeners = weakref.WeakKeyDictionary()


def eager_of(module):
    """The function by which the model computes attention without kernels: it stands in the file of its class, or of
    the class that it is derived from."""
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    raise RecorderError(f"{type(module).__name__} has no eager attention of its own that could be listened to")


def _attention(module, query, key, value, attention_mask, **kwargs):
    """Names are the library's: some models give the mask by its name."""
    output, weights = eager_of(module)(module, query, key, value, attention_mask, **kwargs)
    listener = _listeners.get(module)
    if listener is not None:
        listener(module, query, key, value, attention_mask, weights, kwargs)
    return output, weights


@contextmanager
def listening(model, listener):
    """Within, `listener(module, query, key, value, mask, weights, kwargs)` hears every attention layer of the model.
    q [batch, query heads, tokens, size] and k, v [batch, KV heads, all tokens, size] are after position encoding and
    after the cache; `weights` [batch, query heads, tokens, all tokens]. Within, modules are in
    evaluation mode, behind it as they were."""
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)  # without it no causal mask arrives
    before = model.config._attn_implementation
    try:
        model.set_attn_implementation(NAME)
    except (ValueError, AttributeError) as error:
        raise RecorderError(f"{type(model).__name__} takes no attention function: {first_line(error)}") from None
    training = [module for module in model.modules() if module.training]
    model.eval()
    for module in model.modules():
        _listeners[module] = listener
    try:
        yield
    finally:
        for module in model.modules():
            _listeners.pop(module, None)
        for module in training:
            module.training = True
        model.set_attn_implementation(before or "eager")


def cache_of(model):
    """An empty cache: of every layer that attends it keeps the keys of all tokens, windows or not; of other layers what
    they go on from."""
    cache = DynamicCache(config=model.config)
    cache.layers = [cache_utils.DynamicLayer() if type(layer) is cache_utils.DynamicSlidingWindowLayer else layer
                    for layer in cache.layers]
    return cache


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
