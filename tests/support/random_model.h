// A decoder whose next token depends on all tokens before it, by chance: log p(. | input, tokens) =
// log-softmax of `sharpness` x numbers drawn from a hash of seed, input and tokens. Small enough to be
// enumerated.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/decoder/word_decoder.h"
#include "modules/core/random.h"

namespace gaze::test {

struct RandomModel {
  uint64_t seed = 1;
  int64_t words = 3;  // beside 4 special tokens, of which 2 ends
  int64_t max_tokens = 6;
  double sharpness = 3;

  int64_t vocabulary() const { return 4 + words; }

  uint64_t hash(uint64_t input, const std::vector<int64_t>& tokens) const {
    uint64_t value = Random({seed, input}).bits();
    for (const int64_t token : tokens) value = Random({value, static_cast<uint64_t>(token)}).bits();
    return value;
  }

  // [V], as float32 has them.
  std::vector<double> log_probabilities(uint64_t input, const std::vector<int64_t>& tokens) const {
    Random random({hash(input, tokens), 1});
    std::vector<double> values(static_cast<size_t>(vocabulary()));
    double sum = 0;
    for (double& value : values) {
      value = sharpness * random.uniform();
      sum += std::exp(value);
    }
    for (double& value : values) value = static_cast<double>(static_cast<float>(value - std::log(sum)));
    return values;
  }

  // Of the token after these: one number that belongs to them alone.
  double map(uint64_t input, const std::vector<int64_t>& tokens) const {
    return static_cast<double>(static_cast<float>(Random({hash(input, tokens), 2}).uniform()));
  }
};

// The model's steps; input b is number inputs[b] of the model.
class RandomModelSteps : public models::StepDecoder {
 public:
  RandomModelSteps(const RandomModel& model, const std::vector<uint64_t>& inputs, int64_t beam)
      : model_(model), beam_(beam) {
    for (const uint64_t input : inputs) {
      for (int64_t i = 0; i < beam; ++i) rows_.push_back({input, {}});
    }
  }

  int64_t max_tokens() const override { return model_.max_tokens; }
  int64_t inputs() const override { return static_cast<int64_t>(rows_.size()) / beam_; }

  models::DecoderStep step(const torch::Tensor& tokens) override {
    const auto R = static_cast<int64_t>(rows_.size());
    const int64_t V = model_.vocabulary();
    const torch::Tensor log_p = torch::empty({R, V}), map = torch::empty({R, 1, 1});
    for (int64_t r = 0; r < R; ++r) {
      auto& [input, own] = rows_[static_cast<size_t>(r)];
      // The start token is none of its words.
      if (steps_ > 0) own.push_back(tokens.const_data_ptr<int64_t>()[r]);
      const std::vector<double> values = model_.log_probabilities(input, own);
      std::copy(values.begin(), values.end(), log_p.data_ptr<float>() + r * V);
      map.data_ptr<float>()[r] = static_cast<float>(model_.map(input, own));
    }
    ++steps_;
    return {log_p, map};
  }

  void reorder(const torch::Tensor& rows) override {
    models::sources_of(rows, beam_);  // throws for rows of several inputs in one
    std::vector<std::pair<uint64_t, std::vector<int64_t>>> before = std::exchange(rows_, {});
    for (int64_t r = 0; r < rows.size(0); ++r) {
      rows_.push_back(before[static_cast<size_t>(rows.const_data_ptr<int64_t>()[r])]);
    }
  }

  int64_t steps() const { return steps_; }

 private:
  RandomModel model_;
  int64_t beam_, steps_ = 0;
  std::vector<std::pair<uint64_t, std::vector<int64_t>>> rows_;
};

}  // namespace gaze::test
