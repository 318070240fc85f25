// Knowledge distillation from class evidence, cell by cell.
#pragma once

#include <ATen/core/Tensor.h>

namespace gaze::models {

struct DistillLossOptions {
  double temperature = 1;  // T, above 0: divides the logits of both
  double pooled = 0.2;     // weight of the pictures' own logits, 0 to 1; the cells' is the rest
};

// T^2 ((1 - pooled) mean_bs KL(p_bs || q_bs) + pooled mean_b KL(P_b || Q_b)), in nats, with
//   p_bs = softmax over k of teacher[b, k, s] / T, q_bs of student[b, k, s] / T
//   P_b  = softmax over k of (mean over s of teacher[b, k, s]) / T, Q_b the same of student
//   KL(p || q) = sum over k of p_k log(p_k / q_k)
// student, teacher [B, K, h, w] logits, Backbone::class_evidence(): their means over cells are the networks'
// logits, since the heads are linear. The softened softmax, and T^2, which keeps the gradients' size as T
// changes: Hinton, Vinyals, Dean 2015, https://arxiv.org/abs/1503.02531. Teacher and student see the same
// crop: Beyer et al. 2022, https://arxiv.org/abs/2106.05237. Returns a scalar. Throws ArgumentError for
// shapes that differ and options out of range.
at::Tensor distill_loss(const at::Tensor& student, const at::Tensor& teacher,
                        const DistillLossOptions& options);

}  // namespace gaze::models
