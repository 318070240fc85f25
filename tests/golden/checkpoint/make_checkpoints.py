"""Writes tiny checkpoints as PyTorch and safetensors write them, and what they hold as expected.json.

Needs torch 2.11 and safetensors 0.5 or later; run by ./dev golden. Nothing here is random but the seeded weights.
"""

import argparse
import collections
import io
import json
import os
import pathlib
import pickle
import warnings
import zipfile

import safetensors.torch
import torch

FOLDER = pathlib.Path(__file__).parent
warnings.filterwarnings("ignore")
torch.serialization.get_source_lines_and_file = lambda *_: (["source of a class\n"], 1, "network.py")
states = {}  # what was saved
files = {}  # file -> the state it holds


def describe(tensor):
    values = tensor.detach()
    values = torch.view_as_real(values) if values.is_complex() else values
    return {
        "dtype": str(tensor.dtype).replace("torch.", ""),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "values": values.to(torch.float64).flatten().tolist(),
    }


def expect(name, state_name, state):
    states[state_name] = {key: describe(value) for key, value in state.items()}
    files[name] = state_name


def save(stem, content, state_name, state, **options):
    """Both forms of one content; `state` is what a reader should find in it."""
    for form, zipped in (("zip", True), ("legacy", False)):
        name = f"{form}_{stem}.pth"
        torch.save(content, FOLDER / name, _use_new_zipfile_serialization=zipped, **options)
        expect(name, state_name, state)


def network():
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(3, 2, bias=False))
    net[1].running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
    net[1].num_batches_tracked.fill_(7)
    return net


class Call:
    """Calls a function when it is unpickled by Python; a reader must only note that."""

    def __reduce__(self):
        return os.system, ("touch gaze_was_here",)


def rezip(source, name, compression=zipfile.ZIP_STORED, replace=(), twice=()):
    with zipfile.ZipFile(FOLDER / source) as old, zipfile.ZipFile(FOLDER / name, "w", compression) as new:
        for entry in old.namelist():
            data = dict(replace).get(entry.split("/", 1)[1], old.read(entry))
            for _ in range(2 if entry.endswith(tuple(twice)) and twice else 1):
                new.writestr(zipfile.ZipInfo(entry), data, compress_type=compression)


def main():
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sum(p.sum() for p in net.parameters()).backward()
    optimizer.step()
    state = net.state_dict()
    save("plain", state, "network", state)
    save("protocol4", state, "network", state, pickle_protocol=4)

    wrapped = collections.OrderedDict(("module." + key, value) for key, value in state.items())
    content = {
        "epoch": 3,
        "best": 0.75,
        "args": argparse.Namespace(arch="tiny", lr=0.1),
        "betas": (0.9, 0.999),
        "classes": {"a", "b"},
        "nothing": None,
        "state_dict": wrapped,
        "optimizer": optimizer.state_dict(),
    }
    save("wrapped", content, "network", state)
    save("model", {"model": dict(state), "epoch": 1}, "network", state)
    save("module", net, "network", state)

    numbers = torch.tensor([0.0, 1.0, 2.5, -3.0])
    types = {
        str(dtype).replace("torch.", ""): numbers.to(dtype)
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                      torch.int8, torch.bool, torch.complex64, torch.complex128)
    }
    types["uint8"] = torch.tensor([0, 1, 200, 255], dtype=torch.uint8)
    save("types", types, "types", types)
    newer = {"uint16": torch.tensor([1, 65535]).to(torch.uint16), "float8": numbers.to(torch.float8_e4m3fn)}
    torch.save(newer, FOLDER / "zip_newer_types.pth")
    expect("zip_newer_types.pth", "newer types", newer)

    base = torch.arange(12, dtype=torch.float32)
    views = {
        "base": base,
        "slice": base[3:7],
        "transposed": base.view(3, 4).t(),
        "stepped": base[1::3],
        "expanded": torch.tensor([4.0]).expand(2, 3),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "parameter": torch.nn.Parameter(torch.tensor([1.0, -1.0])),
        "channels_last": torch.arange(16, dtype=torch.float32).view(1, 2, 2, 4).to(memory_format=torch.channels_last),
    }
    save("views", views, "views", views)

    torch.save(Call(), FOLDER / "zip_call.pth")
    torch.save(Call(), FOLDER / "legacy_call.pth", _use_new_zipfile_serialization=False)
    (FOLDER / "plain_call.pkl").write_bytes(pickle.dumps(Call(), protocol=2))
    (FOLDER / "plain.pkl").write_bytes(pickle.dumps({"a": [1, 2.5]}, protocol=4))
    save("call_beside", {"state_dict": state, "hook": Call()}, "network", state)

    torch.save({"weight": torch.eye(2).to_sparse()}, FOLDER / "zip_sparse.pth")
    torch.save({"epoch": 3, "names": ["a"]}, FOLDER / "zip_no_tensors.pth")
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), FOLDER / "zip_script.pt")
    rezip("zip_plain.pth", "zip_repacked.pth")
    expect("zip_repacked.pth", "network", state)
    rezip("zip_plain.pth", "zip_compressed.pth", zipfile.ZIP_DEFLATED)
    rezip("zip_plain.pth", "zip_big_endian.pth", replace=[("byteorder", b"big")])
    rezip("zip_plain.pth", "zip_twice.pth", twice=["byteorder"])

    dense = {key: value for key, value in types.items() if key != "complex128"}
    dense["matrix"] = torch.arange(6, dtype=torch.float32).view(2, 3)
    dense["empty"] = torch.empty(0, 3)
    safetensors.torch.save_file(dense, FOLDER / "types.safetensors", metadata={"format": "pt"})
    expect("types.safetensors", "dense", dense)

    for name in files:  # the originals must agree that the files can be read
        if name.endswith(".pth") and "call" not in name:
            torch.load(io.BytesIO((FOLDER / name).read_bytes()), weights_only=False)
    text = json.dumps({"states": states, "files": files}, separators=(",", ":"))
    (FOLDER / "expected.json").write_text(text.replace('{"dtype"', '\n{"dtype"') + "\n")


main()
