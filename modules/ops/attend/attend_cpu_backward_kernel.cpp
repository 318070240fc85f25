// attend backward on the CPU, compiled once per instruction set: scores are made again from the log-sum-exp,
// four queries of a head at a time. A task takes some queries of one head and has sums of its own for what
// keys and values get, which are joined in the tasks' order: no bit depends on the number of threads.
#include "modules/ops/attend/attend_cpu_tiles.h"

namespace gaze::detail {
namespace {

constexpr int64_t kTasks = 16;    // of few heads: each piece of a head costs sums [S, D + V]
constexpr int64_t kBuffers = 64;  // at most, whatever the number of threads

template <typename T, typename A>
class AttendBackwardPass {
 public:
  AttendBackwardPass(const AttendCpu& p, const AttendCpuBackward& g, CpuRuntime& run)
      : p_(p), g_(g), run_(run), tiles_(p), pieces_(p.B * p.N, p.T, kTasks) {}

  void backward() {
    if (tiles_.worth_turning()) {
      tiles_.turn_keys(run_);
      if (g_.output) tiles_.turn_values(run_);
    }
    key_sums_ = sums_of(p_.D);
    value_sums_ = sums_of(p_.V);
    const int64_t tasks = pieces_.heads * pieces_.count, slots = smaller(tasks, kBuffers);
    if (g_.grad_relative) relative_sums_ = run_.scratch<A>(tasks * p_.relative_entries);
    const int64_t tile = kQueries * tiles_.tile_pitch(), room = 3 * tile + kQueries * (2 * p_.D + p_.V);
    A* const buffers = run_.scratch<A>(slots * room);
    run_.parallel(slots, [&](int64_t slot) {
      A* const first = buffers + slot * room;
      A* const queries = first + 3 * tile;
      const Buffers buffer{first,
                           first + tile,
                           p_.dropout > 0 ? first + 2 * tile : first,
                           queries,
                           queries + kQueries * p_.D,
                           queries + kQueries * 2 * p_.D};
      for (int64_t task = slot; task < tasks; task += slots) piece(task, buffer);
    });
    join(key_sums_, p_.D, static_cast<T*>(g_.grad_k));
    join(value_sums_, p_.V, static_cast<T*>(g_.grad_v));
    if (g_.grad_relative) join_relative();
  }

 private:
  static constexpr bool kSumsInPlace = sizeof(T) == sizeof(A);

  struct Buffers {
    A *weights, *grads, *kept;              // [4, tile]: P, dP and then dS, P after dropout
    A *queries, *grad_queries, *of_output;  // [4, D], [4, D], [4, V]
  };
  // What the keys or values get, [S, width] for each head and piece. The first piece's are the gradient
  // itself where its type is A.
  A* sums_of(int64_t width) const {
    const int64_t own = kSumsInPlace ? pieces_.count - 1 : pieces_.count;
    return run_.scratch<A>(own * p_.B * p_.N * p_.S * width);
  }
  A* sums_at(A* sums, void* grad, int64_t head, int64_t piece, int64_t width) const {
    if (kSumsInPlace) {
      if (piece == 0) return static_cast<A*>(grad) + head * p_.S * width;
      --piece;
    }
    return sums + (piece * p_.B * p_.N + head) * p_.S * width;
  }

  void piece(int64_t task, const Buffers& buffer) const {
    const int64_t head = task / pieces_.count, piece = task % pieces_.count;
    A* const keys = sums_at(key_sums_, g_.grad_k, head, piece, p_.D);
    A* const values = sums_at(value_sums_, g_.grad_v, head, piece, p_.V);
    for (int64_t i = 0; i < p_.S * p_.D; ++i) keys[i] = 0;
    for (int64_t i = 0; i < p_.S * p_.V; ++i) values[i] = 0;
    A* const relative = relative_sums_ ? relative_sums_ + task * p_.relative_entries : nullptr;
    for (int64_t i = 0; relative && i < p_.relative_entries; ++i) relative[i] = 0;
    pieces_.for_blocks(piece, p_.T, [&](int64_t t, int64_t count) {
      attend({head / p_.N, head % p_.N, t, count}, buffer, keys, values, relative);
    });
  }

  int64_t row_of(QueryBlock block, int64_t i) const {
    return (block.b * p_.N + block.n) * p_.T + block.t + i;
  }

