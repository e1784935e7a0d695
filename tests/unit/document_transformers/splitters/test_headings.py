from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_text_splitters import (
    CharacterTextSplitter,
    ExperimentalMarkdownSyntaxTextSplitter,
    HTMLHeaderTextSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
)

from langchain_rag._reserved import DOCUMENT, KIND, LINEAGE, TRANSFORMER
from langchain_rag.document_transformers import (
    HEADINGS,
    CopyDocumentTransformer,
    DocumentTransformerPipeline,
    GenerateQuestionsTransformer,
    HeadingSplitter,
    LazyDocumentTransformer,
    Prefixed,
    SummarizeTransformer,
    reads_metadata,
)
from langchain_rag.errors import ConfigurationError, TransformerError

ALL = [("#" * level, key) for level, key in enumerate(HEADINGS, start=1)]
GUIDE = """\
Before all.

# Guide

Welcome.

## Install

### Linux

Run apt:

```sh
# as root
if ok; then
    apt install it
fi
```

### Windows

Click.

## Use

    # indented code
    go()

Text of use.

# End #

#hashtag is no heading
"""
WAYS = [
    ({}, "Before all."),
    ({"Header 1": "Guide"}, "Welcome."),
    (
        {"Header 1": "Guide", "Header 2": "Install", "Header 3": "Linux"},
        "Run apt:\n\n```sh\n# as root\nif ok; then\n    apt install it\nfi\n```",
    ),
    ({"Header 1": "Guide", "Header 2": "Install", "Header 3": "Windows"}, "Click."),
    (
        {"Header 1": "Guide", "Header 2": "Use"},
        "    # indented code\n    go()\n\nText of use.",
    ),
    ({"Header 1": "End"}, "#hashtag is no heading"),
]


def found(documents):
    return [
        ({key: one.metadata[key] for key in HEADINGS if key in one.metadata}, one.page_content)
        for one in documents
    ]


def test_markdown_is_cut_at_its_headings(transform):
    metadata = {"source": "s", "n": [1], LINEAGE: "L"}
    document = Document(GUIDE, id="7", metadata=metadata)
    made = transform(HeadingSplitter.markdown(), [document, Document("No heading.")])
    assert found(made) == [*WAYS, ({}, "No heading.")]
    assert made[1].metadata == {
        **metadata,
        "Header 1": "Guide",
        TRANSFORMER: "HeadingSplitter",
    }
    made[1].metadata["n"].append(2)
    assert made[2].metadata["n"] == metadata["n"] == [1]


def test_the_headings_are_those_that_langchain_finds(transform):
    plain = GUIDE.replace("    # indented code\n", "").replace("# End #", "# End")
    theirs = MarkdownHeaderTextSplitter(ALL).split_text(plain)
    ours = transform(HeadingSplitter.markdown(), [Document(plain)])
    assert [way for way, _ in found(ours)] == [one.metadata for one in theirs]
    # Theirs has other blanks; the words are the same.
    assert [one.page_content.split() for one in ours] == [
        one.page_content.split() for one in theirs
    ]


