#include "models/checkpoint/pickle.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

namespace gaze::models {
namespace {

using Kind = PickledValue::Kind;

constexpr uint32_t kDeepest = 1000;
constexpr size_t kTallestStack = 1 << 20;
constexpr uint64_t kAllowance = 24 << 20;
constexpr uint64_t kPointerCharge = 2 * sizeof(void*);  // vectors grow by doubling
constexpr uint64_t kMemoCharge = 64;
constexpr const char* kWhat = "a pickle";

// The machine a pickle is a program for. Its stack holds values; its loop holds all state, so that nesting
// costs no stack of ours.
class Unpickler {
 public:
  Unpickler(const FileReader& file, ByteCursor& cursor)
      : file_(file), cursor_(cursor), budget_(kAllowance + file.size()) {}

  Pickle run() {
    while (!step(cursor_.byte(kWhat))) {
    }
    return std::move(pickle_);
  }

 private:
  bool step(uint8_t code);  // true at the end

  [[noreturn]] void malformed(const char* why) const {
    file_.fail(fmt::format("is damaged: its pickle {} (before byte {})", why, cursor_.position()),
               kCopyAgain);
  }

  void charge(uint64_t bytes) {
    if (bytes > budget_) file_.fail("holds more plain data than a checkpoint should", kSaveStateDict);
    budget_ -= bytes;
  }

  PickledValue* create(Kind kind) {
    charge(sizeof(PickledValue));
    PickledValue& value = pickle_.values.emplace_back();
    value.kind = kind;
    return &value;
  }

  void push(PickledValue* value) {
    if (stack_.size() == kTallestStack) malformed("piles up too many values");
    stack_.push_back(value);
  }

  PickledValue* shared(PickledValue*& once, Kind kind, int64_t integer = 0) {
    if (once == nullptr) {
      once = create(kind);
      once->integer = integer;
    }
    return once;
  }

  void push_integer(int64_t integer) {
    PickledValue* value = create(Kind::integer);
    value->integer = integer;
    push(value);
  }

  void push_text(Kind kind, uint64_t bytes) {
    if (bytes > cursor_.remaining()) cursor_.skip(bytes, kWhat);  // says so
    charge(bytes);
    PickledValue* value = create(kind);
    value->text = cursor_.text(bytes, kWhat);
    push(value);
  }

  void push_long(uint64_t bytes) {
    if (bytes > 8) return push_text(Kind::big_integer, bytes);
    uint64_t raw = cursor_.unsigned_little_endian(static_cast<int>(bytes), kWhat);
    const bool negative = bytes > 0 && bytes < 8 && (raw >> (8 * bytes - 1)) != 0;
    if (negative) raw |= ~uint64_t{0} << (8 * bytes);
    push_integer(static_cast<int64_t>(raw));
  }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickledValue* top() const {
    if (stack_.size() <= floor()) malformed("takes a value that is not there");
    return stack_.back();
  }

  PickledValue* pop() {
    PickledValue* value = top();
    stack_.pop_back();
    return value;
  }

