"""Words that nearly every text of a language has, and that say nothing of what it is about.

The lists are short on purpose: articles, pronouns, prepositions, conjunctions, auxiliary verbs
and question words. BM25 gives a frequent word little weight by itself, and lists of a thousand
words take "information", "value" and "state" from the questions that are about them.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    "english": _words(
        """
        a an the and or but nor if then else than as at by for from in into of off on onto
        out over per to up upon via with without within about after again against before
        below between during through under until above down further once i me my mine myself
        we us our ours ourselves you your yours yourself yourselves he him his himself she
        her hers herself it its itself they them their theirs themselves this that these
        those there here who whom whose which what when where why how am is are was were be
        been being do does did doing done have has had having can could may might must shall
        should will would not no only own same so such too very just also all any both each
        few more most other some because while don't doesn't didn't isn't aren't wasn't
        weren't hasn't haven't hadn't can't couldn't won't wouldn't shan't shouldn't mustn't
        it's that's there's what's who's where's how's i'm i've i'd i'll you're you've you'd
        you'll he's he'd he'll she's she'd she'll we're we've we'd we'll they're they've
        they'd they'll let's
        """
    ),
    "german": _words(
        """
        der die das den dem des ein eine einen einem einer eines und oder aber denn wenn als
        wie dass daß weil ob an am auf aus bei beim bis durch für gegen in im ins mit nach
        ohne seit über um unter von vom vor zu zum zur zwischen ich mich mir du dich dir er
        ihn ihm sie ihr es wir uns euch sich mein dein sein unser euer ihre ihren ihrem
        ihrer seine seinen seinem seiner dieser diese dieses diesen diesem jener jene jenes
        man wer wen wem wessen was welcher welche welches welchen welchem wo wann warum
        wieso wohin woher bin bist ist sind seid war waren wäre wären gewesen habe hast hat
        haben hatte hatten werde wird werden wurde wurden worden kann können konnte konnten
        muss müssen soll sollen will wollen darf dürfen mag nicht kein keine keinen auch nur
        noch schon so sehr da dann hier dort
        """
    ),
    "french": _words(
        """
        le la les un une des du de au aux et ou mais donc or ni car que qui quoi dont où
        quand comment pourquoi combien quel quelle quels quelles si comme à dans en par pour
        sur sous avec sans entre vers chez depuis pendant je me moi tu te toi il elle on
        nous vous ils elles se soi lui leur leurs y mon ma mes ton ta tes son sa ses notre
        nos votre vos ce cet cette ces cela ça celui celle ceux celles suis es est sommes
        êtes sont était étaient été être sera seront ai as a avons avez ont avait avaient eu
        avoir fait ne pas plus aussi très c'est qu'il qu'elle qu'on n'est d'un d'une l'on
        """
    ),
    "spanish": _words(
        """
        el la los las lo un una unos unas y e o u pero ni que si como al del de a ante con
        contra desde en entre hacia hasta para por según sin sobre tras yo me mí tú te ti él
        ella ello ellos ellas nosotros nos vosotros os se sí le les mi mis tu tus su sus
        nuestro nuestra nuestros nuestras este esta esto estos estas ese esa eso esos esas
        aquel aquella quien quienes qué quién quiénes cuál cuáles cuándo cuando dónde donde
        cómo porque cuánto cuántos soy es son era eran fue fueron ser sido está están estaba
        estaban estar ha han he había habían haber hay no también muy más ya
        """
    ),
    "italian": _words(
        """
        il lo la i gli le un uno una e ed o ma né se che chi cui come dove quando perché
        quale quali quanto quanti di a ad da in con su per tra fra del dello della dei degli
        delle al allo alla ai agli alle dal dalla dai dalle nel nello nella nei negli nelle
        sul sullo sulla sui sugli sulle io me mi tu te ti lui lei noi ci voi vi loro si suo
        sua suoi sue mio mia questo questa questi queste quello quella quelli quelle sono è
        sei siamo siete era erano essere stato stata ho ha hai abbiamo hanno aveva avevano
        avere non anche più molto
        """
    ),
    "portuguese": _words(
        """
        o a os as um uma uns umas e ou mas nem que se como quem qual quais quando onde
        porque quanto quantos de do da dos das em no na nos nas ao à aos às por pelo pela
        pelos pelas para com sem sobre entre até desde eu me mim tu te você vocês ele ela
        eles elas nós lhe lhes meu minha seu sua seus suas nosso nossa este esta isto estes
        estas esse essa isso esses essas aquele aquela é são era eram foi foram ser sido
        está estão estava estar tem têm tinha ter há não também muito mais já
        """
    ),
    "dutch": _words(
        """
        de het een en of maar want als dan dat die dit deze wie wat waar wanneer waarom hoe
        welke welk aan bij door in met na naar om onder op over te ten ter tot tegen tussen
        uit van voor zonder ik me mij mijn je jij jou jouw u uw hij hem zijn zij ze haar wij
        we ons onze jullie hun hen zich er ben bent is was waren geweest heb hebt heeft
        hebben had hadden word wordt worden werd werden kan kunnen kon konden moet moeten
        zal zullen zou zouden niet geen ook nog zo zeer
        """
    ),
    "swedish": _words(
        """
        en ett den det de och eller men att om som vad vem vilken vilket vilka var när
        varför hur av för från i in med mot på till under vid över efter utan mellan jag mig
        du dig han honom hon henne vi oss ni er dem sig min mitt din ditt sin sitt hans
        hennes dess deras denna detta dessa är var vara varit har hade ha blir blev bli kan
        kunde ska skulle inte också så mycket
        """
    ),
    "danish": _words(
        """
        en et den det de og eller men at om som hvad hvem hvilken hvilket hvilke hvor
        hvornår hvorfor hvordan af for fra i ind med mod på til under ved over efter uden
        mellem jeg mig du dig han ham hun hende vi os jer dem sig min mit din dit sin sit
        hans hendes deres denne dette disse er var være været har havde have bliver blev
        blive kan kunne skal skulle ikke også så
        """
    ),
    "norwegian": _words(
        """
        en et ei den det de og eller men at om som hva hvem hvilken hvilket hvilke hvor når
        hvorfor hvordan av for fra i inn med mot på til under ved over etter uten mellom jeg
        meg du deg han ham hun henne vi oss dere dem seg min mitt din ditt sin sitt hans
        hennes deres denne dette disse er var være vært har hadde ha blir ble bli kan kunne
        skal skulle ikke også så
        """
    ),
}
"""By language. A language that is not here has none."""