@pytest.mark.parametrize(
    "splitter",
    [
        MarkdownHeaderTextSplitter(ALL),
        MarkdownHeaderTextSplitter(ALL[:2], strip_headers=False),
        ExperimentalMarkdownSyntaxTextSplitter(ALL),
    ],
    ids=["headers", "kept", "experimental"],
)
def test_langchains_splitters_give_what_they_give(transform, splitter):
    made = transform(HeadingSplitter(splitter), [Document(GUIDE, metadata={"source": "s"})])
    theirs = [
        (one.page_content, {"source": "s", **one.metadata, TRANSFORMER: "HeadingSplitter"})
        for one in splitter.split_text(GUIDE)
    ]
    assert [(one.page_content, one.metadata) for one in made] == theirs


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("# A\nx\n# B\ny", [({1: "A"}, "x"), ({1: "B"}, "y")]),
        ("## B\nx\n# A\ny", [({2: "B"}, "x"), ({1: "A"}, "y")]),
        ("# A\n### C\nx\n## B\ny", [({1: "A", 3: "C"}, "x"), ({1: "A", 2: "B"}, "y")]),
        ("# A\r\n\r\nx\r\n", [({1: "A"}, "x")]),
        ("#\tA\nx", [({1: "A"}, "x")]),
        ("   # A ##  \nx", [({1: "A"}, "x")]),
        ("# C#\nx", [({1: "C#"}, "x")]),
        ("#\nx", [({1: ""}, "x")]),
        ("####### seven\nx", [({}, "####### seven\nx")]),
        ("    # code\nx", [({}, "    # code\nx")]),
        ("\t# code", [({}, "\t# code")]),
        ("> # quoted", [({}, "> # quoted")]),
        # Fences: longer ones hold shorter ones, of the other kind too, and in lists.
        ("````\n```\n# no\n````\n# A\nx", [({}, "````\n```\n# no\n````"), ({1: "A"}, "x")]),
        ("~~~\n```\n# no\n~~~\n# A\nx", [({}, "~~~\n```\n# no\n~~~"), ({1: "A"}, "x")]),
        ("- ```\n  # no\n  ```\n# A\nx", [({}, "- ```\n  # no\n  ```"), ({1: "A"}, "x")]),
        (
            "10. ```\n    # no\n    ```\n# A\nx",
            [({}, "10. ```\n    # no\n    ```"), ({1: "A"}, "x")],
        ),
        ("``` not a fence ```\n# A\nx", [({}, "``` not a fence ```"), ({1: "A"}, "x")]),
        ("```\n# never closed", [({}, "```\n# never closed")]),
        # Front matter.
        ("---\n# no\nt: x\n---\n# A\nx", [({}, "---\n# no\nt: x\n---"), ({1: "A"}, "x")]),
        ("---\n# A\nx", [({}, "---"), ({1: "A"}, "x")]),
        # Other line ends of Unicode end no line.
        ("a\u2028# no\x0c# no", [({}, "a\u2028# no\x0c# no")]),
        # Nothing but headings: the document as it is.
        ("# A\n## B\n", [({}, "# A\n## B\n")]),
    ],
)
def test_what_is_a_heading(text, sections):
    made = HeadingSplitter.markdown().transform_documents([Document(text)])
    wanted = [
        ({f"Header {level}": words for level, words in way.items()}, body)
        for way, body in sections
    ]
    assert found(made) == wanted


@given(st.text(st.sampled_from("#`~- \n\tab1."), max_size=120))
def test_nothing_is_lost(text):
    made = HeadingSplitter.markdown().transform_documents([Document(text)])
    assert made
    at = 0
    for one in made:
        at = text.find(one.page_content, at)
        assert at >= 0, "a section is not what the document says"
        at += len(one.page_content)
    # All lines are in a section but those that are a heading.
    kept = HeadingSplitter.markdown(keep_headings=True).transform_documents([Document(text)])
    lost = "".join(text.split())
    for one in kept:
        lost = lost.replace("".join(one.page_content.split()), "", 1)
    assert set(lost) <= set("#ab1.-`~")


def test_hostile_markdown_takes_no_time():
    start = time.perf_counter()
    splitter = HeadingSplitter.markdown()
    for text in (
        "# " + " " * 100_000 + "x",
        "# " + "# " * 50_000 + "x",
        "---\n" * 50_000,
        "- " * 50_000,
        "`" * 100_000,
        "\n" * 100_000 + "x",
    ):
        splitter.transform_documents([Document(text)])
    assert time.perf_counter() - start < 5


def test_headings_may_be_kept_and_chosen():
    kept = HeadingSplitter.markdown(keep_headings=True).transform_documents([Document(GUIDE)])
    assert kept[1].page_content == "# Guide\n\nWelcome."
    assert kept[2].page_content.startswith("### Linux\n\nRun apt:")
    chosen = HeadingSplitter.markdown([("#", "top")]).transform_documents([Document(GUIDE)])
    assert [one.metadata.get("top") for one in chosen] == [None, "Guide", "End"]
    assert "### Linux" in chosen[1].page_content


def test_long_sections_are_cut_by_what_follows(transform):
    inner = RecursiveCharacterTextSplitter(chunk_size=24, chunk_overlap=0)
    made = transform(HeadingSplitter.markdown() | inner, [Document(GUIDE)])
    wanted = [(way, piece) for way, text in WAYS for piece in inner.split_text(text)]
    assert found(made) == wanted


