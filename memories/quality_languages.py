"""Words that carry no meaning of their own, by language: they tell which language a text is in (pure data).

Written without accents and in small letters, as memories/quality_text.py folds its words. Chinese and Japanese need no
list: their letters tell. Auxiliary verbs stand here too, for they say nothing about what happened.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "a an the this that these those and or but nor so if then than as at by for from in into of off on onto "
        "out over to up upon with within without about after before during while when where which who whom whose what "
        "how why because although though until since between against through under behind above near he she "
        "it they we "
        "you i him her them us me his its their our your my mine hers theirs himself herself itself themselves am is "
        "are was were be been being do does did done doing have has had having will would shall should can could may "
        "might must not no yes there here also too very just only even still already again once both each every all "
        "some any more most much many other another own same such rather quite yet now ever never nobody nothing "
        "someone something everyone everything anyone anything one's being it's i'm i've i'll don't didn't isn't "
        "wasn't can't couldn't wouldn't doesn't won't that's he's she's you're you've they're we're hadn't haven't "
        "hasn't there's ago along away back down around instead across toward towards",
        "de": "der die das den dem des ein eine einen einem einer eines und oder aber denn sondern wenn als ob dass "
        "weil da damit um zu in im ins an am ans auf aus bei beim mit nach von vom vor zum zur uber unter "
        "hinter neben "
        "zwischen durch fur gegen ohne bis seit wegen trotz ich du er sie es wir ihr ihn ihm ihnen mich dich sich uns "
        "euch mir dir mein dein sein seine seinen seinem seiner ihre ihren ihrem ihrer unser euer bin bist ist sind "
        "seid war waren warst gewesen werde wird werden wurde wurden worden habe hast hat haben hatte hatten gehabt "
        "kann konnen konnte konnten muss mussen musste soll sollen sollte sollten will wollen wollte wollten darf "
        "durfte mag mochte nicht kein keine keinen keinem keiner nie nur noch schon auch sehr so doch dann dort hier "
        "da was wer wen wem wo wie warum welche welcher welches dieser diese dieses diesem diesen jener man etwas "
        "nichts alle alles jeder jede jedes mehr einmal wieder nun jetzt ihrem ihres worauf woraufhin wobei nachdem "
        "bevor obwohl wahrend sowie darauf daran dafur dazu davon",
        "fr": "le la les l un une des du de d au aux et ou mais donc car ni si que qu quand comme lorsque "
        "parce puisque "
        "afin pour par avec sans sous sur dans en chez vers entre contre depuis pendant apres avant je j tu "
        "il elle on "
        "nous vous ils elles me m te t se s lui leur leurs moi toi soi eux mon ma mes ton ta tes son sa ses "
        "notre votre "
        "nos vos ce c cet cette ces ceci cela ca qui dont ou quoi quel quelle est sont suis es etes etait etaient ete "
        "etre sera fut furent serait a ai as avons avez ont avait avaient avoir eu aura aurait peut pouvait pas ne n "
        "plus jamais rien non oui y tout tous toute toutes meme aussi tres bien encore deja alors puis ainsi lequel "
        "laquelle fait faire deux-memes elle-meme lui-meme",
        "es": "el la los las lo un una unos unas de del al a y e o u pero sino si que porque cuando como "
        "aunque mientras "
        "para por con sin sobre en entre contra desde hasta hacia tras ante bajo yo tu el ella ello nosotros vosotros "
        "ellos ellas usted ustedes me te se nos os le les mi mis su sus nuestro nuestra vuestro este esta estos estas "
        "ese esa esos eso esto aquel aquella quien cual donde cuanto es son soy eres somos era eran fue "
        "fueron sido ser "
        "sera seria esta estan estaba estaban estar estado he has ha hemos han habia habian haber hubo no ni "
        "nunca nada "
        "nadie ya muy mas menos tambien solo aun todo toda todos todas otro otra cada algo alguien luego entonces asi "
        "puede podia tenia",
        "it": "il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal "
        "dallo dalla dai dalle in nel nello nella nei negli nelle su sul sullo sulla sui sulle con per tra fra e ed o "
        "ma se che perche quando come anche mentre pero dunque io tu lui lei noi voi loro mi ti si ci vi ne "
        "lo gli suo "
        "sua suoi sue mio mia tuo tua nostro nostra questo questa questi queste quello quella quelli chi cui "
        "dove quale "
        "e sono sei siamo era erano fu furono stato stata stati state essere sara sarebbe ho hai ha abbiamo "
        "hanno aveva "
        "avevano avere avuto non mai niente nulla nessuno piu meno gia ancora molto poi cosi solo tutto tutta tutti "
        "tutte altro altra ogni qualcosa qualcuno puo poteva dopo prima senza cosa cioe",
        "pt": "o a os as um uma uns umas de do da dos das ao aos a em no na nos nas num numa por pelo pela "
        "pelos pelas "
        "com sem sob sobre entre contra desde ate para e ou mas se que porque quando como embora enquanto eu "
        "tu ele ela "
        "nos vos eles elas voce voces me te se lhe lhes seu sua seus suas meu minha teu tua nosso nossa este "
        "esta esse "
        "essa isso isto aquele aquela quem qual onde e sao sou era eram foi foram sido ser sera seria esta "
        "estao estava "
        "estavam estar tem tinha tinham ter havia nao nem nunca nada ninguem ja muito mais menos tambem so ainda tudo "
        "toda todo todas todos outro outra cada algo alguem depois antes entao assim pode podia dele dela deles delas "
        "lo la",
        "nl": "de het een en of maar want als dat dan die dit deze wie wat waar hoe waarom toen terwijl omdat hoewel "
        "zodat om te in op aan uit bij met naar van voor door over onder tussen tegen zonder tot sinds na ik "
        "jij je hij "
        "zij ze wij we jullie u hem haar hen hun mij me jou ons zich mijn jouw zijn onze is ben bent was "
        "waren geweest "
        "wordt worden werd werden geworden heb hebt heeft hebben had hadden gehad kan kunnen kon konden moet moeten "
        "moest zal zullen zou zouden wil wilde mag mocht niet geen nooit niets niemand ook nog al zo er hier "
        "daar maar "
        "heel zeer wel meer weer nu eens alle alles iets iemand elke ieder zelf waardoor waarop",
        "pl": "i a o u w z ze we do na od po za przed przez pod nad przy dla bez miedzy oraz lub albo ale "
        "lecz ze zeby "
        "aby gdy kiedy jak jako jesli bo poniewaz wiec ktory ktora ktore ktorego ktorej ktorych ktorym co kto "
        "gdzie czy "
        "ja ty on ona ono my wy oni one mnie mi mu jej jego go ja ich im nim nia nich sie siebie sobie swoj "
        "swoja swoje "
        "swego swoim swojej swoich moj moja twoj twoja nasz ten ta to te tego tej tym tych jest sa byl byla bylo byli "
        "byly byc bedzie beda zostal zostala zostalo ma mial miala miec moze nie nigdy nic nikt juz jeszcze tez takze "
        "bardzo tylko tak tu tam wszystko wszystkie wszystkich kazdy inny potem czym o",
        "ru": "и а но или что чтобы как когда если потому хотя пока то же ли бы не ни в во на с со к ко у о об от до "
        "из за под над при про без для по через между перед после я ты он она оно мы вы они меня мне тебя "
        "тебе его ему "
        "ее ей нас нам вас вам их им ним ней них себя себе свои свой своя свою своей своего своих своем мой моя твой "
        "твоя наш ваш этот эта это эти этого той тот та те том кто который которая которое которые которого которой "
        "где куда зачем был была было были быть будет есть нет да уже еще тоже также очень только лишь так там здесь "
        "все всех всё весь вся никогда ничего никто потом чем",
        "tr": "ve veya ama fakat ki de da ile icin gibi kadar gore sonra once bu su o bir ben sen biz siz onlar beni "
        "bana seni sana onu ona onun benim senin bizim sizin kendi kendisi kendine ne kim nasil neden nerede hangi mi "
        "mu degil var yok idi oldu olan olarak olup daha en cok hic her hep hem ya cunku eger diye artik simdi zaten "
        "oldugu oldugunu",
        "sv": "och eller men att som om nar dar den det de en ett han hon vi ni jag du sig sin sitt sina hans hennes "
        "deras mig dig honom henne dem oss er ar var varit vara blev blivit hade har ha kan kunde ska skulle "
        "vill ville "
        "inte ingen aldrig av pa i till fran med for vid under over efter fore utan mellan mot ur nu da ocksa mycket "
        "bara sa hur varfor vad vem alla allt man",
        "cs": "a i o u v z se si na do od po za pred pri pro bez mezi nebo ale ze aby kdyz jak jako protoze "
        "ktery ktera "
        "ktere co kdo kde ja ty on ona my vy oni mne mi mu ji jeho jej ho jim nim ni sve svuj svou ten ta to "
        "te toho je "
        "jsou byl byla bylo byli byt bude ma mel mela ne nikdy nic nikdo uz jeste take velmi jen tak tam vse vsechno",
        "uk": "і й та а але або що щоб як коли якщо бо хоча не ні в у на з із до від за під над при про без для по "
        "через між перед після я ти він вона воно ми ви вони мене мені його йому її їй нас їх їм себе собі свій свою "
        "цей ця це ці той та хто який яка яке які де був була було були бути є вже ще також дуже лише так там все",
        "id": "yang dan atau tetapi di ke dari pada untuk dengan oleh karena ketika jika agar bahwa ini itu "
        "dia ia aku "
        "saya kamu anda kami kita mereka nya adalah ialah telah sudah akan sedang tidak bukan belum juga lagi saja "
        "sangat lebih ada sebagai dalam seorang sebuah para",
    }.items()
}
