#include "models/training/distill_training.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "models/backbone/classifier_file.h"
#include "models/backbone/insert.h"
#include "models/data/for_each_index.h"
#include "models/training/distill_crops.h"
#include "models/training/distill_loss.h"
#include "models/training/fine_tuning.h"
#include "models/training/frozen_network.h"
#include "models/training/picture_batch.h"
#include "models/training/weight_average.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kValBatch = 20;

// x [B, 3, H, W] in 0..1 as the network wants it.
torch::Tensor normalised(const torch::Tensor& x, const Preprocessing& preprocessing) {
  const auto vector = [](const std::array<float, 3>& v) {
    return torch::tensor({v[0], v[1], v[2]}).view({1, 3, 1, 1});
  };
  return (x - vector(preprocessing.mean)) / vector(preprocessing.std);
}

// Mixup (Zhang et al. 2018), each picture by a share of its own: x [B, 3, H, W].
torch::Tensor mixed_up(const torch::Tensor& x, double alpha, Random& random) {
  if (alpha == 0) return x;
  std::vector<float> shares;
  for (int64_t b = 0; b < x.size(0); ++b) shares.push_back(static_cast<float>(draw_beta(alpha, random)));
  return x.flip(0).lerp(x, torch::tensor(shares).view({-1, 1, 1, 1}));
}

