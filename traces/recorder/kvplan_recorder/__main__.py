"""kvplan-record: runs prompts through a Hugging Face model and writes what its attention saw as .kva."""

import argparse
import os
import shutil
import sys
import time

from .interrupts import sigterm_as_ctrl_c

EXIT_BAD, EXIT_STOPPED = 2, 3
# The largest number of layers or heads that the format can hold.
_MOST_PLACES = 4096
_MAGIC = b"\x89KVA\r\n\x1a\n"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="kvplan-record", description=__doc__.split(": ", 1)[1])
    add = parser.add_argument
    add("model", help="name or folder of a Hugging Face model")
    add("prompts",
        help="prompts, one JSON object per line: text, ids or random_tokens; max_new_tokens, spans (prompts.py)")
    add("-o", "--out", required=True, metavar="FILE.kva")
    add("--parts", default="queries,keys,values",
        help="parts to record, of rows, queries, keys, values, top_rows, value_norms, "
        "layer_inputs, output_weights (default: %(default)s)")
    add("--layers", metavar="0,2-5", help="layers to record (default: all)")
    add("--kv-heads", metavar="0,2-5", help="KV heads to record, each with its query heads (default: all)")
    add("--row-tokens", metavar="FIRST:LAST", help="record rows and top_rows only for tokens FIRST .. LAST-1")
    add("--top", type=int, help="number of weights in a top row (default: 16)")
    add("--element", choices=("f32", "f16", "bf16"), help="number format of tensors (default: as computed)")
    add("--row-element", choices=("f64", "f32", "f16"), help="number format of rows (default: f32)")
    add("--max-prompt-tokens", type=int, default=0, metavar="N", help="cut prompts to their first N tokens")
    add("--max-new-tokens", type=int, default=0, metavar="N",
        help="tokens to generate for a prompt without its own number")
    add("--beyond-context", action="store_true",
        help="also record prompts that are longer than the model's context (default: refuse them)")
    add("--temperature", type=float, default=0.0, help="sampling temperature; 0: the most likely token (default)")
    add("--top-k", type=int, default=0, help="sample from this many of the most likely tokens (0: all)")
    add("--seed", type=int, default=0, help="seed of all random draws, including random weights")
    add("--ignore-end", action="store_true", help="continue after the model's end-of-text token")
    add("--prefill-tokens", type=int, default=0, metavar="N",
        help="compute prompts in chunks of N tokens, which takes less memory")
    add("--flush-tokens", type=int, default=256, metavar="N",
        help="write the file after every N tokens (default: %(default)s)")
    add("--dtype", choices=("f32", "f16", "bf16"), help="data type of the weights (default: as stored)")
    add("--device", default="cpu", help="device: cpu (default), cuda, ...")
    add("--threads", type=int, default=0)
    add("--random", action="store_true", help="use random weights; only the model's config.json is needed")
    add("--rotary", choices=("measured", "unstated"), default="measured",
        help="rotation of keys: measure it on the model, or leave it out")
    add("--no-verify", action="store_true",
        help="do not compare the model's rows with rows computed from the recording")
    add("--no-digest", action="store_true", help="leave out the digest of the weights")
    add("--name", default="", help="name of the model in the file")
    add("--source", default="", help="source of the texts and their licences, for the file")
    add("--overwrite", action="store_true", help="replace FILE.kva.part, an interrupted recording")
    add("--quiet", action="store_true", help="print no progress and no line about prompts without rows")
    return parser.parse_args(arguments)


def numbers(option, text):
    """{0, 2, 3, 4, 5} for 0,2-5; None for None."""
    from .errors import RecorderError
    if text is None:
        return None
    out = set()
    for piece in text.split(","):
        first, dash, last = piece.partition("-")
        if not first.isdecimal() or dash and not last.isdecimal() or int(last or first) < int(first):
            raise RecorderError(f"{option}: expected numbers as 0,2-5, found {text}")
        if int(last or first) >= _MOST_PLACES:
            raise RecorderError(f"{option}: expected numbers below {_MOST_PLACES}, found {piece}")
        out.update(range(int(first), int(last or first) + 1))
    return sorted(out)


def row_range(text):
    """(5, 9) for 5:9; either number may be left out. None for None."""
    from .errors import RecorderError
    from .limits import check_row_range
    if text is None:
        return None
    first, colon, last = text.partition(":")
    if not colon or not (first or "0").isdecimal() or not (last or "0").isdecimal():
        raise RecorderError(f"--row-tokens: expected FIRST:LAST, found {text}")
    rows = (int(first or 0), int(last or 1 << 20))
    check_row_range("--row-tokens", rows)
    return rows