HTML = (
    "<html><body><h1>Guide</h1><p>Welcome.</p><h2>Install</h2><h3>Linux</h3>"
    "<p>Run apt.</p><p>Wait.</p><h2>Empty</h2><h2>Use</h2><p>Click.</p></body></html>"
)
LINUX = {"Header 1": "Guide", "Header 2": "Install", "Header 3": "Linux"}


def test_html(transform):
    made = transform(HeadingSplitter.html(), [Document(HTML, metadata={"source": "s"})])
    assert found(made) == [
        ({"Header 1": "Guide"}, "Welcome."),
        (LINUX, "Run apt.\n\nWait."),
        ({"Header 1": "Guide", "Header 2": "Use"}, "Click."),
    ]
    assert {one.metadata["source"] for one in made} == {"s"}


def test_html_with_langchains_splitter(transform):
    pytest.importorskip("bs4")
    splitter = HTMLHeaderTextSplitter([(f"h{n}", key) for n, key in enumerate(HEADINGS, 1)])
    made = transform(HeadingSplitter(splitter), [Document(HTML)])
    assert found(made) == [
        ({"Header 1": "Guide"}, "Welcome."),
        (LINUX, "Run apt.  \nWait."),
        # What has nothing below it is all that is said.
        ({"Header 1": "Guide", "Header 2": "Empty"}, "Empty"),
        ({"Header 1": "Guide", "Header 2": "Use"}, "Click."),
    ]


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("<p>Use <b>apt</b> to <a href='u'>install</a> it.", [({}, "Use apt to install it.")]),
        ("<h1>A <code>x</code>\n y</h1>b", [({1: "A x y"}, "b")]),
        ("<H1 CLASS=x>A</H1>b", [({1: "A"}, "b")]),
        (
            "<h1>A</h1>x<h2>B</h2>y<h1>C</h1>z",
            [({1: "A"}, "x"), ({1: "A", 2: "B"}, "y"), ({1: "C"}, "z")],
        ),
        ("<div><h1>A</h1></div><div>x</div>", [({1: "A"}, "x")]),
        ("<h1>A<h2>B</h2>x", [({1: "A", 2: "B"}, "x")]),
        ("a<br>b<br/>c", [({}, "a\nb\nc")]),
        ("<ul>\n <li>a</li>\n <li>b\n c</li>\n</ul>d", [({}, "a\nb c\n\nd")]),
        (
            "<table><tr><th>a</th><th>b</th></tr>\n<tr><td>1</td>\n<td>2</td></tr></table>",
            [({}, "a b\n1 2")],
        ),
        ("<pre>if x:\n    go()\n</pre>y", [({}, "if x:\n    go()\n\ny")]),
        ("<pre>  a\n</pre>", [({}, "  a")]),
        ("a &amp; &lt;b&gt; &eacute;", [({}, "a & <b> é")]),
        ("<!-- <h1>no</h1> -->x", [({}, "x")]),
        ("<script>var h='<h1>no</h1>';</script><style>p{}</style>x", [({}, "x")]),
        ("<head><title>T</title></head><body>x", [({}, "x")]),
        ("<head><meta a=b><title>T</title><p>x", [({}, "x")]),
        ("<svg><title>no</title><text>no</text></svg><p>x", [({}, "x")]),
        ("<template><h1>no</h1></template>x", [({}, "x")]),
        ("x</div></h1></p></script>y", [({}, "x\n\ny")]),
        ("<p>no heading", [({}, "no heading")]),
        # Nothing but headings: the document as it is.
        ("<h1>A</h1>", [({}, "<h1>A</h1>")]),
    ],
)
def test_what_a_reader_sees(text, sections):
    made = HeadingSplitter.html().transform_documents([Document(text)])
    wanted = [
        ({f"Header {level}": words for level, words in way.items()}, body)
        for way, body in sections
    ]
    assert found(made) == wanted


@given(st.text(st.sampled_from("<>/h12p abre!-&;\n"), max_size=80))
def test_any_html_can_be_read(text):
    assert HeadingSplitter.html().transform_documents([Document(text)])


