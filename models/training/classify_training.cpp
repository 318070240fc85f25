#include "models/training/classify_training.h"
#include "models/data/for_each_index.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "models/backbone/classifier_file.h"
#include "models/backbone/insert.h"
#include "models/backbone/parameter_groups.h"
#include "models/training/epoch_order.h"
#include "models/training/fine_tuning.h"
#include "models/training/picture_batch.h"
#include "models/training/weight_average.h"
#include "modules/core/atomic_file.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kValBatch = 16;
constexpr int64_t kPictureBudget = int64_t{1} << 30;  // bytes of training pictures that are kept
constexpr int64_t kInputBudget = int64_t{512} << 20;  // bytes of validation inputs that are kept

// Whether the network's head is one for these classes.
bool has_head_for(const ClassifyStart& start, const std::vector<std::string>& classes) {
  return start.labels.empty() ? start.network->classes() == static_cast<int64_t>(classes.size())
                              : start.labels == classes;
}

// The input at another size; a centre crop keeps its share of the picture.
Preprocessing resized(Preprocessing preprocessing, int64_t size) {
  if (size == 0) return preprocessing;
  preprocessing.resize = preprocessing.resize * size / std::max(preprocessing.height, preprocessing.width);
  preprocessing.resize = std::max(preprocessing.resize, size);
  preprocessing.height = preprocessing.width = size;
  return preprocessing;
}

// What validation found.
struct Judgement {
  double loss = 0;
  Confusion confusion;
  std::vector<GateSummary> gates;
};

// One run: what train_classify() holds while it works.
class ClassifyRun {
 public:
  ClassifyRun(const ClassifyRecipe& recipe, const ClassifyStart& start, const ImageFolder& pictures,
              fs::path out, const ClassifyEvents& events)
      : recipe_(recipe),
        out_(std::move(out)),
        events_(events),
        classes_(pictures.classes),
        data_(fmt::format("{}: {} pictures to train on, {} to validate on, {} classes", start.data,
                          pictures.train.size(), pictures.val.size(), pictures.classes.size())),
        preprocessing_(resized(start.preprocessing, recipe.size)),
        train_(pictures.train, 2 * std::max(preprocessing_.height, preprocessing_.width), kPictureBudget,
               pictures.image),
        image_(pictures.image),
        val_(pictures.val),
        batch_(std::min(recipe.batch, train_.size())),
        order_(recipe.seed) {
    torch::manual_seed(recipe_.seed);
    network_ = start.network;
    new_head_ = !has_head_for(start, classes_);
    if (new_head_) {
      events_.say(fmt::format("a new head for {} classes takes the place of one for {}", classes_.size(),
                              network_->classes()));
      network_ = with_new_head(*network_, static_cast<int64_t>(classes_.size()));
    }
    insert_blocks();
    check_that(recipe_.epochs > 0 || (recipe_.block_epochs > 0 && (inserted_ || new_head_)), "train classify",
               "something to train", "0 epochs, no new blocks and the head as it was");
    if (recipe_.ema > 0) {
      average_ = copy_of(*network_);
      averaging_.emplace(average_, recipe_.ema);
    }
  }

  ClassifyResult run() {
    TrainingLoop loop(loop_options(), events_.moment);
    loop_ = &loop;
    if (loop.resumed_stage().empty())
      write_atomically(out_ / "gates.csv", "stage,step,gate,mean,deviation,near_0,near_half,near_1\n");
    if (loop.resumed_stage() != "all") block_stage();
    if (recipe_.epochs > 0) whole_stage();
    const nlohmann::json& best = loop.kept().at("best");
    ClassifyResult result{out_ / "model.safetensors", best.at("accuracy"), best.at("loss"),
                          Confusion(classes_)};
    result.confusion.counts = best.at("confusion").get<std::vector<std::vector<int64_t>>>();
    return result;
  }

 private:
  LoopOptions loop_options() {
    LoopOptions options = models::loop_options(recipe_, out_, "val_accuracy");
    options.recipe.update({{"classes", classes_},
                           {"pictures", {train_.size(), val_.size()}},
                           {"backbone", describe_backbone(*network_)},
                           {"slots", describe_slots(*network_)}});
    return options;
  }

