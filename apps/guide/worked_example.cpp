// One step of attention, number by number: the decoder is about to write a word of its translation of
// "I love cats". What it looks for (query) meets what each word offers (key); who fits gets more weight; the
// words' contents (values), so weighted, add up to the context.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/attention/context_fusion.h"
#include "modules/attention/global_attention.h"
#include "modules/ops/attend/attend.h"

using guide::print_row;

int main() {
  const torch::Tensor state = torch::tensor({{0.6, 0.4}}, torch::kDouble);  // [B = 1, D = 2], the decoder's
  const torch::Tensor words =                                               // [S = 3, D], the encoder's
      torch::tensor({0.9, 0.1, 0.3, 0.7, 0.1, 0.9}, torch::kDouble).view({3, 2});

  // Keys and values are the words themselves here; a model has a matrix for each of the three.
  const torch::Tensor query = state.view({1, 1, 1, 2}), keys = words.view({1, 1, 3, 2});  // [B, N, T or S, D]
  gaze::ops::AttendOptions options;
  options.weights = gaze::ops::AttendWeights::per_head;
  const gaze::ops::Attended attended = gaze::ops::attend(query, keys, keys, {}, options);

  // weight = exp(score) / sum of exp, so the scores that were computed inside are:
  const torch::Tensor scores = attended.weights.log() + attended.log_sum_exp.unsqueeze(-1);  // [1, 1, 1, 3]
  const torch::Tensor context = attended.output.view({1, 2});                                // [1, 2]

  guide::print_head("", {"I", "love", "cats"});
  print_row("query * key", state.mm(words.t()));  // [1, 3]
  print_row("score = that / sqrt(2)", scores);
  print_row("exp(score)", scores.exp());
  print_row("weight = share of sum", attended.weights);
  const torch::Tensor parts = attended.weights.view({3, 1}) * words;  // [3, 2]
  print_row("weight * value, first", parts.select(1, 0));
  print_row("weight * value, second", parts.select(1, 1));
  print_row("context = their sum", context);

  // The same as a module, which takes states and words as a decoder has them.
  gaze::GlobalAttentionOptions scaled;
  scaled.query_width = 2;
  scaled.score = gaze::AttentionScore::scaled_dot;
  print_row("GlobalAttention", gaze::GlobalAttention(scaled)->forward(state, words.unsqueeze(0)).context);

  // The context joins the state, from which the next word is then predicted.
  const auto fuse = [&](gaze::FusionKind kind) {
    gaze::ContextFusion fusion(gaze::ContextFusionOptions{2, 2, kind});
    fusion->to(torch::kDouble);
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor& weight : fusion->parameters()) weight.zero_();  // the gate's: sigmoid(0) = 1/2
    return fusion->forward(state, context);                             // [1, 2 or 4]
  };
  print_row("[state; context]", fuse(gaze::FusionKind::concatenation));
  print_row("state + context", fuse(gaze::FusionKind::addition));
  print_row("half and half, by a gate", fuse(gaze::FusionKind::gate));
}