def check_given(given):
    """Refuses wrong values of options before a model is loaded."""
    from kvplan_traces.storage import check_replaceable

    from .errors import RecorderError
    from .limits import OF_ROWS, PARTS, RANGES, check_choice, check_number, check_parts
    from .prompts import check_temperature
    for name in RANGES:
        if getattr(given, name) is not None:
            check_number(name, getattr(given, name), f"--{name.replace('_', '-')}")
    parts = given.parts.split(",") if given.parts else []
    check_parts(parts, "--parts")
    others = tuple(part for part in PARTS if part not in OF_ROWS)
    check_choice("--row-tokens", row_range(given.row_tokens), parts, OF_ROWS)
    check_choice("--row-element", given.row_element, parts, OF_ROWS)
    check_choice("--top", given.top, parts, ("top_rows",))
    check_choice("--element", given.element, parts, others)
    check_temperature("--temperature", given.temperature)
    numbers("--layers", given.layers)
    numbers("--kv-heads", given.kv_heads)
    if not given.out:
        raise RecorderError("--out: expected the name of a file")
    # The recording replaces the file of its name: that may be a recording, but not a text or a model.
    if os.path.isdir(given.out):
        raise RecorderError(f"{given.out}: is a folder, expected a file")
    if os.path.lexists(given.out):
        begin = b""
        if os.path.isfile(given.out):
            with open(given.out, "rb") as file:
                begin = file.read(len(_MAGIC))
        if begin != _MAGIC:
            raise RecorderError(f"{given.out}: is there and no recording: it would be replaced")
    check_replaceable(given.out)


def check_prompts(given, asked, tokenized, model):
    """Refuses prompts that cannot be recorded, before anything is. If prompts longer than the model's context are
    allowed and there are some, the result is a remark for the file's settings; else it is empty."""
    from .limits import ContextError, check_prompt, context_of
    vocabulary, context = model.get_input_embeddings().num_embeddings, context_of(model.config)
    beyond, lengths = "", []
    for number, (one, (ids, _)) in enumerate(zip(asked, tokenized), 1):
        new = one.options.get("max_new_tokens", given.max_new_tokens)
        try:
            check_prompt(f"prompt {number} ({one.name})", ids, one.options.get("prompt_tokens"), new, vocabulary,
                         context)
        except ContextError as error:
            if not given.beyond_context:
                raise ContextError(f"{error}; --max-prompt-tokens cuts it, --beyond-context records all of it"
                                   ) from None
            beyond = f", beyond the context of {context} tokens"
        lengths.append(len(ids) + max(new - 1, 0))
    check_rows_reached(given, lengths)
    return beyond


def check_rows_reached(given, lengths):
    """Refuses a first row that no sequence reaches, and reports how many sequences will have no rows in the file."""
    from .errors import RecorderError
    first = (row_range(given.row_tokens) or (0, 0))[0]
    short = sum(length <= first for length in lengths)
    if short == len(lengths):
        raise RecorderError(f"--row-tokens: expected rows that a prompt has, found {given.row_tokens}: the longest "
                            f"has {max(lengths)} tokens with those it generates")
    if short and not given.quiet:
        print(f"kvplan-record: {short} of {len(lengths)} prompts end before row {first}: the file has no rows of them",
              file=sys.stderr)


class Progress:
    """Progress on standard error: on a terminal one line that is overwritten, else a new line every few seconds."""

    def __init__(self, quiet, writer, count):
        self._quiet, self._writer, self._count = quiet, writer, count
        self._begin = self._last = time.monotonic()
        self._terminal, self._open = sys.stderr.isatty(), False

    def of(self, number, name):
        def tell(tokens, total):
            now, ends = time.monotonic(), tokens == total
            if self._quiet or not ends and now - self._last < (0.5 if self._terminal else 5):
                return
            self._last = now
            size = os.path.getsize(self._writer.part_path) / 1e6
            line = (f"kvplan-record: sequence {number + 1} of {self._count} ({name}): {tokens} of {total} tokens, "
                    f"{size:.1f} MB, {now - self._begin:.0f} s")
            if self._terminal:
                line = f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K"
            self._open = self._terminal and not ends
            print(line, end="" if self._open else "\n", file=sys.stderr, flush=True)
        return tell

    def end(self):
        """Ends an open line, so that the next output, perhaps an error, begins a new one."""
        if self._open:
            print(file=sys.stderr)


