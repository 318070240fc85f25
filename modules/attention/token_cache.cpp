#include "modules/attention/token_cache.h"

#include <torch/torch.h>

#include <algorithm>
#include <vector>

namespace gaze {
namespace {

constexpr int64_t kFirstPlaces = 16;

torch::Tensor tensor_of(const std::vector<int64_t>& numbers, const torch::Device& device) {
  return torch::tensor(numbers, torch::kLong).to(device);
}

}  // namespace

RowOrder::RowOrder(const torch::Tensor& rows, int64_t before)
    : rows(rows), same_count(rows.size(0) == before) {
  if (!same_count) return;
  const torch::Tensor here = rows.to(torch::kCPU).contiguous();
  const int64_t* const row = here.const_data_ptr<int64_t>();
  std::vector<int64_t> places, sources;
  for (int64_t i = 0; i < before; ++i) {
    if (row[i] == i) continue;
    places.push_back(i);
    sources.push_back(row[i]);
  }
  changed = tensor_of(places, rows.device());
  from = tensor_of(sources, rows.device());
}

TokenCache::TokenCache(int64_t rows, int64_t width, const torch::Tensor& like)
    : room_(torch::empty({rows, 2, kFirstPlaces, width}, like.options().requires_grad(false))) {}

void TokenCache::append(const torch::Tensor& keys, const torch::Tensor& values) {
  if (length_ == room_.size(2)) {
    const torch::Tensor larger =
        torch::empty({room_.size(0), 2, 2 * length_, room_.size(3)}, room_.options());
    larger.narrow(2, 0, length_).copy_(room_);
    room_ = larger;
  }
  const torch::Tensor place = room_.select(2, length_++);  // [R, 2, D]
  place.select(1, 0).copy_(keys.squeeze(1));
  place.select(1, 1).copy_(values.squeeze(1));
}

ProjectedMemory TokenCache::read(int64_t heads) const {
  const int64_t places = room_.size(2), D = room_.size(3), head = D / heads;
  const std::vector<int64_t> sizes{rows(), heads, length_, head}, strides{2 * places * D, head, D, 1};
  return {room_.as_strided(sizes, strides, room_.storage_offset()),
          room_.as_strided(sizes, strides, room_.storage_offset() + places * D)};
}

void TokenCache::reorder(const RowOrder& order) {
  if (order.keeps_all()) return;
  const torch::Tensor used = room_.narrow(2, 0, length_);  // [R, 2, T, D]
  if (order.same_count) {
    used.index_copy_(0, order.changed, used.index_select(0, order.from));
    return;
  }
  const torch::Tensor moved =
      torch::empty({order.rows.size(0), 2, room_.size(2), room_.size(3)}, room_.options());
  moved.narrow(2, 0, length_).copy_(used.index_select(0, order.rows));
  room_ = moved;
}

}  // namespace gaze
