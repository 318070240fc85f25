#!/usr/bin/env python3
"""Hugging Face's GPT-2 with cross-attention, as decoder_worker has it: .venv-oracle/bin/python gpt2_worker.py THREADS < REQUESTS

{"batch": 1, "words": 20, "way": "generate"} -> {"ms", "tokens"}: captions that do not end before, and the words of all of
them; by the library's own search ("generate") or by a loop over its forward pass ("loop").
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from serve import serve, timed

CELLS, WIDTH, VOCABULARY = 196, 512, 10_000
PAD, START, END = 0, 1, 2


def make_model():
    config = GPT2Config(n_layer=6, n_embd=WIDTH, n_head=8, n_inner=2048, n_positions=64, vocab_size=VOCABULARY, activation_function="gelu",
                        add_cross_attention=True, use_cache=True, bos_token_id=START, eos_token_id=END, pad_token_id=PAD)
    return GPT2LMHeadModel(config).eval()


def generate(model, memory, words):
    start = torch.full((memory.shape[0], 1), START)
    return model.generate(start, attention_mask=torch.ones_like(start), encoder_hidden_states=memory, do_sample=False, min_new_tokens=words,
                          max_new_tokens=words)[:, 1:]


def loop(model, memory, words):
    tokens, cache = [torch.full((memory.shape[0], 1), START)], None
    for _ in range(words):
        result = model(tokens[-1], encoder_hidden_states=memory, past_key_values=cache, use_cache=True)
        cache = result.past_key_values
        logits = result.logits[:, -1]
        logits[:, END] = -torch.inf
        tokens.append(logits.argmax(1, keepdim=True))
    return torch.cat(tokens[1:], 1)


def main():
    model = make_model()
    ways = {"generate": generate, "loop": loop}

    @torch.inference_mode()
    def answer(request):
        memory = torch.randn(request["batch"], CELLS, WIDTH)
        tokens, ms = timed(lambda: ways[request["way"]](model, memory, request["words"]))
        return {"ms": ms, "tokens": tokens.numel()}

    serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    main()