def record(given):
    check_given(given)
    import torch

    from .errors import RecorderError
    from .load import load
    from .prompts import MOST_NUMBER, NEW, classes_of, read
    from .recorder import Recorder

    if given.threads:
        torch.set_num_threads(given.threads)
    asked = read(given.prompts)
    model, tokenizer = load(given.model, given.dtype, given.device, given.random, given.seed)
    vocabulary = model.get_input_embeddings().num_embeddings
    tokenized = [one.tokens(tokenizer, vocabulary, given.max_prompt_tokens) for one in asked]
    beyond = check_prompts(given, asked, tokenized, model)
    names = classes_of(asked, tokenized)
    parts = tuple(given.parts.split(","))
    elements = {part: given.row_element if part in ("rows", "top_rows") else given.element for part in parts}
    ends = model.generation_config.eos_token_id
    stop = () if given.ignore_end or ends is None else tuple(ends) if isinstance(ends, list) else (ends,)
    settings = f"temperature {given.temperature}, top_k {given.top_k}, seed {given.seed}{beyond}"
    with Recorder(model, given.out, parts=parts, layers=numbers("--layers", given.layers),
                  kv_heads=numbers("--kv-heads", given.kv_heads), elements=elements,
                  row_tokens=row_range(given.row_tokens), top=given.top,
                  token_classes=names, prefill_tokens=given.prefill_tokens, flush_tokens=given.flush_tokens,
                  verify=not given.no_verify, rotary=given.rotary, name=given.name, source=given.source,
                  recorded_by=settings, digest=not given.no_digest, overwrite=given.overwrite,
                  beyond_context=given.beyond_context) as recorder:
        given.began = True  # PATH.part is this program's file from now on, and not another program's
        progress = Progress(given.quiet, recorder.writer, len(asked))
        told = []
        try:
            for number, (one, (ids, classes)) in enumerate(zip(asked, tokenized)):
                options = {"max_new_tokens": given.max_new_tokens, "temperature": given.temperature,
                           "top_k": given.top_k, "seed": (given.seed + number) % (MOST_NUMBER + 1), **one.options}
                if names:
                    options.update(classes=[names.index(name) for name in classes], new_class=names.index(NEW))
                new = recorder.record(ids, name=one.name, stop=stop, progress=progress.of(number, one.name), **options)
                told.append((one, new))
        finally:
            progress.end()
    if tokenizer and not given.quiet:
        for one, new in told:
            if new:
                print(f"{one.name}: {tokenizer.decode(new)!r}")


def main(arguments):
    given = parse(arguments)
    part = f"{given.out}.part"
    given.began = False
    try:
        with sigterm_as_ctrl_c():
            record(given)
        return 0
    except KeyboardInterrupt:
        problem, code = "stopped", EXIT_STOPPED
    except ImportError as error:
        problem, code = f"{error}: pip install torch transformers, and traces/python", EXIT_BAD
    except MemoryError:
        problem, code = "out of memory: --prefill-tokens takes less", EXIT_BAD
    except Exception as error:  # one line of what the library says; unexpected errors also name their class
        from .errors import RecorderError
        known = isinstance(error, (RecorderError, OSError, ValueError))
        said = (str(error).strip().splitlines() or [""])[0]
        if type(error).__name__ == "OutOfMemoryError":  # PyTorch's class for a GPU
            hint = "--prefill-tokens takes less" if given.began else "the model takes more: --dtype, --device"
            known, said = True, f"{said.split('. ')[0]}: {hint}"
        if isinstance(error, OSError) and error.strerror:  # the error of a full disk does not name the file
            said = f"{error.filename or part}: {error.strerror}"
        problem, code = said if known else f"{type(error).__name__}: {said}", EXIT_BAD
    print(f"kvplan-record: {problem}{whole(part) if given.began else ''}", file=sys.stderr)
    return code


def whole(part):
    """Describes in words what is left of an interrupted recording; removes the file if it has no tokens."""
    from kvplan_traces import AttentionReader, FormatError
    if not os.path.exists(part):
        return ""
    try:
        with AttentionReader(part) as reader:
            complete = sum(one.complete for one in reader.sequences)
            tokens = [reader.tokens(i) for i in range(len(reader.sequences))]
        if not any(tokens):
            os.unlink(part)
            return ""
        sequences = f"{part} has {complete} whole sequence{'' if complete == 1 else 's'}"
        return f"; {sequences}, and {tokens[-1]} tokens of the next" if complete < len(tokens) else f"; {sequences}"
    except (FormatError, OSError):
        return ""


def run():
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