  void attend(QueryBlock block, const Buffers& buffer, A* keys, A* values, A* relative) const {
    tiles_.load_queries(block, buffer.queries);
    for (int64_t i = 0; i < kQueries * p_.D; ++i) buffer.grad_queries[i] = 0;
    if (g_.output) {
      const TokenRows<T, A> grads{
          static_cast<const T*>(g_.output), {p_.N * p_.T * p_.V, p_.T * p_.V, p_.V}, p_.T, p_.V};
      for (int64_t i = 0; i < kQueries; ++i) {
        const T* const row = grads.row(block.b, block.n, block.t + (i < block.count ? i : 0));
        for_lanes<A>(p_.V, [&](int64_t v, auto part) {
          store(buffer.of_output + i * p_.V + v, load(row + v, part), part);
        });
      }
    }
    for (int64_t i = 0; i < block.count; ++i) {
      for (int64_t y = 0; g_.grad_row_bias && y < p_.grid_rows; ++y) row_grads(block, i)[y] = 0;
      for (int64_t x = 0; g_.grad_column_bias && x < p_.grid_columns; ++x) column_grads(block, i)[x] = 0;
    }
    A row_sums[kQueries] = {};  // Σ P · dP
    const bool again = !tiles_.fits_a_tile(block);
    tiles_.for_tiles(block, [&](KeyTile tile) { fill(block, tile, buffer, row_sums); });
    tiles_.for_tiles(block, [&](KeyTile tile) {
      A ignored[kQueries] = {};
      if (again) fill(block, tile, buffer, ignored);
      spread(block, tile, buffer, row_sums, keys, values, relative);
    });
    for (int64_t i = 0; i < block.count; ++i) {
      T* const to = static_cast<T*>(g_.grad_q) + row_of(block, i) * p_.D;
      for_lanes<A>(p_.D, [&](int64_t d, auto part) {
        store(to + d, load(buffer.grad_queries + i * p_.D + d, part) * static_cast<A>(p_.scale), part);
      });
    }
  }

  // The tile's P, P after dropout and dP; adds Σ P · dP.
  void fill(QueryBlock block, KeyTile tile, const Buffers& buffer, A* row_sums) const {
    const int64_t pitch = tiles_.tile_pitch(), padded = tiles_.padded(tile);
    tiles_.score(block, buffer.queries, tile, buffer.weights);
    if (g_.output) tiles_.multiply(tiles_.values(), block, buffer.of_output, tile, buffer.grads);
    for (int64_t i = 0; i < block.count; ++i) {
      const int64_t b = block.b, n = block.n, t = block.t + i;
      A* const weights = buffer.weights + i * pitch;
      A* const grads = buffer.grads + i * pitch;
      for (int64_t s = g_.output ? tile.count : 0; s < padded; ++s) grads[s] = 0;
      if (g_.output && p_.dropout > 0) tiles_.drop(b, n, t, tile, grads, grads);
      const A log_sum_exp = static_cast<const A*>(g_.log_sum_exp)[row_of(block, i)];
      const A base = log_sum_exp == -A(kInfinity) ? A(0) : log_sum_exp;
      const A of_entropy = g_.entropy ? static_cast<const A*>(g_.entropy)[row_of(block, i)] : A(0);
      for (int64_t s = 0; s < padded; s += kLanes<A>) {
        const Lanes<A> log = load(weights + s) - base, weight = exp_of_negative(log);
        store(weights + s, weight);
        if (g_.entropy) store(grads + s, load(grads + s) - (weight > A(0) ? log * of_entropy : Lanes<A>{}));
      }
      add_grads(b, n, t, tile, grads);
      Lanes<A> sums = {};
      for (int64_t s = 0; s < padded; s += kLanes<A>) sums += load(weights + s) * load(grads + s);
      row_sums[i] += sum_of_lanes(sums);
      if (p_.dropout > 0) tiles_.drop(b, n, t, tile, weights, buffer.kept + i * pitch);
    }
  }

  // What the weights that were returned, and their sums, are the cause of.
  void add_grads(int64_t b, int64_t n, int64_t t, KeyTile tile, A* grads) const {
    const int64_t row = p_.row_places ? p_.row_places[t] : t, rows = p_.row_places ? p_.R : p_.T;
    if (g_.weights && row >= 0)
      add(static_cast<const A*>(g_.weights) + ((b * p_.N + n) * rows + row) * p_.S, A(1), tile, grads);
    if (g_.mean_weights)
      add(static_cast<const A*>(g_.mean_weights) + (b * p_.T + t) * p_.S, A(1) / static_cast<A>(p_.N), tile,
          grads);
    if (g_.key_sums) add(static_cast<const A*>(g_.key_sums) + (b * p_.N + n) * p_.S, A(1), tile, grads);
  }
  static void add(const A* row, A share, KeyTile tile, A* grads) {
    for (int64_t s = 0; s < tile.count; ++s) grads[s] += row[tile.first + s] * share;
  }

