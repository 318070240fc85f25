#include "models/data/scenes.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "models/data/grounds.h"
#include "models/data/pixels.h"
#include "models/data/scene_layout.h"
#include "modules/core/error.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

constexpr int64_t kAttempts = 400;
constexpr double kLeastInside = 0.85, kLeastVisible = 0.55, kMostVisibleBehind = 0.92;

enum Purpose : uint64_t { kPlan = 1, kGroundDraw = 2, kObjects = 3, kFinish = 4 };

// What one attempt at a scene settled on.
struct Attempt {
  std::vector<const Stamp*> stamps;
  std::vector<Raster> layers;
  std::vector<Mask> masks;
};

Light draw_light(Random& random, double darkest, double brightest) {
  Light light;
  light.contrast = random.uniform(0.85, 1.15);
  const double brightness = random.uniform(darkest, brightest);
  for (double& gain : light.gain) gain = brightness * random.uniform(0.94, 1.06);
  return light;
}

PoseRequest request_for(const Stamp& stamp) {
  static const std::set<std::string> round = {
      "coin",   "planet", "moon",   "basketball", "soccer ball", "tennis ball", "cricket ball", "wheel",
      "wreath", "apple",  "orange", "lemon",      "lime",        "tomato",      "potato",       "shell",
      "walnut", "almond", "key",    "scissors",   "pliers",      "wrench",      "paintbrush",   "marker"};
  PoseRequest request;
  request.any_way = round.count(stamp.noun) > 0;
  if (stamp.category == "building" || stamp.category == "vehicle") request.turn = 0.1;
  request.may_flip = stamp.noun != "sign" && stamp.noun != "gravestone" && stamp.noun != "coin";
  return request;
}

// A picture cannot show both and be sure of its words: one's name would be right for the other.
bool confusable(const Stamp& a, const Stamp& b) {
  const std::vector<std::string> names = accepted_nouns(a), others = accepted_nouns(b);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) != others.end();
  });
}

void add_noise(Image& picture, int64_t strength, Random& random) {
  for (size_t i = 0; i < picture.rgb.size(); i += 8) {
    uint64_t bits = random.bits();
    for (size_t j = i; j < std::min(i + 8, picture.rgb.size()); ++j, bits >>= 8) {
      const int64_t value = picture.rgb[j] + (static_cast<int64_t>(bits & 255) - 128) * strength / 128;
      picture.rgb[j] = static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
    }
  }
}

}  // namespace

struct SceneComposer::Sources {
  struct Source {
    const Stamp* stamp = nullptr;
    std::once_flag once;
    Cutout cutout;
  };

  explicit Sources(const SceneOptions& options) : options(options), grounds(options.split, options.folders) {
    const std::filesystem::path folder = stamps_folder(options.folders);
    for (const Stamp& stamp : stamp_table()) {
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(folder / stamp.file, ignored)) {
        throw FileError(
            (folder / stamp.file).string(), "this stamp is not installed",
            "install the package tuxpaint-stamps-default (apt-get install tuxpaint-stamps-default)");
      }
      if (stamp.split != Split::train && stamp.split != options.split) continue;
      if (!options.nouns.empty() &&
          std::find(options.nouns.begin(), options.nouns.end(), stamp.noun) == options.nouns.end())
        continue;
      auto source = std::make_unique<Source>();
      source->stamp = &stamp;
      (stamp.split == Split::train ? training : held_out).push_back(std::move(source));
    }
  }

  const Cutout& cutout_of(Source& source) const {
    std::call_once(source.once,
                   [&] { source.cutout = load_cutout(stamps_folder(options.folders) / source.stamp->file); });
    return source.cutout;
  }

  // Scenes of certain nouns show one object, of a noun that has stamps to draw from.
  void check_nouns() const {
    if (options.nouns.empty()) return;
    if (options.max_objects != 1) {
      throw ArgumentError(fmt::format(
          "[scenes] expected max_objects 1 where nouns are given; got max_objects {}", options.max_objects));
    }
    for (const std::string& noun : options.nouns) {
      const bool known = std::any_of(training.begin(), training.end(),
                                     [&](const auto& source) { return source->stamp->noun == noun; });
      if (!known)
        throw ArgumentError(fmt::format("[scenes] expected nouns of training stamps; got \"{}\"", noun));
    }
    if (options.split != Split::train && options.held_out > 0 && held_out.empty()) {
      throw ArgumentError(
          fmt::format("[scenes] expected held_out 0 for nouns without held-out stamps; got held_out {}",
                      options.held_out));
    }
  }

  using Pool = std::vector<std::unique_ptr<Source>>;

  // Another stamp of the same kind, possibly the same one; or one that cannot be taken for any of `chosen`.
  Source& draw_source(const Pool& pool, const std::vector<Source*>& chosen, bool alike,
                      Random& random) const {
    std::vector<Source*> fitting;
    for (const auto& source : pool) {
      const bool fits = alike && !chosen.empty()
                            ? source->stamp->noun == chosen[0]->stamp->noun &&
                                  source->stamp->sure_class == chosen[0]->stamp->sure_class
                            : std::none_of(chosen.begin(), chosen.end(), [&](const Source* other) {
                                return confusable(*other->stamp, *source->stamp);
                              });
      if (fits) fitting.push_back(source.get());
    }
    return *fitting.at(static_cast<size_t>(random.below(static_cast<int64_t>(fitting.size()))));
  }

  // `pools`: where each object's stamp comes from.
  std::optional<Attempt> attempt(const Layout& layout, const std::vector<const Pool*>& pools, int64_t width,
                                 int64_t height, Random& random) const;

  SceneOptions options;
  Grounds grounds;
  Pool training, held_out;
};

