#include "models/overlay/sha256.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr size_t kBlock = 64;

// The first 64 primes: their roots are the standard's constants.
std::array<uint32_t, 64> primes() {
  std::array<uint32_t, 64> found{};
  size_t count = 0;
  for (uint32_t candidate = 2; count < found.size(); ++candidate) {
    bool prime = true;
    for (size_t i = 0; i < count && prime; ++i) prime = candidate % found[i] != 0;
    if (prime) found[count++] = candidate;
  }
  return found;
}

uint32_t fraction_bits(long double value) {
  return static_cast<uint32_t>((value - std::floor(value)) * 4294967296.0L);
}

struct Constants {
  std::array<uint32_t, 8> start{};   // fractions of the square roots of the first 8 primes
  std::array<uint32_t, 64> round{};  // fractions of the cube roots of all 64
  Constants() {
    const std::array<uint32_t, 64> p = primes();
    for (size_t i = 0; i < 8; ++i) start[i] = fraction_bits(std::sqrt(static_cast<long double>(p[i])));
    for (size_t i = 0; i < 64; ++i) round[i] = fraction_bits(std::cbrt(static_cast<long double>(p[i])));
  }
};

const Constants& constants() {
  static const Constants values;
  return values;
}

uint32_t turned(uint32_t x, int bits) {
  return x >> bits | x << (32 - bits);
}

class Sha256 {
 public:
  void add(std::string_view bytes) {
    length_ += bytes.size();
    while (!bytes.empty()) {
      const size_t taken = std::min(kBlock - filled_, bytes.size());
      std::memcpy(block_.data() + filled_, bytes.data(), taken);
      filled_ += taken;
      bytes.remove_prefix(taken);
      if (filled_ == kBlock) mix();
    }
  }

  std::string digits() {
    const uint64_t bits = length_ * 8;
    add(std::string_view("\x80", 1));
    while (filled_ != kBlock - 8) add(std::string_view("\0", 1));
    std::string size;
    for (int shift = 56; shift >= 0; shift -= 8) size.push_back(static_cast<char>(bits >> shift));
    add(size);
    std::string text;
    for (const uint32_t word : state_) {
      for (int shift = 28; shift >= 0; shift -= 4) text.push_back("0123456789abcdef"[word >> shift & 0xF]);
    }
    return text;
  }

 private:
  void mix() {
    std::array<uint32_t, 64> w{};
    for (size_t t = 0; t < 16; ++t) {
      for (size_t i = 0; i < 4; ++i) w[t] = w[t] << 8 | block_[4 * t + i];
    }
    for (size_t t = 16; t < 64; ++t) {
      const uint32_t s0 = turned(w[t - 15], 7) ^ turned(w[t - 15], 18) ^ w[t - 15] >> 3;
      const uint32_t s1 = turned(w[t - 2], 17) ^ turned(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t t = 0; t < 64; ++t) {
      const uint32_t choice = (e & f) ^ (~e & g);
      const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
      const uint32_t t1 =
          h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + constants().round[t] + w[t];
      const uint32_t t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority;
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state_[i] += mixed[i];
    filled_ = 0;
  }

  std::array<uint32_t, 8> state_ = constants().start;
  std::array<uint8_t, kBlock> block_{};
  size_t filled_ = 0;
  uint64_t length_ = 0;
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

std::string file_sha256(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw FileError(path.string(), std::string("cannot be read (") + std::strerror(errno) + ")",
                    "check the path");
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.add({buffer.data(), static_cast<size_t>(stream.gcount())});
  }
  return hash.digits();
}

}  // namespace gaze::models
