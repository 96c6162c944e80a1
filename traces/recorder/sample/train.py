#!/usr/bin/env python3
"""Trains the model of the attention in traces/samples: python3 train.py TEXTS OUT [--minutes 80] [--steps 2500]

A decoder of Transformers' Llama class with random weights at the start, a tokenizer of its own, and the texts that
texts.py fetches, or any others of some 100,000 characters and more.
Needs torch, transformers and tokenizers; no GPU. What is drawn is a function of the seed and the step, so that a run
that is killed goes on from its last checkpoint (--checkpoint-minutes) as if it had not been: give the same command
again. The learning rate falls to its end as the steps or the minutes run out, whichever is sooner; --minutes 0 leaves
the steps alone to decide, and then a run is the same on one machine with one number of threads (beside other work one
is as fast as two).

OUT gets model/ (as Transformers reads it), log.jsonl (a line per 10 steps) and recipe.json (all of the settings, and
the versions and digests of what went in).
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

import tokenizers
import torch
import transformers

from windows import Windows, documents, names_of, sources_of

SHAPE = {"vocab_size": 2048, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 6,
         "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32, "max_position_embeddings": 1024,
         "rope_theta": 10000.0, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
TRAINING = {"seed": 20261123, "tokens_per_step": 2048, "short_length": 256, "short_share": 0.4,
            "planted_share": 0.375, "learning_rate": 2e-3, "warmup_steps": 60,
            "constant_share": 0.6, "last_rate_share": 0.05, "betas": [0.9, 0.95], "weight_decay": 0.1,
            "clip_norm": 1.0}
BEGIN = "<s>"
LOG_STEPS, CHECK_STEPS = 10, 100
CHECK_WINDOWS = 4


def make_tokenizer(texts, folder):
    """A byte-level BPE of the training part of all texts."""
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=SHAPE["vocab_size"], special_tokens=[BEGIN], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trained.train_from_iterator((text for name in names_of(texts) for text in documents(texts, name, False)), trainer)
    trained.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, trained.token_to_id(BEGIN))])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=trained, bos_token=BEGIN,
                                                model_max_length=SHAPE["max_position_embeddings"])
    fast.save_pretrained(folder)
    return fast


def batch(windows, step, length):
    """Token ids [windows, length] of one step."""
    ids = []
    for i in range(TRAINING["tokens_per_step"] // length):
        seed = f"{TRAINING['seed']}/{step}/{i}"
        planted = random.Random(seed + "/kind").random() < TRAINING["planted_share"]
        ids.append(windows.planted(seed, length)[0] if planted else windows.text(seed, length))
    return torch.tensor(ids)


def loss_of(model, ids):
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))


@torch.no_grad()
def check(model, held_out):
    """Loss on held-out text, and the share of answers with the likeliest first token."""
    length = SHAPE["max_position_embeddings"]
    text = torch.tensor([held_out.text(f"check/{i}", length) for i in range(CHECK_WINDOWS)])
    right, asked = 0, 0
    for i in range(CHECK_WINDOWS):
        window, places = held_out.planted(f"check/{i}/planted", length)
        ids = torch.tensor([window])
        best = model(input_ids=ids, use_cache=False).logits[0].argmax(-1)
        right += sum(int(best[place - 1]) == window[place] for place in places)
        asked += len(places)
    return {"held_out_loss": round(loss_of(model, text).item(), 4), "answers_right": right, "answers_asked": asked}


def rate_at(step, progress):
    """Share of the learning rate: it rises, stays, and falls with what is left of the run."""
    constant, last = TRAINING["constant_share"], TRAINING["last_rate_share"]
    fall = max(0.0, (min(progress, 1.0) - constant) / (1 - constant))
    return min(1.0, (step + 1) / TRAINING["warmup_steps"]) * (1 - fall * (1 - last))


class Run:
    """Model, optimizer, and how far they are; a checkpoint has all of it."""

    def __init__(self, out, settings):
        self.path, self.step, self.seconds, self.losses = out / "checkpoint.pt", 0, 0.0, []
        torch.manual_seed(TRAINING["seed"])
        config = transformers.LlamaConfig(**SHAPE, bos_token_id=0, eos_token_id=None, pad_token_id=None)
        self.model = transformers.LlamaForCausalLM(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.0, betas=TRAINING["betas"],
                                           weight_decay=TRAINING["weight_decay"])
        self.settings = settings
        if self.path.exists():
            saved = torch.load(self.path)
            if saved["settings"] != settings:
                sys.exit(f"train.py: {self.path} is of other settings; expected {settings}")
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.step, self.seconds, self.losses = saved["step"], saved["seconds"], saved.get("losses", [])

    def save(self):
        """Whole or not at all: the checkpoint before stays until this one is on the disk."""
        part = self.path.with_suffix(".part")
        with open(part, "wb") as file:
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step,
                        "seconds": self.seconds, "losses": self.losses, "settings": self.settings}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)

    def learn(self, windows, progress):
        short = progress < TRAINING["short_share"]
        ids = batch(windows, self.step, TRAINING["short_length"] if short else SHAPE["max_position_embeddings"])
        rate = TRAINING["learning_rate"] * rate_at(self.step, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(self.model, ids)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), TRAINING["clip_norm"])
        self.optimizer.step()
        return loss.item(), rate


def log_up_to(path, step):
    """The log of a run that goes on at this step: what was logged behind the checkpoint comes again."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = []
    for line in lines:
        try:
            kept += [line] if json.loads(line)["step"] <= step else []
        except ValueError:
            pass  # cut in the middle of a line
    path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return open(path, "a", encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=80, help="time limit in minutes, over all parts of a run")
    parser.add_argument("--steps", type=int, default=2500, help="most steps")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoint-minutes", type=float, default=2,
                        help="write a checkpoint this often, and at the end")
    return parser.parse_args(arguments)


