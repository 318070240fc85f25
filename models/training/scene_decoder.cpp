#include "models/training/scene_decoder.h"

#include "models/decoder/caption_decoder.h"
#include "models/decoder/lstm_decoder.h"
#include "models/training/caption_batch.h"

namespace gaze::models {
namespace {

// What decoders of every kind have.
template <typename Options>
Options with_nouns(const CaptionRecipe& recipe, const Vocabulary& vocabulary, int64_t classes) {
  Options options;
  options.vocabulary = vocabulary.size();
  options.visual_width = classes;
  options.class_evidence = true;
  options.extra = noun_groups().extra;
  options.groups = noun_groups().of_class;
  for (const Noun& noun : noun_groups().nouns) options.group_words.push_back(vocabulary.id(noun.singular));
  options.group_words.push_back(-1);  // the ground
  options.tie = options.copy = true;
  options.max_tokens = recipe.max_tokens;
  options.dropout = recipe.dropout;
  return options;
}

}  // namespace

std::shared_ptr<EvidenceDecoder> scene_decoder(const CaptionRecipe& recipe, const Vocabulary& vocabulary,
                                               int64_t classes) {
  if (recipe.decoder == "lstm") {
    auto options = with_nouns<LstmDecoderOptions>(recipe, vocabulary, classes);
    options.grid = 0;
    options.deep_output = true;
    options.embedding = recipe.width;
    options.attention = recipe.attention;
    options.hidden = recipe.hidden;
    return std::make_shared<LstmDecoderImpl>(options);
  }
  auto options = with_nouns<CaptionDecoderOptions>(recipe, vocabulary, classes);
  options.width = recipe.width;
  options.heads = recipe.heads;
  options.layers = recipe.layers;
  options.feed_forward = recipe.feed_forward;
  return std::make_shared<CaptionDecoderImpl>(options);
}

}  // namespace gaze::models