  size_t pop_mark() {
    if (marks_.empty()) malformed("takes a mark that is not there");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  void deepen(PickledValue* parent, const PickledValue* child) {
    if (child->depth >= parent->depth) parent->depth = child->depth + 1;
    if (parent->depth > kDeepest) too_deep();
  }

  [[noreturn]] void too_deep() const {
    file_.fail(fmt::format("nests its data more than {} deep", kDeepest), kSaveStateDict);
  }

  void add_item(PickledValue* parent, const PickledValue* child) {
    charge(kPointerCharge);
    deepen(parent, child);
    parent->items.push_back(child);
  }

  void add_pair(PickledValue* parent, const PickledValue* key, const PickledValue* value) {
    charge(2 * kPointerCharge);
    deepen(parent, key);
    deepen(parent, value);
    parent->pairs.emplace_back(key, value);
  }

  // The values above `from` become items of `parent`.
  void take_items(PickledValue* parent, size_t from) {
    for (size_t i = from; i < stack_.size(); ++i) add_item(parent, stack_[i]);
    stack_.resize(from);
  }

  void take_pairs(PickledValue* parent, size_t from) {
    if ((stack_.size() - from) % 2 != 0) malformed("gives a dict a key without a value");
    for (size_t i = from; i < stack_.size(); i += 2) add_pair(parent, stack_[i], stack_[i + 1]);
    stack_.resize(from);
  }

  void push_tuple(size_t count) {
    if (stack_.size() - floor() < count) malformed("takes a value that is not there");
    PickledValue* tuple = create(Kind::tuple);
    take_items(tuple, stack_.size() - count);
    push(tuple);
  }

  void from_mark(Kind kind) {
    const size_t mark = pop_mark();
    PickledValue* value = create(kind);
    kind == Kind::dict ? take_pairs(value, mark) : take_items(value, mark);
    push(value);
  }

  // The value below the mark, that takes those above it.
  PickledValue* target_of(size_t mark, bool pairs) {
    if (mark <= floor()) malformed("takes a value that is not there");
    return grown(stack_[mark - 1], pairs);
  }

  PickledValue* grown(PickledValue* target, bool pairs) {
    const bool fits = target->is(Kind::object) ||
                      (pairs ? target->is(Kind::dict) : target->is(Kind::list) || target->is(Kind::set));
    if (!fits) malformed("adds to a value that holds no others");
    return target;
  }

  void push_global(std::string module, const std::string& name) {
    PickledValue* value = create(Kind::global);
    value->text = std::move(module) + "." + name;
    charge(value->text.size());
    push(value);
  }

  // What Python would do by calling: an OrderedDict becomes a dict, anything else an object that is only
  // described.
  void push_call(const PickledValue* callee, const PickledValue* arguments) {
    if (callee->is(Kind::global) && callee->text == "collections.OrderedDict") {
      PickledValue* dict = create(Kind::dict);
      if (arguments->is(Kind::tuple) && !arguments->items.empty()) {
        const PickledValue* list = arguments->items[0];
        for (const PickledValue* item : list->items) {
          if (item->items.size() != 2) malformed("builds an OrderedDict of no pairs");
          add_pair(dict, item->items[0], item->items[1]);
        }
        for (const auto& [key, value] : list->pairs) add_pair(dict, key, value);
      }
      return push(dict);
    }
    PickledValue* object = create(Kind::object);
    object->text = name_of(*callee);
    charge(object->text.size());
    deepen(object, arguments);
    object->arguments = arguments;
    push(object);
  }

  // The dotted name of what is called. torch.save once wrote a module's class as persistent id ("module",
  // class, source).
  static std::string name_of(const PickledValue& callee) {
    if (callee.is(Kind::global)) return callee.text;
    if (callee.is(Kind::persistent) && callee.arguments->items.size() > 1 &&
        callee.arguments->items[1]->is(Kind::global)) {
      return callee.arguments->items[1]->text;
    }
    return "a value that is no function";
  }

  void build() {
    const PickledValue* state = pop();
    PickledValue* target = top();
    if (!target->is(Kind::object) && !target->is(Kind::dict))
      malformed("sets the state of a value that has none");
    deepen(target, state);
    target->state = state;
  }

  void memoize(uint64_t index) {
    PickledValue* value = top();
    if (memo_.find(index) == memo_.end()) charge(kMemoCharge);
    memo_[index] = value;
  }

  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) malformed("recalls a value it has not stored");
    push(found->second);
  }

