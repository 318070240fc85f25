// attend forward on the CPU, compiled once per instruction set: four queries of a head at a time against
// tiles of keys, with the online softmax (Milakov and Gimelshein 2018) between tiles; where the weights or
// what is made of them is asked for and there are several tiles, their scores are made a second time. Each
// query's result is one task's, so no bit depends on the number of threads.
#include "modules/ops/attend/attend_cpu_tiles.h"

namespace gaze::detail {
namespace {

constexpr int64_t kTasks = 64;  // and as many buffers, whatever the number of threads

template <typename T, typename A>
class AttendForwardPass {
 public:
  AttendForwardPass(const AttendCpu& p, const AttendCpuForward& out, CpuRuntime& run)
      : p_(p),
        out_(out),
        run_(run),
        tiles_(p),
        // a task sums over heads where their mean is wanted
        heads_(out.mean_weights ? 1 : p.N),
        pieces_(p.B * heads_, p.T, kTasks) {}

  void forward() {
    if (tiles_.worth_turning()) tiles_.turn_keys(run_);
    const int64_t tasks = pieces_.heads * pieces_.count, slots = smaller(tasks, kTasks);
    const int64_t row = tiles_.tile_pitch(), room = kQueries * ((p_.dropout > 0 ? 2 : 1) * row + p_.D + p_.V);
    A* const buffers = run_.scratch<A>(slots * room);
    if (out_.key_sums) {
      sums_ = pieces_.count == 1 ? static_cast<A*>(out_.key_sums)
                                 : run_.scratch<A>(p_.B * p_.N * pieces_.count * p_.S);
    }
    run_.parallel(slots, [&](int64_t slot) {
      A* const scores = buffers + slot * room;
      A* const queries = scores + kQueries * row;
      const Buffers buffer{scores, queries, queries + kQueries * p_.D,
                           p_.dropout > 0 ? queries + kQueries * (p_.D + p_.V) : scores};
      for (int64_t task = slot; task < tasks; task += slots) piece(task, buffer);
    });
    if (sums_ && pieces_.count > 1) join_key_sums();
  }

 private:
  struct Buffers {
    A *scores, *queries, *sums, *kept;  // [4, tile], [4, D], [4, V], [4, tile]: after dropout
  };
  struct Statistics {
    A top[kQueries], sum[kQueries], moment[kQueries];  // largest score, Σ p, Σ p · (score - top)
  };

  void piece(int64_t task, const Buffers& buffer) const {
    const int64_t piece = task % pieces_.count, b = task / pieces_.count / heads_;
    const int64_t first = task / pieces_.count % heads_, last = out_.mean_weights ? p_.N : first + 1;
    for (int64_t n = first; sums_ && n < last; ++n) {
      A* const sums = sums_of(b, n, piece);
      for (int64_t s = 0; s < p_.S; ++s) sums[s] = 0;
    }
    pieces_.for_blocks(piece, p_.T, [&](int64_t t, int64_t count) {
      for (int64_t n = first; n < last; ++n) attend({b, n, t, count}, piece, buffer);
    });
  }

  A* sums_of(int64_t b, int64_t n, int64_t piece) const {
    return sums_ + ((b * p_.N + n) * pieces_.count + piece) * p_.S;
  }

  void attend(QueryBlock block, int64_t piece, const Buffers& buffer) const {
    tiles_.load_queries(block, buffer.queries);
    for (int64_t i = 0; i < kQueries * p_.V; ++i) buffer.sums[i] = 0;
    Statistics so_far;
    for (int64_t i = 0; i < kQueries; ++i) {
      so_far.top[i] = -A(kInfinity);
      so_far.sum[i] = so_far.moment[i] = 0;
    }
    tiles_.for_tiles(block, [&](KeyTile tile) { add_tile(block, tile, buffer, so_far); });
    store_rows(block, buffer, so_far);
    if (!out_.weights && !out_.mean_weights && !sums_) return;
    tiles_.for_tiles(block, [&](KeyTile tile) { file_tile(block, piece, tile, buffer, so_far); });
  }

  static A base_of(A top) { return top == -A(kInfinity) ? A(0) : top; }

  // Leaves exp(score - top) in the buffer.
  void add_tile(QueryBlock block, KeyTile tile, const Buffers& buffer, Statistics& so_far) const {
    const int64_t pitch = tiles_.tile_pitch(), padded = tiles_.padded(tile);
    tiles_.score(block, buffer.queries, tile, buffer.scores);
    for (int64_t i = 0; i < block.count; ++i) {
      A* const scores = buffer.scores + i * pitch;
      Lanes<A> tops = all_lanes(so_far.top[i]);
      for (int64_t s = 0; s < padded; s += kLanes<A>) tops = larger(tops, load(scores + s));
      const A top = largest_lane(tops), base = base_of(top);
      move_to(top, base, i, buffer.sums + i * p_.V, so_far);
      Lanes<A> sums = {}, moments = {};
      for (int64_t s = 0; s < padded; s += kLanes<A>) {
        const Lanes<A> below = load(scores + s) - base, power = exp_of_negative(below);
        store(scores + s, power);
        sums += power;
        if (out_.entropy) moments += power > A(0) ? power * below : Lanes<A>{};
      }
      so_far.sum[i] += sum_of_lanes(sums);
      so_far.moment[i] += sum_of_lanes(moments);
      if (p_.dropout > 0) tiles_.drop(block.b, block.n, block.t + i, tile, scores, buffer.kept + i * pitch);
    }
    for (int64_t i = block.count; i < kQueries; ++i)
      for (int64_t s = 0; s < tile.count; ++s) buffer.kept[i * pitch + s] = 0;
    tiles_.add_weighted(tiles_.values(), block, buffer.kept, tile, buffer.sums);
  }