  // dS = P · (dP - Σ P · dP + dL), and from it what queries, keys, values and biases get.
  void spread(QueryBlock block, KeyTile tile, const Buffers& buffer, const A* row_sums, A* keys, A* values,
              A* relative) const {
    const int64_t pitch = tiles_.tile_pitch();
    for (int64_t i = 0; i < kQueries; ++i) {
      A* const grads = buffer.grads + i * pitch;
      if (i >= block.count) {
        for (int64_t s = 0; s < tile.count; ++s) grads[s] = buffer.kept[i * pitch + s] = 0;
        continue;
      }
      const A of_sum = g_.of_sums ? static_cast<const A*>(g_.of_sums)[row_of(block, i)] : A(0);
      const A less = row_sums[i] - of_sum;
      for (int64_t s = 0; s < tiles_.padded(tile); s += kLanes<A>)
        store(grads + s, load(buffer.weights + i * pitch + s) * (load(grads + s) - less));
      add_to_biases(block, i, tile, grads, relative);
    }
    tiles_.add_weighted(tiles_.keys(), block, buffer.grads, tile, buffer.grad_queries);
    add_outer(buffer.grads, buffer.queries, p_.D, tile, keys);
    if (g_.output) add_outer(buffer.kept, buffer.of_output, p_.V, tile, values);
  }

  // sums [S, width] += weights [4, tile]ᵀ · left [4, width]
  void add_outer(const A* weights, const A* left, int64_t width, KeyTile tile, A* sums) const {
    const int64_t pitch = tiles_.tile_pitch();
    for_lanes<A>(width, [&](int64_t d, auto part) {
      Lanes<A> of_query[kQueries];
      for (int64_t i = 0; i < kQueries; ++i) of_query[i] = load(left + i * width + d, part);
      for (int64_t s = 0; s < tile.count; ++s) {
        A* const to = sums + (tile.first + s) * width + d;
        Lanes<A> sum = load(to, part);
        for (int64_t i = 0; i < kQueries; ++i) sum += of_query[i] * weights[i * pitch + s];
        store(to, sum, part);
      }
    });
  }

  A* row_grads(QueryBlock block, int64_t i) const {
    return static_cast<A*>(g_.grad_row_bias) + row_of(block, i) * p_.grid_rows;
  }
  A* column_grads(QueryBlock block, int64_t i) const {
    return static_cast<A*>(g_.grad_column_bias) + row_of(block, i) * p_.grid_columns;
  }

  void add_to_biases(QueryBlock block, int64_t i, KeyTile tile, const A* grads, A* relative) const {
    if (g_.grad_bias) {
      A* const to = static_cast<A*>(g_.grad_bias) + row_of(block, i) * p_.S + tile.first;
      for (int64_t s = 0; s < tile.count; ++s) to[s] = grads[s];
    }
    for (int64_t s = 0; relative && s < tile.count; ++s)
      relative[attend_relative_entry(block.t + i, tile.first + s, p_.T, p_.S, p_.relative_entries)] +=
          grads[s];
    if (g_.grad_row_bias)
      for (int64_t s = 0; s < tile.count; ++s)
        row_grads(block, i)[(tile.first + s) / p_.grid_columns] += grads[s];
    if (g_.grad_column_bias)
      for (int64_t s = 0; s < tile.count; ++s)
        column_grads(block, i)[(tile.first + s) % p_.grid_columns] += grads[s];
  }

  // grad [B, N, S, width] from the pieces' sums.
  void join(A* sums, int64_t width, T* grad) const {
    if (kSumsInPlace && pieces_.count == 1) return;
    run_.parallel(p_.B * p_.N, [&](int64_t head) {
      for_lanes<A>(p_.S * width, [&](int64_t at, auto part) {
        Lanes<A> sum = load(sums_at(sums, grad, head, 0, width) + at, part);
        for (int64_t piece = 1; piece < pieces_.count; ++piece)
          sum += load(sums_at(sums, grad, head, piece, width) + at, part);
        store(grad + head * p_.S * width + at, sum, part);
      });
    });
  }

  void join_relative() const {
    const A factor = p_.relative_inside ? static_cast<A>(p_.scale) : A(1);
    const int64_t entries = p_.relative_entries, tables = p_.relative_head ? p_.N : 1;
    A* const to = static_cast<A*>(g_.grad_relative);
    for (int64_t i = 0; i < tables * entries; ++i) to[i] = 0;
    for (int64_t task = 0; task < pieces_.heads * pieces_.count; ++task) {
      const int64_t table = p_.relative_head ? task / pieces_.count % p_.N : 0;
      for (int64_t i = 0; i < entries; ++i)
        to[table * entries + i] += factor * relative_sums_[task * entries + i];
    }
  }

  const AttendCpu& p_;
  const AttendCpuBackward& g_;
  CpuRuntime& run_;
  AttendTiles<T, A> tiles_;
  QueryPieces pieces_;
  A *key_sums_ = nullptr, *value_sums_ = nullptr, *relative_sums_ = nullptr;
};

}  // namespace

void GAZE_CPU_NAME(attend_backward)(const AttendCpu& p, const AttendCpuBackward& g, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    AttendBackwardPass<T, typename Accumulator<T>::type>(p, g, run).backward();
  });
}

}  // namespace gaze::detail
