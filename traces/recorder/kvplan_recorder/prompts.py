"""Prompts out of a file, a JSON object on each line:

    {"text": "Once upon a time", "max_new_tokens": 64}
    {"name": "chat", "text": [["system", "Be brief.\\n"], ["user", "Why?\\n"]]}
    {"text": "... The key is 7. ...", "spans": [["needle", 4, 18]]}
    {"ids": [1, 17, 29], "prompt_tokens": 2}
    {"random_tokens": 512, "seed": 3}

`text` is a text, or pieces that each have a class; `spans` gives classes to ranges of its characters. A token's class
is that of its last character; without one it is "text", and generated tokens are "assistant". `ids` are token ids;
`random_tokens` is a number of random ones. `prompt_tokens` says how many of the given tokens are the prompt. Also
`temperature`, `top_k` and `seed`, which override the command's.
"""

import json
from dataclasses import dataclass, field

import numpy as np

from .errors import RecorderError

TEXT, NEW = "text", "assistant"
_SOURCES = ("text", "ids", "random_tokens")
_OPTIONS = ("name", "spans", "prompt_tokens", "max_new_tokens", "temperature", "top_k", "seed")
# Most tokens of a sequence in the file's format; the largest of PyTorch's whole numbers.
MOST_TOKENS, MOST_NUMBER = 1 << 20, (1 << 63) - 1
_LEAST_TEMPERATURE = 1e-6


class NoTokenizer:
    """Stands for the tokenizer of a model that has none, or none that can be loaded; `why` says which."""

    def __init__(self, why):
        self.why = why

    def __bool__(self):
        return False


@dataclass
class Prompt:
    """`spans`: (class, begin, end) over characters of `text`; later spans override earlier ones."""

    name: str
    text: str = None
    ids: list = None
    random_tokens: int = 0
    spans: list = field(default_factory=list)
    options: dict = field(default_factory=dict)

    def tokens(self, tokenizer, vocabulary, most=0):
        """(ids, class of each) for the first `most` tokens; 0 = all."""
        spans = []
        if self.text is not None:
            if not tokenizer:
                reason = "" if tokenizer is None else f" that loads ({tokenizer.why})"
                raise RecorderError(f"{self.name}: the model has no tokenizer{reason}: give ids or random_tokens")
            coded = tokenizer(self.text, return_offsets_mapping=bool(self.spans), truncation=False, verbose=False)
            ids, spans = coded["input_ids"], coded.get("offset_mapping") or []
        elif self.ids is not None:
            ids = self.ids
        else:
            seed = self.options.get("seed", 0)
            ids = np.random.default_rng(seed).integers(0, vocabulary, self.random_tokens).tolist()
        classes = [TEXT] * len(ids)
        for t, (begin, end) in enumerate(spans):
            for name, first, last in self.spans if end > begin else ():
                if first < end <= last:
                    classes[t] = name
        cut = most or len(ids)
        return ids[:cut], classes[:cut]


def read(path):
    """All prompts of a file. Raises RecorderError that names the line."""
    prompts = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    prompts.append(_prompt(json.loads(line.decode()), f"{len(prompts)}"))
                except RecursionError:
                    raise RecorderError(f"{path}: line {number}: expected less deep lists") from None
                except (ValueError, TypeError, RecorderError) as error:
                    raise RecorderError(f"{path}: line {number}: {error}") from None
    if not prompts:
        raise RecorderError(f"{path}: expected a prompt, a JSON object on each line")
    return prompts


def classes_of(prompts, tokenized):
    """Names of all classes; [] if none were given."""
    if not any(prompt.spans for prompt in prompts):
        return []
    return list(dict.fromkeys([TEXT, NEW, *(name for _, classes in tokenized for name in classes)]))


def _prompt(data, number):
    _expect(isinstance(data, dict), "expected an object")
    unknown = [key for key in data if key not in (*_SOURCES, *_OPTIONS)]
    _expect(not unknown, f"expected {', '.join((*_SOURCES, *_OPTIONS))}; found {', '.join(unknown)}")
    given = [key for key in _SOURCES if key in data]
    _expect(len(given) == 1, f"expected one of {', '.join(_SOURCES)}")
    prompt = Prompt(str(data.get("name", number)))
    _expect(prompt.name.encode(errors="replace").decode() == prompt.name, "name: expected a text in UTF-8")
    if given[0] == "text":
        prompt.text, prompt.spans = _pieces(data["text"])
    elif given[0] == "ids":
        prompt.ids = data["ids"]
        _expect(isinstance(prompt.ids, list) and prompt.ids and all(type(one) is int for one in prompt.ids),
                "ids: expected a list of whole numbers")
        for one in prompt.ids:
            _whole("ids", one, 0)
        _whole("ids: their number", len(prompt.ids), 1, MOST_TOKENS)
    else:
        prompt.random_tokens = _whole("random_tokens", data["random_tokens"], 1, MOST_TOKENS)
    for span in data.get("spans", ()):
        _expect(prompt.text is not None and isinstance(span, list) and len(span) == 3 and isinstance(span[0], str),
                'spans: expected ["class", begin, end] over a text')
        begin, end = _whole("spans", span[1], 0), _whole("spans", span[2], 0)
        _expect(begin < end <= len(prompt.text), f"spans: expected a range inside {len(prompt.text)} characters")
        prompt.spans.append((span[0], begin, end))
    prompt.options = {key: data[key] for key in _OPTIONS[2:] if key in data}
    for key, value in prompt.options.items():
        if key == "temperature":
            check_temperature(key, value)
        else:
            _whole(key, value, 0, MOST_TOKENS if key == "max_new_tokens" else MOST_NUMBER)
    return prompt


def check_temperature(name, value):
    """RecorderError if logits cannot be divided by the value; 0 stands for the most likely token."""
    _expect(type(value) in (int, float) and (value == 0 or _LEAST_TEMPERATURE <= value < float("inf")),
            f"{name}: expected 0, or a number from {_LEAST_TEMPERATURE} on")


def _pieces(text):
    if isinstance(text, str):
        _expect(text, "text: expected some")
        return text, []
    _expect(isinstance(text, list) and text and all(
        isinstance(piece, list) and len(piece) == 2 and all(isinstance(part, str) for part in piece) for piece in text),
        'text: expected a text, or pieces ["class", "text"]')
    spans, at = [], 0
    for name, piece in text:
        if piece:
            spans.append((name, at, at + len(piece)))
        at += len(piece)
    return "".join(piece for _, piece in text), spans


def _whole(field_name, value, least, most=MOST_NUMBER):
    _expect(type(value) is int and least <= value <= most,
            f"{field_name}: expected a whole number from {least} " + ("on" if most == MOST_NUMBER else f"to {most}"))
    return value


def _expect(condition, problem):
    if not condition:
        raise RecorderError(problem)
