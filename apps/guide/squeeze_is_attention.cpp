// Squeeze-and-excitation (SE) and CBAM are attention, over channels and over cells: weights that come from
// the content, and a weighted input. Two things differ. What looks is a summary of the whole map, not a word.
// And each score passes a sigmoid of its own, not one softmax: weights don't compete, all of them may be
// high.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/attention/cbam.h"
#include "modules/attention/se.h"
#include "modules/core/attention_map.h"

constexpr int64_t C = 3, kSide = 5;

// By hand, what training would find: a channel's summary z gives the score 2 z - 1.
void set_channel_layers(const torch::nn::Module& block, const std::string& place) {
  auto weights = block.named_parameters();
  weights[place + "fc1.weight"].copy_(torch::eye(C).view({C, C, 1, 1}));
  weights[place + "fc2.weight"].copy_(2 * torch::eye(C).view({C, C, 1, 1}));
  weights[place + "fc1.bias"].zero_();
  weights[place + "fc2.bias"].fill_(-1);
}

int main() {
  const torch::NoGradGuard no_gradients;
  gaze::SeOptions se_options;
  se_options.channels = se_options.hidden = C;
  gaze::CbamOptions cbam_options;
  cbam_options.channels = cbam_options.hidden = C;
  cbam_options.kernel = 3;
  gaze::Se se(se_options);
  gaze::Cbam cbam(cbam_options);
  set_channel_layers(*se, "");
  set_channel_layers(*cbam, "channel.");
  auto weights = cbam->named_parameters();
  weights["spatial.conv.weight"].zero_()[0][0][1][1] = 1;  // a cell's score: its own maximum over channels,
  weights["spatial.bn.weight"].fill_(1);
  weights["spatial.bn.bias"].fill_(-2);  // less 2
  cbam->eval();                          // the norm of the score uses its stored mean 0 and variance 1

  for (const auto& [row, column] : {std::pair{1, 3}, std::pair{4, 0}}) {
    torch::Tensor x = torch::zeros({1, C, kSide, kSide});  // [B, C, H, W]
    x[0][0].fill_(1);                                      // bright all over
    x[0][1][row][column] = 5;                              // one bright spot; the third channel is empty
    fmt::print("spot in row {}, column {}\n", row, column);
    gaze::MapRecorder recorder;
    for (auto* block : std::initializer_list<gaze::AttentionBlock*>{se.get(), cbam.get()}) {
      const gaze::MapPlace place(block == se.get() ? "se" : "cbam");
      block->forward(x);
    }
    for (const gaze::AttentionMap& map : recorder.maps()) {
      const torch::Tensor grid = map.values.view({-1, map.values.size(-1)});  // [1, C] or [H, W]
      for (int64_t line = 0; line < grid.size(0); ++line)
        guide::print_row(line == 0 ? map.name : "", grid[line]);
    }
  }
}
