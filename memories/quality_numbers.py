"""Numbers in texts, in digits or as words of many languages (pure).

Of a source every reading counts, so that "sixty" bears out 60 and 60,000; of a bullet only what is surely a number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import regex

DIGITS = regex.compile(r"(?<!\p{N})\p{Nd}{1,3}(?:[.,’'   ]\p{Nd}{3})+(?!\p{Nd})|\p{Nd}+")
# Number words that mean something else as often.
AMBIGUOUS = frozenset("sei neuf yuz bin on piec alti elli kirk once vent acht second seconds".split())
SURE = 5  # smaller ones are often counted together by the reader ("both", "three of them")
HAN = regex.compile(
    r"[〇零一二三四五六七八九十百千万億亿兩两]+|[일이삼사오육칠팔구]?[십백천만억][일이삼사오육칠팔구십백천만억]*"
)
HANGUL = str.maketrans("일이삼사오육칠팔구십백천만억", "一二三四五六七八九十百千万億")
HAN_DIGITS = {**{letter: place for place, letter in enumerate("〇一二三四五六七八九")}, "零": 0, "兩": 2, "两": 2}
HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
HAN_GROUPS = {"万": 10_000, "億": 10**8, "亿": 10**8}
# From 0 or 1 upwards, then the tens, a hundred and a thousand; "/" parts forms of one number.
_TABLE: dict[str, tuple[str, str, str, str]] = {
    "en": (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "hundred",
        "thousand",
    ),
    "de": (
        "null ein/eins zwei/zwo drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn "
        "sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
        "hundert",
        "tausend",
    ),
    "fr": (
        "zero un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "dix-sept dix-huit dix-neuf",
        "vingt/vingts trente quarante cinquante soixante septante octante/huitante nonante",
        "cent/cents",
        "mille",
    ),
    "es": (
        "cero uno/un/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis "
        "diecisiete dieciocho diecinueve",
        "veinte/veinti treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        "cien/ciento/cientos/cientas",
        "mil",
    ),
    "it": (
        "zero uno/un/una due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
        "sedici diciassette diciotto diciannove",
        "venti/vent trenta/trent quaranta/quarant cinquanta/cinquant sessanta/sessant settanta/settant ottanta/ottant "
        "novanta/novant",
        "cento",
        "mille/mila",
    ),
    "pt": (
        "zero um/uma dois/duas tres quatro cinco seis sete oito nove dez onze doze treze catorze/quatorze quinze "
        "dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove",
        "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        "cem/cento/centos/centas",
        "mil",
    ),
    "nl": (
        "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien "
        "achttien negentien",
        "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
        "honderd",
        "duizend",
    ),
    "pl": (
        "zero jeden/jedna/jedno dwa/dwie/dwoch/dwom trzy/trzech cztery/czterech piec/pieciu szesc/szesciu "
        "siedem/siedmiu osiem/osmiu dziewiec/dziewieciu dziesiec/dziesieciu jedenascie/jedenastu dwanascie/dwunastu "
        "trzynascie/trzynastu czternascie/czternastu pietnascie/pietnastu szesnascie/szesnastu "
        "siedemnascie/siedemnastu "
        "osiemnascie/osiemnastu dziewietnascie/dziewietnastu",
        "dwadziescia/dwudziestu trzydziesci/trzydziestu czterdziesci/czterdziestu piecdziesiat/piecdziesieciu "
        "szescdziesiat/szescdziesieciu siedemdziesiat osiemdziesiat dziewiecdziesiat",
        "sto/stu",
        "tysiac/tysiace/tysiecy",
    ),
    "ru": (
        "ноль один/одна/одно/одного два/две/двух/двум три/трех/трем четыре/четырех пять/пяти шесть/шести семь/семи "
        "восемь/восьми девять/девяти десять/десяти одиннадцать/одиннадцати двенадцать/двенадцати "
        "тринадцать/тринадцати "
        "четырнадцать/четырнадцати пятнадцать/пятнадцати шестнадцать/шестнадцати семнадцать/семнадцати "
        "восемнадцать/восемнадцати девятнадцать/девятнадцати",
        "двадцать/двадцати тридцать/тридцати сорок/сорока пятьдесят/пятидесяти шестьдесят/шестидесяти "
        "семьдесят/семидесяти восемьдесят девяносто",
        "сто/ста",
        "тысяча/тысячи/тысяч/тысячу",
    ),
    "tr": (
        "sifir bir iki uc dort bes alti yedi sekiz dokuz on onbir oniki onuc ondort onbes onalti onyedi onsekiz "
        "ondokuz",
        "yirmi otuz kirk elli altmis yetmis seksen doksan",
        "yuz",
        "bin",
    ),
    "sv": (
        "noll en/ett tva tre fyra fem sex sju atta nio tio elva tolv tretton fjorton femton sexton sjutton "
        "arton nitton",
        "tjugo trettio fyrtio femtio sextio sjuttio attio nittio",
        "hundra",
        "tusen",
    ),
    "cs": (
        "nula jeden/jedna/jedno dva/dve/dvou tri/tri ctyri pet/peti sest/sesti sedm/sedmi osm/osmi devet/deviti "
        "deset/deseti jedenact dvanact/dvanacti trinact ctrnact patnact sestnact sedmnact osmnact devatenact",
        "dvacet/dvaceti tricet ctyricet padesat sedesat sedmdesat osmdesat devadesat",
        "sto/sta/set/ste",
        "tisic/tisice",
    ),
    "uk": (
        "нуль один/одна два/дві/двох три/трьох чотири/чотирьох пять/пяти шість/шести сім/семи вісім/восьми "
        "девять/девяти "
        "десять/десяти одинадцять дванадцять тринадцять чотирнадцять пятнадцять шістнадцять сімнадцять вісімнадцять "
        "девятнадцять",
        "двадцять тридцять сорок пятдесят шістдесят сімдесят вісімдесят девяносто",
        "сто/ста",
        "тисяча/тисячі/тисяч",
    ),
    "id": (
        "nol satu dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas duabelas",
        "duapuluh tigapuluh empatpuluh limapuluh enampuluh tujuhpuluh delapanpuluh sembilanpuluh",
        "ratus/seratus",
        "ribu/seribu",
    ),
}
_MORE: dict[str, dict[str, int]] = {  # hundreds of their own, ordinals, dozens
    "en": {"dozen": 12, "million": 10**6}
    | {
        word: number + 1
        for number, word in enumerate(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split()
        )
    },
    "de": {"dutzend": 12, "million": 10**6, "millionen": 10**6},
    "fr": {"douzaine": 12, "dizaine": 10, "vingtaine": 20, "centaine": 100, "million": 10**6, "millions": 10**6},
    "es": {"docena": 12, "quinientos": 500, "quinientas": 500, "setecientos": 700, "novecientos": 900},
    "it": {"dozzina": 12, "decina": 10, "ventina": 20, "centinaio": 100, "milione": 10**6, "milioni": 10**6},
    "pt": {"duzia": 12, "duzentos": 200, "duzentas": 200, "trezentos": 300, "quinhentos": 500},
    "nl": {"dozijn": 12, "miljoen": 10**6},
    "pl": {
        "dwiescie": 200,
        "trzysta": 300,
        "czterysta": 400,
        "piecset": 500,
        "szescset": 600,
        "siedemset": 700,
        "osiemset": 800,
    },
    "ru": {
        "двести": 200,
        "триста": 300,
        "четыреста": 400,
        "пятьсот": 500,
        "шестьсот": 600,
        "семьсот": 700,
        "восемьсот": 800,
        "двое": 2,
    },
}


def _words(language: str) -> dict[str, int]:
    small, tens, hundred, thousand = _TABLE[language]
    found = {form: number for number, forms in enumerate(small.split()) for form in forms.split("/")}
    found |= {form: 20 + 10 * number for number, forms in enumerate(tens.split()) for form in forms.split("/")}
    found |= dict.fromkeys(hundred.split("/"), 100) | dict.fromkeys(thousand.split("/"), 1000)
    return found | _MORE.get(language, {})


WORDS: dict[str, dict[str, int]] = {language: _words(language) for language in _TABLE}
JOINED = {"de": "und", "nl": "en", "it": "", "es": "i", "pt": "", "sv": "", "tr": "", "pl": "", "ru": "", "cs": ""}
MARKS = regex.compile(r"\p{Mn}+")
LETTERS = str.maketrans("ıł", "il")
SPLIT = regex.compile(r"[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*|\p{Nd}+")
AND = frozenset("and und et y e en i и".split())


def plain(text: str) -> str:
    """Small letters without accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.casefold())
    return str(MARKS.sub("", folded)).translate(LETTERS)


