"""Names and numbers of a bullet that no source holds (pure).

Capital letters mark names where a script has them. German writes every noun with one, so there a name is known by what
stands around it; katakana, honorifics and words like "called" mark names in scripts without capitals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex
from rapidfuzz import fuzz

from memories import quality_numbers as numbers
from memories.names import ORDINARY, SENTENCE_START
from memories.quality_index import same_stem
from memories.quality_text import ALL_STOP, POSSESSIVE, STOP, UNSPACED, WORD, fold, meanings

SURE, LIKELY, MAYBE = 1.0, 0.6, 0.3
LIKE = 75.0  # rapidfuzz score at which a name may be another language's form of a known one
LOOK_BACK = 40
SAMPLE = 20_000  # letters that tell in which script the sources are
ARTICLELESS = frozenset({"ru", "uk", "pl", "cs", "tr", "id", "sv", ""})  # a sentence may open with any noun
KATAKANA = regex.compile(r"\p{Katakana}[\p{Katakana}ー・]{2,}")
LOANWORDS = frozenset(
    "コーヒー テレビ ドア テーブル ホテル レストラン バス タクシー カメラ ラジオ ピアノ ギター ナイフ ベッド "
    "ソファ シャツ "
    "スマホ メール メッセージ ニュース チーム リーダー メンバー パーティー ビール ワイン ケーキ パン スープ "
    "ノート ペン "
    "トラック エンジン コンピューター データ システム プロジェクト アルバイト ボタン カード ゲーム グループ "
    "ルール スパイ "
    "パートナー ライバル ショック ストレス トラブル チャンス プレゼント メニュー レシピ キッチン ポケット "
    "スーツ".split()
)
HONORED = regex.compile(
    r"(\p{Han}{1,4}|\p{Katakana}[\p{Katakana}ー]{1,7})(?:さん|様|さま|君|くん|ちゃん|氏|先生|先輩|先生|小姐|夫人|医生|队长)"
)
CALLED = regex.compile(
    r"(?:اسمه|اسمها|يدعى|تدعى|בשם|ชื่อ)\s*([\p{L}\p{M}]{2,12})"
    r"|(?:名叫|叫做|叫作|名为|名為|という名の)(\p{Han}{2,3})|([\p{Han}\p{Katakana}ー]{2,8})という"
)
# Chinese: a surname where a name may stand, with one more letter of the name or a title; words that only look so.
SURNAMES = (
    "赵孙李周吴郑冯陈蒋沈韩杨朱秦许吕曹魏陶姜谢邹苏潘葛彭鲁袁柳鲍薛贺倪滕殷罗郝傅卞顾孟萧尹姚邵汪祁狄卢莫丁邓郭洪崔龚程邢裴陆"
    "荣翁荀甄宁仇厉武刘詹叶王张趙孫吳鄭馮陳蔣韓楊許呂魏謝鄒蘇鮑賀羅顧蕭盧鄧龔陸榮寧劉葉張"
)
NAMED = regex.compile(rf"(?:^|[和与與跟向给給被由对對把让讓找的是，、《“])([{SURNAMES}]\p{{Han}})")
NOT_NAMED = frozenset(
    "许多 许可 许久 许诺 许下 周围 周末 周年 周日 周一 周二 周三 周四 周五 周六 周到 "
    "程度 程序 陈旧 陈述 苏醒 武器 武功 武林 武士 武力 宁愿 宁静 宁可 顾虑 顾客 顾及 "
    "谢谢 谢意 谢绝 罗列 叶子 郑重 洪水 孙子 孙女 李子 杨树 韩国 汪洋 贺礼 柳树 陶醉 "
    "陶器 姜汤 荣誉 荣幸 荣耀 张开 张贴 王国 王位 王子 王后 王室 王宫 王朝 王爷 丁点 "
    "仇人 仇恨 仇家 厉害 刘海 莫名 莫大 萧条 朱红 陆地 陆续 秦朝 許多 許可 周圍 張開 "
    "王國 榮譽 顧客 陸地".split()
)
APPOSED = regex.compile(
    r"(?:弁護士|医師|医者|刑事|警部|警官|記者|教授|店主|隣人|友人|親友|社長|部長|課長|船長|隊長|商人|職人|画家|作家|先生|師匠|僧侶|武士|"
    r"剣士|騎士|大工|村長|町長|市長|記者|探偵|同僚|後輩|先輩|恋人|従兄|従姉|叔父|叔母|兄|弟|姉|妹|息子|娘)の(\p{Han}{2,4})(?=[はがをにとへも、]|から|さん|の)"
)
TITLES = frozenset(
    "herr frau fraulein dr doktor professor graf grafin baron baronin furst konig konigin prinz prinzessin kapitan "
    "kapellmeister pfarrer pater bruder schwester onkel tante meister hauptmann kommissar inspektor richter advokat "
    "anwalt bauer wirt freiherr ritter sir lady lord general oberst leutnant kanzler bischof agent".split()
)
GERMAN_NOUN = regex.compile(
    r"(?:ung|heit|keit|schaft|tion|tat|nis|tum|ling|chen|lein|eit|ismus|ur|enz|anz|age|ei|e|en|er|em|es)$"
)
GERMAN_BEFORE = frozenset("in nach aus bei von mit an vom zu namens hiess und gegen fur".split())
CYRILLIC_TO_LATIN = str.maketrans(
    dict(
        zip(
            "абвгдезийклмнопрстуфхыэіїєґ", "a b v g d e z i i k l m n o p r s t u f kh y e i i e g".split(), strict=True
        )
    )
    | {"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ю": "iu", "я": "ia", "ь": "", "ъ": ""}
)


def latin(word: str) -> str:
    """A folded Cyrillic word in Latin letters, roughly."""
    return word.translate(CYRILLIC_TO_LATIN)


@dataclass(frozen=True)
class Strange:
    """A name or number without a source, and how sure it is that it is one (0 to 1)."""

    word: str
    sureness: float


@lru_cache(maxsize=20_000)
def _words_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of one text and those of them with a capital, folded, also in Latin letters."""
    words = WORD.findall(text)
    every = {part for word in words for part in _parts(word)}
    names = {part for word in words if word[:1].isupper() for part in _parts(word)}
    return frozenset(every | {latin(word) for word in every}), frozenset(names | {latin(word) for word in names})


