// The painted grounds: flat light, blurred blobs, sand, snow, wood, tiles, sky, grass.
#include <algorithm>
#include <array>
#include <cmath>

#include "models/data/grounds.h"

namespace gaze::models {
namespace {

using Colour = std::array<double, 3>;

Colour mix(const Colour& a, const Colour& b, double t) {
  return {a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t};
}

Colour scaled(const Colour& a, double by) {
  return {a[0] * by, a[1] * by, a[2] * by};
}

// Numbers of a texture: train, val and test draw from parts of [0, 1) that do not touch.
class Dial {
 public:
  Dial(Split split, Random& random) : split_(split), random_(random) {}

  double operator()(double low, double high) {
    const double t = split_ == Split::train ? random_.uniform(0, 0.6)
                     : split_ == Split::val ? random_.uniform(0.62, 0.74)
                                            : random_.uniform(0.76, 1);
    return low + (high - low) * t;
  }

 private:
  Split split_;
  Random& random_;
};

// Smooth noise in 0..1 on a lattice of the given seed.
class Noise {
 public:
  explicit Noise(Random& random) : seed_(random.bits()) {}

  double operator()(double x, double y) const {
    const double fx = std::floor(x), fy = std::floor(y);
    const int64_t i = static_cast<int64_t>(fx), j = static_cast<int64_t>(fy);
    const double u = smooth(x - fx), v = smooth(y - fy);
    const double above = at(i, j) + (at(i + 1, j) - at(i, j)) * u;
    const double below = at(i, j + 1) + (at(i + 1, j + 1) - at(i, j + 1)) * u;
    return above + (below - above) * v;
  }

  // Octaves of halving size and strength; about 0..1.
  double layered(double x, double y, int octaves) const {
    double sum = 0, weight = 0.5, total = 0;
    for (int octave = 0; octave < octaves; ++octave) {
      sum += weight * (*this)(x + 17.0 * octave, y + 31.0 * octave);
      total += weight;
      x *= 2, y *= 2, weight *= 0.5;
    }
    return sum / total;
  }

  double at(int64_t i, int64_t j) const {
    uint64_t z = seed_ + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ULL +
                 static_cast<uint64_t>(j) * 0xC2B2AE3D27D4EB4FULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  static double smooth(double t) { return t * t * (3 - 2 * t); }
  uint64_t seed_;
};

template <typename Paint>
Image painted(int64_t width, int64_t height, const Paint& colour_at) {
  Image image;
  image.width = width;
  image.height = height;
  image.rgb.reserve(static_cast<size_t>(3 * width * height));
  const double unit = 1.0 / std::max(width, height);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const Colour colour = colour_at((x + 0.5) * unit, (y + 0.5) * unit, x, y);
      for (double value : colour)
        image.rgb.push_back(static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)));
    }
  }
  return image;
}

// A muted colour: `hue` goes once round in 0..1.
Colour hued(double hue, double strength, double brightness) {
  Colour colour{};
  for (int c = 0; c < 3; ++c) {
    double distance = std::fabs(hue - c / 3.0);
    distance = std::min(distance, 1 - distance);  // 0 at the channel's own hue, 0.5 opposite
    colour[static_cast<size_t>(c)] = brightness * (1 - strength * std::min(1.0, 3 * distance));
  }
  return colour;
}

Image plain(Dial& dial, Random& random, int64_t w, int64_t h) {
  // Numbers are drawn in statements of their own: the order of a call's arguments is the compiler's choice.
  const double hue = dial(0, 1), strength = dial(0, 0.6), brightness = random.uniform(90, 245);
  const Colour a = hued(hue, strength, brightness), b = scaled(a, random.uniform(0.55, 0.95));
  const double across = random.uniform(-1, 1), down = random.uniform(-1, 1);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    return mix(a, b, std::clamp(0.5 + across * (x - 0.5) + down * (y - 0.5), 0.0, 1.0));
  });
}

Image blurred(Dial& dial, Random& random, int64_t w, int64_t h) {
  const double hue = dial(0, 1), size = dial(1.5, 5);
  const Colour a = hued(hue, 0.5, random.uniform(120, 230)),
               b = hued(hue + 0.12 > 1 ? hue - 0.88 : hue + 0.12, 0.5, random.uniform(30, 120));
  const Noise noise(random);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    return mix(a, b, std::clamp(1.6 * noise.layered(x * size, y * size, 2) - 0.3, 0.0, 1.0));
  });
}

