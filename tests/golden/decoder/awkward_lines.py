"""Lines that tokenizers disagree about, from a seed: scripts, marks, spaces, cases, and what is hardly text at all."""
import random

CAPTIONS = [
    "a red panda in a street", "A man's dog isn't on the surf-board, it's in the water!", "Two cats; one \"sleeping\" (the other awake)...",
    "woman's café crème brûlée, 3.50€ – naïve façade", "they'll've we're I'm you'd o'clock rock 'n' roll", "C++ & C# @home #1 50% $5 ^_^ ~`{x|y}\\",
    "internationalization antidisestablishmentarianism supercalifragilisticexpialidocious", "http://example.org/a_b?c=d&e=f#g",
    "[CLS] a [MASK] dog [SEP] [UNK] [PAD] ##ing [unused5]", "1,234,567.89 3rd 10:30 2024-03-03 +1-800",
]
SCRIPTS = [
    "Съешь же ещё этих мягких французских булок", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ΟΔΟΣ ΣΟΦΟΣ", "我喜欢红熊猫，它在街上。", "吾輩は猫である。名前はまだ無い。ガギグゲゴ",
    "ガギ ﾊﾟﾋﾟ ㌀ Ｆｕｌｌ ｗｉｄｔｈ！", "다람쥐 헌 쳇바퀴에 타고파", "نص حكيم له سر قاطع وذو شأن عظيم", "שָׁלוֹם עוֹלָם דג סקרן", "ऋषियों को सताने वाले", "เป็นมนุษย์สุดประเสริฐ",
    "Příliš žluťoučký kůň", "İstanbul ISPARTA ığdır DİYARBAKIR", "Straße GROẞ ﬁne ﬂow ǅungla Ǳ", "Đặng Thị Ngọc Thịnh", "ქართული ᲥᲐᲠᲗᲣᲚᲘ", "ᏣᎳᎩ ꮳꮃꭹ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝐁𝐨𝐥𝐝 𐐀𐐨", "Հայերեն ԲԱՐԵՒ", "বাংলা தமிழ் മലയാളം ಕನ್ನಡ", "ភាសាខ្មែរ ລາວ မြန်မာ བོད", "ᠮᠣᠩᠭᠣᠯ ᠤᠨ", "አማርኛ", "👩‍👩‍👧 🇩🇪 ☺️ 1️⃣ 👍🏽",
]
# Characters that something is special about; each is put into words.
SPECIAL = (
    "\0\x01\t\v\f\r\x1b\x1c\x1d\x1e\x1f\x7f\x80\x85\x9f\xa0\xad\u1680\u180e\u2000\u2003\u2009\u200b\u200c\u200d\u200e\u2028\u2029\u202a\u202f"
    "\u205f\u2060\u3000\ufeff\ufffc\ufffd\ufffe\uffff\u0378\ue000\uf8ff\U000e0001\U000e0041\U000f0000\U0010ffff"
    "\u0130\u0131\u0149\u01c5\u01f0\u0345\u0390\u03a3\u03c2\u03c3\u1e9e\u1fb3\u1fbc\u1ffc\u2126\u212a\u212b\u2160\u24b6\ua64a\u10d0\u1c90\u13a0\uab70"
    "\u0300\u0301\u0307\u0327\u0338\u0342\u0488\u05b0\u064b\u093e\u094d\u0e31\u0e33\u20e3\u302a\u302e\u302f\u3099\ufe0f\U0001d165\U0001d16d\U0001e944"
    "\u00a7\u00b6\u00b7\u0387\u055a\u2010\u2014\u2018\u2019\u201c\u2026\u2027\u203f\u2045\u3001\u3008\u30fb\ufe58\uff01\uff3f\uff5e\U00010100\U00012470"
    "\u00a9\u00ae\u00b4\u00a8\u02c6\u02d8\u20ac\u2122\u2190\u2200\u2460\u2665\u00bd\u00b2\u0660\u3007\u3021\u3400\u4db6\u4dc0\u9fff\uf900\ufa0e\ufaff"
    "\U00020000\U0002a6df\U0002a6e0\U0002b740\U0002ceaf\U0002ceb0\U0002f800\U0002fa1f\U00030000\U00031350\uac00\u1100\u1161\u11a8\ud7a3\ud7fb"
    "\U0001e4ec\U00011f00\U00010efd\U0001dfff\U0001f6dc\U00013440\U00011b00"  # these last came with Unicode 15
)
WORDS = ["cat", "Dog", "ΣΑΣ", "ας", "running", "É", "e\u0301a\u0308", "ﬁ", "x", "I", "\u1100\u1161\u11a8", "Å", "猫", "Б", "ß", "1", "the", "unaffable"]


def awkward_lines(count, seed):
    """`count` lines without line feeds: the ones above, a line of every length about the longest word, then drawn ones."""
    draw = random.Random(seed)
    lines = CAPTIONS + SCRIPTS
    lines += ["", " ", "a" * 99, "a" * 100, "a" * 101, "é" * 100 + " " + "e\u0301" * 101, "\u4e2d" * 101, "a\u0301" * 60, "ab" * 50 + "-" + "ab" * 51]
    lines += [f"{before}Σ{after}" for before in ("", "Α", "1", "Α'", "Α\u0345", "Α\u00ad", "\u0345", "中", "Α.") for after in ("", "Β", "'Β", "1", "\u0301", ".", "\u0345", "-Β")]
    while len(lines) < count:
        kind = draw.randrange(4)
        length = draw.randrange(1, 9)
        if kind == 0:  # words around special characters
            line = "".join(draw.choice(WORDS) + draw.choice(SPECIAL) * draw.randrange(1, 3) for _ in range(length))
        elif kind == 1:  # special ones among themselves
            line = "".join(draw.choice(SPECIAL) + draw.choice(("", "", " ")) for _ in range(length))
        elif kind == 2:  # any characters, most of them from the first planes' inhabited parts
            line = "".join(any_character(draw) for _ in range(2 * length))
        else:  # parts of sentences with something in between
            parts = [draw.choice(CAPTIONS + SCRIPTS) for _ in range(2)]
            line = draw.choice(SPECIAL).join(part[draw.randrange(len(part)):][:draw.randrange(1, 30)] for part in parts)
            line = draw.choice((str, str.upper, str.title, str.swapcase))(line)
        lines.append(line)
    return lines[:count]


def any_character(draw):
    top = draw.choice((0x7F, 0x24F, 0x5FF, 0x1FFF, 0x33FF, 0xFFFF, 0x1FFFF, 0x10FFFF))
    while True:
        code = draw.randrange(top + 1)
        if code != 0x0A and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
