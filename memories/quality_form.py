"""What is no memory at all, told by its form: refusals, preambles, sentinels, remnants of reasoning (pure)."""

from __future__ import annotations

import regex

MARKUP = regex.compile(
    r"^\s*(?:#{1,6}\s|```|~~~|\|.*\||-{3,}|={3,}|\*{3,}\s*$|<!--|\{\s*\"|\[\s*\{)"  # headings, fences, tables, JSON
    r"|</?(?:think|thinking|thought|reasoning|reflection|analysis|memory|memories|output|answer|response|result|"
    r"scratchpad|final|summary|bullet|bullets|tool_call|function|instruction|system|user|assistant|json|xml|"
    r"notes?)\b[^>]*>"
    r"|<\|[^|>]*\|>|\[/?(?:INST|SYS|THINK)\]|<</?SYS>>|◁/?think▷"
    r"|^\s*(?:assistant|user|system|human|ai|model)\s*:",
    regex.IGNORECASE,
)
HEADING = regex.compile(
    r"^\s*(?:\*\*|__)[^*_]{2,80}?(?:\*\*|__)\s*[:：]?\s*$|^\s*(?:\*\*|__)[^*_]{2,80}[:：](?:\*\*|__)\s*$"
)
COLON_END = regex.compile(r"[:：]\s*(?:\*\*|__)?\s*$")
SENTINEL = regex.compile(
    r"^[\W_]*(?:[A-Z]+_[A-Z_]+|EOF|STOP|DONE|END|(?i:n/?a|none|null|nil|nothing|empty|keine?|nichts|aucune?|rien|"
    r"ningun[oa]s?|nada|nessun[oa]|niente|nenhum|geen|niets|brak|нет|ничего|yok|inga?|žádné|tidak ada)|"
    r"なし|特になし|无|無|没有|없음)[\W_]*$"
)
PLACEHOLDER = regex.compile(
    r"\{\{[^}]*\}\}|\[(?:insert|name|character|user|date|fact|placeholder)[^\]]*\]|<(?:name|fact)>", regex.I
)
NO_LETTER = regex.compile(r"^[\W\d_]*$")
# "No new memories (were found)", in many languages: a word of not any, and a word for what was asked for, near it.
ASKED_FOR = (
    r"(?:memor(?:y|ies)|bullets?|facts?|events?|information|details|updates?|entries|erinnerung\w*|fakten|"
    r"ereignisse|einträge|"
    r"informationen|souvenirs?|faits|événements|mémoires?|informations?|recuerdos?|hechos|acontecimientos|memorias?|"
    r"información|ricord[oi]|memori[ae]|fatti|eventi|informazioni|lembranças?|memórias?|fatos|factos|acontecimentos|"
    r"herinnering\w*|feiten|gebeurtenissen|informatie|wspomnie\w+|fakt\w+|wydarze\w+|informac\w+|воспоминани\w+|"
    r"факт\w*|событи\w+|спогад\w*|подій|vzpomín\w+|událost\w*|an[ıi](?:lar)?|hatıra\w*|bilgi\w*|minnen?|fakta|"
    r"händelser|"
    r"kenangan|ingatan|fakta|muistoja|emlék\w*|amintir\w+|αναμνήσεις)"
)
NONE_OF = (
    r"(?:no|not any|nothing|none|without any|keine[nrs]?|nichts|kein|aucun[es]?|pas de|rien|ningún|"
    r"ningun[oa]s?|no (?:hay|se|existen)|"
    r"nessun[oa]?|non (?:ci|sono|è|e)|niente|nenhum[a]?|não (?:há|foram|existem)|nada|geen|niets|brak|żadn\w+|"
    r"nie (?:ma|znaleziono)|nic|"
    r"нет|никаких|не (?:найдено|обнаружено|было)|немає|жодн\w+|не знайдено|žádn\w+|nebyl[yo]?|yok|yeni|hiçbir|"
    r"bulunamadı|inga|"
    r"inget|tidak ada|ei|nincs\w*|niciun?|nu (?:există|au)|δεν)"
)
NEW_OR_SUCH = (
    r"(?:new|further|additional|significant|notable|relevant|important|neue[nrs]?|weitere[nrs]?|"
    r"wichtige[nrs]?|nouve\w+|"
    r"nuev\w+|nuov\w+|nov[oa]s?|nieuwe|now\w+|нов\w+|yeni|nya|baru|to (?:extract|record|report|note|add|save)|"
    r"(?:were|was|are) found|found|gefunden|trouvé\w*|encontra\w+|trovat\w+|gevonden|znalezion\w+|найден\w+|"
    r"bulunamadı|yok|da estrarre|à extraire|que extraer|para extra\w+|zu (?:extrahieren|speichern)|"
    r"te (?:extra\w+|onthouden)|long-term)"
)
EMPTY = regex.compile(
    rf"\b{NONE_OF}\b(?:\W+\w+){{0,6}}?\W+{ASKED_FOR}\b|\b{ASKED_FOR}\b(?:\W+\w+){{0,3}}?\W+{NONE_OF}\b",
    regex.IGNORECASE,
)
NEW = regex.compile(rf"\b{NEW_OR_SUCH}\b", regex.IGNORECASE)
NOTHING = regex.compile(
    r"^\W*(?:nothing (?:new|notable|significant|to|of note|else)|no (?:notable|significant|important|relevant|"
    r"new|further)\b"
    r"|nichts (?:neues|besonderes|zu)|rien (?:de (?:nouveau|notable)|à)|nada (?:nuevo|que|de novo|relevante)"
    r"|niente (?:di nuovo|da)|niets (?:nieuws|te)|nic (?:nowego|do)|ничего (?:нового|важного)|нічого нового"
    r"|kaydedilecek|inget (?:nytt|att)|tidak ada (?:yang|kenangan))\b",
    regex.IGNORECASE,
)
REFUSAL = regex.compile(
    r"\b(?:as an? (?:ai|artificial|large|language)|als (?:ki|ai|künstliche|sprachmodell)|en tant qu['’](?:ia|"
    r"intelligence|assistant|mod[eè]le)"
    r"|como (?:una? )?(?:ia|ai|inteligencia|inteligência|modelo de|asistente|assistente)|in quanto (?:ia|ai|"
    r"intelligenza|modello|assistente)"
    r"|als (?:een )?(?:ai|taalmodel|kunstmatige)|jako (?:si|ai|model|sztuczna|asystent)|как (?:ии|"
    r"искусственный|языковая|ассистент)"
    r"|bir (?:yapay zeka|dil modeli)|som (?:en )?(?:ai|språkmodell)|language model|sprachmodell|"
    r"modelo de (?:lenguaje|linguagem)|"
    r"modèle de langage|modello linguistico|taalmodel|model językowy|языковая модель)\b"
    r"|^\W*(?:i['’]?m (?:sorry|afraid|unable|not able)|i am (?:sorry|unable|not able)|sorry,|i apologi[sz]e|"
    r"my apologies"
    r"|i (?:can(?:['’]t|not| not)|could ?n['’]?t|won['’]t|do(?:n['’]t| not) (?:have|see|find)|will|['’]ll|"
    r"have (?:extracted|identified|found|kept)|need)\b"
    r"|i['’](?:ll|ve|d)\b|let me\b|let['’]s\b"
    r"|es tut mir leid|tut mir leid|entschuldigung|leider|ich (?:kann|konnte|habe|werde|bin)\b|gerne|"
    r"je (?:suis désolée?|ne peux|n['’]ai|vais|m['’]excuse)|désolée?\b|malheureusement|"
    r"lo siento|perdón,|lamentablemente|no puedo|voy a|he (?:extraído|encontrado)|"
    r"mi dispiace|purtroppo|non posso|non riesco|ho (?:estratto|trovato)|"
    r"desculpe|sinto muito|infelizmente|lamento|não (?:posso|consigo)|vou\b|"
    r"het spijt me|helaas|ik (?:kan|heb|zal|ben)\b|"
    r"przepraszam|przykro mi|niestety|nie mogę|"
    r"извин\w+|к сожалению|прости\w+,|я не (?:могу|нашел|нашёл)|"
    r"вибачте|на жаль|omlouvám|bohužel|üzgünüm|maalesef|özür dilerim|tyvärr|jag (?:kan|har)|maaf|sayangnya)",
    regex.IGNORECASE,
)
PREAMBLE = regex.compile(
    r"^\W*(?:(?:sure|certainly|of course|okay|ok|alright|absolutely|great|understood|got it|here(?:['’]s| is|"
    r" are|by)|below (?:is|are)|"
    r"the following|following (?:is|are)|these are|this is (?:a|the) (?:list|summary)|based on (?:the|this)|"
    r"after (?:reviewing|reading|analy[sz]ing)|"
    r"in (?:summary|conclusion)|to summari[sz]e|summary|note|notes|output|result|task|format|key (?:points|"
    r"events|developments|facts|memories)|"
    r"new memories|extracted|memories|long-term|final answer|step \d|analysis|thinking|reasoning|hmm|wait|first,? i|"
    r"(?:the|this) (?:user|conversation|chat|scene|text|excerpt|prompt) (?:wants?|asks?|asked|is|contains|"
    r"does|did|shows)|"
    r"hier (?:sind|ist|folgen)|folgende|im folgenden|nachfolgend|natürlich|selbstverständlich|zusammenfassung|"
    r"hinweis|anmerkung|wichtige|extrahierte|basierend|"
    r"voici|voilà|ci-dessous|bien sûr|d['’]accord|résumé|remarque|souvenirs? (?:extraits?|importants?)|"
    r"d['’]après|sur la base|"
    r"aquí (?:están|está|tienes)|a continuación|claro|por supuesto|de acuerdo|resumen|nota|"
    r"recuerdos (?:extraídos|nuevos)|basándome|"
    r"ecco|di seguito|qui sotto|certo|certamente|va bene|riassunto|ricordi (?:estratti|nuovi)|in base|"
    r"aqui est(?:ão|á)|a seguir|abaixo|com certeza|claro|resumo|memórias (?:extraídas|novas)|com base|"
    r"hieronder|hier (?:zijn|is|volgen)|natuurlijk|uiteraard|oké|samenvatting|opmerking|op basis|"
    r"oto|poniżej|oczywiście|dobrze|jasne|podsumowanie|uwaga|wspomnienia|na podstawie|"
    r"вот|ниже|конечно|хорошо|ладно|итак|резюме|примечание|на основе|извлеч[её]нные|"
    r"ось|нижче|звичайно|добре|zde (?:jsou|je)|níže|samozřejmě|poznámka|"
    r"işte|aşağıda|tabii|elbette|tamam|özet|not|çıkarılan|här (?:är|följer)|nedan|självklart|berikut|tentu|"
    r"baik|catatan)"
    r"(?![\p{L}]))",
    regex.IGNORECASE,
)
ABOUT_TASK = regex.compile(
    r"\b(?:bullet points?|(?:first|second|third) person|past tense|extract(?:ed|ing|ion)?|as (?:requested|"
    r"formatted)|formatted|summari[sz]e|the (?:user|prompt|instructions?)|"
    r"roleplay|long-term memor\w+|this (?:chat|conversation|excerpt)|conversation|memories|extrahier\w+|"
    r"zusammenfass\w+|gespräch\w*|erinnerungen|"
    r"extrai\w*|souvenirs|conversation|résum\w+|extra[íi]d\w+|extraer|conversación|recuerdos|resum\w+|"
    r"estra\w+|conversazione|ricordi|riassun\w+|"
    r"extra[íi]r|conversa|memórias|geëxtraheerd\w*|extraheren|herinneringen|fragment|wspomnie\w+|rozmow\w+|"
    r"извлеч\w+|воспоминани\w+|"
    r"разговор\w*|фрагмент\w*|çıkar\w+|anılar\w*|bölüm\w*|minnen|konversation\w*|kenangan|percakapan)\b",
    regex.IGNORECASE,
)
CJK = regex.compile(
    r"以下(?:は|に|が|是|为|為)|申し訳|すみませんが|できません(?:でした)?。?$|ありません。?$|見つかりません|"
    r"特に(?:なし|ない)|該当(?:なし|する)|抽出|新しい記憶|新たな記憶|"
    r"記憶(?:は|すべき|として)|了解|承知|かしこまり|はい、|もちろん|まとめ(?:ると|ました)|抱歉|对不起|對不起|"
    r"无法|無法|没有(?:新|发现|值得|需要)|沒有(?:新|發現)|"
    r"提取|当然|當然|好的|总结|總結|作为(?:一个)?(?:AI|人工智能|语言模型)|AIとして|言語モデル|記憶一覧|"
    r"记忆(?:如下|列表)|注[:：]|"
    r"죄송|다음은|새로운 기억|기억이 없|추출|물론|알겠습니다|인공지능|언어 모델|요약",
)
FIRST_PERSON = regex.compile(
    r"^\W*(?:i|we|my|our|ich|wir|mein\w*|je|j['’]\w+|nous|mon|ma|yo|nosotros|mi|io|noi|eu|nós|meu|minha|ik|wij|mijn|"
    r"ja|my|mój|moja|я|мы|мой|моя|ben|biz|benim|jag|vi|min)\s",
    regex.IGNORECASE,
)
YOU = regex.compile(r"^\W*(?:you|your|du|dein\w*|tu|vous|usted|você|jij|jouw|ty|ты|вы|sen|siz)\s", regex.IGNORECASE)
TENSE = {"en": regex.compile(r"^(?:\S+\s){1,3}(?:is|are|has|have|does|will|wants|feels|likes|says|tells|goes)\b")}
TAG = regex.compile(r"^\s*\[[^\[\]]{3,200}\]\s*$")
PARTED = regex.compile(r"\s[—–-]\s|[:：]|—")  # a tag says of whom and of what
LONGEST = 400