// Kernels in the memory format of the crops, in place.
void make_channels_last(torch::nn::Module& network) {
  for (torch::Tensor& parameter : network.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

// One run: what train_distill() holds while it works.
class DistillRun {
 public:
  DistillRun(const DistillRecipe& recipe, fs::path out, const DistillEvents& events)
      : recipe_(recipe),
        out_(std::move(out)),
        events_(events),
        teacher_(frozen_network(recipe.teacher, recipe.weights)) {
    torch::manual_seed(recipe_.seed);
    student_ = make_backbone(recipe_.backbone, teacher_.backbone->classes());
    check_that(student_->stride() == teacher_.backbone->stride(), "train distill",
               "a student with the teacher's stride, so that cells are the same",
               fmt::format("strides {} and {}", student_->stride(), teacher_.backbone->stride()));
    phases_ = phases_of(recipe_, student_->stride());
    preprocessing_ = student_preprocessing();
    fill_slots();
    crops_.emplace(recipe_, events_.say);
    make_channels_last(*student_);
    if (recipe_.ema > 0) {
      average_ = copy_of(*student_);
      make_channels_last(*average_);
      averaging_.emplace(average_, recipe_.ema);
    }
    tell();
  }

  DistillResult run() {
    LoopOptions options = models::loop_options(recipe_, out_, "val_agreement");
    options.recipe.update({{"photographs", crops_->photographs()}});
    TrainingLoop loop(std::move(options), events_.moment);
    loop_ = &loop;
    make_validation();
    LoopStage stage{"distill", 0, steps(), recipe_.val_every, {{"student.", student_}}};
    if (average_) stage.modules.emplace_back("average.", average_);
    RateOptions rates;
    rates.optimizer = recipe_.optimizer;
    rates.lr = rates.network_lr = recipe_.lr;
    rates.momentum = recipe_.momentum;
    rates.weight_decay = recipe_.weight_decay;
    const std::unique_ptr<torch::optim::Optimizer> optimizer = make_optimizer(*student_, rates);
    LoopHooks hooks;
    hooks.train = [this] { student_->train(); };
    hooks.loss_of = [this](int64_t step, Random& random) { return loss_of(step, random); };
    if (average_) hooks.stepped = [this](int64_t step) { averaging_->update(*student_, step); };
    hooks.validate = [this](TrainingMoment& moment) { validate(moment); };
    loop.run(stage, *optimizer, hooks);
    const nlohmann::json& best = loop.kept().at("best");
    return {out_ / "model.safetensors", best.at("agreement"), best.at("loss")};
  }

 private:
  // The student's own, for pictures of the last phase's size.
  Preprocessing student_preprocessing() const {
    Preprocessing preprocessing = student_->preprocessing();
    const int64_t size = phases_.back().size;
    preprocessing.resize = preprocessing.resize * size / preprocessing.height;
    preprocessing.height = preprocessing.width = size;
    return preprocessing;
  }

  int64_t steps() const {
    return std::accumulate(phases_.begin(), phases_.end(), int64_t{0},
                           [](int64_t sum, const DistillPhase& phase) { return sum + phase.steps; });
  }

  void fill_slots() {
    if (recipe_.module == "none") return;
    InsertOptions options;
    options.init = recipe_.init == "identity" ? Init::identity : Init::paper;
    options.height = options.width = preprocessing_.height;
    const InsertReport report = insert(*student_, recipe_.slots, recipe_.module, options);
    events_.say(fmt::format("{}={}: {} blocks inserted, {} parameters", recipe_.slots, recipe_.module,
                            report.inserted.size(), report.parameters()));
  }

  void tell() const {
    int64_t crops = 0;
    for (const DistillPhase& phase : phases_) crops += phase.steps * phase.batch;
    events_.say(fmt::format("{} learns from {}: {} crops in {} steps; {} photographs", student_->name(),
                            teacher_.backbone->name(), crops, steps(), crops_->photographs()));
    const size_t missing = crops_->missing_grounds().size();
    if (missing > 0) {
      events_.say(fmt::format(
          "{} photographic grounds are not on this machine; painted ones stand in their place", missing));
    }
  }

  const DistillPhase& phase_of(int64_t step) const {
    for (const DistillPhase& phase : phases_) {
      if (step < phase.steps) return phase;
      step -= phase.steps;
    }
    return phases_.back();
  }

  torch::Tensor teachers_evidence(const torch::Tensor& crops) const {
    const torch::NoGradGuard no_grad;
    return teacher_.backbone->class_evidence(normalised(crops, teacher_.preprocessing));
  }

  torch::Tensor loss_of(int64_t step, Random& random) {
    const DistillPhase& phase = phase_of(step);
    const torch::Tensor crops =
        mixed_up(crops_->draw(step, phase.batch, phase.size, random.bits()), recipe_.mixup, random);
    const torch::Tensor evidence = student_->class_evidence(normalised(crops, preprocessing_));
    return distill_loss(evidence, teachers_evidence(crops), {recipe_.temperature, recipe_.pooled});
  }

  // The validation scenes, and what the teacher says of them.
  void make_validation() {
    SceneOptions options;
    options.split = Split::val;
    options.seed = recipe_.seed;
    options.size = recipe_.pool_size;
    const SceneComposer composer(options);
    std::vector<Image> scenes(static_cast<size_t>(recipe_.val_scenes));
    for_each_index(recipe_.val_scenes, at::get_num_threads(), [&](int64_t i) {
      scenes[static_cast<size_t>(i)] = resize(composer.compose(static_cast<uint64_t>(i)).image,
                                              preprocessing_.width, preprocessing_.height, Filter::bilinear);
    });
    for (const torch::Tensor& batch : picture_tensor(scenes).split(kValBatch)) {
      val_scenes_.push_back(batch);
      val_evidence_.push_back(teachers_evidence(batch));
    }
  }

  void validate(TrainingMoment& moment) {
    const torch::NoGradGuard no_grad;
    Backbone& network = average_ ? *average_ : *student_;
    network.eval();
    double loss = 0, agreed = 0;
    for (size_t i = 0; i < val_scenes_.size(); ++i) {
      const torch::Tensor& wanted = val_evidence_[i];
      const torch::Tensor evidence = network.class_evidence(normalised(val_scenes_[i], preprocessing_));
      loss += distill_loss(evidence, wanted, {/*temperature=*/1, recipe_.pooled}).item<double>() *
              static_cast<double>(wanted.size(0));
      agreed += evidence.mean({2, 3}).argmax(1).eq(wanted.mean({2, 3}).argmax(1)).sum().item<double>();
    }
    moment.val_loss = loss / static_cast<double>(recipe_.val_scenes);
    moment.val_score = agreed / static_cast<double>(recipe_.val_scenes);
    const nlohmann::json best = loop_->kept().value("best", nlohmann::json::object());
    if (!(moment.val_loss < best.value("loss", std::numeric_limits<double>::max()))) return;
    loop_->kept()["best"] = {{"agreement", moment.val_score}, {"loss", moment.val_loss}};
    keep(network, moment);
  }

  void keep(Backbone& network, const TrainingMoment& moment) const {
    const nlohmann::json provenance = {
        {"recipe", models::to_json(recipe_)},
        {"seed", recipe_.seed},
        {"data", fmt::format("what {} says of crops of scenes composed of tuxpaint-stamps-default, of their "
                             "grounds and of {} photographs",
                             recipe_.teacher, crops_->photographs())},
        {"licence", recipe_.licence.empty() ? "that of the teacher's weights" : recipe_.licence},
        {"scores", {{"val_agreement", moment.val_score}, {"val_loss", moment.val_loss}}}};
    write_model_file(out_ / "model.safetensors",
                     classifier_file(network, preprocessing_, teacher_.labels, provenance));
  }

  DistillRecipe recipe_;
  fs::path out_;
  DistillEvents events_;
  FrozenNetwork teacher_;
  std::vector<DistillPhase> phases_;
  std::shared_ptr<Backbone> student_, average_;
  Preprocessing preprocessing_;  // the student's
  std::optional<DistillCrops> crops_;
  std::optional<WeightAverage> averaging_;
  TrainingLoop* loop_ = nullptr;                          // while run() lasts
  std::vector<torch::Tensor> val_scenes_, val_evidence_;  // batches of [B, 3, H, W], [B, K, h, w]
};

}  // namespace

DistillResult train_distill(const DistillRecipe& recipe, const fs::path& out, const DistillEvents& events) {
  check(recipe);
  return DistillRun(recipe, out, events).run();
}

}  // namespace gaze::models
