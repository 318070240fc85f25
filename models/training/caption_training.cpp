#include "models/training/caption_training.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "models/backbone/backbone.h"
#include "models/captioner/captioner.h"
#include "models/checkpoint/state_dict.h"
#include "models/data/scenes.h"
#include "models/decoder/search.h"
#include "models/training/caption_batch.h"
#include "models/training/evidence_cache.h"
#include "models/training/run_state.h"
#include "models/training/schedule.h"
#include "modules/core/atomic_file.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kLogEvery = 20;  // steps
constexpr double kPlainest = 0.7;
constexpr double kNoLoss = 1e9;

enum Stream : uint64_t { kShuffle = 101, kUse = 102, kTorch = 103, kCells = 104 };

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// groups [B, G] probabilities, owners [B] -> [B]: how surprised a cell is by its owner, in nats.
torch::Tensor owner_loss(const torch::Tensor& groups, const torch::Tensor& owners) {
  return -groups.gather(1, owners.unsqueeze(1)).squeeze(1).add(1e-9).log();
}

// The scenes of one split: composer, records, and the frozen network's evidence.
struct SceneSet {
  std::unique_ptr<SceneComposer> composer;
  std::vector<SceneRecord> records;
  std::unique_ptr<EvidenceCache> evidence;
};

// One run: what train_caption() holds while it works.
class CaptionRun {
 public:
  CaptionRun(const CaptionRecipe& recipe, fs::path out,
             const std::function<void(const TrainingMoment&)>& watch)
      : recipe_(recipe), out_(std::move(out)), watch_(watch) {
    fs::create_directories(out_);
    torch::manual_seed(recipe_.seed);
    backbone_ = make_backbone(recipe_.backbone);
    load_state_dict(*backbone_, read_state_dict(recipe_.weights));
    backbone_->eval();
    for (auto& parameter : backbone_->parameters()) parameter.set_requires_grad(false);
    preprocessing_ = backbone_->preprocessing();
    preprocessing_.mode = ResizeMode::squash;
    preprocessing_.height = preprocessing_.width = recipe_.size;
    grid_ = recipe_.size / backbone_->stride();
  }

  TrainingResult run() {
    std::optional<RunState> resumed = find_state();
    open_log(resumed.has_value());
    train_ = scenes(Split::train, recipe_.scenes);
    val_ = scenes(Split::val, recipe_.val_scenes);
    make_decoder();
    const std::string stage = resumed ? resumed->progress.at("stage") : "nouns";
    const auto resumed_in = [&](const char* name) { return stage == name ? resumed : std::nullopt; };
    if (stage == "nouns") noun_stage(resumed_in("nouns"));
    if (stage != "slots") decoder_stage(resumed_in("decoder"));
    if (recipe_.module != "none" && recipe_.slot_epochs > 0) slot_stage(resumed_in("slots"));
    for (const char* name : {"evidence.train", "evidence.val"}) {
      for (const char* end : {"", ".json", ".finished"}) fs::remove(out_ / (std::string(name) + end));
    }
    return {out_ / "model.safetensors", best_nouns_, best_loss_};
  }

 private:
  std::optional<RunState> find_state() {
    const fs::path path = out_ / "state.safetensors";
    if (!fs::exists(path)) return std::nullopt;
    RunState state = read_run_state(path);
    if (state.progress.at("recipe") != to_json(recipe_)) {
      throw ArgumentError(fmt::format(
          "[train] expected {} to hold a run of this recipe; got another recipe's (give an empty --out)",
          out_.string()));
    }
    best_nouns_ = state.progress.at("best_nouns");
    best_loss_ = state.progress.at("best_loss");
    return state;
  }

