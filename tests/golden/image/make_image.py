"""Golden data of tests/models/image: small pictures of every kind, and what PIL and torchvision make of them.

Run with Pillow, numpy, torch and torchvision:  python make_image.py
Everything is written beside this file. Pictures are 8 x 6 unless their name says otherwise.
"""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import functional as F

HERE = Path(__file__).parent
SEED = 7
FILTERS = {
    "nearest": Image.NEAREST,
    "bilinear": Image.BILINEAR,
    "bicubic": Image.BICUBIC,
    "lanczos": Image.LANCZOS,
}
SIZES = [(16, 12), (1, 1), (53, 7), (5, 61), (37, 11), (36, 20), (45, 33)]
# width, height of the picture; short side, crop
CROPS = [(40, 31, 28, 24), (31, 40, 28, 24), (33, 33, 27, 24), (97, 20, 25, 25)]


def save(image, name, **options):
    image.save(HERE / name, **options)


def png16(path, samples, colour_type):
    """A 16-bit PNG; Pillow writes only gray ones."""
    height, width = samples.shape[:2]
    rows = b"".join(b"\0" + samples[y].astype(">u2").tobytes() for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def formats():
    """One picture in every kind of file. The test knows its pixels: (30 x, 40 y, 17)."""
    x, y = np.meshgrid(np.arange(8), np.arange(6))
    rgb = np.stack([30 * x, 40 * y, np.full_like(x, 17)], 2).astype(np.uint8)
    alpha = (5 * (x + 8 * y)).astype(np.uint8)
    picture = Image.fromarray(rgb)
    gray = Image.fromarray((5 * (x + 8 * y)).astype(np.uint8))
    for extension in ("png", "bmp", "tif"):
        save(picture, f"rgb.{extension}")
        save(gray, f"gray.{extension}")
    save(picture, "rgb.webp", lossless=True)
    save(picture, "lzw.tif", compression="tiff_lzw")
    palette = Image.fromarray((x + 8 * y).astype(np.uint8), "P")
    palette.putpalette(sum(rgb.reshape(-1, 3).tolist(), []) + [0] * (768 - 3 * 48))
    for extension in ("png", "bmp", "tif"):
        save(palette, f"palette.{extension}")
    save(palette, "palette_transparent.png", transparency=9)  # (1, 1) becomes white
    save(picture, "rgb_transparent.png", transparency=(30, 40, 17))
    save(gray, "gray_transparent.png", transparency=45)
    save(picture.convert("CMYK"), "cmyk.tif")
    rgba = Image.fromarray(np.dstack([rgb, alpha]))
    save(rgba, "rgba.png")
    save(rgba, "rgba.tif")
    save(rgba, "rgba.webp", lossless=True, exact=True)
    save(Image.merge("LA", [gray, Image.fromarray(alpha)]), "gray_alpha.png")
    save(Image.fromarray(((x + y) % 2 * 255).astype(np.uint8)).convert("1"), "one_bit.png")
    save(Image.fromarray(((x + y) % 2 * 255).astype(np.uint8)).convert("1"), "one_bit.tif")
    sixteen = 1300 * (x + 8 * y)  # up to 61100
    save(Image.fromarray(sixteen.astype(np.uint16)), "gray16.png")
    save(Image.fromarray(sixteen.astype(np.uint16)), "gray16.tif")
    png16(HERE / "rgb16.png", np.stack([sixteen, 65535 - sixteen, np.full_like(x, 128)], 2), 2)
    png16(HERE / "rgba16.png", np.stack([sixteen, 65535 - sixteen, np.full_like(x, 128), sixteen], 2), 6)
    save(Image.fromarray(np.array([[[10, 200, 90]]], np.uint8)), "one_pixel_1x1.png")
    save(Image.fromarray(np.ones((6, 8), np.float32)), "float.tif")
    save(picture, "animated.webp", save_all=True, append_images=[picture.rotate(180)], lossless=True)
    save(picture.convert("P"), "a.gif")
    # Decoration about which libpng prints remarks.
    save(picture, "bad_profile.png", icc_profile=b"not a profile" * 5)


def orientations():
    """24 x 16, red top left, green top right, blue bottom left, as stored; the tag says how to turn it."""
    stored = np.full((16, 24, 3), 255, np.uint8)
    stored[:8, :8], stored[:8, 16:], stored[8:, :8] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    picture = Image.fromarray(stored)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        save(picture, f"turn{orientation}_24x16.jpg", exif=exif, quality=90, subsampling=0)
    exif = Image.Exif()
    exif[0x0112] = 6
    save(picture, "turn6_24x16.png", exif=exif)
    save(picture, "turn6_24x16.webp", exif=exif, lossless=True)
    save(picture, "turn6_24x16.tif", tiffinfo={274: 6})
    gray = Image.fromarray((np.arange(16 * 24).reshape(16, 24) * 170).astype(np.uint16))
    save(gray, "turn8_gray16_24x16.tif", tiffinfo={274: 8})


def jpegs(generator):
    """Pictures whose pixels only a JPEG decoder knows, with Pillow's decoding as PNG."""
    smooth = generator.integers(0, 256, (5, 6, 3)).astype(np.uint8)
    picture = Image.fromarray(smooth).resize((48, 40), Image.BICUBIC)
    save(picture, "photo_48x40.jpg", quality=90)
    save(picture, "progressive_48x40.jpg", quality=90, progressive=True)
    save(picture.convert("L"), "gray_48x40.jpg", quality=90)
    save(picture.convert("CMYK"), "cmyk_48x40.jpg", quality=90)
    for name in ("photo", "progressive", "gray", "cmyk"):
        decoded = Image.open(HERE / f"{name}_48x40.jpg").convert("RGB")
        save(decoded, f"{name}_48x40_decoded.png")


def resizes(generator):
    noise = Image.fromarray(generator.integers(0, 256, (29, 37, 3)).astype(np.uint8))
    save(noise, "noise_37x29.png")
    for name, kind in FILTERS.items():
        for width, height in SIZES:
            save(noise.resize((width, height), kind), f"resize_{name}_{width}x{height}.png")


def crops(generator):
    """torchvision's Resize + CenterCrop + ToTensor + Normalize, float32 [3, H, W]."""
    for width, height, short_side, crop in CROPS:
        picture = Image.fromarray(generator.integers(0, 256, (height, width, 3)).astype(np.uint8))
        save(picture, f"crop_{width}x{height}.png")
        x = F.center_crop(F.resize(picture, short_side, F.InterpolationMode.BILINEAR), crop)
        x = F.normalize(F.to_tensor(x), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        (HERE / f"crop_{width}x{height}.f32").write_bytes(x.numpy().astype("<f4").tobytes())


def main():
    for old in HERE.iterdir():
        if old.suffix not in (".py", ".md"):
            old.unlink()
    generator = np.random.default_rng(SEED)
    formats()
    orientations()
    jpegs(generator)
    resizes(generator)
    crops(generator)
    versions = f"Pillow {PIL.__version__}, torch {torch.__version__}, torchvision {torchvision.__version__}"
    print(f"{versions}, seed {SEED}", file=sys.stderr)


if __name__ == "__main__":
    main()
