"""Stretches of chats that bring up known memories, made by a seed: which memories would a model repeat?

Each case has a file of memories that all speak of the same few people and things, and twenty messages: most of them say
something new with words of the same story, some bring a known memory up in other words. A model that is not shown that
memory would write it down again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from memories.transcript import Entry, Line


@dataclass(frozen=True)
class Words:
    """What one language says it with. `facts` make memories, `mentions` bring them up, `fillers` say something else."""

    verbs: list[tuple[str, str]]  # as the memory has it, as the mention has it
    things: list[str]
    places: list[str]
    people: list[str]
    reasons: list[tuple[str, str]]
    facts: list[str]
    mentions: list[str]
    fillers: list[str]


@dataclass
class Case:
    """Memories in file order, a stretch, and the places of the memories that it brings up."""

    known: list[str]
    lines: list[Line]
    repeated: set[int] = field(default_factory=set)


PEOPLE = (
    "Brannoc Tilde Oswin Perrin Lisbet Corvane Maude Hesper Ivo Janneke Rurik Sunniva Teodor Ulla Vesna Wilmar Yorick "
    "Zdenka Alaric Berit Caspian Dorothea Emeric Fenna Gideon Hanneke Isolde Jorund Kasimir Liudmila"
).split()
ENGLISH = Words(
    [
        ("hid", "stashed"),
        ("gave", "handed"),
        ("promised", "swore"),
        ("lost", "misplaced"),
        ("stole", "took"),
        ("repaired", "mended"),
        ("sold", "got rid of"),
        ("inherited", "were left"),
        ("buried", "put away"),
    ],
    [
        "silver locket",
        "brass whistle",
        "walnut chessboard",
        "green umbrella",
        "sealed letter",
        "cracked violin",
        "iron key",
        "wedding ring",
        "ship in a bottle",
        "hunting knife",
        "copper kettle",
        "porcelain dog",
        "star chart",
        "leather diary",
        "glass eye",
        "tin soldier",
        "amber necklace",
        "pocket watch",
        "feathered hat",
        "bee smoker",
        "fishing rod",
        "music box",
        "signet seal",
        "oil portrait",
        "ivory comb",
        "blue lantern",
        "bread recipe",
        "treasure map",
        "wooden leg",
        "opera ticket",
    ],
    [
        "chapel floor",
        "flooded cellar",
        "lighthouse gallery",
        "north stable",
        "orchard wall",
        "bakery attic",
        "ferry landing",
        "glass foundry",
        "old cemetery",
        "customs house",
        "mill pond",
        "pilgrim inn",
        "rope walk",
        "salt market",
        "tannery yard",
        "observatory dome",
        "village school",
        "abandoned quarry",
        "river lock",
        "bell tower",
    ],
    PEOPLE,
    [
        ("because the bailiffs were coming", "when the bailiffs came"),
        ("to settle a gambling debt", "over those debts"),
        ("as a pledge of friendship", "as a friend"),
        ("after the great flood", "since the water rose"),
        ("for the sake of a dying aunt", "for the aunt"),
        ("out of jealousy", "being so jealous"),
        ("in exchange for a night's shelter", "for one night under a roof"),
        ("before the long winter", "that winter"),
    ],
    [
        "{hero} {verb} the {thing} of {person} at the {place}",
        "{person} once {verb} {hero}'s {thing} near the {place}",
        "At the {place}, {hero} and {person} {verb} the {thing}",
        "{hero} confessed to having {verb} a {thing} that {person} kept at the {place} {reason}",
    ],
    [
        "Tell me, is that {thing} still at the {place}, do you think?",
        "*She looks up.* You {other} the {thing}, {person} knew about it all along, didn't they?",
        "I keep dreaming of the {place}. And of {person}, {new}.",
        "{person} asked me about a {last} again. You remember, the one from the {place}.",
        "After everything with {person} and the {last}, you still trust people? {new}...",
    ],
    [
        "The evening was quiet and somebody set the table with {thing_last}s that nobody had asked for.",
        "*He walks past the {place} without turning his head and hums.* I would rather have soup tonight.",
        "{person} will be here tomorrow morning, so we had better clean up and buy bread.",
        "Nothing of that matters now. We leave at dawn, take the long road and do not look back.",
        "I am going to tell you what I want: a small house, a garden, and no more orders from anybody.",
        "*The rain gets heavier.* Hold my hand, the stairs are slippery and the light is bad.",
    ],
)
GERMAN = Words(
    [
        ("versteckte", "verbargst"),
        ("verlor", "verlegtest"),
        ("stahl", "nahmst"),
        ("verkaufte", "gabst weg"),
        ("vergrub", "hast verscharrt"),
        ("reparierte", "hast geflickt"),
        ("erbte", "bekamst"),
    ],
    [
        "das silberne Medaillon",
        "die Messingpfeife",
        "das Schachbrett",
        "den Regenschirm",
        "den versiegelten Brief",
        "die Geige",
        "den eisernen Schlüssel",
        "den Ehering",
        "das Jagdmesser",
        "den Kupferkessel",
        "die Sternkarte",
        "das Tagebuch",
        "das Glasauge",
        "den Zinnsoldaten",
        "die Bernsteinkette",
        "die Taschenuhr",
        "den Federhut",
        "die Angelrute",
        "die Spieldose",
        "das Ölgemälde",
        "den Elfenbeinkamm",
        "die Laterne",
        "das Brotrezept",
    ],
    [
        "in der Kapelle",
        "im Keller",
        "im Leuchtturm",
        "im Nordstall",
        "an der Obstgartenmauer",
        "in der Bäckerei",
        "am Fähranleger",
        "in der Glashütte",
        "auf dem Friedhof",
        "im Zollhaus",
        "am Mühlteich",
        "in der Herberge",
        "auf dem Salzmarkt",
        "in der Gerberei",
        "in der Sternwarte",
        "in der Dorfschule",
        "im Steinbruch",
    ],
    PEOPLE,
    [
        ("weil die Gerichtsvollzieher kamen", "wegen der Gerichtsvollzieher"),
        ("wegen einer Spielschuld", "beim Spielen"),
        ("aus Freundschaft", "als Freund"),
        ("nach der großen Flut", "seit dem Hochwasser"),
        ("aus Eifersucht", "so eifersüchtig"),
        ("vor dem langen Winter", "in jenem Winter"),
    ],
    [
        "{hero} {verb} {place} {thing} von {person}",
        "{person} {verb} einmal {thing} von {hero} {place}",
        "{hero} gestand, dass {person} {place} {thing} aufbewahrt hatte, {reason}",
    ],
    [
        "Sag, liegt {thing_last} noch immer {place}?",
        "*Sie blickt auf.* {person} wusste doch von Anfang an von der Sache mit {thing_last}.",
        "Ich träume immer wieder davon, {place} zu stehen. Und von {person}, {new}.",
        "{person} hat schon wieder nach {thing_last} gefragt. Du weißt schon, {place}.",
    ],
    [
        "Der Abend war still, und irgendjemand deckte den Tisch für alle.",
        "*Er geht vorbei und summt.* Ich hätte heute lieber Suppe.",
        "{person} kommt morgen früh, also sollten wir aufräumen und Brot kaufen.",
        "Das alles zählt jetzt nicht mehr. Wir brechen im Morgengrauen auf.",
        "*Der Regen wird stärker.* Halt meine Hand, die Stufen sind glatt.",
    ],
)
JAPANESE = Words(
    [
        ("隠した", "しまった"),
        ("失くした", "見失った"),
        ("盗んだ", "取った"),
        ("直した", "修理した"),
        ("売った", "手放した"),
    ],
    [
        "銀の首飾り",
        "真鍮の笛",
        "将棋盤",
        "緑の傘",
        "封じられた手紙",
        "古い琴",
        "鉄の鍵",
        "結婚指輪",
        "狩猟刀",
        "銅の釜",
        "星図",
        "革の日記",
        "硝子の目",
        "錫の兵隊",
        "琥珀の数珠",
        "懐中時計",
        "羽根帽子",
        "釣竿",
        "自鳴琴",
        "油絵",
    ],
    [
        "礼拝堂",
        "地下蔵",
        "灯台",
        "北の厩",
        "果樹園",
        "製パン所",
        "渡し場",
        "硝子工房",
        "墓地",
        "税関",
        "水車小屋",
        "巡礼宿",
        "塩市場",
        "天文台",
        "村の学校",
        "採石場",
        "鐘楼",
    ],
    [
        "千鶴",
        "源三",
        "小夜子",
        "平八",
        "美琴",
        "朔太郎",
        "桔梗",
        "弥生",
        "惣一",
        "清兵衛",
        "鈴音",
        "辰巳",
        "白蓮",
        "冬馬",
        "琴葉",
        "宗近",
        "篝",
        "椿",
        "藤吉",
        "皐月",
    ],
    [
        ("借金のために", "借りがあって"),
        ("友情の証として", "友だちだから"),
        ("洪水のあとで", "水が出てから"),
        ("嫉妬から", "妬いて"),
        ("長い冬の前に", "あの冬に"),
    ],
    [
        "{hero}は{person}の{thing}を{place}で{verb}",
        "{person}はかつて{hero}の{thing}を{place}の近くで{verb}",
        "{place}で{hero}と{person}は{reason}{thing}を{verb}",
    ],
    [
        "ねえ、あの{thing}はまだ{place}にあるのかな。",
        "*顔を上げる。* {person}は{thing}のこと、ずっと知っていたんだよね。",
        "{place}の夢をまた見たの。{person}もいて、{new}。",
    ],
    [
        "静かな夜だった。誰かが食卓を整えていた。",
        "*黙って通り過ぎる。* 今夜は汁物がいいな。",
        "{person}は明日の朝来るから、片付けてパンを買おう。",
        "もうどうでもいい。夜明けに発とう、振り返らずに。",
        "*雨が強くなる。* 手を握って、階段が滑るから。",
    ],
)
LANGUAGES = {"en": ENGLISH, "de": GERMAN, "ja": JAPANESE}
HEROES = {"en": "Wenna", "de": "Wenna", "ja": "ウェンナ"}


@dataclass(frozen=True)
class _Fact:
    verb: tuple[str, str]
    thing: str
    place: str
    person: str
    reason: tuple[str, str]

    def fill(self, template: str, hero: str) -> str:
        last = self.thing.split()[-1]
        return template.format(
            hero=hero, verb=self.verb[0], other=self.verb[1], thing=self.thing, thing_last=last, last=last,
            place=self.place, person=self.person, reason=self.reason[0], new=self.reason[1],
        )  # fmt: skip


def make_case(seed: int, language: str = "en", *, bullets: int = 1000, repeated: int = 6, messages: int = 20) -> Case:
    """One file and one stretch."""
    dice, words, hero = random.Random(f"{seed} {language}"), LANGUAGES[language], HEROES[language]
    facts = _facts(dice, words, bullets)
    known = [f"{fact.fill(dice.choice(words.facts), hero)}." for fact in facts]
    chosen = dice.sample(range(bullets), repeated)
    said = [facts[place].fill(dice.choice(words.mentions), hero) for place in chosen]
    said = [f"{_filler(dice, words, hero)} {one} {_filler(dice, words, hero)}" for one in said]
    said += [" ".join(_filler(dice, words, hero) for _n in range(3)) for _n in range(messages - repeated)]
    dice.shuffle(said)
    speakers = (hero, "Robin")
    entries = [Entry(n, "character" if n % 2 else "user", speakers[n % 2], text) for n, text in enumerate(said)]
    return Case(known, [Line(entry, entry.text) for entry in entries], set(chosen))


def _facts(dice: random.Random, words: Words, count: int) -> list[_Fact]:
    """Facts of which no two are about the same person, thing and place."""
    found: dict[tuple[str, str, str], _Fact] = {}
    while len(found) < count:
        fact = _any_fact(dice, words)
        found[fact.person, fact.thing, fact.place] = fact
    return list(found.values())


def _any_fact(dice: random.Random, words: Words) -> _Fact:
    parts = (words.verbs, words.things, words.places, words.people, words.reasons)
    return _Fact(*(dice.choice(one) for one in parts))  # type: ignore[arg-type]


def _filler(dice: random.Random, words: Words, hero: str) -> str:
    """Something else, in words that many memories share."""
    return _any_fact(dice, words).fill(dice.choice(words.fillers), hero)
