// squeeze_excite in plain ATen calls: runs on every device that has no kernel of its own, and is what an
// exporter sees.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

using detail::is_given;

// The two layers for one squeezed map.
struct Excitation {
  at::Tensor squeezed;  // [B, C]
  at::Tensor hidden;    // [B, R], after the ReLU
  at::Tensor logits;    // [B, C]
};

Excitation excite(const at::Tensor& squeezed, const at::Tensor& w1, const std::optional<at::Tensor>& b1,
                  const at::Tensor& w2, const std::optional<at::Tensor>& b2) {
  const at::ScalarType dtype = squeezed.scalar_type();
  at::Tensor hidden = at::matmul(squeezed, w1.to(dtype).t());  // [B, R]
  if (is_given(b1)) hidden.add_(b1->to(dtype));
  hidden.relu_();
  at::Tensor logits = at::matmul(hidden, w2.to(dtype).t());  // [B, C]
  if (is_given(b2)) logits.add_(b2->to(dtype));
  return {squeezed, hidden, logits};
}

at::Tensor mean_of_cells(const at::Tensor& x) {
  return x.mean({2, 3}, false, detail::statistics_dtype(x.scalar_type()));
}

at::Tensor row_major_cells(const at::Tensor& x) {
  return x.contiguous().flatten(2);
}  // [B, C, H*W]

// g -> what x is multiplied with.
at::Tensor mixed(const at::Tensor& g, const std::optional<at::Tensor>& mix) {
  return is_given(mix) ? (g - 1).mul_(mix->to(g.scalar_type())).add_(1) : g;
}

at::Tensor no_elements(const at::Tensor& x) {
  return at::empty({0}, x.options());
}

}  // namespace

namespace detail {

SqueezeExciteForward squeeze_excite_composed(const at::Tensor& x, const at::Tensor& w1,
                                             const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                             const std::optional<at::Tensor>& b2,
                                             const std::optional<at::Tensor>& mix,
                                             const std::optional<at::Tensor>& residual, bool max_pool,
                                             bool relu, bool gate_only) {
  check_squeeze_excite(x, w1, b1, w2, b2, mix, residual, relu, gate_only);
  at::Tensor logits = excite(mean_of_cells(x), w1, b1, w2, b2).logits;  // [B, C]
  if (max_pool) {
    const at::Tensor largest = x.amax({2, 3}).to(logits.scalar_type());
    logits.add_(excite(largest, w1, b1, w2, b2).logits);
  }
  const at::Tensor gate = mixed(logits.sigmoid(), mix);
  if (gate_only) return {no_elements(x), gate};
  at::Tensor output = x.to(gate.scalar_type()) * gate.unsqueeze(2).unsqueeze(3);  // [B, C, H, W]
  if (is_given(residual)) output.add_(residual->to(gate.scalar_type()));
  if (relu) output.relu_();
  return {output.to(x.scalar_type()).contiguous(x.suggest_memory_format()), gate};
}

SqueezeExciteBackward squeeze_excite_backward_composed(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate, bool max_pool) {
  const at::ScalarType dtype = detail::statistics_dtype(x.scalar_type());
  const at::Tensor wide_x = x.to(dtype), wide_w1 = w1.to(dtype), wide_w2 = w2.to(dtype);

  std::vector<Excitation> passes{excite(mean_of_cells(x), w1, b1, w2, b2)};
  at::Tensor first_largest;  // [B, C, 1], index of the first largest cell
  at::Tensor logits = passes[0].logits.clone();
  if (max_pool) {
    auto [largest, index] = row_major_cells(wide_x).max(2, true);
    first_largest = index;
    passes.push_back(excite(largest.squeeze(2), w1, b1, w2, b2));
    logits.add_(passes[1].logits);
  }
  const at::Tensor g = logits.sigmoid();  // [B, C]

  at::Tensor grad_factor,
      grad_x;  // of the gate as x was multiplied with it, [B, C]; and so far, [B, C, H, W]
  if (is_given(grad_output)) {
    const at::Tensor wide_grad = grad_output->to(dtype);
    grad_factor = (wide_grad * wide_x).sum({2, 3});
    grad_x = wide_grad * mixed(g, mix).unsqueeze(2).unsqueeze(3);
  } else {
    grad_factor = at::zeros_like(g);
    grad_x = at::zeros(x.sizes(), wide_x.options());
  }
  if (is_given(grad_gate)) grad_factor = grad_factor + grad_gate->to(dtype);
  at::Tensor grad_mix = no_elements(x);
  at::Tensor grad_g = grad_factor;
  if (is_given(mix)) {
    grad_mix = (grad_factor * (g - 1)).sum().to(x.scalar_type());
    grad_g = grad_factor * mix->to(dtype);
  }
  const at::Tensor grad_logits = grad_g * g * (1 - g);  // [B, C]

  at::Tensor grad_w1 = at::zeros_like(wide_w1), grad_w2 = at::zeros_like(wide_w2);
  at::Tensor grad_b1 = at::zeros({w1.size(0)}, wide_w1.options());
  std::vector<at::Tensor> grad_squeezed;  // of the mean, of the maximum; [B, C]
  for (const Excitation& pass : passes) {
    const at::Tensor grad_hidden = at::matmul(grad_logits, wide_w2) * (pass.hidden > 0);  // [B, R]
    grad_w2.add_(at::matmul(grad_logits.t(), pass.hidden));
    grad_w1.add_(at::matmul(grad_hidden.t(), pass.squeezed));
    grad_b1.add_(grad_hidden.sum(0));
    grad_squeezed.push_back(at::matmul(grad_hidden, wide_w1));
  }
  const at::Tensor grad_b2 = grad_logits.sum(0) * static_cast<double>(passes.size());

  const double cells = static_cast<double>(x.size(2) * x.size(3));
  grad_x.add_((grad_squeezed[0] / cells).unsqueeze(2).unsqueeze(3));
  if (max_pool) {
    grad_x =
        row_major_cells(grad_x).scatter_add_(2, first_largest, grad_squeezed[1].unsqueeze(2)).view(x.sizes());
  }
  const at::ScalarType out = x.scalar_type();
  return {grad_x.to(out).contiguous(x.suggest_memory_format()), grad_w1.to(out),
          is_given(b1) ? grad_b1.to(out) : no_elements(x),      grad_w2.to(out),
          is_given(b2) ? grad_b2.to(out) : no_elements(x),      grad_mix};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("squeeze_excite", detail::squeeze_excite_composed);
  library.impl("squeeze_excite_backward", detail::squeeze_excite_backward_composed);
}

}  // namespace gaze
