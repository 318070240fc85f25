// Your own LibTorch network gets places for attention in three lines: a member, its registration, its use.
// Then gaze fills them, with the weights you have trained and the answers they give left as they are.
#include <torch/torch.h>

#include <iostream>

#include "models/backbone/insert.h"
#include "models/backbone/parameter_groups.h"
#include "modules/attention/slot.h"

// A network as anybody has one, with 10 classes.
struct NetImpl : torch::nn::Module {
  NetImpl() {
    first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 32, 3).padding(1)));
    attn = register_module("attn", gaze::Slot("attn", 32));  // 32 channels pass here; empty, no keys
    second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3).padding(1)));
    head = register_module("head", torch::nn::Linear(64, 10));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = torch::relu(first(x));           // [B, 32, H, W]
    y = attn(y);                                       // the same: an empty slot hands it on
    y = torch::relu(second(torch::max_pool2d(y, 2)));  // [B, 64, H/2, W/2]
    return head(y.mean({2, 3}));                       // [B, 10]
  }

  torch::nn::Conv2d first{nullptr}, second{nullptr};
  gaze::Slot attn{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Net);

int main() {
  torch::manual_seed(1);
  Net net;  // ... and load your weights: the slot adds no keys
  const torch::Tensor x = torch::randn({4, 3, 32, 32});
  const torch::Tensor before = net(x);

  const gaze::models::InsertReport report =
      gaze::models::insert(*net, "attn", "se(reduction=4)+cbam(kernel=3)");
  std::cout << report.text();
  std::cout << "output as before: " << (torch::equal(net(x), before) ? "yes" : "no") << "\n";

  // The new blocks learn first, and fast; the rest follows slowly.
  torch::optim::SGD optimizer(
      gaze::models::parameter_groups(*net, {{"attn.*", 0.1}, {"*", 0.001}}, torch::optim::SGDOptions(0.1)),
      torch::optim::SGDOptions(0.1));
  const torch::Tensor classes = torch::arange(4);
  for (int step = 0; step < 3; ++step) {
    const torch::Tensor loss = torch::nn::functional::cross_entropy(net(x), classes);
    std::cout << "loss " << loss.item<float>() << "\n";
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
}
