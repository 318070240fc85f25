#include "models/training/caption_training.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "models/backbone/backbone.h"
#include "models/backbone/insert.h"
#include "models/backbone/name_pattern.h"
#include "models/captioner/captioner.h"
#include "models/checkpoint/state_dict.h"
#include "models/data/scenes.h"
#include "models/decoder/lstm_decoder.h"
#include "models/decoder/search.h"
#include "models/training/caption_batch.h"
#include "models/training/cell_evidence.h"
#include "models/training/epoch_order.h"
#include "models/training/frozen_network.h"
#include "models/training/scene_decoder.h"
#include "models/training/scene_set.h"
#include "models/training/streams.h"
#include "modules/attention/registry.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr double kPlainest = 0.7;
constexpr double kNoLoss = 1e9;

// A pattern without a slot is told before the first stage, not after hours, before the last.
void check_slots(const CaptionRecipe& recipe, Backbone& network, bool filled) {
  if (recipe.module == "none" || recipe.slot_epochs == 0 || filled) return;
  parse_block_specs(recipe.module);
  NameList slots{"train", "slot of " + network.name(), {}, {"conv"}};
  for (const Slot& slot : network.slots()) slots.names.push_back(slot->full_name());
  match_names(slots, recipe.slots);
}

// The network whose evidence is read, frozen; LibTorch's generator starts from the recipe's seed.
SceneReader scene_reader(const CaptionRecipe& recipe) {
  torch::manual_seed(recipe.seed);
  const FrozenNetwork network = frozen_network(recipe.backbone, recipe.weights);
  SceneReader reader;
  reader.backbone = network.backbone;
  reader.preprocessing = network.preprocessing;
  reader.filled = network.filled;
  reader.preprocessing.mode = ResizeMode::squash;
  reader.preprocessing.height = reader.preprocessing.width = recipe.size;
  reader.grid = recipe.size / reader.backbone->stride();
  check_slots(recipe, *reader.backbone, reader.filled);
  return reader;
}

// One run: what train_caption() holds while it works.
class CaptionRun {
 public:
  CaptionRun(const CaptionRecipe& recipe, fs::path out,
             const std::function<void(const TrainingMoment&)>& watch)
      : recipe_(recipe),
        out_(std::move(out)),
        reader_(scene_reader(recipe_)),
        backbone_(reader_.backbone),
        grid_(reader_.grid),
        loop_(loop_options(recipe_, out_, "val_nouns"), watch),
        order_(recipe_.seed) {}

  TrainingResult run() {
    best_nouns_ = loop_.kept().value("best_nouns", best_nouns_);
    best_loss_ = loop_.kept().value("best_loss", best_loss_);
    train_ = scenes(Split::train, recipe_.scenes);
    val_ = scenes(Split::val, recipe_.val_scenes);
    make_decoder();
    const std::string stage = loop_.resumed_stage().empty() ? "nouns" : loop_.resumed_stage();
    if (stage == "nouns") noun_stage();
    if (stage != "slots") decoder_stage();
    if (recipe_.module != "none" && recipe_.slot_epochs > 0) slot_stage(stage == "slots");
    remove_scene_sets(out_);
    return {out_ / "model.safetensors", best_nouns_, best_loss_};
  }