REMARK = regex.compile(
    r"^\W*(?:note|notes|hint|remark|disclaimer|hinweis|anmerkung|bemerkung|remarque|note de|nota|"
    r"observaci[oó]n|observação|osservazione|"
    r"opmerking|uwaga|примечание|примітка|poznámka|not|obs|anm|catatan|注意?|備考|참고)\s*[:：]",
    regex.IGNORECASE,
)


def is_topic(text: str) -> bool:
    """Whether a line is a topic tag, "[Alice, Bob — what it is about]"."""
    return TAG.match(text) is not None and not MARKUP.search(text)


def no_memory(text: str) -> float:
    """How sure it is, 0 to 1, that a line is no memory but something the model said beside them."""
    stripped = text.strip()
    if NO_LETTER.match(stripped) or MARKUP.search(stripped) or SENTINEL.match(stripped) or PLACEHOLDER.search(stripped):
        return 1.0
    if TAG.match(stripped):
        return 0.0 if PARTED.search(stripped) else 1.0
    if HEADING.match(stripped) or REFUSAL.search(stripped) or CJK.search(stripped):
        return 1.0
    if EMPTY.search(stripped) and (NEW.search(stripped) or len(stripped.split()) < 8):
        return 1.0
    if REMARK.search(stripped):
        return 1.0
    if NOTHING.search(stripped):
        return 0.9
    if PREAMBLE.search(stripped):
        return 1.0 if COLON_END.search(stripped) or ABOUT_TASK.search(stripped) else 0.4
    if COLON_END.search(stripped):
        return 0.9
    return 0.0


def form_hint(text: str, language: str) -> str:
    """What about the form of a bullet is unlike a memory: "person", "tense", "long", or "" where nothing is."""
    if FIRST_PERSON.match(text) or YOU.match(text):
        return "person"
    if language in TENSE and TENSE[language].match(text):
        return "tense"
    return "long" if len(text) > LONGEST else ""
