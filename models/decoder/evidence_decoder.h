// Decoders of a network's class evidence: what of its classes a word can name.
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/decoder/word_decoder.h"

namespace gaze::models {

// A cell's classes, the network's K and `extra` more that the decoder learns to see in their logits, are
// summed into groups, e.g. one a noun.
struct ClassGroups {
  int64_t extra = 0;            // E
  std::vector<int64_t> groups;  // of each of the K + E classes, 0 .. G-1; empty: each its own
  // [G] the word that names each group, -1 for none. A cell is then the mean of the words' own embeddings, so
  // that a word learned once can be read from any cell and said again.
  std::vector<int64_t> group_words;
};
// `classes` K, `words` V, `evidence`: cells are class logits at all. Throws ArgumentError in the name of `op`
// where groups and words do not fit.
void check_class_groups(const ClassGroups& groups, int64_t classes, int64_t words, bool evidence,
                        const char* op);
// Adds "extra", "groups" and "group_words" to a decoder's options.
void add_class_groups(const ClassGroups& groups, nlohmann::json& options);
ClassGroups class_groups_of(const nlohmann::json& options);

// Words said under teacher forcing.
struct ForcedWords {
  torch::Tensor logits;   // [B, T, V]
  torch::Tensor weights;  // [B, T, S], each [S] sums to 1; undefined where a decoder keeps none
};

// g [G], the groups' probabilities in a cell of logits z [K], are the sums over groups of
// softmax([z; U (z - mean z) + c]), U and c those of extra().
class EvidenceDecoder : public WordDecoder {
 public:
  // The learned layer U of the extra classes; null without. State keys "extra.*".
  torch::nn::Linear extra() { return extra_; }

  // logits [B, S, K] -> probabilities of the groups [B, S, G], float32.
  torch::Tensor group_probabilities(const torch::Tensor& logits) { return group_sums(with_extra(logits)); }
  // Its two halves: logits of all classes, z ++ U (z - mean z) + c, [B, S, K + E], U's input dropped out in
  // `dropout` of its places; and softmax over them, summed by group.
  torch::Tensor with_extra(const torch::Tensor& logits, double dropout = 0);
  torch::Tensor group_sums(const torch::Tensor& logits) const;

  // cells [B, rows * cols, G], row-major -> the memory [B, S, D] that forward() and start() take. Throws
  // ArgumentError for another shape.
  virtual torch::Tensor embed_cells(const torch::Tensor& cells, int64_t rows, int64_t cols) = 0;
  // forward() with the weights.
  virtual ForcedWords force(const torch::Tensor& tokens, const torch::Tensor& memory) = 0;
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& memory) override {
    return force(tokens, memory).logits;
  }

 protected:
  // Of groups that are checked. What is thrown is in the name of `called`.
  EvidenceDecoder(const ClassGroups& groups, int64_t classes, int64_t words, const char* called);

  // Without group_words nothing is registered. State key "nameless": what groups without a word look like.
  void add_group_words(int64_t width);
  bool has_group_words() const { return !class_groups_.group_words.empty(); }
  // cells [B, S, G], words' embeddings [V, D] -> their means [B, S, D].
  torch::Tensor named_cells(const torch::Tensor& cells, const torch::Tensor& embeddings) const;
  int64_t group_count() const { return group_count_; }  // G

 private:
  const char* called_;
  ClassGroups class_groups_;
  int64_t classes_, words_, group_count_;
  torch::Tensor groups_;       // [K + E] int64, undefined without groups
  torch::Tensor group_words_;  // [G] int64: rows of the embedding, and behind it of `nameless_`
  torch::Tensor nameless_;
  torch::nn::Linear extra_{nullptr};
};

}  // namespace gaze::models