 private:
  SceneSet scenes(Split split, int64_t count) {
    const auto start = std::chrono::steady_clock::now();
    return make_scene_set(recipe_, split, count, reader_, out_, [&](int64_t done) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      loop_.tell({"evidence", done, count, 0, 0, taken.count()});
    });
  }

  void make_decoder() {
    std::vector<SceneRecord> records = train_.records;
    records.insert(records.end(), val_.records.begin(), val_.records.end());
    vocabulary_ = scene_vocabulary(records);
    decoder_ = scene_decoder(recipe_, vocabulary_, backbone_->classes());
  }

  // Captions of these scenes as this step words and renames them.
  TokenRows words_of(const std::vector<int64_t>& indices, bool rename, Random& random,
                     std::vector<Renaming>& renamings) {
    std::vector<std::string> captions;
    for (int64_t i : indices) {
      const SceneRecord& record = train_.records[i];
      const bool shuffle = rename && record.can_be_renamed() && random.chance(recipe_.rename);
      renamings.push_back(shuffle ? random_renaming(noun_groups().ground(), random) : Renaming{});
      const std::vector<std::string> wordings = scene_captions(renamed(record, renamings.back()));
      // Mostly the plainest wording, so that the words' probabilities are about the picture.
      captions.push_back(random.chance(kPlainest)
                             ? wordings[0]
                             : wordings[random.below(static_cast<int64_t>(wordings.size()))]);
    }
    return token_rows(captions, vocabulary_, recipe_.max_tokens);
  }

  // cells [B, S, G] -> mean cross-entropy of the words; in training, of decoders that look once a word, with
  // the doubly stochastic term.
  torch::Tensor caption_loss(const torch::Tensor& cells, const TokenRows& rows) {
    const ForcedWords said = decoder_->force(rows.inputs, decoder_->embed_cells(cells, grid_, grid_));
    const bool training = decoder_->is_training();
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(said.logits.flatten(0, 1), rows.targets.flatten(),
                                             torch::nn::functional::CrossEntropyFuncOptions()
                                                 .ignore_index(TokenRows::kIgnored)
                                                 .label_smoothing(training ? recipe_.label_smoothing : 0));
    if (!training || !said.weights.defined() || recipe_.doubly_stochastic == 0) return loss;
    const torch::Tensor lengths = rows.targets.ne(TokenRows::kIgnored).sum(1);
    return loss + recipe_.doubly_stochastic * doubly_stochastic_loss(said.weights, lengths);
  }

  // The extra classes: cells of known owners, three of an object to one of the ground; the loss is -log of
  // the owner's probability.
  void noun_stage() {
    std::vector<int64_t> scenes, cells;  // every owned cell
    Random random({recipe_.seed, kCells});
    for (size_t i = 0; i < train_.records.size(); ++i) {
      const std::vector<int64_t>& owners = train_.records[i].cells;
      const double objects = static_cast<double>(std::count_if(
          owners.begin(), owners.end(), [](int64_t g) { return g >= 0 && g != noun_groups().ground(); }));
      const double bare =
          static_cast<double>(std::count(owners.begin(), owners.end(), noun_groups().ground()));
      for (size_t s = 0; s < owners.size(); ++s) {
        if (owners[s] < 0 || (owners[s] == noun_groups().ground() && !random.chance(objects / (3 * bare))))
          continue;
        scenes.push_back(static_cast<int64_t>(i));
        cells.push_back(static_cast<int64_t>(s));
      }
    }
    const auto count = static_cast<int64_t>(cells.size());
    torch::optim::AdamW optimizer(
        decoder_->extra()->parameters(),
        torch::optim::AdamWOptions(recipe_.noun_lr).weight_decay(recipe_.weight_decay));
    loop({"nouns", 0, recipe_.noun_steps, 0, {{"decoder.", decoder_}}}, optimizer,
         [&](int64_t, Random& draw) {
           std::vector<int64_t> batch_scenes, batch_cells, owners;
           for (int64_t b = 0; b < recipe_.noun_batch; ++b) {
             const int64_t i = draw.below(count);
             batch_scenes.push_back(scenes[i]);
             batch_cells.push_back(cells[i]);
             owners.push_back(train_.records[scenes[i]].cells[cells[i]]);
           }
           const torch::Tensor logits =
               train_.evidence->get(torch::tensor(batch_scenes), torch::tensor(batch_cells))
                   .unsqueeze(1);  // [B, 1, K]
           const torch::Tensor groups =
               decoder_
                   ->group_sums(decoder_->with_extra(roughened(logits, 1, recipe_.noise, draw),
                                                     recipe_.noun_dropout))
                   .squeeze(1);  // [B, G]
           return owner_loss(groups, torch::tensor(owners)).mean();
         });
  }

  void decoder_stage() {
    std::vector<torch::Tensor> parameters = trained_decoder();
    torch::optim::AdamW optimizer(parameters,
                                  torch::optim::AdamWOptions(recipe_.lr).weight_decay(recipe_.weight_decay));
    const int64_t steps = recipe_.scenes / recipe_.batch;  // an epoch
    loop({"decoder", 1, recipe_.epochs * steps, steps, {{"decoder.", decoder_}}}, optimizer,
         [&](int64_t step, Random& random) {
           const std::vector<int64_t> indices = order_.batch_of(step, recipe_.scenes, recipe_.batch, 1);
           std::vector<Renaming> renamings;
           const TokenRows rows = words_of(indices, true, random, renamings);
           const torch::Tensor evidence = train_.evidence->get(torch::tensor(indices));  // [B, S, K]
           const torch::Tensor cells = decoder_->group_sums(
               roughened(decoder_->with_extra(evidence, recipe_.noun_dropout), grid_, recipe_.noise, random));
           return caption_loss(rename_cells(cells, renamings), rows);
         });
  }

  // The decoder without its extra classes, which stay as the first stage left them.
  std::vector<torch::Tensor> trained_decoder() {
    for (auto& parameter : decoder_->extra()->parameters()) parameter.set_requires_grad(false);
    std::vector<torch::Tensor> parameters;
    for (auto& parameter : decoder_->parameters()) {
      if (parameter.requires_grad()) parameters.push_back(parameter);
    }
    return parameters;
  }

  // Who owns each cell of these scenes: [B * S].
  torch::Tensor owners_of(const std::vector<int64_t>& scenes) const {
    std::vector<int64_t> owners;
    for (int64_t i : scenes)
      owners.insert(owners.end(), train_.records[i].cells.begin(), train_.records[i].cells.end());
    return torch::tensor(owners);
  }

  void slot_stage(bool resumed) {
    if (!reader_.filled) insert(*backbone_, recipe_.slots, recipe_.module);
    slots_filled_ = true;
    backbone_->eval();
    for (auto& parameter : decoder_->parameters()) parameter.set_requires_grad(true);
    std::vector<torch::Tensor> parameters;
    NamedModules modules = {{"decoder.", decoder_}};
    for (Slot& slot : backbone_->slots()) {
      if (slot->empty()) continue;
      slot->train();
      modules.emplace_back("slots." + slot->full_name() + ".", slot.ptr());
      for (auto& parameter : slot->parameters()) {
        parameter.set_requires_grad(true);
        parameters.push_back(parameter);
      }
    }
    const auto settings = [&](double lr) {
      return std::make_unique<torch::optim::AdamWOptions>(
          torch::optim::AdamWOptions(lr).weight_decay(recipe_.weight_decay));
    };
    // The decoder is trained already: it follows at a tenth of the rate.
    torch::optim::AdamW optimizer(std::vector<torch::optim::OptimizerParamGroup>{
        {parameters, settings(recipe_.slot_lr)}, {decoder_->parameters(), settings(0.1 * recipe_.slot_lr)}});
    // From here on the model has its slots: the best is looked for among those that do.
    if (!resumed && !reader_.filled) {
      best_nouns_ = -1;
      best_loss_ = kNoLoss;
    }
    const int64_t steps = recipe_.slot_scenes / recipe_.slot_batch;  // an epoch
    loop({"slots", 2, recipe_.slot_epochs * steps, steps, modules}, optimizer,
         [&](int64_t step, Random& random) {
           const std::vector<int64_t> indices =
               order_.batch_of(step, recipe_.slot_scenes, recipe_.slot_batch, 2);
           std::vector<Renaming> renamings;
           const TokenRows rows = words_of(indices, true, random, renamings);
           const torch::Tensor evidence =
               backbone_->class_evidence(scene_inputs(train_, indices, reader_.preprocessing))
                   .flatten(2)
                   .transpose(1, 2);  // [B, S, K]
           const torch::Tensor frozen = train_.evidence->get(torch::tensor(indices));
           const torch::Tensor kept =
               torch::kl_div(evidence.log_softmax(2), frozen.log_softmax(2), at::Reduction::Sum, true) /
               (evidence.size(0) * evidence.size(1));
           const torch::Tensor cells = decoder_->group_probabilities(evidence);
           return caption_loss(rename_cells(cells, renamings), rows) +
                  owned_cells_loss(cells, owners_of(indices), noun_groups().ground()) + recipe_.keep * kept;
         });
  }

  void loop(const LoopStage& stage, torch::optim::AdamW& optimizer,
            const std::function<torch::Tensor(int64_t, Random&)>& loss_of) {
    loop_.kept() = {{"best_nouns", best_nouns_}, {"best_loss", best_loss_}};
    loop_.run(stage, optimizer,
              {[&] { decoder_->train(); }, loss_of, {}, [&](TrainingMoment& moment) { validate(moment); }});
  }

  // Loss and nouns on the validation scenes, never renamed; keeps the model if it is the best.
  void validate(TrainingMoment& moment) {
    const torch::NoGradGuard no_grad;
    decoder_->eval();
    double loss = 0, right = 0;
    const auto count = static_cast<int64_t>(val_.records.size());
    for (int64_t first = 0; first < count; first += recipe_.batch) {
      const int64_t last = std::min(count, first + recipe_.batch);
      const torch::Tensor cells = decoder_->group_probabilities(val_evidence(first, last));
      std::vector<std::string> captions;
      for (int64_t i = first; i < last; ++i)
        captions.push_back(scene_captions(val_.records[i].facts).front());
      loss += caption_loss(cells, token_rows(captions, vocabulary_, recipe_.max_tokens)).item<double>() *
              static_cast<double>(last - first);
      SearchOptions greedy;
      greedy.beam = 1;
      greedy.max_words = recipe_.max_tokens - 1;
      const torch::Tensor memory = decoder_->embed_cells(cells, grid_, grid_);
      const auto found = search(*decoder_, memory, greedy);
      for (int64_t i = first; i < last; ++i) {
        right +=
            names_all(vocabulary_.decode(found[i - first].front().tokens), val_.records[i].facts) ? 1 : 0;
      }
    }
    moment.val_loss = loss / static_cast<double>(count);
    moment.val_score = right / static_cast<double>(count);
    if (moment.val_score < best_nouns_ || (moment.val_score == best_nouns_ && moment.val_loss >= best_loss_))
      return;
    best_nouns_ = moment.val_score;
    best_loss_ = moment.val_loss;
    loop_.kept() = {{"best_nouns", best_nouns_}, {"best_loss", best_loss_}};
    const nlohmann::json provenance = {{"recipe", to_json(recipe_)},
                                       {"seed", recipe_.seed},
                                       {"data", "composed scenes of tuxpaint-stamps-default"},
                                       {"licence", recipe_.licence},
                                       {"scores", {{"val_nouns", best_nouns_}, {"val_loss", best_loss_}}}};
    write_model_file(out_ / "model.safetensors",
                     make_model_file(*backbone_, *decoder_, vocabulary_, reader_.preprocessing, provenance));
  }

  // The frozen network's in the first stage, the slots' in the second: [B, S, K].
  torch::Tensor val_evidence(int64_t first, int64_t last) {
    if (!slots_filled_) return val_.evidence->get(torch::arange(first, last));
    std::vector<int64_t> indices(static_cast<size_t>(last - first));
    std::iota(indices.begin(), indices.end(), first);
    backbone_->eval();
    const torch::Tensor evidence =
        backbone_->class_evidence(scene_inputs(val_, indices, reader_.preprocessing))
            .flatten(2)
            .transpose(1, 2);
    for (Slot& slot : backbone_->slots()) slot->train();
    return evidence;
  }

  CaptionRecipe recipe_;
  fs::path out_;
  SceneReader reader_;
  std::shared_ptr<Backbone> backbone_;  // the reader's
  int64_t grid_;                        // the same
  TrainingLoop loop_;
  EpochOrder order_;
  Vocabulary vocabulary_;
  std::shared_ptr<EvidenceDecoder> decoder_;
  SceneSet train_, val_;
  double best_nouns_ = -1, best_loss_ = kNoLoss;
  bool slots_filled_ = false;  // the slots are filled
};

}  // namespace

TrainingResult train_caption(const CaptionRecipe& recipe, const fs::path& out,
                             const std::function<void(const TrainingMoment&)>& watch) {
  return CaptionRun(recipe, out, watch).run();
}

}  // namespace gaze::models
