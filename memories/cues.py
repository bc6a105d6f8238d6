"""Words by which memories tell of a state that can end, and of its end (pure). English, with some negations"
" of others."""

from __future__ import annotations

import regex


def _cue(*parts: str) -> regex.Pattern[str]:
    return regex.compile(r"\b(?:" + "|".join(parts) + r")\b")


HOME = _cue(
    r"(?:live[sd]?|living|dwel\w+|lodg\w+|resid\w+|stay(?:s|ed|ing)?|settled?|camp(?:s|ed)) (?:\w+ ){0,2}?"
    r"(?:in|at|on|above|behind|over|near|with|by|down|under|outside|among|alone)",
    r"rent(?:s|ed|ing)",
    r"move[ds]? (?:\w+ )?(?:in|into|to|out of|from|back|away)",
    r"(?:home|house|flat|apartment|room|rooms) (?:is|was|stood|stands) (?:in|at|on)",
)
MOVED = _cue(
    r"(?:move[ds]?|moving) (?:back |away |house |on )?(?:in|into|to|out of|out|from|onto)",
    r"(?:now|since) liv\w+",
    r"live[sd]? (?:now|on|in|at|above|behind|with|by)",
    r"(?:left|sold|gave up|lost) (?:\w+ ){0,4}?(?:house|home|flat|attic|rooms?|apartment|cottage|lodgings?"
    r"|farm|village"
    r"|city|town|lease)",
    r"settled (?:in|at|on|by)",
    r"rents|relocat\w+|emigrated|evicted",
)
WORK = _cue(
    r"(?:work(?:s|ed|ing)?|serve[sd]?|serving|employed|hired|apprenticed?|acting)",
    r"(?:is|was|became|had been|been) (?:an? |the )?(?:\w+ ){0,3}?\w+(?:er|or|ist|man|woman|smith|wright"
    r"|apprentice|clerk)"
    r" (?:at|for|of|in|on)",
    r"(?:job|post|position|trade|profession|career|student|pupil|apprentice|squire|soldier|servant)",
    r"(?:runs?|ran|owns?|owned) (?:an? |the |his |her |their )(?:small |own )?(?:forge|shop|inn|tavern|farm"
    r"|mill|bakery|stall"
    r"|business|store|bar|school|studio|smithy)",
)
REWORKED = _cue(
    r"(?:reassigned|transferred|demoted|discharged|stripped of|quit|resign\w*|retired?|dismissed|fired|sacked"
    r"|promoted|appointed|confirmed as|elected|sworn in"
    r"|took over)",
    r"(?:gave up|left|lost|changed) (?:\w+ ){0,3}?(?:job|post|position|work|trade|career|service)",
    r"(?:became|become|now works|works now|new job|started (?:work\w*|as)|hired as)",
    r"(?:left|leaves|deserted) the (?:guard|army|navy|order|crew|service|academy|company|band|circus|police|force)",
    r"stopped working|no longer works?|graduated?|left school|expelled|retires",
    r"(?:sold|closed|lost|gave up) (?:\w+ ){0,3}?(?:forge|shop|inn|tavern|farm|mill|bakery|stall|business"
    r"|store|bar|school)",
)
PLAN = _cue(
    r"(?:plan|intend|promis|hop|expect|predict|arrang|schedul|postpon|propos|agree|decid|vow|swear|aim)(?:s"
    r"|ed|d|e|es|ned|ning)?",
    r"(?:mean|means|meant|want|wants|wanted|going|about|due|wait|waits|waited) to",
    r"put off|fixed (?:\w+ ){0,6}?for|until further notice|as a surprise|engaged|betrothed|swore"
    r"|asked .{1,40}? to marry",
)
OUTCOME = _cue(
    r"(?:kept|broke|fulfilled|keeps) (?:\w+ ){0,2}?(?:promise|word|vow|oath)",
    r"(?:postponed|cancell?ed|abandoned|dropped) (?:\w+ ){0,5}",
    r"(?:put off|called off|gave up|calls? off|given up)",
    r"(?:passed|failed|confirmed|accepted|declined|refused|married|wed|finished|completed|won|lost|sold"
    r"|opened|delivered)",
    r"(?:was|were) (?:given|held|found|left|made|postponed|put off)",
    r"turned (?:\w+ )?down|rejected|said (?:yes|no)",
    r"(?:changed|changes) (?:\w+ ){0,2}?minds?|did not|didn't|decided (?:not|against)|after all|instead"
    r"|at last|finally",
    r"(?:left|leaves) (?:\w+ ){0,8}?(?:in trust|to)",
)
CLAIM = _cue(
    r"(?:told|tells?|claim(?:s|ed)|said|says|believ\w+|thought|thinks|insist\w+|swore|assum\w+|suspect\w+"
    r"|pretend\w*|boasted)",
    r"(?:untrue|supposed(?:ly)?|was sure|seemed|denied|denies)",
)
TRUTH = _cue(
    r"(?:confess\w*|admit\w*|reveal\w*|lied|liar|untrue|invented|made it up|pretended)",
    r"(?:in truth|in fact|actually|turned out|was mistaken|was wrong|never (?:been|had)|had never|not really)",
)
LACK = _cue(
    r"(?:could not|couldn't|cannot|can't|can not|unable|not yet|refus\w+|(?:had|has|have) (?:not"
    r"|never) (?:spoken|seen|met|written|heard|visited|been))",
    r"(?:missing|lost|stolen|broken?|without|lack\w*|gone|prisoner|captive|captured|trapped|blind|lame"
    r"|unconscious)",
    r"(?:ill|sick|sickly|dying|injured|wounded|hurt|sprained|fever\w*|poisoned|cursed|pregnant|in a coma"
    r"|quarrel\w+)",
    r"(?:left|leaves) (?:\w+ ){0,2}?in (?:anger|a rage|tears)",
    r"(?:angry|furious|estranged|feud\w*|on bad terms|afraid|frightened|scared|terrified)",
)
REPAIR = _cue(
    r"(?:found|finds|recover\w*|return\w*|came back|comes back|got back|gave back|back from|came home"
    r"|brought back)",
    r"(?:reconcil\w+|made up with|made peace|forg[ai]ve\w*|heal\w*|cured|mended|repaired|restored|rescued"
    r"|freed|escaped)",
    r"(?:well again|better now|woke|gave birth|born|died|dead|passed away|killed|buried)",
    r"(?:new (?:\w+ )?(?:hand|arm|leg|eye|heart|voice|sword|ring|key|horse|ship|home|name)|learn\w* to"
    r"|managed to|at last)",
    r"overc[ao]me|on (?:his|her|its|their) own|by (?:him|her|it)self",
)
ILL = _cue(
    r"(?:ill|sick|dying|injured|wounded|feverish|poisoned|pregnant|comatose|bedridden|paralysed|paralyzed)",
    r"in (?:a coma|labour|labor)|expecting (?:a|her|their) (?:\w+ )?(?:child|baby)|broke (?:his|her|their|its) \w+",
)
WELL = _cue(
    r"(?:recovered|healed|cured|died|dead|passed away|is well|was well|well again|gave birth|walks again"
    r"|woke from)",
    r"(?:lost|miscarried) (?:the|her|their) (?:child|baby)",
)
OWING = _cue(
    r"(?:owe[sd]?|owing|borrow\w*|debt|lent|loan\w*|pawned)",
    r"own(?:s|ed)?|possess\w*|intact|undamaged|still stands",
    r"(?:keeps?|wears?|carry|carries) (?:an?|the|his|her|their|its)",
    r"(?:ha[sd]|have|with) (?:only |about |nearly )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten"
    r"|twelve|twenty|thirty|forty|fifty|a hundred) \w+",
)
SETTLED = _cue(
    r"(?:paid|repaid|pays|returned|gave back|settled|redeemed)",
    r"(?:traded|sold|lost|pawned|broke|burn\w+|gave away|threw away|was left with|swapped|stolen|destroyed"
    r"|gambled away)",
)
TIES = _cue(
    r"(?:single|dating|courting|engaged|betrothed|married|lovers?|girlfriend|boyfriend|wife|husband|fianc\w+"
    r"|partners?)",
    r"(?:friends?|enem(?:y|ies)|rivals?|allies|strangers|trust(?:s|ed)?|hat(?:es?|ed)|sweet on|in love|love[sd]?)",
)
TIES_CHANGED = _cue(
    r"(?:broke up|broken up|split up|separated|divorced|widow\w*|ended (?:\w+ ){0,2}?(?:engagement|marriage"
    r"|affair))",
    r"(?:called off|betrayed|fell out|made peace|became (?:friends|lovers|enem\w+|allies)|married|engaged"
    r"|accepted)",
    r"(?:no longer (?:trusts?|loves?|friends)|kissed for the first time|confess\w* (?:\w+ ){0,3}?love"
    r"|fell in love)",
)
LIKING = _cue(
    r"(?:like[sd]?|love[sd]?|loving|enjoy(?:s|ed)?|fond of|favou?rite|prefer(?:s|red)?|ador(?:es?|ed)|craves?)"
)
DISLIKING = _cue(
    r"(?:hate[sd]?|dislike[sd]?|loathe[sd]?|detest(?:s|ed)?|cannot stand|can't stand|could not stand|sick of)"
)
NO_LONGER = regex.compile(
    r"\b(?:no longer|not .{0,25}any ?more|stopped|has given up|since then|formerly|nicht mehr|kein\w* .{0,20}mehr"
    r"|früher|ya no|antes|ne .{0,25}plus|n'.{0,25}plus|non .{0,25}più|já não|não .{0,25}mais|больше не|уже не"
    r"|nie .{0,20}już)\b"
    r"|不再|已经不|もう.{0,12}ない|더 ?이상"
)
UNABLE = _cue(r"(?:could|can) ?not|couldn't|can't|never learn\w*|unable to|refus\w+")
ABLE = _cue(
    r"(?:could|can) (?!not|be)\w+",
    r"learn\w* to|managed to|for the first time|by (?:him|her|it)self|on (?:his|her|its|their) own",
)
USED_TO = _cue("used to")
AGE = regex.compile(r"\b(?:turn(?:s|ed)|aged?|years? old|years of age|Jahre alt|ans|años|лет)\b|岁|歳")

CUES: dict[str, regex.Pattern[str]] = {
    "home": HOME,
    "moved": MOVED,
    "work": WORK,
    "reworked": REWORKED,
    "plan": PLAN,
    "outcome": OUTCOME,
    "claim": CLAIM,
    "truth": TRUTH,
    "lack": LACK,
    "repair": REPAIR,
    "ill": ILL,
    "well": WELL,
    "owing": OWING,
    "settled": SETTLED,
    "ties": TIES,
    "ties changed": TIES_CHANGED,
    "liking": LIKING,
    "disliking": DISLIKING,
    "no longer": NO_LONGER,
    "unable": UNABLE,
    "able": ABLE,
    "used to": USED_TO,
    "age": AGE,
}