  void insert_blocks() {
    std::vector<std::string> places;
    for (const std::string& text : recipe_.insert) {
      const Insertion insertion = insertion_from_text(text);
      InsertOptions options;
      options.init = recipe_.init == "identity" ? Init::identity : Init::paper;
      options.height = preprocessing_.height;
      options.width = preprocessing_.width;
      const InsertReport report = insert(*network_, insertion.pattern, insertion.spec, options);
      for (const InsertedBlock& block : report.inserted)
        places.push_back(fmt::format("{}.{}", block.slot, block.index));
      events_.say(fmt::format("{}: {} blocks inserted, {} parameters{}", text, report.inserted.size(),
                              report.parameters(),
                              report.identity() ? ", the network's output is as it was" : ""));
    }
    inserted_ = !places.empty();
    quick_ = block_parameters(*network_, places);
    for (const std::string& name : head_parameters(*network_)) quick_.push_back(name);
  }

  void block_stage() {
    // With the head as it was and nothing inserted there is nothing for this stage to train.
    if (recipe_.block_epochs == 0 || !(inserted_ || new_head_)) return;
    freeze(*network_, "*");
    const std::set<std::string> quick(quick_.begin(), quick_.end());
    for (auto& item : network_->named_parameters()) {
      if (quick.count(item.key()) > 0) item.value().set_requires_grad(true);
    }
    stage("blocks", 0, recipe_.block_epochs, false);
  }

  void whole_stage() {
    unfreeze(*network_, "*");
    stage("all", 1, recipe_.epochs, recipe_.norms == "trained");
  }

  void stage(const std::string& name, uint64_t number, int64_t epochs, bool norms_train) {
    const int64_t steps = train_.size() / batch_;  // an epoch
    LoopStage stage{name, number, epochs * steps, steps, {{"network.", network_}}};
    if (average_) stage.modules.emplace_back("average.", average_);
    RateOptions rates;
    rates.optimizer = recipe_.optimizer;
    rates.quick = quick_;
    rates.lr = recipe_.lr;
    rates.network_lr = recipe_.network_lr;
    rates.momentum = recipe_.momentum;
    rates.weight_decay = recipe_.weight_decay;
    const std::unique_ptr<torch::optim::Optimizer> optimizer = make_optimizer(*network_, rates);
    // The average goes through both stages.
    const int64_t before = number == 0 ? 0 : recipe_.block_epochs * steps;
    LoopHooks hooks;
    hooks.train = [this, norms_train] {
      network_->train();
      if (!norms_train) set_norms_training(*network_, false);
    };
    hooks.loss_of = [this, number](int64_t step, Random& random) { return loss_of(step, number, random); };
    if (average_)
      hooks.stepped = [this, before](int64_t step) { averaging_->update(*network_, before + step); };
    hooks.validate = [this](TrainingMoment& moment) { validate(moment); };
    loop_->run(stage, *optimizer, hooks);
  }

  torch::Tensor loss_of(int64_t step, uint64_t number, Random& random) {
    const std::vector<int64_t> indices = order_.batch_of(step, train_.size(), batch_, number);
    std::vector<int64_t> labels;
    for (const int64_t i : indices) labels.push_back(train_.picture(i).label);
    const torch::Tensor inputs =
        cropped_inputs(train_, indices, {recipe_.smallest_crop, recipe_.flip}, preprocessing_, random.bits());
    const double share = recipe_.mixup > 0 ? draw_beta(recipe_.mixup, random) : 1;
    const MixedBatch batch = mixed(inputs, labels, static_cast<int64_t>(classes_.size()), share);
    return torch::nn::functional::cross_entropy(
        network_->forward(batch.inputs), batch.targets,
        torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(recipe_.label_smoothing));
  }