  const FileReader& file_;
  ByteCursor& cursor_;
  uint64_t budget_;
  Pickle pickle_;
  std::vector<PickledValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickledValue*> memo_;
  PickledValue *none_ = nullptr, *true_ = nullptr, *false_ = nullptr, *empty_tuple_ = nullptr;
};

bool Unpickler::step(uint8_t code) {
  const auto number = [&](int bytes) { return cursor_.unsigned_little_endian(bytes, kWhat); };
  switch (code) {
    case 0x80: {  // PROTO
      const uint8_t protocol = cursor_.byte(kWhat);
      if (protocol > 5)
        file_.fail(fmt::format("is a pickle of protocol {}; 5 is the newest known", protocol),
                   kSaveStateDict);
      return false;
    }
    case 0x95:  // FRAME
      if (number(8) > cursor_.remaining()) malformed("has a frame longer than the file");
      return false;
    case '.':  // STOP
      pickle_.root = pop();
      return true;

    case '(':  // MARK
      if (marks_.size() == kDeepest) too_deep();
      marks_.push_back(stack_.size());
      return false;
    case '0':  // POP, which also takes a mark
      if (stack_.size() > floor()) {
        stack_.pop_back();
      } else {
        pop_mark();
      }
      return false;
    case '1':  // POP_MARK
      stack_.resize(pop_mark());
      return false;
    case '2':  // DUP
      push(top());
      return false;

    case 'N':
      push(shared(none_, Kind::none));
      return false;
    case 0x88:
      push(shared(true_, Kind::boolean, 1));
      return false;
    case 0x89:
      push(shared(false_, Kind::boolean, 0));
      return false;
    case 'K':
      push_integer(static_cast<int64_t>(number(1)));
      return false;
    case 'M':
      push_integer(static_cast<int64_t>(number(2)));
      return false;
    case 'J':
      push_integer(static_cast<int32_t>(static_cast<uint32_t>(number(4))));
      return false;
    case 0x8a:  // LONG1
      push_long(number(1));
      return false;
    case 0x8b:  // LONG4
      push_long(number(4));
      return false;
    case 'G': {  // BINFLOAT, big endian
      uint64_t bits = __builtin_bswap64(number(8));
      PickledValue* value = create(Kind::real);
      std::memcpy(&value->real, &bits, sizeof bits);
      push(value);
      return false;
    }

    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING, of Python 2
      push_text(Kind::string, number(4));
      return false;
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING, of Python 2
      push_text(Kind::string, number(1));
      return false;
    case 0x8d:  // BINUNICODE8
      push_text(Kind::string, number(8));
      return false;
    case 'C':
      push_text(Kind::bytes, number(1));
      return false;
    case 'B':
      push_text(Kind::bytes, number(4));
      return false;
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_text(Kind::bytes, number(8));
      return false;

    case ')':
      push(shared(empty_tuple_, Kind::tuple));
      return false;
    case 0x85:
      push_tuple(1);
      return false;
    case 0x86:
      push_tuple(2);
      return false;
    case 0x87:
      push_tuple(3);
      return false;
    case 't':
      from_mark(Kind::tuple);
      return false;
    case ']':
      push(create(Kind::list));
      return false;
    case 'l':
      from_mark(Kind::list);
      return false;
    case '}':
      push(create(Kind::dict));
      return false;
    case 'd':
      from_mark(Kind::dict);
      return false;
    case 0x8f:  // EMPTY_SET
      push(create(Kind::set));
      return false;
    case 0x91:  // FROZENSET
      from_mark(Kind::set);
      return false;
    case 'a': {  // APPEND
      const PickledValue* item = pop();
      add_item(grown(top(), false), item);
      return false;
    }
    case 's': {  // SETITEM
      const PickledValue* value = pop();
      const PickledValue* key = pop();
      add_pair(grown(top(), true), key, value);
      return false;
    }
    case 'e':     // APPENDS
    case 0x90: {  // ADDITEMS
      const size_t mark = pop_mark();
      take_items(target_of(mark, false), mark);
      return false;
    }
    case 'u': {  // SETITEMS
      const size_t mark = pop_mark();
      take_pairs(target_of(mark, true), mark);
      return false;
    }

    case 'c': {  // GLOBAL
      std::string module = cursor_.line(kWhat);
      push_global(std::move(module), cursor_.line(kWhat));
      return false;
    }
    case 0x93: {  // STACK_GLOBAL
      const PickledValue* name = pop();
      const PickledValue* module = pop();
      if (!name->is(Kind::string) || !module->is(Kind::string)) malformed("names a class by no text");
      push_global(module->text, name->text);
      return false;
    }
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
      const PickledValue* arguments = pop();
      push_call(pop(), arguments);
      return false;
    }
    case 0x92: {  // NEWOBJ_EX: keyword arguments are left out
      pop();
      const PickledValue* arguments = pop();
      push_call(pop(), arguments);
      return false;
    }
    case 'b':
      build();
      return false;
    case 'Q': {  // BINPERSID
      const PickledValue* id = pop();
      PickledValue* value = create(Kind::persistent);
      deepen(value, id);
      value->arguments = id;
      push(value);
      return false;
    }

    case 'q':
      memoize(number(1));
      return false;
    case 'r':
      memoize(number(4));
      return false;
    case 0x94:  // MEMOIZE
      memoize(memo_.size());
      return false;
    case 'h':
      recall(number(1));
      return false;
    case 'j':
      recall(number(4));
      return false;

    default:
      file_.fail(fmt::format("is damaged or was not written by torch.save: its pickle has the operation "
                             "0x{:02x} before byte {}",
                             code, cursor_.position()),
                 kSaveStateDict);
  }
}

}  // namespace

const PickledValue* PickledValue::find(const char* key) const {
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    if (pair->first->is(Kind::string) && pair->first->text == key) return pair->second;
  }
  return nullptr;
}

Pickle read_pickle(const FileReader& file, ByteCursor& cursor) {
  return Unpickler(file, cursor).run();
}

}  // namespace gaze::models
