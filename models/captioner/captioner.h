// Picture -> caption: backbone, decoder and tokenizer of one model file, joined.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/captioner/caption.h"
#include "models/captioner/caption_model.h"
#include "models/checkpoint/model_file.h"
#include "models/decoder/search.h"
#include "models/decoder/tokenizer.h"
#include "models/decoder/word_decoder.h"
#include "models/image/preprocess.h"

namespace gaze::models {

class Captioner {
 public:
  // Throws ArgumentError that says which part of the model differs.
  explicit Captioner(const ModelFile& model);

  // Reads a model file. Throws FileError that names the file and the part that differs.
  static Captioner load(const std::filesystem::path& path);

  // Replaces the backbone by the person's own network with the same classes (class-evidence decoders only).
  // Its pictures get the captioner's input size and its own mean and deviation.
  void use_backbone(std::shared_ptr<Backbone> backbone);

  // Captions a batch, pictures of one input size in one pass; results in the order of `images`. The special
  // tokens of `options` are the tokenizer's. `record_maps` also keeps the maps of the backbone's blocks.
  std::vector<CaptionedImage> caption(const std::vector<Image>& images, const SearchOptions& options,
                                      bool record_maps = false);

  Backbone& backbone() { return *backbone_; }
  WordDecoder& decoder() { return *decoder_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Preprocessing& preprocessing() const { return preprocessing_; }
  // Of the backbone's classes; empty where the model file has none.
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  struct Batch {
    std::vector<torch::Tensor> inputs;     // [3, H, W] each, of one size
    std::vector<CaptionedImage*> results;  // theirs
  };
  void caption(const Batch& batch, const SearchOptions& options, bool record_maps);
  std::vector<Caption> read(const std::vector<Hypothesis>& hypotheses, const CaptionedImage& image) const;

  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<WordDecoder> decoder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Preprocessing preprocessing_;
  std::vector<std::string> labels_;
};

}  // namespace gaze::models