  // What was summed up under the old largest score, under the new one.
  void move_to(A top, A base, int64_t i, A* sums, Statistics& so_far) const {
    const A before = so_far.top[i];
    so_far.top[i] = top;
    if (before == top || so_far.sum[i] == A(0)) return;
    const A share = exp_of_negative(all_lanes(before - base))[0];
    so_far.moment[i] = share * (so_far.moment[i] + so_far.sum[i] * (before - base));
    so_far.sum[i] *= share;
    for (int64_t v = 0; v < p_.V; ++v) sums[v] *= share;
  }

  void store_rows(QueryBlock block, const Buffers& buffer, const Statistics& so_far) const {
    const int64_t first = (block.b * p_.N + block.n) * p_.T + block.t;
    for (int64_t i = 0; i < block.count; ++i) {
      const A sum = so_far.sum[i], share = share_of(sum);
      T* const output = static_cast<T*>(out_.output) + (first + i) * p_.V;
      for_lanes<A>(p_.V, [&](int64_t v, auto part) {
        store(output + v, load(buffer.sums + i * p_.V + v, part) * share, part);
      });
      const double log = ::log(static_cast<double>(sum));
      static_cast<A*>(out_.log_sum_exp)[first + i] =
          static_cast<A>(log + static_cast<double>(base_of(so_far.top[i])));
      if (out_.entropy)
        static_cast<A*>(out_.entropy)[first + i] =
            sum == A(0) ? A(0) : static_cast<A>(log) - so_far.moment[i] * share;
    }
  }

  static A share_of(A sum) { return sum == A(0) ? A(0) : A(1) / sum; }

  // The tile's weights, to where they are wanted.
  void file_tile(QueryBlock block, int64_t piece, KeyTile tile, const Buffers& buffer,
                 const Statistics& so_far) const {
    const bool again = !tiles_.fits_a_tile(block);
    if (again) tiles_.score(block, buffer.queries, tile, buffer.scores);
    for (int64_t i = 0; i < block.count; ++i) {
      A* const weights = buffer.scores + i * tiles_.tile_pitch();
      const A share = share_of(so_far.sum[i]), base = base_of(so_far.top[i]);
      for (int64_t s = 0; s < tiles_.padded(tile); s += kLanes<A>) {
        const Lanes<A> power = again ? exp_of_negative(load(weights + s) - base) : load(weights + s);
        store(weights + s, power * share);
      }
      file_row(block.b, block.n, block.t + i, piece, tile, weights);
    }
  }

  void file_row(int64_t b, int64_t n, int64_t t, int64_t piece, KeyTile tile, const A* weights) const {
    const int64_t row = p_.row_places ? p_.row_places[t] : t, rows = p_.row_places ? p_.R : p_.T;
    if (out_.weights && row >= 0) {
      A* const to = static_cast<A*>(out_.weights) + ((b * p_.N + n) * rows + row) * p_.S + tile.first;
      for (int64_t s = 0; s < tile.count; ++s) to[s] = weights[s];
    }
    if (out_.mean_weights) {  // heads come in their order
      A* const to = static_cast<A*>(out_.mean_weights) + (b * p_.T + t) * p_.S + tile.first;
      const A share = A(1) / static_cast<A>(p_.N);
      for (int64_t s = 0; s < tile.count; ++s)
        to[s] = n == 0 ? weights[s] * share : to[s] + weights[s] * share;
    }
    if (sums_) {
      A* const to = sums_of(b, n, piece) + tile.first;
      for (int64_t s = 0; s < tile.count; ++s) to[s] += weights[s];
    }
  }

  void join_key_sums() const {
    run_.parallel(p_.B * p_.N, [&](int64_t head) {
      A* const to = static_cast<A*>(out_.key_sums) + head * p_.S;
      for (int64_t s = 0; s < p_.S; ++s) {
        A sum = 0;
        for (int64_t piece = 0; piece < pieces_.count; ++piece)
          sum += sums_[(head * pieces_.count + piece) * p_.S + s];
        to[s] = sum;
      }
    });
  }

  const AttendCpu& p_;
  const AttendCpuForward& out_;
  CpuRuntime& run_;
  AttendTiles<T, A> tiles_;
  int64_t heads_;
  QueryPieces pieces_;
  A* sums_ = nullptr;  // [B, N, pieces, S]: the key sums of each piece's queries
};

}  // namespace

void GAZE_CPU_NAME(attend_forward)(const AttendCpu& p, const AttendCpuForward& out, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    AttendForwardPass<T, typename Accumulator<T>::type>(p, out, run).forward();
  });
}

}  // namespace gaze::detail