class Vocabulary:
    """The words, names and numbers of some texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        found = [_words_of(text) for text in texts]
        self.text = "\n".join(texts)
        self.words = frozenset[str]().union(*(words for words, _names in found))
        self.names = frozenset[str]().union(*(names for _words, names in found))
        self.numbers = frozenset[int]().union(*(numbers.of_source(text) for text in texts))
        self._names_by_start: dict[str, list[str]] = {}
        for name in self.names:
            self._names_by_start.setdefault(name[:3], []).append(name)
        self._words_by_start: dict[str, list[str]] = {}
        for word in self.words:
            self._words_by_start.setdefault(word[:4], []).append(word)

    def knows(self, one: str, *, foreign: bool) -> bool:
        """Whether a folded name or word stands here, in whatever form."""
        if one in self.words or any(_one_name(one, name) for name in self._names_by_start.get(one[:3], ())):
            return True
        if len(one) > 5 and any(same_stem(one, word) for word in self._words_by_start.get(one[:4], ())):
            return True
        return foreign and any(fuzz.ratio(one, name) >= LIKE for name in self.names)


class Known:
    """What the sources name and count; build it once for many bullets."""

    def __init__(self, vocabularies: Sequence[Vocabulary], people: Sequence[str] = ()) -> None:
        self._all = vocabularies
        self._people = {form for person in people for part in fold(person).split() for form in (part, f"{part}s")}
        letters = sum(len(one.text) for one in vocabularies)
        unspaced = sum(len(UNSPACED.findall(one.text[:SAMPLE])) for one in vocabularies)
        self._scripts_without_case = unspaced > 0.3 * min(letters, SAMPLE)

    def knows(self, word: str, *, foreign: bool) -> bool:
        """Whether a name stands in the sources, in whatever form; `foreign` allows another language's spelling."""
        if "'" in (folded := fold(word).replace("ʼ", "'")):
            return self._knows(folded.partition("'")[0], foreign=foreign) or self._knows(folded, foreign=foreign)
        parts = [part for part in _parts(word) if len(part) > 1]
        return self._knows(folded, foreign=foreign) or all(self._knows(part, foreign=foreign) for part in parts)

    def _knows(self, part: str, *, foreign: bool) -> bool:
        forms = dict.fromkeys((part, latin(part)))
        return any(one.knows(form, foreign=foreign) for form in forms for one in self._all)

    def _holds(self, text: str) -> bool:
        return any(text in one.text for one in self._all)

    def counts(self, number: int) -> bool:
        """Whether the sources give a number, also shortened ("sixty" for 60,000) or as a year of a century."""
        wanted = {number, *(number // unit for unit in (100, 1000, 10**6, 10**8) if number % unit == 0)}
        if 1000 <= number < 3000 and number % 100:
            wanted.add(number % 100)
        return any(wanted & one.numbers for one in self._all)

    def strange(self, text: str, language: str, *, foreign: bool) -> list[Strange]:
        """Names and numbers of a bullet without a source, surest first."""
        found = [Strange(str(one), SURE) for one in numbers.of_bullet(text, language) if not self.counts(one)]
        found += self._strange_names(text, language, foreign=foreign)
        return sorted({one.word: one for one in found}.values(), key=lambda one: -one.sureness)

    def _strange_names(self, text: str, language: str, *, foreign: bool) -> list[Strange]:
        found = [
            Strange(run, SURE if len(run) > 3 else LIKELY)
            for run in KATAKANA.findall(text)
            if not self._holds(run) and run not in LOANWORDS
        ]
        marked = [match[1] for match in HONORED.finditer(text)]
        marked += [next(filter(None, match.groups())) for match in CALLED.finditer(text)]
        marked += APPOSED.findall(text) if language == "ja" else []
        marked += [name for name in NAMED.findall(text) if name not in NOT_NAMED] if language == "zh" else []
        found += [Strange(name, SURE) for name in marked if not self._has_pair(name)]
        if self._scripts_without_case and foreign:
            return found  # names of these scripts have no one spelling in another
        return found + self._capitals(text, language, foreign=foreign)

    def _has_pair(self, name: str) -> bool:
        return self._holds(name) or any(self._holds(name[at : at + 2]) for at in range(len(name) - 1))

    def _capitals(self, text: str, language: str, *, foreign: bool) -> list[Strange]:
        words = list(WORD.finditer(text))
        found = []
        for place, match in enumerate(words):
            word = match[0]
            if not word[:1].isupper() or self._is_ordinary(word, language):
                continue
            if self.knows(word, foreign=foreign):
                continue
            before = words[place - 1][0] if place else ""
            starts = SENTENCE_START.search(text[max(0, match.start() - LOOK_BACK) : match.start()]) is not None
            after = words[place + 1][0] if place + 1 < len(words) else ""
            owned = language == "de" and fold(before) in self._people
            sureness = 0.0 if owned else _sureness(word, before, after, language, starts=starts)
            if foreign and sureness < SURE:
                sureness /= 2
            if sureness:
                found.append(Strange(POSSESSIVE.sub("", word.replace("’", "'")), sureness))
        return found

    def _is_ordinary(self, word: str, language: str) -> bool:
        folded = POSSESSIVE.sub("", fold(word))
        stop = STOP.get(language, ALL_STOP)
        if len(folded) < 2 or folded in ORDINARY or folded in stop or (word.isupper() and len(word) < 4):
            return True
        return len(folded) > 3 and bool(meanings(folded, language or "-", 2))


def _one_name(word: str, name: str) -> bool:
    """Whether two words are one name in different forms: case endings, plurals, possessives."""
    shorter = min(len(word), len(name))
    common = next((at for at, (a, b) in enumerate(zip(word, name, strict=False)) if a != b), shorter)
    return common >= max(3, shorter - 2) and abs(len(word) - len(name)) <= 3 and len(word) - common <= 3


@lru_cache(maxsize=50_000)
def _parts(word: str) -> tuple[str, ...]:
    folded = POSSESSIVE.sub("", fold(word).replace("ʼ", "'"))
    return (folded, *regex.split("['-]", folded)) if "-" in folded or "'" in folded else (folded,)


def _sureness(word: str, before: str, after: str, language: str, *, starts: bool) -> float:
    if language == "de":
        return _german(word, fold(before), before, starts=starts)
    if not starts:
        return SURE
    if after[:1].isupper() and after[1:2].islower():
        return LIKELY
    if language in ARTICLELESS or fold(word).endswith(("ing", "ly", "tion", "ness", "ed", "s")):
        return 0.0
    return MAYBE


def _german(word: str, folded_before: str, before: str, *, starts: bool) -> float:
    """A German noun or a name? Titles, bare prepositions and a name in front of it speak for the name."""
    if folded_before in TITLES:
        return SURE
    if GERMAN_NOUN.search(fold(word)):
        return SURE if before[:1].isupper() and not starts and folded_before not in STOP["de"] else 0.0
    if before[:1].isupper() and not starts and folded_before not in STOP["de"]:
        return LIKELY
    return MAYBE if starts or folded_before in GERMAN_BEFORE else 0.0
