// A stranger's program: a ResNet-18 gets CBAM in its last stage and answers as before.
#include <torch/torch.h>

#include <cstdio>

#include "models/backbone/backbone.h"
#include "models/backbone/insert.h"

int main() {
  torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const auto network = gaze::models::make_backbone("resnet18", 10);
  network->eval();
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  const torch::Tensor before = network->forward(x);
  gaze::models::insert(*network, "layer4.*.attn", "cbam");
  network->eval();
  const bool same = torch::equal(before, network->forward(x));
  std::puts(same ? "the output did not change" : "the output changed");
  return same ? 0 : 1;
}
