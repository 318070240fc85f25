#include "models/training/cell_evidence.h"

#include <torch/torch.h>

#include <vector>

namespace gaze::models {

torch::Tensor owner_loss(const torch::Tensor& groups, const torch::Tensor& owners) {
  return -groups.gather(1, owners.unsqueeze(1)).squeeze(1).add(1e-9).log();
}

torch::Tensor owned_cells_loss(const torch::Tensor& cells, const torch::Tensor& owners, int64_t ground) {
  const torch::Tensor losses = owner_loss(cells.flatten(0, 1), owners.clamp_min(0));  // [B * S]
  const auto mean_where = [&](const torch::Tensor& chosen) {
    return (losses * chosen).sum() / chosen.sum().clamp_min(1);
  };
  const torch::Tensor bare = owners.eq(ground);
  return 0.75 * mean_where(owners.ge(0).logical_and(bare.logical_not())) + 0.25 * mean_where(bare);
}

torch::Tensor roughened(const torch::Tensor& logits, int64_t grid, double noise, Random& random) {
  if (noise == 0) return logits;
  constexpr int64_t kPatches = 4;  // a side
  const int64_t B = logits.size(0), K = logits.size(2);
  std::vector<float> fine, coarse;
  for (int64_t b = 0; b < B; ++b) {
    fine.push_back(static_cast<float>(random.uniform(0, noise)));
    coarse.push_back(static_cast<float>(random.uniform(0, noise)));
  }
  const torch::Tensor patches =
      torch::upsample_nearest2d(torch::randn({B, K, kPatches, kPatches}), {grid, grid});
  return logits + torch::randn_like(logits) * torch::tensor(fine).view({B, 1, 1}) +
         patches.flatten(2).transpose(1, 2) * torch::tensor(coarse).view({B, 1, 1});
}

}  // namespace gaze::models
