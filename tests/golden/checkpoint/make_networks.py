"""Expected logits of ResNets with attention as other ecosystems build and name them: timm 1.0.31, the authors' CBAM, and
ports whose formula is written out here (luuuyi's CBAM, moskomule's SE).

    python tests/golden/checkpoint/make_networks.py [FOLDER of github.com/Jongchan/attention-module at 459efad]

Needs torch 2.11, torchvision 0.26, timm and Pillow. Without the folder the authors' networks are left as they are.
"""
import importlib
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import timm
import torch
import torchvision
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "networks"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import golden_weights  # noqa: E402

SEED = 20261
PICTURE = pathlib.Path(__file__).parents[1] / "backbone/picture.png"
MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
# Top, left, height, width: what torchvision's crop sees, and one that no stride divides.
CROPS = [[16, 16, 224, 224], [5, 3, 97, 130]]


def number(value):
    return float(f"{value:.9g}")


def inputs(crop):
    y, x, h, w = crop
    rgb = np.ascontiguousarray(np.asarray(Image.open(PICTURE))[y:y + h, x:x + w])
    x = torch.from_numpy(rgb).permute(2, 0, 1).to(torch.float32)
    return ((x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)).unsqueeze(0).contiguous()


def golden(name, made_by, network, crops=CROPS, prefix=""):
    network = network.eval()
    norms = golden_weights.calibrate(network, SEED, inputs(crops[0]))
    golden_weights.fill(network, SEED, norms)
    cases = []
    for crop in crops:
        with torch.no_grad():
            logits = network(inputs(crop))[0]
        cases.append({"crop": crop, "max_abs_logit": number(logits.abs().max().item()),
                      "logits": [number(v) for v in logits[:24].tolist()]})
        print(name, crop, "max |logit|", cases[-1]["max_abs_logit"], "spread", logits.std().item(), flush=True)
    parameters = sum(p.numel() for p in network.parameters())
    state = {prefix + k: "x".join(map(str, v.shape)) for k, v in network.state_dict().items()}
    text = json.dumps({"made_by": made_by, "seed": SEED, "prefix": prefix, "mean": MEAN, "std": STD,
                       "parameters": parameters, "state": state, "norms": norms, "cases": cases}, indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: re.sub(r"\s+", " ", m[0]).replace("[ ", "[").replace(" ]", "]"), text)
    (FOLDER / f"{name}.json").write_text(text + "\n")


class PortChannel(torch.nn.Module):
    """sigmoid(layers(mean) + layers(maximum)), two 1x1 convolutions without bias in `fc`, reduction 16."""

    def __init__(self, channels):
        super().__init__()
        self.fc = torch.nn.Sequential(torch.nn.Conv2d(channels, channels // 16, 1, bias=False), torch.nn.ReLU(),
                                      torch.nn.Conv2d(channels // 16, channels, 1, bias=False))

    def forward(self, x):
        return torch.sigmoid(self.fc(x.mean((2, 3), keepdim=True)) + self.fc(x.amax((2, 3), keepdim=True)))


class PortSpatial(torch.nn.Module):
    """sigmoid(conv1([mean, maximum] over channels)): no norm, no bias."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x):
        return torch.sigmoid(self.conv1(torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)))


class PortSe(torch.nn.Module):
    """x * sigmoid(layers(mean)), two linear layers without bias in `fc`, reduction 16."""

    def __init__(self, channels):
        super().__init__()
        self.fc = torch.nn.Sequential(torch.nn.Linear(channels, channels // 16, bias=False), torch.nn.ReLU(),
                                      torch.nn.Linear(channels // 16, channels, bias=False), torch.nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x.mean((2, 3)))[:, :, None, None]


def port(kind):
    """torchvision's ResNet-18 with the port's modules under the port's names, before the add."""

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if kind == "luuuyi":
            y = self.ca(y) * y
            y = self.sa(y) * y
        else:
            y = self.se(y)
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    network = torchvision.models.resnet18(weights=None)
    for module in list(network.modules()):
        if isinstance(module, torchvision.models.resnet.BasicBlock):
            channels = module.conv2.out_channels
            if kind == "luuuyi":
                module.ca, module.sa = PortChannel(channels), PortSpatial()
            else:
                module.se = PortSe(channels)
            module.forward = forward.__get__(module)
    return network


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for name, depth, kind in (("timm_se_resnet18", 18, "se"), ("timm_se_resnet50", 50, "se"), ("timm_cbam_resnet18", 18, "cbam"),
                              ("timm_cbam_resnet50", 50, "cbam"), ("timm_eca_resnet50", 50, "eca")):
        golden(name, f"timm {timm.__version__}", timm.create_model(f"resnet{depth}", block_args=dict(attn_layer=kind)))
    for name in ("legacy_seresnet18", "legacy_seresnet50"):
        golden(f"timm_{name}", f"timm {timm.__version__}", timm.create_model(name))
    golden("luuuyi_cbam_resnet18", "the port's formula", port("luuuyi"))
    golden("moskomule_se_resnet18", "the port's formula", port("moskomule"), prefix="module.")
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
        module = importlib.import_module("MODELS.model_resnet")
        commit = subprocess.run(["git", "-C", sys.argv[1], "rev-parse", "--short", "HEAD"], check=True, text=True,
                                capture_output=True).stdout.strip()
        for depth in (18, 50):  # the last pool is 7x7: 224x224 only
            golden(f"authors_cbam_resnet{depth}", f"github.com/Jongchan/attention-module {commit}",
                   module.ResidualNet("ImageNet", depth, 1000, "CBAM"), CROPS[:1], prefix="module.")


if __name__ == "__main__":
    main()