def test_other_headings_are_text():
    splitter = HeadingSplitter.html([("h1", "top")])
    made = splitter.transform_documents([Document(HTML)])
    assert [(one.page_content, one.metadata["top"]) for one in made] == [
        ("Welcome.\n\nInstall\n\nLinux\n\nRun apt.\n\nWait.\n\nEmpty\n\nUse\n\nClick.", "Guide")
    ]
    assert splitter.fingerprint != HeadingSplitter.html().fingerprint
    assert HeadingSplitter.html().fingerprint == HeadingSplitter.html().fingerprint
    with pytest.raises(ConfigurationError, match="'p' is no heading"):
        HeadingSplitter.html([("p", "x")])
    with pytest.raises(ConfigurationError, match="'-' is no mark of a heading"):
        HeadingSplitter.markdown([("-", "x")])


def test_what_a_splitter_raises_names_the_document(transform):
    class Broken:
        def split_text(self, text):
            raise OSError("disk")

    with pytest.raises(TransformerError, match=r"HeadingSplitter raised .*disk.* document '7'"):
        transform(HeadingSplitter(Broken()), [Document("x", id="7")])
    with pytest.raises(ConfigurationError, match="has no split_text"):
        HeadingSplitter("no")  # type: ignore[arg-type]


def test_fingerprints_of_splitters():
    every = [
        HeadingSplitter.markdown(),
        HeadingSplitter.markdown(keep_headings=True),
        HeadingSplitter.markdown([("#", "top")]),
        HeadingSplitter(MarkdownHeaderTextSplitter(ALL)),
        HeadingSplitter(MarkdownHeaderTextSplitter(ALL, strip_headers=False)),
        HeadingSplitter(MarkdownHeaderTextSplitter(ALL), version="2"),
        HeadingSplitter.markdown() | CharacterTextSplitter(),
        HeadingSplitter.markdown() | CharacterTextSplitter(separator="x"),
    ]
    prints = [one.fingerprint for one in every]
    assert None not in prints
    assert len(set(prints)) == len(prints)
    assert HeadingSplitter.markdown().fingerprint == prints[0]
    assert not any(map(reads_metadata, every))

    class Own:
        def split_text(self, text):
            return [Document(text)]

    assert HeadingSplitter(Own()).fingerprint is None
    assert HeadingSplitter(Own(), version="1").fingerprint is not None

    class Sub(HeadingSplitter):
        pass

    assert Sub(MarkdownHeaderTextSplitter(ALL)).fingerprint is None
    assert Sub(MarkdownHeaderTextSplitter(ALL), version="1").fingerprint is not None
    assert reads_metadata(Sub(Own()))


# Prefixed.


@pytest.mark.parametrize(
    ("metadata", "prefix"),
    [
        ({"a": "Guide", "b": "Linux"}, "Guide > Linux\n\n"),
        ({"b": "Linux", "a": "Guide", "c": "no"}, "Guide > Linux\n\n"),
        ({"b": "Linux"}, "Linux\n\n"),
        ({"a": "", "b": " \n"}, ""),
        ({"a": None}, ""),
        ({}, ""),
        ({"a": "two\n  lines"}, "two lines\n\n"),
        ({"a": 7, "b": 0.5}, "7 > 0.5\n\n"),
        ({"a": date(1845, 3, 3)}, "1845-03-03\n\n"),
        ({"a": ["Guide", "Linux"], "b": ("x",)}, "Guide > Linux > x\n\n"),
        ({"a": []}, ""),
    ],
)
def test_the_prefix(transform, metadata, prefix):
    transformer = Prefixed(CopyDocumentTransformer(), keys=("a", "b"))
    made = transform(transformer, [Document("text", metadata=metadata)])
    assert [one.page_content for one in made] == [f"{prefix}text"]
    assert transformer.prefix(Document("", metadata=metadata)) == prefix
    alone = transformer.transform_document(Document("text", metadata=metadata))
    assert [one.page_content for one in alone] == [f"{prefix}text"]
    assert made[0].metadata == {
        **metadata,
        TRANSFORMER: "CopyDocumentTransformer",
        KIND: "copy",
    }


