#!/usr/bin/env python3
"""Writes the prompts of traces/samples/tiny_llama.kva: python3 prompts.py TEXTS MODEL > prompts.jsonl

Of every text one sequence, out of documents that the model was not trained on; the lengths are LENGTHS, in tokens of
the model's tokenizer. The first text is read as it stands, the first half of it as the prompt; so are all but the last,
of which the prompt is written on by the model. Then sequences with notes planted in text, one of them (class "needle")
asked for at the end (class "user"); DEPTHS says where it stands. All of them are kept, in this order.
"""

import json
import random
import sys

import transformers

from windows import documents, facts, names_of, note, question, words_of

SEED = 7
LENGTHS = (800, 416, 224, 96)
WRITTEN = 96  # tokens that the model adds to the last text
NEEDLES = ((640, 0.1), (384, 0.5), (192, 0.25), (128, 0.75))  # tokens of the prompt, depth of the needle
OTHERS = 3  # notes that are never asked for
ANSWER = 8


def text_of(draw, texts, name, tokenizer, tokens):
    """A text of at least `tokens` tokens, from the begin of a document on."""
    found = documents(texts, name, True)
    at = draw.randrange(len(found))
    text = ""
    while len(tokenizer(text, verbose=False)["input_ids"]) < tokens:
        text += found[at % len(found)] + "\n\n"
        at += 1
    return text


def cut(text, tokenizer, tokens):
    """The begin of a text, that many tokens long with the one at the begin; whole characters."""
    ids = tokenizer(text, verbose=False, add_special_tokens=False)["input_ids"][: max(tokens, 0)]
    return tokenizer.decode(ids).replace("\N{REPLACEMENT CHARACTER}", "")


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    texts, tokenizer = arguments[0], transformers.AutoTokenizer.from_pretrained(arguments[1])
    draw, names, lines = random.Random(SEED), names_of(arguments[0]), []
    lengths = LENGTHS[: len(names) - 1] + LENGTHS[-1:]
    for name, tokens in zip(names, lengths):
        text = cut(text_of(draw, texts, name, tokenizer, tokens), tokenizer, tokens - 1)
        lines.append({"name": f"{name}, {tokens} tokens", "text": text, "prompt_tokens": tokens // 2})
    del lines[-1]["prompt_tokens"]
    lines[-1].update(max_new_tokens=WRITTEN, temperature=0.8, top_k=50, seed=SEED)
    words = words_of(texts)
    for i, (tokens, depth) in enumerate(NEEDLES):
        told = facts(draw, words, 1 + OTHERS)
        places = sorted((draw.random() if j else depth, j) for j in range(len(told)))
        room = tokens - 1 - sum(len(tokenizer(note(*one))["input_ids"]) - 1 for one in told)
        room -= len(tokenizer(question(told[0][0]))["input_ids"]) - 1
        rest, at, pieces = text_of(draw, texts, names[i % len(names)], tokenizer, tokens), 0.0, []
        for place, j in [*places, (1.0, None)]:
            some = cut(rest, tokenizer, round((place - at) * room))
            pieces.append(["text", some])
            rest, at = rest[len(some) :], place
            if j is not None:
                pieces.append(["text" if j else "needle", note(*told[j])])
        pieces.append(["user", question(told[0][0])])
        lines.append({"name": f"needle at {depth:.0%}: {told[0][1]}", "text": [piece for piece in pieces if piece[1]],
                      "max_new_tokens": ANSWER})
    for line in lines:
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