std::optional<Attempt> SceneComposer::Sources::attempt(const Layout& layout,
                                                       const std::vector<const Pool*>& pools, int64_t width,
                                                       int64_t height, Random& random) const {
  Attempt result;
  std::vector<Source*> chosen;
  std::vector<double> whole;  // pixels each object would cover, alone and inside
  for (const Place& place_for : layout.places) {
    const Pool& pool = *pools.at(chosen.size());
    Source& source = draw_source(pool, chosen, layout.alike, random);
    const Cutout& cutout = cutout_of(source);
    Pose pose;
    if (!draw_pose(cutout, place_for, request_for(*source.stamp), width, height, random, pose))
      return std::nullopt;
    chosen.push_back(&source);
    result.stamps.push_back(source.stamp);
    result.layers.push_back(place(cutout, pose, draw_light(random, 0.8, 1.25), width, height));
    whole.push_back(cutout.coverage * static_cast<double>(cutout.width() * cutout.height()) * pose.scale *
                    pose.scale);
  }

  // Earlier objects hide later ones.
  const size_t pixels = static_cast<size_t>(width * height);
  Mask taken(pixels, 0);
  for (size_t i = 0; i < result.layers.size(); ++i) {
    Mask mask(pixels, 0);
    int64_t inside = 0, visible = 0;
    for (size_t p = 0; p < pixels; ++p) {
      if (result.layers[i].rgba[4 * p + 3] < 128) continue;
      ++inside;
      if (taken[p]) continue;
      taken[p] = mask[p] = 1;
      ++visible;
    }
    const double shown = static_cast<double>(visible) / static_cast<double>(std::max<int64_t>(1, inside));
    const bool behind = layout.in_front && i == 1;
    if (static_cast<double>(inside) < kLeastInside * whole[i]) return std::nullopt;
    if (shown < (behind ? kLeastVisible : 0.999) || (behind && shown > kMostVisibleBehind))
      return std::nullopt;
    const double share = static_cast<double>(visible) / static_cast<double>(pixels);
    if (share < kSmallestShare || share > layout.largest_share) return std::nullopt;
    result.masks.push_back(std::move(mask));
  }

  std::vector<Extent> extents;
  for (const Mask& mask : result.masks) extents.push_back(extent_of(mask, width, height));
  for (const SceneRelation& relation : layout.relations) {
    if (relation.name == "in front of") continue;  // the masks said so
    const Extent &a = extents[static_cast<size_t>(relation.first)],
                 &b = extents[static_cast<size_t>(relation.second)];
    if (!relation_holds(relation.name, a, b, width, height)) return std::nullopt;
  }
  return result;
}

SceneFacts facts_of(const Scene& scene) {
  SceneFacts facts;
  for (const SceneObject& object : scene.objects) facts.objects.push_back(object.noun);
  facts.relations = scene.relations;
  facts.ground = scene.ground;
  return facts;
}

