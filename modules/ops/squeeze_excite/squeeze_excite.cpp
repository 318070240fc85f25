#include "modules/ops/squeeze_excite/squeeze_excite.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "modules/core/check.h"
#include "modules/ops/check_tail.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace detail {

void check_squeeze_excite(const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1,
                          const at::Tensor& w2, const std::optional<at::Tensor>& b2,
                          const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& residual,
                          bool relu, bool gate_only) {
  constexpr const char* op = "squeeze_excite";
  check_shape(x, "x", {"B", "C", "H", "W"}, op);
  check_floating(x, "x", op);
  if (x.size(1) < 1 || x.size(2) < 1 || x.size(3) < 1) {
    check_that(false, op, "x with C, H, W >= 1", fmt::format("x {}", shape_text(x.sizes())));
  }
  const int64_t channels = x.size(1);
  check_shape(w1, "w1", {"R", {"C", channels}}, op);
  const int64_t hidden = w1.size(0);
  check_that(hidden >= 1, op, "w1 with R >= 1", fmt::format("w1 {}", shape_text(w1.sizes())));
  check_shape(w2, "w2", {{"C", channels}, {"R", hidden}}, op);
  check_like(w1, "w1", x, "x", op);
  check_like(w2, "w2", x, "x", op);
  if (is_given(b1)) {
    check_shape(*b1, "b1", {{"R", hidden}}, op);
    check_like(*b1, "b1", x, "x", op);
  }
  if (is_given(b2)) {
    check_shape(*b2, "b2", {{"C", channels}}, op);
    check_like(*b2, "b2", x, "x", op);
  }
  if (is_given(mix)) {
    check_shape(*mix, "mix", {}, op);
    check_like(*mix, "mix", x, "x", op);
  }
  check_residual(residual, x, op);
  check_that(!gate_only || !(relu || is_given(residual)), op, "no residual and no relu with gate_only",
             "one of them");
}

SqueezeExciteForward call_squeeze_excite(const at::Tensor& x, const at::Tensor& w1,
                                         const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                         const std::optional<at::Tensor>& b2,
                                         const std::optional<at::Tensor>& mix,
                                         const std::optional<at::Tensor>& residual, bool max_pool, bool relu,
                                         bool gate_only) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::squeeze_excite", "")
                             .typed<decltype(call_squeeze_excite)>();
  return op.call(x, w1, b1, w2, b2, mix, residual, max_pool, relu, gate_only);
}

SqueezeExciteBackward call_squeeze_excite_backward(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate, bool max_pool) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("gaze::squeeze_excite_backward", "")
                             .typed<decltype(call_squeeze_excite_backward)>();
  return op.call(x, w1, b1, w2, b2, mix, grad_output, grad_gate, max_pool);
}

}  // namespace detail

namespace {

detail::SqueezeExciteForward squeeze_excite_meta(const at::Tensor& x, const at::Tensor& w1,
                                                 const std::optional<at::Tensor>& b1, const at::Tensor& w2,
                                                 const std::optional<at::Tensor>& b2,
                                                 const std::optional<at::Tensor>& mix,
                                                 const std::optional<at::Tensor>& residual, bool, bool relu,
                                                 bool gate_only) {
  detail::check_squeeze_excite(x, w1, b1, w2, b2, mix, residual, relu, gate_only);
  return {
      gate_only ? at::empty({0}, x.options()) : at::empty(x.sizes(), x.options(), x.suggest_memory_format()),
      at::empty({x.size(0), x.size(1)}, x.options().dtype(detail::statistics_dtype(x.scalar_type())))};
}

detail::SqueezeExciteBackward squeeze_excite_backward_meta(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>&, const std::optional<at::Tensor>&, bool) {
  const auto like = [&](const std::optional<at::Tensor>& argument) {
    return at::empty(detail::is_given(argument) ? argument->sizes() : at::IntArrayRef{0}, x.options());
  };
  return {at::empty(x.sizes(), x.options(), x.suggest_memory_format()),
          like(w1),
          like(b1),
          like(w2),
          like(b2),
          like(mix)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gaze, library) {
  library.def(
      "squeeze_excite(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, Tensor? mix=None, Tensor? "
      "residual=None, bool max_pool=False, bool relu=False, bool gate_only=False)"
      " -> (Tensor output, Tensor gate)");
  library.def(
      "squeeze_excite_backward(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, Tensor? mix, Tensor? "
      "grad_output,"
      " Tensor? grad_gate, bool max_pool)"
      " -> (Tensor grad_x, Tensor grad_w1, Tensor grad_b1, Tensor grad_w2, Tensor grad_b2, Tensor grad_mix)");
}

TORCH_LIBRARY_IMPL(gaze, Meta, library) {
  library.impl("squeeze_excite", squeeze_excite_meta);
  library.impl("squeeze_excite_backward", squeeze_excite_backward_meta);
}

namespace ops {

namespace {

detail::SqueezeExciteForward call(const at::Tensor& x, const SqueezeExciteWeights& weights, Pool pool,
                                  const at::Tensor& mix, const Tail& tail, bool gate_only) {
  // The dispatcher picks a backend from these and so needs them; the rest is checked by the backend's kernel.
  check_shape(x, "x", {"B", "C", "H", "W"}, "squeeze_excite");
  check_shape(weights.w1, "w1", {"R", "C"}, "squeeze_excite");
  check_shape(weights.w2, "w2", {"C", "R"}, "squeeze_excite");
  return detail::call_squeeze_excite(
      x, weights.w1, detail::given(weights.b1), weights.w2, detail::given(weights.b2), detail::given(mix),
      detail::given(tail.residual), pool == Pool::avg_max, tail.relu, gate_only);
}

}  // namespace

SqueezeExcited squeeze_excite(const at::Tensor& x, const SqueezeExciteWeights& weights, Pool pool,
                              const at::Tensor& mix, const Tail& tail) {
  auto [output, gate] = call(x, weights, pool, mix, tail, false);
  return {output, gate};
}

at::Tensor channel_gate(const at::Tensor& x, const SqueezeExciteWeights& weights, Pool pool,
                        const at::Tensor& mix) {
  return std::get<1>(call(x, weights, pool, mix, {}, true));
}

}  // namespace ops
}  // namespace gaze
