"""Weights made from a seed, the same as tests/support/golden_weights.cpp makes: only the seed and a mean and a variance for
each norm need to be committed.

Noise of a tensor: splitmix64 started at FNV-1a(key) ^ seed; the top 24 bits of each number as an integer i give
(i - 2^23) / 2^23, in [-1, 1) and exact in float32.
"""
import math

import numpy as np
import torch


def noise(key, shape, seed):
    state = 0xCBF29CE484222325
    for byte in key.encode():
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    state ^= seed
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    values = ((z >> np.uint64(40)).astype(np.int64) - 2**23).astype(np.float32) / np.float32(2**23)
    return torch.from_numpy(values).reshape(shape)


def golden_tensor(key, like, seed, norms):
    """norms: {"layer1.0.bn1": [mean, variance]}"""
    if not like.is_floating_point():
        return torch.zeros_like(like)
    shape = list(like.shape)
    layer, _, leaf = key.rpartition(".")
    if like.dim() >= 2:
        fan_in = like.numel() // shape[0]
        scale, offset = math.sqrt(6 / fan_in), 0.0
    elif leaf == "running_mean":
        scale, offset = 0.3 * math.sqrt(norms[layer][1]), norms[layer][0]
    elif leaf == "running_var":
        scale, offset = 0.3 * norms[layer][1], norms[layer][1]
    elif leaf == "weight":
        scale, offset = 0.1, 1.0
    else:
        scale, offset = 0.1, 0.0
    return noise(key, shape, seed) * torch.tensor(scale, dtype=torch.float32) + torch.tensor(offset, dtype=torch.float32)


def fill(module, seed, norms, prefix=""):
    with torch.no_grad():
        for key, value in module.state_dict().items():
            value.copy_(golden_tensor(prefix + key, value, seed, norms))


def change(state, changes):
    """Of a state dict: {"key", "scale"}: all of it; {"key", "row", "column", "value", "step"}: that row, that column or that
    element is `value`; a column's grows by `step` a row. As tests/models/captioner/golden_captioner.cpp does."""
    with torch.no_grad():
        for one in changes:
            tensor = state[one["key"]]
            if "scale" in one:
                tensor.mul_(one["scale"])
                continue
            if "row" in one:
                tensor = tensor[one["row"]]
            if "column" in one:
                tensor = tensor[..., one["column"]]
            if "step" in one:
                tensor.copy_(one["value"] + one["step"] * torch.arange(len(tensor), dtype=torch.float64))
            else:
                tensor.fill_(one["value"])


def calibrate(module, seed, x, prefix=""):
    """Fills `module`, whose names continue `prefix`, and finds for each batch norm, frozen ones too, the mean and the
    variance of all that reaches it, to 4 digits."""
    norms = {}
    names = {m: prefix + n for n, m in module.named_modules() if hasattr(m, "running_mean")}
    fill(module, seed, {n: [0.0, 1.0] for n in names.values()}, prefix)

    def measure(norm, inputs):
        name = names[norm]
        norms[name] = [float(f"{v.item():.4g}") for v in (inputs[0].mean(), inputs[0].var())]
        for leaf in ("running_mean", "running_var"):
            getattr(norm, leaf).copy_(golden_tensor(f"{name}.{leaf}", getattr(norm, leaf), seed, norms))

    hooks = [m.register_forward_pre_hook(measure) for m in names]
    with torch.no_grad():
        module.eval()(x)
    for hook in hooks:
        hook.remove()
    return norms