Image grains(const Colour& base, double ripple, Dial& dial, Random& random, int64_t w, int64_t h) {
  const double size = dial(4, 9), stretch = dial(1.5, 4), depth = random.uniform(0.10, 0.2);
  const Noise waves(random), grain(random);
  return painted(w, h, [&](double x, double y, int64_t column, int64_t row) {
    const double wave = waves.layered(x * size, y * size * stretch, 3) - 0.5;
    return scaled(base, 1 + ripple * wave + depth * (grain.at(column, row) - 0.5));
  });
}

Image sand(Dial& dial, Random& random, int64_t w, int64_t h) {
  const double light = random.uniform(0.7, 1.05);
  return grains({225 * light, dial(182, 205) * light, dial(125, 165) * light}, 0.35, dial, random, w, h);
}

Image snow(Dial& dial, Random& random, int64_t w, int64_t h) {
  const double light = random.uniform(0.85, 1.0);
  return grains({dial(222, 240) * light, dial(230, 244) * light, 250 * light}, 0.18, dial, random, w, h);
}

Image grass(Dial& dial, Random& random, int64_t w, int64_t h) {
  const Colour bright = {dial(90, 140), dial(140, 185), dial(45, 80)},
               dark = scaled(bright, random.uniform(0.35, 0.6));
  const double size = dial(35, 70);
  const Noise blades(random), patches(random);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    const double blade = blades.layered(x * size + 1.5 * patches(x * 7, y * 7), y * size * 0.25, 2);
    return mix(dark, bright,
               std::clamp(0.75 * blade + 0.5 * patches.layered(x * 4, y * 4, 2) - 0.1, 0.0, 1.0));
  });
}

Image wood(Dial& dial, Random& random, int64_t w, int64_t h) {
  const double light = random.uniform(0.6, 1.1), width = dial(0.08, 0.26);
  const Colour bright = {dial(170, 205) * light, dial(120, 155) * light, dial(70, 110) * light};
  const bool upright = random.chance(0.5);
  const Noise ring(random), board(random);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    const double along = upright ? y : x, across = upright ? x : y;
    const int64_t number = static_cast<int64_t>(across / width);
    const double inside = across / width - number;
    const double tone = 0.82 + 0.3 * board.at(number, 7);
    const double lines = ring.layered(along * 2.5 + 40.0 * number, across * 38, 3);
    const bool seam = inside < 0.025 || inside > 0.985;
    return scaled(bright, seam ? 0.35 : tone * (0.82 + 0.3 * lines));
  });
}

Image tiles(Dial& dial, Random& random, int64_t w, int64_t h) {
  const double hue = dial(0, 1), strength = dial(0.05, 0.5), brightness = random.uniform(120, 240);
  const Colour one = hued(hue, strength, brightness);
  const Colour other = random.chance(0.5) ? scaled(one, random.uniform(0.35, 0.7)) : one;
  const double size = dial(0.09, 0.28), shift_x = random.uniform(), shift_y = random.uniform(), gap = 0.035;
  const Noise stain(random), tone(random);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    const double u = x / size + shift_x, v = y / size + shift_y;
    const int64_t i = static_cast<int64_t>(u), j = static_cast<int64_t>(v);
    if (u - i < gap || v - j < gap) return scaled(one, 0.45);
    return scaled((i + j) % 2 == 0 ? one : other,
                  0.88 + 0.1 * tone.at(i, j) + 0.14 * stain.layered(x * 6, y * 6, 3));
  });
}

Image sky(Dial& dial, Random& random, int64_t w, int64_t h) {
  const Colour top = {dial(60, 120), dial(120, 170), random.uniform(200, 245)},
               bottom = mix(top, {235, 240, 250}, dial(0.3, 0.8));
  const double size = dial(2, 6), cover = random.uniform(0.35, 0.65);
  const Noise noise(random);
  return painted(w, h, [&](double x, double y, int64_t, int64_t) {
    const double cloud = std::clamp((noise.layered(x * size, y * size * 1.8, 4) - cover) * 4, 0.0, 1.0);
    return mix(mix(top, bottom, y), {248, 249, 252}, cloud);
  });
}

}  // namespace

Ground texture(Split split, Random& random, int64_t width, int64_t height) {
  struct Kind {
    const char* name;
    Image (*paint)(Dial&, Random&, int64_t, int64_t);
  };
  static constexpr Kind kinds[] = {{"a plain background", plain},
                                   {"a blurred background", blurred},
                                   {"sand", sand},
                                   {"snow", snow},
                                   {"grass", grass},
                                   {"wood", wood},
                                   {"tiles", tiles},
                                   {"the sky", sky}};
  const Kind& kind = kinds[random.below(static_cast<int64_t>(std::size(kinds)))];
  Dial dial(split, random);
  return {kind.paint(dial, random, width, height), kind.name};
}

}  // namespace gaze::models
