// Picture -> caption: backbone, decoder and vocabulary of one model file, joined.
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
#include "models/decoder/vocabulary.h"
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

  // Captions a batch in one pass; results in the order of `images`. `record_maps` also keeps the maps of the
  // backbone's blocks.
  std::vector<CaptionedImage> caption(const std::vector<Image>& images, const SearchOptions& options,
                                      bool record_maps = false);

  Backbone& backbone() { return *backbone_; }
  CaptionDecoder& decoder() { return decoder_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Preprocessing& preprocessing() const { return preprocessing_; }
  // Of the backbone's classes; empty where the model file has none.
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  std::vector<Caption> read(const std::vector<Hypothesis>& hypotheses, const CaptionedImage& image) const;

  std::shared_ptr<Backbone> backbone_;
  CaptionDecoder decoder_{nullptr};
  Vocabulary vocabulary_;
  Preprocessing preprocessing_;
  std::vector<std::string> labels_;
};

}  // namespace gaze::models