def in_digits(text: str) -> list[int]:
    """The numbers that a text writes in digits, of whatever script, in order."""
    found = []
    for match in DIGITS.finditer(text):
        digits = "".join(filter(str.isdecimal, match[0]))  # "": of a script that Python's tables do not know yet
        if digits and len(match[0]) < 16:
            unit = HAN_GROUPS.get(text[match.end() : match.end() + 1], 1)
            found.append(int(digits) * unit)
    return found


# The first letters of all number words of the languages that join them: nothing else can begin a compound.
BEGINNINGS = {language: frozenset(word[:2] for word in WORDS[language]) for language in JOINED}
LANGUAGES_OF: dict[str, tuple[str, ...]] = {
    word: tuple(language for language in WORDS if word in WORDS[language])
    for word in {word for table in WORDS.values() for word in table}
}


@lru_cache(maxsize=50_000)
def _pieces(word: str, language: str) -> tuple[int, ...] | None:
    """The number words that a compound is made of ("vierunddreißig"), or None."""
    table = WORDS[language]
    if word in table:
        return (table[word],)
    if language not in JOINED or len(word) < 6 or word[:2] not in BEGINNINGS[language]:
        return None
    for cut in range(len(word) - 2, 1, -1):
        if word[:cut] in table:
            rest = word[cut:].removeprefix(JOINED[language]) if len(word) - cut > 4 else word[cut:]
            if (found := _pieces(rest, language)) is not None:
                return (table[word[:cut]], *found)
    return None


