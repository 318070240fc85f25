// What a translator is trained from and how; a recipe file is this struct as JSON, its keys the long flags of
// `gaze train translate`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gaze::models {

struct TranslationRecipe {
  // the pairs: source, tab, target
  std::filesystem::path data;
  std::filesystem::path val_data;           // empty: `val_share` of `data`
  double val_share = 0.05;                  // drawn by the seed
  std::string source_tokens = "character";  // or word_punctuation
  std::string target_tokens = "character";
  int64_t min_count = 1;    // tokens that are rarer are unknown
  int64_t max_tokens = 64;  // pairs with a longer source or target are left out

  // the network, see models/sequence/translator.h
  std::string encoder = "bidirectional_lstm";
  std::string decoder = "lstm";
  bool attention = true;
  std::string score = "additive";
  std::string fusion = "concatenation";
  int64_t embedding = 64, width = 128, layers = 1, heads = 4;
  double dropout = 0.1;

  // the training
  uint64_t seed = 1;
  int64_t epochs = 10;
  int64_t batch = 64;
  double lr = 3e-3;
  double weight_decay = 1e-4;
  int64_t warmup = 100;  // steps
  double label_smoothing = 0.1;
  double clip = 1.0;

  // not part of what makes two runs the same
  double save_seconds = 60;
  std::string licence;  // of the model that is written; empty: said by nobody
};

// What makes two runs the same: all of it but the last lines.
nlohmann::json to_json(const TranslationRecipe& recipe);

}  // namespace gaze::models
