// Pictures -> words, a word at a time: what every kind of caption decoder does.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace gaze::models {

struct DecoderStep {
  torch::Tensor log_probabilities;  // [R, V], float32
  torch::Tensor map;                // [R, N, S], cross-attention of the last layer; each [S] sums to 1
};

// What is searched: a decoder at the start of B inputs (pictures, or sources), `beam` rows each. Row
// b * beam + i is hypothesis i of input b: R = B * beam.
class StepDecoder {
 public:
  virtual ~StepDecoder() = default;
  virtual int64_t max_tokens() const = 0;  // longest sequence, end token included
  virtual int64_t inputs() const = 0;      // B, at the moment
  // tokens [R] int64: the token each row emitted last (the start token first).
  virtual DecoderStep step(const torch::Tensor& tokens) = 0;
  // Row i becomes what row `rows[i]` was (rows: int64 [R'], R' a multiple of the beam); the rows of one input
  // must come from one input. Inputs may be left out or moved.
  virtual void reorder(const torch::Tensor& rows) = 0;
};

// The input of each group of `rows` (R' = B' * beam), [B']. Throws ArgumentError for groups of several.
torch::Tensor sources_of(const torch::Tensor& rows, int64_t beam);

// What of the network a decoder reads, a cell at a time.
enum class VisualInput {
  class_evidence,  // logits of the class head, [B, classes, h, w]
  features,        // the last stage, [B, channels, h, w]
};

struct PictureTokens {
  torch::Tensor memory;        // [B, S, D]
  int64_t rows = 0, cols = 0;  // S = rows * cols cells, row-major: the grid of the words' maps
};

class WordDecoder : public torch::nn::Module {
 public:
  virtual VisualInput visual_input() const = 0;
  virtual int64_t visual_width() const = 0;  // K, channels of a cell
  virtual int64_t vocabulary() const = 0;    // V
  virtual int64_t max_tokens() const = 0;    // longest caption, end token included

  // visual [B, K, h, w], any h and w. Throws ArgumentError for another shape.
  virtual PictureTokens look_at(const torch::Tensor& visual) = 0;
  // Teacher forcing. tokens [B, T] int64 (start token first, T <= max_tokens), memory [B, S, D] -> logits
  // [B, T, V] of the next tokens. Position t sees the tokens 0..t only.
  virtual torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& memory) = 0;
  // A caption's first step; `beam` hypotheses a picture. The steps give what forward()'s last position gives.
  // They refer to this decoder, which must outlive them, in evaluation mode.
  virtual std::unique_ptr<StepDecoder> start(const torch::Tensor& memory, int64_t beam) = 0;

  // {"kind", its options}: what word_decoder_from_json() makes one of.
  virtual nlohmann::json describe() const = 0;
};

// A decoder with random weights, of the kind and options that a model file's "decoder" has. Throws
// ArgumentError naming the wrong option, or the kinds there are.
std::shared_ptr<WordDecoder> word_decoder_from_json(const nlohmann::json& json);

}  // namespace gaze::models