def _value(numbers: Iterable[int]) -> int:
    """What a row of number words means together: "two thousand and eighty", "quatre-vingts", "vier und dreißig"."""
    total = part = 0
    for number in numbers:
        if number >= 1000:
            total, part = total + max(1, part) * number, 0
        elif number == 100 or (number == 20 and part == 4):
            part = max(1, part) * number
        else:
            part += number
    return total + part


def in_words(text: str, language: str) -> list[int]:
    """The numbers that a text of `language` writes as words, in order; words side by side make one number."""
    return _said(SPLIT.findall(plain(text)), language) if language in WORDS else []


def _said(words: Sequence[str], language: str) -> list[int]:
    found: list[int] = []
    run: list[int] = []
    for word in words:
        parts = [word] if word in WORDS[language] or "-" not in word else word.split("-")
        pieces = [piece for part in parts if part not in AND for piece in (_pieces(part, language) or [-1])]
        if pieces and -1 not in pieces:
            run += pieces
        elif word not in AND and run:
            found.append(_value(run))
            run = []
    return [*found, _value(run)] if run else found


def in_han(text: str) -> list[int]:
    """The numbers that a Chinese or Japanese text writes in Han letters, also after digits ("3億")."""
    found = []
    for match in HAN.finditer(text):
        total = part = digit = 0
        for letter in match[0].translate(HANGUL):
            if letter in HAN_DIGITS:
                digit = digit * 10 + HAN_DIGITS[letter]
            elif letter in HAN_UNITS:
                part, digit = part + max(1, digit) * HAN_UNITS[letter], 0
            else:
                total, part, digit = (total + part + digit or 1) * HAN_GROUPS[letter], 0, 0
        found.append(total + part + digit)
    return found


@lru_cache(maxsize=20_000)
def of_source(text: str) -> frozenset[int]:
    """Every number that a source may mean: in digits, as words of any language, single words, and what they add to."""
    found = {*in_digits(text), *in_han(text)}
    in_order = SPLIT.findall(plain(text))
    words = {part for word in in_order for part in (word, *word.split("-"))}
    found |= {WORDS[language][word] for word in words for language in LANGUAGES_OF.get(word, ())}
    for language in {language for word in words for language in _may_count(word)}:
        found |= set(_said(in_order, language))
    return frozenset(found)


@lru_cache(maxsize=50_000)
def _may_count(word: str) -> tuple[str, ...]:
    """The languages in which a word is a number, also one that is made of several."""
    joined = (language for language in JOINED if len(word) > 5 and _pieces(word, language))
    return (*LANGUAGES_OF.get(word, ()), *joined)


def of_bullet(text: str, language: str) -> list[int]:
    """The numbers that a bullet surely gives: digits, and words of its language from `SURE` upwards."""
    words = set(SPLIT.findall(plain(text)))
    unsure = {WORDS[language][word] for word in words & AMBIGUOUS if word in WORDS.get(language, ())}
    said = [number for number in in_words(text, language) if number >= SURE and number not in unsure]
    han = [number for number in in_han(text) if number >= SURE] if language in ("ja", "zh", "ko") else []
    return list(dict.fromkeys([*(number for number in in_digits(text) if number > 1), *said, *han]))