  // Validation pictures first .. last - 1 as `gaze classify` prepares them: [B, 3, H, W].
  torch::Tensor val_inputs(size_t first, size_t last) {
    const size_t batch = first / kValBatch;
    if (batch < val_batches_.size()) return val_batches_[batch];
    std::vector<torch::Tensor> inputs(last - first);
    for_each_index(static_cast<int64_t>(last - first), at::get_num_threads(), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      inputs[at] = preprocess(load_image(val_[first + at].file, image_), preprocessing_).input;
    });
    const torch::Tensor stacked = torch::stack(inputs);
    kept_bytes_ += stacked.numel() * 4;
    if (batch == val_batches_.size() && kept_bytes_ <= kInputBudget) val_batches_.push_back(stacked);
    return stacked;
  }

  Judgement judge(Backbone& network) {
    const torch::NoGradGuard no_grad;
    network.eval();
    Judgement judgement;
    judgement.confusion = Confusion(classes_);
    GateStatistics gates;
    for (size_t first = 0; first < val_.size(); first += kValBatch) {
      const size_t last = std::min(val_.size(), first + kValBatch);
      const MapRecorder recorder;
      const torch::Tensor logits = network.forward(val_inputs(first, last));  // [B, K]
      gates.add(recorder.maps());
      std::vector<int64_t> labels;
      for (size_t i = first; i < last; ++i) labels.push_back(val_[i].label);
      const torch::Tensor losses = torch::nn::functional::cross_entropy(
          logits, torch::tensor(labels),
          torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
      judgement.loss += losses.item<double>();
      const torch::Tensor said = logits.argmax(1);
      for (size_t i = first; i < last; ++i)
        judgement.confusion.add(val_[i].label, said[static_cast<int64_t>(i - first)].item<int64_t>());
    }
    judgement.loss /= static_cast<double>(val_.size());
    judgement.gates = gates.summaries();
    return judgement;
  }

  void validate(TrainingMoment& moment) {
    Backbone& network = average_ ? *average_ : *network_;
    const Judgement judgement = judge(network);
    moment.val_loss = judgement.loss;
    moment.val_score = judgement.confusion.accuracy();
    tell_gates(moment, judgement.gates);
    const nlohmann::json best = loop_->kept().value("best", nlohmann::json::object());
    const double accuracy = best.value("accuracy", -1.0);
    const double loss = best.value("loss", std::numeric_limits<double>::max());
    if (moment.val_score < accuracy || (moment.val_score == accuracy && !(moment.val_loss < loss))) return;
    loop_->kept()["best"] = {
        {"accuracy", moment.val_score}, {"loss", moment.val_loss}, {"confusion", judgement.confusion.counts}};
    const nlohmann::json provenance = {
        {"recipe", models::to_json(recipe_)},
        {"seed", recipe_.seed},
        {"data", data_},
        {"licence", recipe_.licence.empty() ? "that of the weights it grew from" : recipe_.licence},
        {"scores", {{"val_accuracy", moment.val_score}, {"val_loss", moment.val_loss}}}};
    write_model_file(out_ / "model.safetensors",
                     classifier_file(network, preprocessing_, classes_, provenance));
    write_atomically(out_ / "confusion.csv", judgement.confusion.csv());
  }

  // Into gates.csv; gates that have got stuck are said once.
  void tell_gates(const TrainingMoment& moment, const std::vector<GateSummary>& gates) {
    std::ofstream file(out_ / "gates.csv", std::ios::app);
    std::vector<GateSummary> news;
    for (const GateSummary& gate : gates) {
      file << fmt::format("{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", moment.stage, moment.step,
                          gate.name, gate.mean, gate.deviation, gate.near_zero, gate.near_half,
                          gate.near_one);
      if (!gate.stuck_at().empty() && said_.insert(gate.name + gate.stuck_at()).second) news.push_back(gate);
    }
    for (const std::string& line : stuck_lines(news))
      events_.say(fmt::format("{} step {}: {}", moment.stage, moment.step, line));
  }

  ClassifyRecipe recipe_;
  fs::path out_;
  ClassifyEvents events_;
  std::vector<std::string> classes_;
  std::string data_;
  Preprocessing preprocessing_;
  PictureStore train_;
  ImageOptions image_;
  std::vector<LabelledPicture> val_;
  int64_t batch_;
  EpochOrder order_;
  bool new_head_ = false, inserted_ = false;
  std::shared_ptr<Backbone> network_, average_;
  std::optional<WeightAverage> averaging_;
  std::vector<std::string> quick_;  // names of the parameters of the new blocks and the head
  TrainingLoop* loop_ = nullptr;    // while run() lasts
  std::vector<torch::Tensor> val_batches_;
  int64_t kept_bytes_ = 0;
  std::set<std::string> said_;
};

}  // namespace

ClassifyResult train_classify(const ClassifyRecipe& recipe, const ClassifyStart& start,
                              const ImageFolder& pictures, const fs::path& out,
                              const ClassifyEvents& events) {
  check(recipe);
  return ClassifyRun(recipe, start, pictures, out, events).run();
}

}  // namespace gaze::models
