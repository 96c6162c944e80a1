"""Listens to a model's attention through Transformers' registry of attention functions.

For every attention layer, Transformers asks the registry for a function by name. The function of this module calls the
eager function in the model's own file, so that logits are equal to eager ones bit for bit, and shows a listener the
function's inputs and outputs.
"""

import sys
import weakref
from contextlib import contextmanager

from transformers import AttentionInterface, DynamicCache, cache_utils
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from .errors import RecorderError

NAME = "kvplan"
# Attention module -> its listener, inside `listening`.
_listeners = weakref.WeakKeyDictionary()


def eager_of(module):
    """The function by which the model computes attention without kernels: it is in the file of the module's class, or
    of a base class."""
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    raise RecorderError(f"{type(module).__name__} has no eager attention of its own that could be listened to")


def _attention(module, query, key, value, attention_mask, **kwargs):
    """The registered function. Its argument names are the library's, since some models pass the mask by name."""
    output, weights = eager_of(module)(module, query, key, value, attention_mask, **kwargs)
    listener = _listeners.get(module)
    if listener is not None:
        listener(module, query, key, value, attention_mask, weights, kwargs)
    return output, weights


@contextmanager
def listening(model, listener):
    """Inside the block, every attention layer calls `listener(module, query, key, value, mask, weights, kwargs)`.
    query [batch, query heads, tokens, size] and key, value [batch, KV heads, all tokens, size] are as after position
    encoding and the cache; `weights` is [batch, query heads, tokens, all tokens]. Modules are in evaluation mode
    inside the block, and in their former mode after it."""
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
    """An empty cache. Layers with attention keep the keys of all tokens in it, also if they have a window; other layers
    keep the state from which they continue."""
    cache = DynamicCache(config=model.config)
    cache.layers = [cache_utils.DynamicLayer() if type(layer) is cache_utils.DynamicSlidingWindowLayer else layer
                    for layer in cache.layers]
    return cache


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