def main(arguments):
    given = parse(arguments)
    torch.set_num_threads(given.threads)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()  # of texts longer than the context: they are cut into windows here
    transformers.logging.disable_progress_bar()
    given.out.mkdir(parents=True, exist_ok=True)
    folder = given.out / "model"
    tokenizer = (transformers.AutoTokenizer.from_pretrained(folder) if (folder / "tokenizer.json").exists()
                 else make_tokenizer(given.texts, folder))
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)  # noqa: E731
    learnt, held_out = (Windows(given.texts, part, encode, tokenizer.bos_token_id) for part in (False, True))
    settings = {"shape": SHAPE, "training": TRAINING, "steps": given.steps, "minutes": given.minutes,
                "sources": sources_of(given.texts)}
    run = Run(given.out, settings)
    sizes = {"parameters": sum(weights.numel() for weights in run.model.parameters()),
             "training_tokens": learnt.tokens(), "held_out_tokens": held_out.tokens(),
             "torch": torch.__version__, "transformers": transformers.__version__}
    (given.out / "recipe.json").write_text(json.dumps({**settings, **sizes}, indent=1) + "\n")
    limit = given.minutes * 60 or float("inf")
    before, saved_at = time.monotonic(), run.seconds
    with log_up_to(given.out / "log.jsonl", run.step) as log:
        while run.step < given.steps and run.seconds < limit:
            loss, rate = run.learn(learnt, max(run.step / given.steps, run.seconds / limit))
            run.step += 1
            run.losses.append(loss)
            now = time.monotonic()
            run.seconds, before = run.seconds + now - before, now
            ends = run.step == given.steps or run.seconds >= limit
            if run.step % LOG_STEPS == 0 or ends:
                line = {"step": run.step, "tokens": run.step * TRAINING["tokens_per_step"],
                        "minutes": round(run.seconds / 60, 2), "threads": given.threads,
                        "learning_rate": round(rate, 7), "loss": round(sum(run.losses) / len(run.losses), 4)}
                run.losses = []
                if run.step % CHECK_STEPS == 0 or ends:
                    line.update(check(run.model, held_out))
                print(json.dumps(line), file=log, flush=True)
                print(json.dumps(line), flush=True)
            if ends or run.seconds - saved_at >= given.checkpoint_minutes * 60:
                run.save()
                saved_at = run.seconds
    run.model.save_pretrained(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
