"""Expected numbers of additive attention, from the module Attention(hidden) that PyTorch tutorials write: a Linear with a
bias over [encoder output; decoder state], tanh, v, softmax. Writes additive.json beside this file.

    python tests/golden/attention/make_attention.py     (needs torch 2.11)
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
import golden_weights  # noqa: E402

SEED = 2015


class Attention(torch.nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.attn = torch.nn.Linear(hidden_size * 2, hidden_size)
        self.v = torch.nn.Linear(hidden_size, 1, bias=False)

    def forward(self, decoder_hidden, encoder_outputs):
        src_len = encoder_outputs.shape[1]
        repeated = decoder_hidden.unsqueeze(1).repeat(1, src_len, 1)  # [B, S, H]
        energy = torch.tanh(self.attn(torch.cat((encoder_outputs, repeated), dim=2)))  # [B, S, H]
        weights = F.softmax(self.v(energy).squeeze(2), dim=1)  # [B, S]
        context = torch.bmm(weights.unsqueeze(1), encoder_outputs).squeeze(1)  # [B, H]
        return context, weights


def numbers(tensor):
    return [float(f"{x:.9g}") for x in tensor.detach().flatten().tolist()]


def case(hidden, batch, source, gradients):
    """Inputs and what reaches backward are noise too, in float32; all is computed in float64."""
    module = Attention(hidden)
    golden_weights.fill(module, SEED, {})
    module.double()
    noise = lambda key, *shape: golden_weights.noise(key, shape, SEED).double()
    state = (2 * noise("state", batch, hidden)).requires_grad_(True)
    outputs = (2 * noise("outputs", batch, source, hidden)).requires_grad_(True)
    context, weights = module(state, outputs)
    result = {"hidden": hidden, "batch": batch, "source": source, "keys": {k: list(v.shape) for k, v in module.state_dict().items()},
              "context": numbers(context), "weights": numbers(weights)}
    if gradients:
        loss = (context * noise("of_context", batch, hidden)).sum() + (weights * noise("of_weights", batch, source)).sum()
        leaves = {"state": state, "outputs": outputs, **dict(module.named_parameters())}
        found = torch.autograd.grad(loss, list(leaves.values()))
        result["gradients"] = {name: numbers(g) for name, g in zip(leaves, found)}
    print(f"hidden {hidden}: weights {weights.min().item():.4f} to {weights.max().item():.4f}")
    return result


def main():
    golden = {"made_by": f"torch {torch.__version__}", "seed": SEED, "cases": [case(256, 4, 10, False), case(7, 3, 5, True)]}
    path = FOLDER / "additive.json"
    path.write_text(json.dumps(golden) + "\n")
    print(path)


if __name__ == "__main__":
    main()
