"""Where a sentence ends: rules and lists, for texts of any length and of any language.

The lists are of English, with what is common in German, French and Spanish texts; scripts with
full stops of their own need none.
"""

# ruff: noqa: RUF001, SIM905 - the quotes of many scripts are meant; words read best as words

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ends_in"]

_CLOSERS: Final = "\"'”’»›)\\]}*_"
_OPENERS: Final = "\"'“‘„‚«‹([{¿¡*_"

_STOP: Final = re.compile(
    # Full stops of scripts that put no blank after them, or have no capitals.
    r"[。！？｡]+[”’」』）〉》】\"'）]*"
    r"|[।॥؟۔։።፧៕။܀]+[" + _CLOSERS + "]*"
    # Others need a blank behind; the numbers of footnotes may stand between. What stands before
    # is looked at for a run of dots that leads nowhere: it is read once.
    r"|(?<![.!?…‽])(?P<stop>[.!?…‽]++)(?P<closed>[" + _CLOSERS + r"]*+)"
    r"(?:\[\d{1,3}\])*+(?=\s|$)"
)
_GO_ON: Final = frozenset(",;:.!?…)]}，、；：")
"""No sentence begins with these."""

_WORD: Final = 40
"""Characters that are looked at around a full stop."""

_WORD_BEFORE: Final = re.compile(r"[^\W_](?:[\w.'’&\-]*)$")
_NAME_BEFORE: Final = re.compile(r"\b[^\W\d_a-z][\w.]*\s+\w$")
_NEXT_WORD: Final = re.compile(r"[" + _OPENERS + r"]*([^\W\d_]+['’]?\w*)?")
_ENUMERATOR: Final = re.compile(
    r"[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlcIVXLC]{1,5})\.?"
)
_ACRONYM: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")

_TITLES: Final = frozenset(
    """
    adm attys brig capt cmdr col cpl dr drs fr gen gov hon insp lt maj messrs mlle mme mr
    mrs ms msgr pfc pres prof pvt rep reps rev sen sens sgt srta ste supt
    """.split()
)
"""A name follows, so none of these ends a sentence."""

_REFERENCES: Final = frozenset(
    """
    abb abs bd bsp bzgl ca cf ch chap d.h dgl e.g eq eqs fig figs i.e incl inkl nos nr núm
    p.ex ref refs resp sec secs sect u.a v vgl viz vol vols vs z.b z.t
    """.split()
)
"""What they belong to follows, whatever it begins with."""

_BEFORE_NUMBERS: Final = frozenset(
    """
    art arts cap ex no op p par pp pt pts s seq tab
    """.split()
)
"""They are abbreviations where a number follows."""

_SHORT: Final = frozenset(
    """
    a.d a.m al apr approx assn assoc aug ave b.c bldg blvd bros bzw co corp dec dept dist
    div ed eds edn est etc etw evtl excl ext feb fri ft gmbh govt hr hrs ibid inc inst int
    jan jr jul jun ltd max mfg min mio misc mrd mt nov oct p.a p.m ph.d plc pty rd repr rs
    sept sep ser sq sr st trans tue tues thu thur thurs univ usw yr yrs
    """.split()
)
"""They end a sentence where what follows is how a sentence begins."""

_STARTERS: Final = frozenset(
    """
    a after all also although an and another any are as at because before both but by
    despite did do does during each even every few finally first following for from
    furthermore had has have he her here his how however i if in is it its it's last later
    many meanwhile moreover most my nevertheless no nor not now of on once one only or
    other our over she since so some still such than that the their then there therefore
    these they this those though through thus to today two under unlike until we were what
    when where which while who whose why will with yes yet you your der die das ein eine
    er sie es und aber wir le la les il elle un une el los las
    """.split()
)


def ends_in(text: str, start: int, end: int) -> Iterator[int]:
    """Find where the sentences of one block end: a paragraph, a heading, an item.

    Args:
        text: The whole text.
        start: Where the block begins.
        end: Where it ends, after something that is not blank.

    Yields:
        The offsets after each sentence but the last.
    """
    begun = start
    # In a text without capitals, small letters say nothing.
    cased = text[start:end].lower() != text[start:end]
    for stop in _STOP.finditer(text, start, end):
        after = stop.end()
        if after == end:
            return
        if _ends(text, begun, stop, _behind(text, after, end), cased=cased):
            yield after
            begun = after


def _ends(text: str, begun: int, stop: re.Match[str], behind: str, *, cased: bool) -> bool:
    mark: str | None = stop["stop"]
    if behind[0] in _GO_ON:
        return False
    if mark is None:
        return True
    if "!" in mark or "?" in mark:
        # `"Really?" she asked.`
        return not (cased and stop["closed"] and behind[0].islower())
    if cased and behind[0].islower():
        return False
    before = text[max(begun, stop.start() - _WORD) : stop.start()]
    if stop.start() - begun <= _WORD and _ENUMERATOR.fullmatch(before.strip()):
        return False
    return mark != "." or bool(stop["closed"]) or _full_stop(before, behind)


def _behind(text: str, after: int, end: int) -> str:
    while text[after].isspace():
        after += 1
    return text[after : min(end, after + _WORD)]


def _full_stop(before: str, behind: str) -> bool:
    """Tell whether a single dot ends a sentence, or belongs to the word before it."""
    found = _WORD_BEFORE.search(before)
    if found is None:
        return True
    word = found[0]
    known = word.lower()
    if known in _TITLES or known in _REFERENCES:
        return False
    if known in _BEFORE_NUMBERS:
        return not behind[0].isdigit()
    if known in _SHORT or _ACRONYM.fullmatch(word) or _is_initial(word, before):
        return _begins_sentence(behind)
    return True


def _is_initial(word: str, before: str) -> bool:
    if len(word) > 1 or not word.isupper():
        return False
    # `Albert I. Jones`, but `you and I.`
    return word != "I" or _NAME_BEFORE.search(before) is not None


def _begins_sentence(behind: str) -> bool:
    found = _NEXT_WORD.match(behind)
    return found is not None and (found[1] or "").lower() in _STARTERS