  void make_decoder() {
    std::vector<SceneRecord> records = train_.records;
    records.insert(records.end(), val_.records.begin(), val_.records.end());
    vocabulary_ = scene_vocabulary(records);
    CaptionDecoderOptions options;
    options.vocabulary = vocabulary_.size();
    options.visual_width = backbone_->classes();
    options.extra = noun_groups().extra;
    options.groups = noun_groups().of_class;
    options.tie = options.copy = true;
    for (const Noun& noun : noun_groups().nouns) options.group_words.push_back(vocabulary_.id(noun.singular));
    options.group_words.push_back(-1);  // the ground
    options.width = recipe_.width;
    options.heads = recipe_.heads;
    options.layers = recipe_.layers;
    options.feed_forward = recipe_.feed_forward;
    options.max_tokens = recipe_.max_tokens;
    options.dropout = recipe_.dropout;
    decoder_ = CaptionDecoder(options);
  }

  void open_log(bool resumed) {
    log_.open(out_ / "log.csv", resumed ? std::ios::app : std::ios::trunc);
    if (!resumed) log_ << "stage,step,loss,lr,val_loss,val_nouns,seconds\n";
  }

  void tell(const TrainingMoment& moment) {
    if (moment.stage != "evidence") {
      log_ << fmt::format("{},{},{:.5f},{:.3e},{:.5f},{:.4f},{:.1f}\n", moment.stage, moment.step,
                          moment.loss, moment.lr, moment.val_loss, moment.val_nouns, moment.seconds)
           << std::flush;
    }
    watch_(moment);
  }

  // What the evidence depends on.
  std::string evidence_key(Split split, int64_t count) const {
    return nlohmann::json{recipe_.backbone,    split_text(split), count,
                          recipe_.seed,        recipe_.size,      recipe_.min_objects,
                          recipe_.max_objects, recipe_.close_ups}
        .dump();
  }

  // Composes every scene once for its record and, where it is not there yet, its evidence.
  SceneSet scenes(Split split, int64_t count) {
    SceneOptions options;
    options.split = split;
    options.seed = recipe_.seed;
    options.size = recipe_.size;
    options.min_objects = recipe_.min_objects;
    options.max_objects = recipe_.max_objects;
    if (split == Split::train) options.close_ups = recipe_.close_ups;
    SceneSet set;
    set.composer = std::make_unique<SceneComposer>(options);
    const fs::path path = out_ / (split == Split::train ? "evidence.train" : "evidence.val");
    set.evidence = std::make_unique<EvidenceCache>(path, evidence_key(split, count), count, grid_ * grid_,
                                                   backbone_->classes());
    const fs::path records = path.string() + ".json";
    if (set.evidence->finished()) {
      std::ifstream stream(records);
      for (const auto& record : nlohmann::json::parse(stream))
        set.records.push_back(scene_record_from_json(record));
      return set;
    }
    const torch::NoGradGuard no_grad;
    const auto start = Clock::now();
    nlohmann::json lines = nlohmann::json::array();
    for (int64_t i = 0; i < count; ++i) {
      const Scene scene = set.composer->compose(i);
      set.records.push_back(record_of(scene, grid_, grid_));
      lines.push_back(to_json(set.records.back()));
      set.evidence->put(
          i, backbone_->class_evidence(preprocess(scene.image, preprocessing_).input.unsqueeze(0))[0]);
      if (i % 100 == 99) tell({"evidence", i + 1, count, 0, 0, seconds_since(start)});
    }
    write_atomically(records, lines.dump());
    set.evidence->finish();
    return set;
  }

