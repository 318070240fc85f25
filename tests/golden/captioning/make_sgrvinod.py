"""Captions, log-probabilities and maps of sgrvinod's captioner, from its original code with golden weights, and a small
checkpoint that its own classes wrote.

    python tests/golden/captioning/make_sgrvinod.py FOLDER    (FOLDER: a checkout of
        github.com/sgrvinod/a-PyTorch-Tutorial-to-Image-Captioning; needs torch 2.11, torchvision, Pillow)

The weights are golden_weights.py's, with the changes that `changes` lists: a hidden unit that counts the words lets the end
token come after 8 to 15 of them, larger output weights keep the best words apart, larger score weights the cells.
"""
import json
import pathlib
import subprocess
import sys
import types

import numpy as np
import torch
import torchvision
from PIL import Image

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
import golden_weights  # noqa: E402

ENCODER_SEED = 1
DECODER_SEEDS = range(1, 4000)
WORDS = [f"w{i}" for i in range(60)]
PICTURES = ["backbone/picture.png", "image/photo_48x40_decoded.png", "image/crop_97x20.png", "image/crop_31x40.png",
            "image/noise_37x29.png"]
BEAMS = [1, 3, 5]
GAP = 1e-2
UNIT = 0  # the hidden unit that counts


def original(folder):
    """models.py and caption.py; what they import that is gone, or would fetch something, is stood in for."""
    def resnet101(pretrained=True):
        return torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [3, 4, 23, 3])

    scipy, misc = types.ModuleType("scipy"), types.ModuleType("scipy.misc")
    misc.imread = lambda path: np.asarray(Image.open(path))
    misc.imresize = lambda image, size: np.asarray(Image.fromarray(image).resize(size[::-1], Image.BILINEAR))
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.cm", "skimage", "skimage.transform"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules.update({"scipy": scipy, "scipy.misc": misc})
    torchvision.models.resnet101 = resnet101
    models = types.ModuleType("models")
    sys.modules["models"] = models
    exec((folder / "models.py").read_text(), models.__dict__)
    caption = types.ModuleType("caption")
    # Integer division was written "/" for the PyTorch of its time.
    text = (folder / "caption.py").read_text().replace("top_k_words / vocab_size", "top_k_words // vocab_size")
    exec(text, caption.__dict__)
    return models, caption


def word_map():
    words = {word: i + 1 for i, word in enumerate(WORDS)}
    for special in ("<unk>", "<start>", "<end>"):
        words[special] = len(words) + 1
    words["<pad>"] = 0
    return words


def changes(words, hidden):
    """[{"key", "row", "value"}]: all of that row, or of that element of a vector; [{"key", "scale"}]: all of it."""
    rows = [{"key": "decoder.fc.weight", "scale": 9.0}, {"key": "decoder.attention.full_att.weight", "scale": 12.0}]
    for gate, bias in enumerate((10.0, 10.0, 0.55, 10.0)):  # input, forget, cell, output
        row = gate * hidden + UNIT
        rows += [{"key": f"decoder.decode_step.weight_{part}", "row": row, "value": 0.0} for part in ("ih", "hh")]
        rows += [{"key": "decoder.decode_step.bias_ih", "row": row, "value": bias},
                 {"key": "decoder.decode_step.bias_hh", "row": row, "value": 0.0}]
    rows += [{"key": "decoder.init_c.weight", "row": UNIT, "value": 0.0}, {"key": "decoder.init_c.bias", "row": UNIT, "value": -4.5}]
    rows += [{"key": "decoder.fc.bias", "row": words[w], "value": -20.0} for w in ("<pad>", "<start>", "<unk>")]
    rows += [{"key": "decoder.fc.bias", "row": words["<end>"], "value": 0.0},
             {"key": "decoder.fc.weight", "row": words["<end>"], "column": UNIT, "value": 15.0}]
    return rows


class Gaps:
    """How far the choices of topk were from the best of what they left, and the best caption from the next."""

    def __init__(self, caption):
        self.caption, self.smallest, self.topk = caption, float("inf"), torch.Tensor.topk

    def __enter__(self):
        def recording_topk(tensor, k, *rest):
            values = self.topk(tensor, min(k + 1, tensor.numel()), *rest)[0]
            self.smallest = min(self.smallest, (values[-2] - values[-1]).item())
            return self.topk(tensor, k, *rest)

        def recording_max(scores):
            values = sorted((score.item() for score in scores), reverse=True)
            if len(values) > 1:
                self.smallest = min(self.smallest, values[0] - values[1])
            return max(scores)
        torch.Tensor.topk, self.caption.max = recording_topk, recording_max
        return self

    def __exit__(self, *_):
        torch.Tensor.topk = self.topk


def log_probabilities(decoder, encoded, sequence):
    cells = encoded.view(1, -1, encoded.size(3))
    h, c = decoder.init_hidden_state(cells)
    found = []
    for before, word in zip(sequence, sequence[1:]):
        context, _ = decoder.attention(cells, h)
        context = decoder.sigmoid(decoder.f_beta(h)) * context
        h, c = decoder.decode_step(torch.cat([decoder.embedding(torch.tensor([before])), context], dim=1), (h, c))
        found.append(torch.log_softmax(decoder.fc(h), dim=1)[0, word].item())
    return found


