// Do the weights of attention explain an answer? A classifier of texts is asked in three ways which words
// made it answer so: by its weights, by gradients, and by leaving words out.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "apps/guide/training.h"
#include "modules/attention/global_attention.h"

using namespace guide;
using torch::Tensor;
constexpr int64_t S = 20, D = 32;  // words of a text, width

// A quarter of the words tell: 0 .. 4 are good, 5 .. 9 bad. A text is good if most of those are.
std::pair<Tensor, Tensor> texts(int64_t B) {
  const Tensor telling = torch::randint(10, {B, S}, torch::kLong);
  const Tensor x = torch::where(torch::rand({B, S}) < 0.25, telling, torch::randint_like(telling, 10, 50));
  return {x, x.lt(5).sum(1) > x.lt(10).sum(1) / 2.0};  // [B, S], [B]
}

int main() {
  torch::set_num_threads(1);  // the matrices are small
  print_head("attention over", {"right", "w~grad", "w~out", "grad~out", "shuffled", "unseen", "out"});
  for (const bool recurrent : {false, true}) {
    torch::manual_seed(1);
    torch::nn::Embedding embedding(50, D);
    torch::nn::LSTM lstm(torch::nn::LSTMOptions(D, D / 2).bidirectional(true).batch_first(true));
    gaze::GlobalAttention attention(gaze::GlobalAttentionOptions{D});
    torch::nn::Linear out(D, 1);
    const auto memory = [&](const Tensor& e) { return recurrent ? std::get<0>(lstm(e)) : e; };  // [B, S, D]
    // The question is always the same one, so that the query is empty and the attention's bias holds it.
    const auto look = [&](const Tensor& h) { return attention(torch::zeros({h.size(0), D}), h).weights; };
    const auto read = [&](const Tensor& w, const Tensor& h) {  // -> [B], probability of "good"
      return out(w.unsqueeze(1).bmm(h) / w.sum(1).view({-1, 1, 1})).view(-1).sigmoid();
    };
    torch::optim::Adam optimizer(parameters_of(embedding, lstm, attention, out), 5e-3);
    for (int64_t step = 0; step < 300; ++step) {
      const auto [x, good] = texts(64);
      const Tensor h = memory(embedding(x));
      learn(optimizer, torch::binary_cross_entropy(read(look(h), h), good.to(torch::kFloat)));
    }
    const auto [x, good] = texts(500);
    const Tensor e = embedding(x), h = memory(e), w = look(h), p = read(w, h), top = w.argmax(1, true);
    const Tensor gradient = (torch::autograd::grad({p.sum()}, {e})[0] * e).sum(2).abs();  // [B, S]
    const auto moved = [&](const Tensor& w2, const Tensor& h2) { return (read(w2, h2) - p).abs(); };
    Tensor zero = torch::empty({500, S}), gone = torch::empty({500, S});  // how far the answer moves when a
    for (int64_t s = 0; s < S; ++s) {  // word's weight is set to 0, and when the word is left out of the text
      const Tensor rest = torch::arange(S).masked_select(torch::arange(S) != s);  // [S - 1]
      zero.select(1, s) = moved(w.index_select(1, rest), h.index_select(1, rest));
      const Tensor fewer = memory(e.index_select(1, rest));
      gone.select(1, s) = moved(look(fewer), fewer);
    }
    const double shuffled = mean_of(moved(w.index_select(1, torch::randperm(S)), h));
    print_row(recurrent ? "states of an LSTM" : "words",
              {mean_of((p > 0.5) == good), rank_correlation(w, gradient), rank_correlation(w, gone),
               rank_correlation(gradient, gone), shuffled, mean_of(zero.gather(1, top)),
               mean_of(gone.gather(1, top))},
              2);
  }
}
