// Picture -> caption: backbone, decoder and tokenizer of one model file, joined.
#pragma once

#include <filesystem>
#include <functional>
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
  // tokens of `options` are the tokenizer's; a picture's number for sampling is its place among `images`
  // unless they are given. `record_maps` also keeps the maps of the backbone's blocks.
  std::vector<CaptionedImage> caption(const std::vector<Image>& images, const SearchOptions& options,
                                      bool record_maps = false);

  // The same for a given text in place of a search: one caption a picture, with what the model thinks of it.
  // Words that the tokenizer does not know are scored as its unknown token. Of `options` the length norm
  // matters. Throws ArgumentError for a text of more tokens than the decoder can say.
  std::vector<CaptionedImage> score(const std::vector<Image>& images, const std::string& text,
                                    const SearchOptions& options, bool record_maps = false);

  // Both, of pictures that are preprocess(image, preprocessing()) already: by threads of the caller's, say.
  std::vector<CaptionedImage> caption_prepared(const std::vector<PreparedImage>& images,
                                               const SearchOptions& options, bool record_maps = false);
  std::vector<CaptionedImage> score_prepared(const std::vector<PreparedImage>& images,
                                             const std::string& text, const SearchOptions& options,
                                             bool record_maps = false);

  // What the decoder reads of pictures x [B, 3, H, W]: class evidence or features, [B, K or C, h, w].
  torch::Tensor visual(const torch::Tensor& x);

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
    std::vector<size_t> places;            // among all images
  };
  // What is said of the pictures of memory [B, S, D], which are those at `places`.
  using Say = std::function<std::vector<std::vector<Hypothesis>>(const torch::Tensor& memory,
                                                                 const std::vector<size_t>& places)>;
  std::vector<PreparedImage> prepare(const std::vector<Image>& images) const;
  std::vector<CaptionedImage> describe(const std::vector<PreparedImage>& images, bool record_maps,
                                       const Say& say);
  void describe(const Batch& batch, bool record_maps, const Say& say);
  std::vector<Caption> read(const std::vector<Hypothesis>& hypotheses, const CaptionedImage& image) const;

  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<WordDecoder> decoder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Preprocessing preprocessing_;
  std::vector<std::string> labels_;
};

}  // namespace gaze::models
