"""Classes of characters, as far as a topic's name can have them: letters and digits of ASCII, `.`, `_` and `-`."""

from __future__ import annotations

LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
LETTERS = LOWER | UPPER
DIGITS = frozenset("0123456789")
ALL = LETTERS | DIGITS | frozenset("._-")
NONE: frozenset[str] = frozenset()
WORD = LETTERS | DIGITS | {"_"}
PUNCTUATION = ALL - LETTERS - DIGITS

PERL = {"d": DIGITS, "D": ALL - DIGITS, "s": NONE, "S": ALL, "w": WORD, "W": ALL - WORD}
POSIX = {
    "alnum": LETTERS | DIGITS,
    "alpha": LETTERS,
    "ascii": ALL,
    "blank": NONE,
    "cntrl": NONE,
    "digit": DIGITS,
    "graph": ALL,
    "lower": LOWER,
    "print": ALL,
    "punct": PUNCTUATION,
    "space": NONE,
    "upper": UPPER,
    "word": WORD,
    "xdigit": DIGITS | frozenset("abcdefABCDEF"),
}
CATEGORIES = {
    "Any": ALL,
    "L": LETTERS,
    "Lu": UPPER,
    "Ll": LOWER,
    "N": DIGITS,
    "Nd": DIGITS,
    "P": PUNCTUATION,
    "Pc": frozenset("_"),
    "Pd": frozenset("-"),
    "Po": frozenset("."),
    "Latin": LETTERS,
    "Common": ALL - LETTERS,
}
# Categories, and scripts that RE2/J has, of which no name has a character.
ABSENT = """
C Cc Cf Co Cs Lm Lo Lt M Mc Me Mn Nl No Pe Pf Pi Ps S Sc Sk Sm So Z Zl Zp Zs
Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian
Chakma Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian
Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Lepcha Limbu
Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Meroitic_Cursive Meroitic_Hieroglyphs Miao Mongolian Myanmar
New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician
Rejang Runic Samaritan Saurashtra Sharada Shavian Sinhala Sora_Sompeng Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa
Tai_Le Tai_Tham Tai_Viet Takri Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Vai Yi
"""
ABSENT_CLASSES = frozenset(ABSENT.split())


def unicode_class(name: str) -> frozenset[str] | None:
    r"""What `\p{name}` stands for; None for a name that there is not."""
    found = CATEGORIES.get(name)
    if found is None and name in ABSENT_CLASSES:
        return NONE
    return found


def folded(character: str) -> frozenset[str]:
    """The characters that are this one when case does not count."""
    form = character.casefold()
    return frozenset(other for other in ALL if other.casefold() == form)
