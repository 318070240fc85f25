#include "models/checkpoint/pickle.h"

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "modules/core/error.h"

namespace gaze::models {
namespace {

using namespace std::string_literals;
using Kind = PickledValue::Kind;

class PickleTest : public ::testing::Test {
 protected:
  Pickle read(const std::string& bytes) {
    test::write_file(path_, bytes);
    const FileReader file(path_);
    ByteCursor cursor(file, 0, file.size());
    Pickle pickle = read_pickle(file, cursor);
    EXPECT_EQ(cursor.remaining(), 0U);
    return pickle;
  }
  int64_t integer(const std::string& bytes) {
    const Pickle pickle = read(bytes);
    EXPECT_EQ(pickle.root->kind, Kind::integer);
    return pickle.root->integer;
  }
  void expect_error(const std::string& bytes, const std::string& text) {
    EXPECT_THROWS_WITH(read(bytes), FileError, path_.string() + ": " + text);
  }
  void expect_damaged(const std::string& bytes, const std::string& text) {
    expect_error(bytes, "is damaged: its pickle " + text + "; copy or download it again");
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.pkl";
};

const std::string kSave = "; save it in Python with torch.save(model.state_dict(), FILE)";

TEST_F(PickleTest, Numbers) {
  EXPECT_EQ(integer("\x80\x02K\xff."s), 255);
  EXPECT_EQ(integer("\x80\x02M\xe9\x03."s), 1001);
  EXPECT_EQ(integer("\x80\x02J\xfe\xff\xff\xff."s), -2);
  EXPECT_EQ(integer("\x80\x02\x8a\x00."s), 0);
  EXPECT_EQ(integer("\x80\x02\x8a\x02\x00\xff."s), -256);
  EXPECT_EQ(integer("\x80\x02\x8a\x05\x00\x00\x00\x00\x01."s), int64_t{1} << 32);
  EXPECT_EQ(integer("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff."s), -1);
  EXPECT_EQ(read("\x80\x02G\xbf\xf8\0\0\0\0\0\0."s).root->real, -1.5);
  const Pickle big = read("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s);
  EXPECT_EQ(big.root->kind, Kind::big_integer);
  EXPECT_EQ(big.root->text.size(), 10U);
}

TEST_F(PickleTest, Containers) {
  // {"a": [1, (True, None)], "b": b"xy"}
  const Pickle pickle = read(
      "\x80\x02}q\x00(X\x01\0\0\0a]q\x01(K\x01\x88N\x86q\x02"
      "eX\x01\0\0\0b"
      "C\x02xyu."s);
  ASSERT_EQ(pickle.root->kind, Kind::dict);
  const PickledValue* list = pickle.root->find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0]->integer, 1);
  ASSERT_EQ(list->items[1]->kind, Kind::tuple);
  EXPECT_EQ(list->items[1]->items[0]->integer, 1);
  EXPECT_EQ(list->items[1]->items[1]->kind, Kind::none);
  EXPECT_EQ(pickle.root->find("b")->text, "xy");
  EXPECT_EQ(pickle.root->find("c"), nullptr);
}

TEST_F(PickleTest, ProtocolFourWithFramesAndMemo) {
  // ["ab", "ab", {1}]
  const Pickle pickle = read(
      "\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94(\x8c\x02"
      "ab\x94h\x01\x8f\x94(K\x01\x90"
      "e."s);
  ASSERT_EQ(pickle.root->items.size(), 3U);
  EXPECT_EQ(pickle.root->items[0], pickle.root->items[1]);
  EXPECT_EQ(pickle.root->items[0]->text, "ab");
  EXPECT_EQ(pickle.root->items[2]->kind, Kind::set);
}

TEST_F(PickleTest, CallsBecomeDescriptions) {
  const Pickle pickle = read(
      "\x80\x02"
      "cposix\nsystem\nX\x02\0\0\0ls\x85R}X\x01\0\0\0kK\x01sb."s);
  ASSERT_TRUE(pickle.root->is_object("posix.system"));
  EXPECT_EQ(pickle.root->arguments->items[0]->text, "ls");
  EXPECT_EQ(pickle.root->state->find("k")->integer, 1);
  const Pickle made = read(
      "\x80\x04\x8c\x01m\x8c\x01"
      "C\x93)\x81."s);
  EXPECT_TRUE(made.root->is_object("m.C"));
}

TEST_F(PickleTest, OrderedDictIsADict) {
  const std::string make =
      "\x80\x02"
      "ccollections\nOrderedDict\n"s;
  const Pickle filled = read(make + ")R(X\x01\0\0\0aK\x01X\x01\0\0\0aK\x02u."s);
  EXPECT_EQ(filled.root->kind, Kind::dict);
  EXPECT_EQ(filled.root->find("a")->integer, 2);  // the later one holds
  const Pickle of_pairs = read(make +
                               "]](U\x01"
                               "bK\x03"
                               "ea\x85R."s);
  EXPECT_EQ(of_pairs.root->find("b")->integer, 3);
  expect_damaged(make +
                     "]K\x01"
                     "a\x85R."s,
                 "builds an OrderedDict of no pairs (before byte 33)");
}

TEST_F(PickleTest, AListMayHoldItself) {
  const Pickle pickle = read(
      "\x80\x02]q\x00h\x00"
      "a."s);
  EXPECT_EQ(pickle.root->items[0], pickle.root);
}

TEST_F(PickleTest, HostileNestingIsRefused) {
  const size_t deep = 200000;
  const std::string text = "nests its data more than 1000 deep" + kSave;
  expect_error("\x80\x02"s + std::string(deep, ']') + std::string(deep - 1, 'a') + ".", text);
  expect_error("\x80\x02"s + std::string(deep, '('), text);
  expect_error("\x80\x02N"s + std::string(deep, '\x85') + ".", text);
  std::string dicts = "\x80\x02}"s;
  for (size_t i = 0; i < deep; ++i) dicts += "N}";
  expect_error(dicts + std::string(deep, 's') + ".", text);
  EXPECT_NO_THROW(read("\x80\x02"s + std::string(900, ']') + std::string(899, 'a') + "."));
}

TEST_F(PickleTest, MoreDataThanTheFileCanJustify) {
  expect_error("\x80\x02"s + std::string(1000000, ']') + ".",
               "holds more plain data than a checkpoint should" + kSave);
  expect_error(
      "\x80\x02(N"s + std::string(1100000, '2') + "t.",
      "is damaged: its pickle piles up too many values (before byte 1048580); copy or download it again");
}

TEST_F(PickleTest, LengthsThatLie) {
  const std::string cut = "ends in the middle of a pickle; copy or download it again";
  expect_error("\x80\x02X\xff\xff\xff\x7f", cut);
  expect_error("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", cut);
  expect_error("\x80\x02\x8b\xff\xff\xff\x7f", cut);
  expect_error("\x80\x02K", cut);
  expect_error("\x80\x02K\x01", cut);
  expect_error(
      "\x80\x02"
      "cos",
      cut);
  expect_damaged("\x80\x04\x95\xff\0\0\0\0\0\0\0N."s, "has a frame longer than the file (before byte 11)");
  expect_error(
      "\x80\x02"
      "c" +
          std::string(5000, 'a') + "\n",
      "is damaged: a line of a pickle is too long; copy or download it again");
}

TEST_F(PickleTest, ProgramsThatMakeNoSense) {
  expect_damaged("\x80\x02.", "takes a value that is not there (before byte 3)");
  expect_damaged("\x80\x02t.", "takes a mark that is not there (before byte 3)");
  expect_damaged("\x80\x02(\x85.", "takes a value that is not there (before byte 4)");
  expect_damaged("\x80\x02(K\x01u.", "takes a value that is not there (before byte 6)");
  expect_damaged("\x80\x02}(K\x01u.", "gives a dict a key without a value (before byte 7)");
  expect_damaged(
      "\x80\x02K\x01K\x02"
      "a.",
      "adds to a value that holds no others (before byte 7)");
  expect_damaged("\x80\x02Nq\x00N}b."s, "sets the state of a value that has none (before byte 8)");
  expect_damaged("\x80\x02h\x05.", "recalls a value it has not stored (before byte 4)");
  expect_damaged("\x80\x04K\x01K\x02\x93.", "names a class by no text (before byte 7)");
  expect_error("\x80\x09N.", "is a pickle of protocol 9; 5 is the newest known" + kSave);
  expect_error(
      "\x80\x02S'a'\n.",
      "is damaged or was not written by torch.save: its pickle has the operation 0x53 before byte 3" + kSave);
}

}  // namespace
}  // namespace gaze::models