def test_the_prefix_is_that_of_the_chunk_that_a_variation_is_of(transform, scripted, upper):
    llm = scripted(
        lambda prompt: f"What of {prompt[0]}?" if "question" in prompt else "SUMMARY: it"
    )
    words = CharacterTextSplitter(separator=" ", chunk_size=1, chunk_overlap=0)
    inner = (
        GenerateQuestionsTransformer.from_llm(llm)
        + SummarizeTransformer.from_llm(llm)
        + DocumentTransformerPipeline([words, upper])
    )
    documents = [
        Document(f"{n} x", metadata={"h": f"H{n}", DOCUMENT: f"d{n}"}) for n in range(3)
    ]
    made = transform(Prefixed(inner, keys=("h",), end=": "), documents)
    plain = transform(inner, documents)
    assert [one.page_content for one in made] == [
        f"{one.metadata['h']}: {one.page_content}" for one in plain
    ]
    assert [one.metadata for one in made] == [one.metadata for one in plain]
    assert len(made) == 3 * (1 + 1 + 2)
    # The model is told nothing of it.
    assert not any("H0" in prompt for prompt in llm.prompts)


def test_one_inside_the_other(transform):
    inner = Prefixed(CopyDocumentTransformer(), keys=HEADINGS)
    both = Prefixed(inner, keys=("context",))
    metadata = {"Header 2": "B", "Header 1": "A", "context": "Of it."}
    made = transform(both, [Document("text", metadata=metadata)])
    assert made[0].page_content == "Of it.\n\nA > B\n\ntext"


def test_blank_variations_stay_blank(transform):
    class Blank(LazyDocumentTransformer):
        def transform_document(self, document):
            return [Document(""), Document(" \n"), document]

    made = transform(Prefixed(Blank(), keys=("a",)), [Document("x", metadata={"a": "A"})])
    assert [one.page_content for one in made] == ["", " \n", "A\n\nx"]


def test_an_inner_one_without_marks(transform):
    made = transform(
        Prefixed(DocumentTransformerPipeline([]), keys=("a",)),
        [Document("x", metadata={"a": "A"})],
    )
    assert (made[0].page_content, made[0].metadata[TRANSFORMER]) == ("A\n\nx", "Prefixed")


@pytest.mark.parametrize("value", [{"x": 1}, {1}, b"x", [["x"]]])
def test_what_cannot_be_written_is_an_error(transform, value):
    transformer = Prefixed(CopyDocumentTransformer(), keys=("a",))
    with pytest.raises(TransformerError, match="the metadata 'a' of document '7' into a text"):
        transform(transformer, [Document("x", id="7", metadata={"a": value})])


def test_fingerprints_and_metadata_of_prefixed(scripted):
    copy = CopyDocumentTransformer()
    questions = GenerateQuestionsTransformer.from_llm(scripted("x?"), version="1")
    every = [
        Prefixed(copy, keys=("a",)),
        Prefixed(copy, keys=("b",)),
        Prefixed(copy, keys=("a", "b")),
        Prefixed(copy, keys=("a",), separator="/"),
        Prefixed(copy, keys=("a",), end=" "),
        Prefixed(questions, keys=("a",)),
        Prefixed(Prefixed(copy, keys=("a",)), keys=("a",)),
        Prefixed(copy, keys=()),
    ]
    prints = [one.fingerprint for one in every]
    assert None not in prints
    assert len({*prints, copy.fingerprint}) == len(prints) + 1
    assert Prefixed(copy, keys=["a"]).fingerprint == prints[0]
    unknown = CharacterTextSplitter(length_function=lambda _: 1)
    assert Prefixed(unknown, keys=("a",)).fingerprint is None
    assert all(map(reads_metadata, every[:-1]))
    assert not reads_metadata(every[-1])
    assert reads_metadata(Prefixed(copy, keys=("a",)) + copy)
    with_input = GenerateQuestionsTransformer.from_llm(scripted("x?"), get_input=vars)
    assert reads_metadata(Prefixed(with_input, keys=()))

    class Sub(Prefixed):
        pass

    assert Sub(copy, keys=("a",)).fingerprint is None
    assert reads_metadata(Sub(copy, keys=()))
    with pytest.raises(ConfigurationError, match="keys is the text 'context'"):
        Prefixed(copy, keys="context")
    with pytest.raises(ConfigurationError, match="not a document transformer"):
        Prefixed("no", keys=("a",))  # type: ignore[arg-type]
