"""What the sample model sees, and what it is asked later: windows of text, and windows with facts planted in them.

Texts are the .txt files of a folder, in the order of its sources.json (texts.py writes it) or else of their names, with
a form feed between documents. A file without any is cut into pieces.

A planted window is text with lines put in between: a note says which two words belong to a name, a question asks for
them and has the answer, often more than once. Names and answers are words drawn by chance, so that an answer can
only be copied from the note:

    Note: the words for Morning are river stone.
    Question: what are the words for Morning? Answer: river stone.

Everything is drawn from random.Random(text of the seed), which is the same on any machine.
"""

import collections
import json
import pathlib
import random
import re

# Of 20 documents one is held out: no window of the training has it.
HELD_OUT_OF = 20
WORDS = 512
PIECE = 4000  # characters


def sources_of(folder):
    path = pathlib.Path(folder) / "sources.json"
    return json.loads(path.read_text()) if path.exists() else {}


def names_of(folder):
    return list(sources_of(folder).get("texts") or sorted(path.stem for path in pathlib.Path(folder).glob("*.txt")))


def documents(folder, name, held_out):
    text = (pathlib.Path(folder) / f"{name}.txt").read_bytes().decode("utf-8", "replace")
    found = text.split("\f") if "\f" in text else [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return [text for i, text in enumerate(found) if (i % HELD_OUT_OF == HELD_OUT_OF - 1) == held_out]


def words_of(folder):
    """The most frequent words of four to seven small letters, in all texts that are trained on."""
    counts = collections.Counter()
    for name in names_of(folder):
        for text in documents(folder, name, False):
            counts.update(re.findall(r"\b[a-z]{4,7}\b", text))
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:WORDS]]


def note(name, answer):
    return f"\nNote: the words for {name} are {answer}.\n"


def question(name):
    return f"\nQuestion: what are the words for {name}? Answer:"


def facts(draw, words, count):
    """`count` different names, and two words for each."""
    names = draw.sample(words, count)
    return [(name.capitalize(), f"{draw.choice(words)} {draw.choice(words)}") for name in names]


class Windows:
    """Token windows of any length, each a function of its seed. `encode` makes token ids of text, `begin` is the id
    that every window begins with."""

    def __init__(self, folder, held_out, encode, begin):
        self.words = words_of(folder)
        self.begin, self._encode = begin, encode
        self._stream = []
        for name in names_of(folder):
            for text in documents(folder, name, held_out):
                self._stream += encode(text + "\n\n")

    def tokens(self):
        return len(self._stream)

    def text(self, seed, length):
        draw = random.Random(seed)
        at = draw.randrange(len(self._stream) - length)
        return [self.begin] + self._stream[at : at + length - 1]

    def planted(self, seed, length):
        """(ids, places of the first token of each answer to a question)."""
        draw = random.Random(seed)
        told = facts(draw, self.words, draw.randrange(2, 3 + length // 128))
        ids, answers, noted = [self.begin], [], []
        while len(ids) < length:
            at, size = draw.randrange(len(self._stream) - 200), draw.randrange(5, 100)
            ids += self._stream[at : at + size]
            if told and (not noted or draw.random() < 0.4):
                noted.append(told.pop())
                ids += self._encode(note(*noted[-1]))
            else:
                name, answer = draw.choice(noted)
                ids += self._encode(question(name))
                answers.append(len(ids))
                ids += self._encode(f" {answer}.\n")
        return ids[: length], [place for place in answers if place < length]
