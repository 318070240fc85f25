// The committed tables of models/data/tables, compiled into the program. Includes no torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gaze::models {

enum class Split { train, val, test };

// One cut-out photograph of Debian's tuxpaint-stamps-default.
struct Stamp {
  std::string file;  // relative to the stamps' folder
  std::string noun, plural, category;
  std::vector<std::string> synonyms;
  std::vector<int64_t> imagenet;      // classes it shows
  std::optional<int64_t> sure_class;  // the class the ImageNet network is sure of, where it is right
  Split split = Split::train;
};

// What to call an ImageNet class in a caption.
struct ClassNoun {
  int64_t index = 0;
  std::string name, noun, plural, article, category;
  std::vector<std::string> synonyms;
};

// A real photograph: what it is for, and which nouns name its main thing.
struct Photograph {
  std::string id, package, source, path, role, ground, licence;
  std::vector<std::string> nouns;
  bool bundled = false;
  Split split = Split::train;  // of grounds
};

const std::vector<Stamp>& stamp_table();
const std::vector<ClassNoun>& class_nouns();
const std::vector<Photograph>& photograph_table();

}  // namespace gaze::models
