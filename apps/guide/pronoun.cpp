// Whom does a pronoun look at? A layer of self-attention learns which noun "he", "she" or "it" stands for.
// Nobody tells it where to look: that comes of learning the answer. Does it look at the noun that it answers?
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "apps/guide/training.h"
#include "modules/attention/transformer.h"

using guide::mean_of;
constexpr int64_t D = 32, kNouns = 12, kPronoun = 6;  // the pronoun's place in a sentence
// Nouns of "he", "she" and "it" in turn, then the other words.
const std::vector<std::string_view> kWords = {"king", "queen", "boat",  "boy",     "girl",  "lamp", "uncle",
                                              "aunt", "horse", "baker", "nurse",   "stone", "he",   "she",
                                              "it",   "the",   "saw",   "because", "was",   "late"};

struct Sentences {
  torch::Tensor words, noun, place;  // [B, S = 9], [B] the noun that is meant, [B] where it is
};

// B times "the NOUN saw the NOUN because PRONOUN was late". No step is a multiple of 3, so one noun fits.
Sentences draw(int64_t B) {
  const torch::Tensor steps = torch::tensor({1, 2, 4, 5, 7, 8, 10, 11});
  const torch::Tensor first = torch::randint(kNouns, {B}, torch::kLong), is_first = torch::rand({B}) < 0.5;
  const torch::Tensor second = (first + steps.index({torch::randint_like(first, steps.size(0))})) % kNouns;
  torch::Tensor words = torch::tensor({15, 0, 16, 15, 0, 17, 0, 18, 19}).repeat({B, 1});
  words.select(1, 1) = first, words.select(1, 4) = second;
  const torch::Tensor noun = torch::where(is_first, first, second);
  words.select(1, kPronoun) = kNouns + noun % 3;
  return {words, noun, torch::where(is_first, 1, 4)};
}

int main() {
  torch::set_num_threads(1);  // the matrices are small
  for (int seed = 1; seed <= 6; ++seed) {
    torch::manual_seed(seed);
    gaze::TransformerEncoderLayer layer(gaze::TransformerLayerOptions{D, 1});  // one head
    torch::nn::Embedding embedding(kWords.size(), D);
    torch::nn::Linear head(D, kNouns);
    torch::optim::Adam optimizer(guide::parameters_of(embedding, layer, head), 3e-3);
    for (int64_t step = 0; step < 300; ++step) {
      const Sentences s = draw(200);
      const torch::Tensor y = layer(embedding(s.words)).output.select(1, kPronoun);  // [B, D]
      guide::learn(optimizer, torch::nn::functional::cross_entropy(head(y), s.noun));
    }
    layer->eval();
    const Sentences s = draw(5000);
    const auto y = layer->forward(embedding(s.words), {}, gaze::AttentionWeights::head_mean);
    const torch::Tensor right = head(y.output.select(1, kPronoun)).argmax(1) == s.noun;
    const torch::Tensor row = y.weights.select(1, kPronoun), looks = row.argmax(1) == s.place;  // [B, S], [B]
    fmt::print("seed {}: answer right {:.2f}, largest weight on that noun {:.2f}, elsewhere for:", seed,
               mean_of(right), mean_of(looks));
    for (int64_t n = 0; n < kNouns; ++n)
      if (mean_of(looks.masked_select(s.noun == n)) < 0.5) fmt::print(" {}", kWords[n]);
    fmt::print("\n ");
    for (int64_t i = 0; i < 9; ++i)
      fmt::print(" {} {:.2f}", kWords[s.words[0][i].item<int64_t>()], row[0][i].item<double>());
    fmt::print("\n");
  }
}