SceneComposer::SceneComposer(const SceneOptions& options) {
  if (options.min_objects < 1 || options.max_objects > 3 || options.min_objects > options.max_objects) {
    throw ArgumentError(fmt::format(
        "[scenes] expected 1 <= min_objects <= max_objects <= 3; got min_objects {}, max_objects {}",
        options.min_objects, options.max_objects));
  }
  if (options.size < 64 || options.size > 2048) {
    throw ArgumentError(fmt::format("[scenes] expected size 64 to 2048; got size {}", options.size));
  }
  sources_ = std::make_unique<Sources>(options);
  sources_->check_nouns();
}

SceneComposer::~SceneComposer() = default;
SceneComposer::SceneComposer(SceneComposer&&) noexcept = default;
SceneComposer& SceneComposer::operator=(SceneComposer&&) noexcept = default;

const SceneOptions& SceneComposer::options() const {
  return sources_->options;
}
std::vector<std::string> SceneComposer::missing_grounds() const {
  return sources_->grounds.missing();
}

Scene SceneComposer::compose(uint64_t index) const {
  const SceneOptions& options = sources_->options;
  const uint64_t split = static_cast<uint64_t>(options.split);
  // Each purpose has its own numbers, so that a rejected attempt or a missing ground changes nothing else.
  Random plan{options.seed, split, index, kPlan};
  const int64_t objects = plan.between(options.min_objects, options.max_objects);
  Scene scene;
  scene.held_out = plan.chance(options.held_out) && options.split != Split::train;
  int64_t width = options.size, height = options.size;
  const double aspect = plan.uniform(0.6, 1.0);
  const bool tall = plan.chance(0.3);
  if (options.vary_aspect) (tall ? width : height) = static_cast<int64_t>(options.size * aspect);
  Random layout_numbers{options.seed, split, index, kPlan, 1};
  const bool close_up = objects == 1 && layout_numbers.chance(options.close_ups);
  const Layout kind = close_up ? close_up_layout() : draw_layout(objects, layout_numbers);

  // At least half of a held-out scene's objects, the first as often as any other, are held-out stamps;
  // several of one kind are all.
  const int64_t drawn = plan.between((objects + 1) / 2, objects);
  const int64_t held = !scene.held_out ? 0 : kind.alike ? objects : drawn;
  const int64_t first_held = plan.below(objects);
  std::vector<const Sources::Pool*> pools(static_cast<size_t>(objects), &sources_->training);
  for (int64_t i = 0; i < held; ++i) {
    pools[static_cast<size_t>((first_held + i) % objects)] = &sources_->held_out;
  }
  std::optional<Attempt> attempt;
  for (uint64_t i = 0; i < kAttempts && !attempt; ++i) {
    Random random{options.seed, split, index, kObjects, i};
    attempt = sources_->attempt(kind, pools, width, height, random);
  }
  if (!attempt) throw std::logic_error(fmt::format("[scenes] no arrangement found for scene {}", index));

  Random ground_numbers{options.seed, split, index, kGroundDraw};
  Ground ground = sources_->grounds.draw(ground_numbers, width, height);
  scene.image = std::move(ground.picture);
  scene.ground = ground.name;
  const std::string phrase = ground_phrase(scene.ground);

  Random finish{options.seed, split, index, kFinish};
  const bool shadows = phrase.rfind("against the sky", 0) != 0 && finish.chance(0.7);
  const int64_t unit = std::max<int64_t>(1, options.size / 80);
  const int64_t shadow_x = finish.between(-2 * unit, 2 * unit), shadow_y = finish.between(0, 2 * unit);
  const double darkness = finish.uniform(0.2, 0.55);
  for (size_t i = attempt->layers.size(); i-- > 0;) {
    if (shadows) cast_shadow(attempt->layers[i], shadow_x, shadow_y, unit, darkness, scene.image);
    paint(attempt->layers[i], scene.image);
  }
  if (finish.chance(0.3)) relight(draw_light(finish, 0.85, 1.15), scene.image);
  for (int64_t pass = finish.chance(0.35) ? finish.between(1, 2) : 0; pass > 0; --pass) soften(scene.image);
  if (finish.chance(0.25)) add_noise(scene.image, finish.between(3, 10), finish);

  scene.relations = kind.relations;
  for (size_t i = 0; i < attempt->stamps.size(); ++i) {
    scene.objects.push_back({attempt->stamps[i]->name(), attempt->stamps[i], std::move(attempt->masks[i])});
  }
  scene.captions = scene_captions(facts_of(scene));
  return scene;
}

}  // namespace gaze::models
