// What training does to the evidence of cells: roughening it, and learning who owns a cell.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "modules/core/random.h"

namespace gaze::models {

// groups [B, G] probabilities, owners [B] int64 -> [B]: how surprised a cell is by its owner, in nats.
at::Tensor owner_loss(const at::Tensor& groups, const at::Tensor& owners);

// cells [B, S, G] probabilities, owners [B * S] int64, -1 for nobody's -> mean owner_loss() of the owned
// cells, an object's weighing three times the bare ground's (group `ground`).
at::Tensor owned_cells_loss(const at::Tensor& cells, const at::Tensor& owners, int64_t ground);

// logits [B, S, K] of grid x grid cells (1 x 1: cells of any scenes), with noise of its own strength
// (deviation 0 to `noise`) for each scene, half of it cell by cell, half by patches of the picture: the
// network is surer of the training stamps than it will be of things it has never seen. Draws the strengths
// from `random`, the noise from LibTorch's generator.
at::Tensor roughened(const at::Tensor& logits, int64_t grid, double noise, Random& random);

}  // namespace gaze::models