def captions(caption, decoder, encoded, words):
    """Of every picture and beam, or nothing where choices are too close or lengths unfit."""
    found = []
    for name in PICTURES:
        for beam in BEAMS:
            with Gaps(caption) as gaps:
                try:
                    sequence, maps = caption.caption_image_beam_search(
                        lambda _, name=name: encoded[name], decoder, FOLDER.parent / name, words, beam)
                except ValueError:  # nothing ended
                    return None
            print(name, beam, len(sequence) - 2, gaps.smallest, flush=True)
            if not 8 <= len(sequence) - 2 <= 15 or gaps.smallest < GAP:
                return None
            each = log_probabilities(decoder, encoded[name], sequence)
            found.append({"picture": name, "beam": beam, "tokens": sequence[1:], "log_probabilities": each,
                          "maps": [np.asarray(m).flatten() for m in maps[1:]]})
    said = {(one["picture"], one["beam"]): one["tokens"] for one in found}
    differ = sum(said[name, 1] != said[name, 5] for name in PICTURES)
    lengths = {len(one["tokens"]) for one in found}
    print("beams differ from greedy:", differ, "lengths:", lengths, flush=True)
    return found if differ >= 2 and len(lengths) >= 2 else None


class Both(torch.nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x):
        return self.encoder(x)


def number(value, digits=7):
    return float(f"{value:.{digits}g}")


def golden(models, caption, commit):
    words = word_map()
    torch.manual_seed(0)
    both = Both(models.Encoder(), models.DecoderWithAttention(512, 512, 512, len(words))).eval()
    picture = np.asarray(Image.open(FOLDER.parent / PICTURES[0])) / 255.0
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    x = torch.tensor(((picture - mean) / std).transpose(2, 0, 1)[None], dtype=torch.float32)
    norms = golden_weights.calibrate(both, ENCODER_SEED, x)
    changed = changes(words, 512)
    encoded = {}
    with torch.no_grad():
        for name in PICTURES:
            image = np.asarray(Image.open(FOLDER.parent / name).resize((256, 256), Image.BILINEAR)) / 255.0
            image = torch.tensor(((image - mean) / std).transpose(2, 0, 1)[None], dtype=torch.float32)
            encoded[name] = both.encoder(image)
        for seed in DECODER_SEEDS:
            for key, value in both.decoder.state_dict().items():
                value.copy_(golden_weights.golden_tensor(f"decoder.{key}", value, seed, {}))
            golden_weights.change(both.state_dict(), changed)
            found = captions(caption, both.decoder, encoded, words)
            if found:
                break
            print("seed", seed, "unfit", flush=True)
        else:
            sys.exit("no seed fits")
    for one in found:
        print(one["picture"], one["beam"], len(one["tokens"]), "map max", max(m.max() for m in one["maps"]))
        one["log_probabilities"] = [number(v) for v in one["log_probabilities"]]
        if one["beam"] == 3:
            one["maps"] = [[round(v, 6) for v in m.tolist()] for m in one["maps"]]
        else:
            del one["maps"]
    content = {"commit": commit, "encoder_seed": ENCODER_SEED, "decoder_seed": seed, "norms": norms, "changes": changed,
               "word_map": words, "state": {k: "x".join(map(str, v.shape)) for k, v in both.state_dict().items()},
               "captions": found}
    (FOLDER / "sgrvinod.json").write_text(json.dumps(content, separators=(",", ":")).replace('{"picture"', '\n{"picture"') + "\n")


def checkpoint(models):
    """Whole modules beside their optimisers, in the stream format of before PyTorch 1.6, small."""
    torch.manual_seed(7)
    torchvision.models.resnet101 = lambda pretrained=True: torchvision.models.ResNet(
        torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], width_per_group=64)
    words = {"a": 1, "red": 2, "ball": 3, "<unk>": 4, "<start>": 5, "<end>": 6, "<pad>": 0}
    encoder = models.Encoder()
    decoder = models.DecoderWithAttention(3, 5, 4, len(words), encoder_dim=6)
    encoder.resnet = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(6))
    optimizer = torch.optim.Adam(decoder.parameters(), lr=4e-4)
    state = {"epoch": 3, "epochs_since_improvement": 1, "bleu-4": 0.25, "encoder": encoder, "decoder": decoder,
             "encoder_optimizer": None, "decoder_optimizer": optimizer}
    torch.save(state, FOLDER / "sgrvinod.pth.tar", _use_new_zipfile_serialization=False)
    expected = {f"{part}.{key}": [number(v) for v in value.flatten().tolist()[:4]]
                for part in ("encoder", "decoder") for key, value in state[part].state_dict().items()}
    (FOLDER / "sgrvinod_checkpoint.json").write_text(json.dumps({"first_values": expected, "word_map": words}, indent=0) + "\n")


def main():
    if len(sys.argv) < 2:
        print("skipped: give the folder of sgrvinod's repository")
        return
    folder = pathlib.Path(sys.argv[1])
    if not (folder / "caption.py").exists() or "complete_seqs_alpha" not in (folder / "caption.py").read_text():
        print("skipped: not the folder of sgrvinod's repository")
        return
    commit = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    models, caption = original(folder)
    golden(models, caption, commit or (sys.argv[2] if len(sys.argv) > 2 else "unknown"))
    checkpoint(models)


if __name__ == "__main__":
    main()
