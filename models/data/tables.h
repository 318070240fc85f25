// The committed tables of models/data/tables, compiled into the library. Includes no torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gaze::models {

// Which part of the data a stamp, a ground or a scene belongs to.
enum class Split { train, val, test };

// "train", "val", "test". split_from_text throws ArgumentError.
const char* split_text(Split split);
Split split_from_text(const std::string& text);

// What to call one thing, and several.
struct Noun {
  std::string singular;
  std::string plural;
  std::string article;  // "a", "an" or, for "grapes", none

  std::string one() const { return article.empty() ? singular : article + " " + singular; }
};

bool operator==(const Noun& a, const Noun& b);
bool operator!=(const Noun& a, const Noun& b);

// One cut-out photograph of Debian's tuxpaint-stamps-default.
struct Stamp {
  std::string file;  // relative to the stamps' folder
  std::string noun, plural, article, category;
  std::vector<std::string> synonyms;  // also right in a caption
  std::vector<int64_t> imagenet;      // classes it shows
  std::optional<int64_t> sure_class;  // the class the ImageNet network is sure of, where it is right
  Split split = Split::train;

  Noun name() const { return {noun, plural, article}; }
};

// What to call an ImageNet class in a caption.
struct ClassNoun {
  int64_t index = 0;
  std::string name, noun, plural, article, category;
  std::vector<std::string> synonyms;

  Noun noun_forms() const { return {noun, plural, article}; }
};

// A real photograph: what it is for, and which nouns name its main thing.
struct Photograph {
  std::string id;
  std::string package, source;  // who carries it: "opencv-doc", "debian" or "pypi"
  std::string path;             // in that package
  std::string file;             // of the copy in tests/photos, for the bundled ones
  std::string role;             // "demo", "test", "ground"
  std::string ground;           // what a ground shows: "grass"
  std::string licence, credit;
  std::vector<std::string> nouns;
  bool bundled = false;
  Split split = Split::train;  // of grounds
};

// Each is read once, when it is first asked for.
const std::vector<Stamp>& stamp_table();
const std::vector<ClassNoun>& class_nouns();  // in the order of the classes
const std::vector<Photograph>& photograph_table();

// Every text that names what the stamp shows: its noun, its synonyms, and the noun of its sure class.
std::vector<std::string> accepted_nouns(const Stamp& stamp);

// The plural of an accepted noun: the table's where it has one, else by rule.
std::string plural_of(const std::string& noun);

}  // namespace gaze::models
