"""Outputs of PyTorch's Transformer layers under golden weights (PyTorch 2.11): writes transformer.json beside this file."""
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import golden_weights

SEED, B, T, S, D, HEADS, HIDDEN = 17, 2, 5, 4, 12, 3, 20


def filled(module):
    golden_weights.fill(module, SEED, {})
    return module.eval()


def numbers(x):
    return [float(f"{v:.9g}") for v in x.flatten().tolist()]


def main():
    cases = []
    x, memory = golden_weights.noise("x", [B, T, D], SEED), golden_weights.noise("memory", [B, S, D], SEED)
    padding = torch.zeros(B, S, dtype=torch.bool)
    padding[1, 2:] = True
    with torch.no_grad():
        for norm_first in (False, True):
            for activation in ("relu", "gelu"):
                kwargs = dict(dim_feedforward=HIDDEN, dropout=0.0, activation=activation, norm_first=norm_first, batch_first=True)
                encoder = filled(torch.nn.TransformerEncoderLayer(D, HEADS, **kwargs))
                decoder = filled(torch.nn.TransformerDecoderLayer(D, HEADS, **kwargs))
                future = torch.ones(T, T).triu(1).bool()
                cases.append({
                    "norm_first": norm_first, "activation": activation,
                    "encoder": numbers(encoder(memory, src_key_padding_mask=padding)),
                    "decoder": numbers(decoder(x, memory, tgt_mask=future, memory_key_padding_mask=padding)),
                })
    golden = {"made_by": f"torch {torch.__version__.split('+')[0]}", "seed": SEED, "cases": cases}
    path = pathlib.Path(__file__).with_name("transformer.json")
    path.write_text(json.dumps(golden) + "\n")
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