  // The scenes of step `step`, each epoch in its own order.
  std::vector<int64_t> batch_of(int64_t step, int64_t scenes, int64_t batch, uint64_t stage) {
    const int64_t steps = scenes / batch;
    if (step / steps != order_epoch_ || stage != order_stage_) {
      order_epoch_ = step / steps;
      order_stage_ = stage;
      order_.resize(scenes);
      std::iota(order_.begin(), order_.end(), int64_t{0});
      Random random({recipe_.seed, kShuffle, stage, static_cast<uint64_t>(order_epoch_)});
      for (int64_t i = scenes - 1; i > 0; --i) std::swap(order_[i], order_[random.below(i + 1)]);
    }
    const auto first = order_.begin() + (step % steps) * batch;
    return {first, first + batch};
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

  // cells [B, S, G] -> mean cross-entropy of the words.
  torch::Tensor caption_loss(const torch::Tensor& cells, const TokenRows& rows) {
    const torch::Tensor logits = decoder_->forward(rows.inputs, decoder_->embed_cells(cells, grid_, grid_));
    return torch::nn::functional::cross_entropy(
        logits.flatten(0, 1), rows.targets.flatten(),
        torch::nn::functional::CrossEntropyFuncOptions()
            .ignore_index(TokenRows::kIgnored)
            .label_smoothing(decoder_->is_training() ? recipe_.label_smoothing : 0));
  }

  // The extra classes: cells of known owners, three of an object to one of the ground; the loss is -log of
  // the owner's probability.
  void noun_stage(const std::optional<RunState>& resumed) {
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
    loop("nouns", 0, recipe_.noun_steps, 0, {{"decoder.", decoder_.ptr()}}, optimizer, resumed,
         [&](int64_t, Random& draw) {
           std::vector<int64_t> batch_scenes, batch_cells, owners;
           for (int64_t b = 0; b < recipe_.noun_batch; ++b) {
             const int64_t i = draw.below(count);
             batch_scenes.push_back(scenes[i]);
             batch_cells.push_back(cells[i]);
             owners.push_back(train_.records[scenes[i]].cells[cells[i]]);
           }
           const torch::Tensor logits =
               train_.evidence->get(torch::tensor(batch_scenes), torch::tensor(batch_cells));  // [B, K]
           const torch::Tensor groups =
               decoder_->group_sums(decoder_->with_extra(logits.unsqueeze(1), recipe_.noun_dropout))
                   .squeeze(1);  // [B, G]
           return owner_loss(groups, torch::tensor(owners)).mean();
         });
  }

  void decoder_stage(const std::optional<RunState>& resumed) {
    std::vector<torch::Tensor> parameters = trained_decoder();
    torch::optim::AdamW optimizer(parameters,
                                  torch::optim::AdamWOptions(recipe_.lr).weight_decay(recipe_.weight_decay));
    const NamedModules modules = {{"decoder.", decoder_.ptr()}};
    const int64_t steps = recipe_.epochs * (recipe_.scenes / recipe_.batch);
    loop("decoder", 1, steps, recipe_.scenes / recipe_.batch, modules, optimizer, resumed,
         [&](int64_t step, Random& random) {
           const std::vector<int64_t> indices = batch_of(step, recipe_.scenes, recipe_.batch, 1);
           std::vector<Renaming> renamings;
           const TokenRows rows = words_of(indices, true, random, renamings);
           const torch::Tensor evidence = train_.evidence->get(torch::tensor(indices));  // [B, S, K]
           const torch::Tensor cells =
               decoder_->group_sums(roughened(decoder_->with_extra(evidence, recipe_.noun_dropout), random));
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

  // cells [B, S, G] of these scenes -> mean loss of the owned cells, an object's weighing three times the
  // ground's.
  torch::Tensor owned_cells_loss(const torch::Tensor& cells, const std::vector<int64_t>& indices) {
    std::vector<int64_t> owners;
    for (int64_t i : indices)
      owners.insert(owners.end(), train_.records[i].cells.begin(), train_.records[i].cells.end());
    const torch::Tensor owner = torch::tensor(owners);                                 // [B * S]
    const torch::Tensor losses = owner_loss(cells.flatten(0, 1), owner.clamp_min(0));  // [B * S]
    const auto mean_where = [&](const torch::Tensor& chosen) {
      return (losses * chosen).sum() / chosen.sum().clamp_min(1);
    };
    const torch::Tensor bare = owner.eq(noun_groups().ground());
    return 0.75 * mean_where(owner.ge(0).logical_and(bare.logical_not())) + 0.25 * mean_where(bare);
  }

  void slot_stage(const std::optional<RunState>& resumed) {
    backbone_->fill(recipe_.slots, recipe_.module, Init::identity);
    slot_names_ = true;
    backbone_->eval();
    for (auto& parameter : decoder_->parameters()) parameter.set_requires_grad(true);
    std::vector<torch::Tensor> parameters;
    NamedModules modules = {{"decoder.", decoder_.ptr()}};
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
    if (!resumed) {
      best_nouns_ = -1;
      best_loss_ = kNoLoss;
    }
    const int64_t steps_per_epoch = recipe_.slot_scenes / recipe_.slot_batch;
    loop("slots", 2, recipe_.slot_epochs * steps_per_epoch, steps_per_epoch, modules, optimizer, resumed,
         [&](int64_t step, Random& random) {
           const std::vector<int64_t> indices = batch_of(step, recipe_.slot_scenes, recipe_.slot_batch, 2);
           std::vector<Renaming> renamings;
           const TokenRows rows = words_of(indices, true, random, renamings);
           std::vector<torch::Tensor> pictures;
           for (int64_t i : indices)
             pictures.push_back(preprocess(train_.composer->compose(i).image, preprocessing_).input);
           const torch::Tensor evidence =
               backbone_->class_evidence(torch::stack(pictures)).flatten(2).transpose(1, 2);  // [B, S, K]
           const torch::Tensor frozen = train_.evidence->get(torch::tensor(indices));
           const torch::Tensor kept =
               torch::kl_div(evidence.log_softmax(2), frozen.log_softmax(2), at::Reduction::Sum, true) /
               (evidence.size(0) * evidence.size(1));
           const torch::Tensor cells = decoder_->group_probabilities(evidence);
           return caption_loss(rename_cells(cells, renamings), rows) + owned_cells_loss(cells, indices) +
                  recipe_.keep * kept;
         });
  }

  // logits [B, S, classes] with noise of its own strength for each scene, half of it cell by cell, half by
  // patches of the picture: the network is surer of the training stamps than it will be of things it has
  // never seen.
  torch::Tensor roughened(const torch::Tensor& logits, Random& random) {
    if (recipe_.noise == 0) return logits;
    constexpr int64_t kPatches = 4;  // a side
    const int64_t B = logits.size(0), K = logits.size(2);
    std::vector<float> fine, coarse;
    for (int64_t b = 0; b < B; ++b) {
      fine.push_back(static_cast<float>(random.uniform(0, recipe_.noise)));
      coarse.push_back(static_cast<float>(random.uniform(0, recipe_.noise)));
    }
    const torch::Tensor patches =
        torch::upsample_nearest2d(torch::randn({B, K, kPatches, kPatches}), {grid_, grid_});
    return logits + torch::randn_like(logits) * torch::tensor(fine).view({B, 1, 1}) +
           patches.flatten(2).transpose(1, 2) * torch::tensor(coarse).view({B, 1, 1});
  }

  // Runs steps [resumed, steps): schedule, clipping, log, validation at each epoch's end, state every
  // save_seconds.
  void loop(const std::string& stage, uint64_t number, int64_t steps, int64_t steps_per_epoch,
            const NamedModules& modules, torch::optim::AdamW& optimizer,
            const std::optional<RunState>& resumed,
            const std::function<torch::Tensor(int64_t, Random&)>& loss_of) {
    int64_t step = 0;
    if (resumed && resumed->progress.at("stage") == stage) {
      unpack(resumed->tensors, modules, optimizer);
      step = resumed->progress.at("step");
    }
    const auto save = [&](int64_t next) {
      write_run_state(out_ / "state.safetensors", {{{"stage", stage},
                                                    {"step", next},
                                                    {"recipe", to_json(recipe_)},
                                                    {"best_nouns", best_nouns_},
                                                    {"best_loss", best_loss_}},
                                                   pack(modules, optimizer)});
    };
    std::vector<double> peaks;
    for (const auto& group : optimizer.param_groups()) peaks.push_back(group.options().get_lr());
    const auto start = Clock::now();
    auto saved = start;
    double sum = 0;
    int64_t counted = 0;
    for (; step < steps; ++step) {
      decoder_->train();
      Random random({recipe_.seed, kUse, number, static_cast<uint64_t>(step)});
      torch::manual_seed(Random({recipe_.seed, kTorch, number, static_cast<uint64_t>(step)}).bits());
      const double share = warmup_cosine(step, steps, std::min(recipe_.warmup, steps / 10), 1.0);
      for (size_t i = 0; i < optimizer.param_groups().size(); ++i)
        optimizer.param_groups()[i].options().set_lr(share * peaks[i]);
      const double rate = share * peaks[0];
      optimizer.zero_grad();
      const torch::Tensor loss = loss_of(step, random);
      loss.backward();
      for (auto& group : optimizer.param_groups())
        torch::nn::utils::clip_grad_norm_(group.params(), recipe_.clip);
      optimizer.step();
      sum += loss.item<double>();
      ++counted;
      const bool epoch_ends = steps_per_epoch > 0 && (step + 1) % steps_per_epoch == 0;
      if (epoch_ends || (step + 1) % kLogEvery == 0) {
        TrainingMoment moment{
            stage, step + 1, steps, sum / static_cast<double>(counted), rate, seconds_since(start)};
        sum = 0;
        counted = 0;
        if (epoch_ends) {
          validate(moment);
          save(step + 1);
          saved = Clock::now();
        }
        tell(moment);
      }
      if (seconds_since(saved) > recipe_.save_seconds) {
        save(step + 1);
        saved = Clock::now();
      }
    }
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
      const auto found = search(decoder_, memory, greedy);
      for (int64_t i = first; i < last; ++i) {
        right +=
            names_all(vocabulary_.decode(found[i - first].front().tokens), val_.records[i].facts) ? 1 : 0;
      }
    }
    moment.val_loss = loss / static_cast<double>(count);
    moment.val_nouns = right / static_cast<double>(count);
    if (moment.val_nouns < best_nouns_ || (moment.val_nouns == best_nouns_ && moment.val_loss >= best_loss_))
      return;
    best_nouns_ = moment.val_nouns;
    best_loss_ = moment.val_loss;
    const nlohmann::json provenance = {{"recipe", to_json(recipe_)},
                                       {"seed", recipe_.seed},
                                       {"data", "composed scenes of tuxpaint-stamps-default"},
                                       {"scores", {{"val_nouns", best_nouns_}, {"val_loss", best_loss_}}}};
    write_model_file(out_ / "model.safetensors",
                     make_model_file(*backbone_, decoder_, vocabulary_, preprocessing_, provenance));
  }

  // The frozen network's in the first stage, the slots' in the second: [B, S, K].
  torch::Tensor val_evidence(int64_t first, int64_t last) {
    if (!slot_names_) return val_.evidence->get(torch::arange(first, last));
    std::vector<torch::Tensor> pictures;
    for (int64_t i = first; i < last; ++i)
      pictures.push_back(preprocess(val_.composer->compose(i).image, preprocessing_).input);
    backbone_->eval();
    const torch::Tensor evidence =
        backbone_->class_evidence(torch::stack(pictures)).flatten(2).transpose(1, 2);
    for (Slot& slot : backbone_->slots()) slot->train();
    return evidence;
  }

  CaptionRecipe recipe_;
  fs::path out_;
  std::function<void(const TrainingMoment&)> watch_;
  Vocabulary vocabulary_;
  std::shared_ptr<Backbone> backbone_;
  Preprocessing preprocessing_;
  int64_t grid_ = 0;
  CaptionDecoder decoder_{nullptr};
  SceneSet train_, val_;
  std::ofstream log_;
  double best_nouns_ = -1, best_loss_ = kNoLoss;
  bool slot_names_ = false;  // the slots are filled
  std::vector<int64_t> order_;
  int64_t order_epoch_ = -1;
  uint64_t order_stage_ = 0;
};

}  // namespace

TrainingResult train_caption(const CaptionRecipe& recipe, const fs::path& out,
                             const std::function<void(const TrainingMoment&)>& watch) {
  return CaptionRun(recipe, out, watch).run();
}

}  // namespace gaze::models
