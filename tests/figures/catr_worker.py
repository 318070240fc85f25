#!/usr/bin/env python3
"""CATR's original code with random weights: .venv-oracle/bin/python catr_worker.py THREADS FOLDER < REQUESTS

FOLDER is a checkout of github.com/saahiluppal/catr. {"picture": FILE, "words": 20} -> {"ms", "tokens"}: file to greedy caption,
which does not end before, by the loop of predict.py.
"""
import sys
import warnings

import numpy as np
import torch
import torchvision
from PIL import Image

from serve import serve, timed

START, END = 101, 102


def original(folder):
    """Its configuration, picture transform and model; what would fetch weights, or NumPy no longer has, is stood in for."""
    resnet = torchvision.models.resnet101
    torchvision.models.resnet101 = lambda pretrained, **options: resnet(**options)
    np.float = float
    warnings.filterwarnings("ignore", message="Support for mismatched key_padding_mask")
    sys.path.insert(0, folder)
    from configuration import Config
    from datasets.coco import val_transform
    from models import caption
    config = Config()
    return config, val_transform, caption.build_model(config)[0].eval()


def captions(config, model, image, words):
    """The tokens of predict.py's evaluate(), the end token left out of the choice."""
    tokens = torch.zeros((1, config.max_position_embeddings), dtype=torch.long)
    mask = torch.ones((1, config.max_position_embeddings), dtype=torch.bool)
    tokens[:, 0], mask[:, 0] = START, False
    for i in range(words):
        predictions = model(image, tokens, mask)[:, i, :]
        predictions[:, END] = -torch.inf
        tokens[:, i + 1], mask[:, i + 1] = predictions.argmax(-1)[0], False
    return tokens[0, 1:words + 1]


def main():
    torch.manual_seed(1)
    config, transform, model = original(sys.argv[2])

    @torch.no_grad()
    def answer(request):
        tokens, ms = timed(lambda: captions(config, model, transform(Image.open(request["picture"])).unsqueeze(0), request["words"]))
        return {"ms": ms, "tokens": len(tokens)}

    serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    main()
