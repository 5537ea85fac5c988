"""The definition of a global variable of LLVM IR, read from its tokens.

LLVM 18 and rustc of its time write a static's type as `<{ [1024 x i8] }>`, later ones as
`[1024 x i8]`; LLVM 23 adds a `!guid`.
Source: https://llvm.org/docs/LangRef.html, section "Global Variables".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oxide_build.devicecode.llvm_tokens import (
    ATTRIBUTES,
    COMMENT,
    PUNCT,
    WORD,
    Token,
    decode_string,
    is_trivia,
    join,
    significant,
    split_at_commas,
)

LINKAGES = frozenset(
    {
        "private",
        "internal",
        "available_externally",
        "linkonce",
        "weak",
        "common",
        "appending",
        "extern_weak",
        "linkonce_odr",
        "weak_odr",
        "external",
    }
)
LOCAL_LINKAGES = frozenset({"private", "internal"})


@dataclass(frozen=True, kw_only=True, slots=True)
class GlobalVariable:
    """The definition or declaration of a global variable.

    `prefix` holds the words before `global` or `constant`, each with its argument
    (`thread_local(localexec)`); `clauses` the comma-separated ones after the initialiser
    (`section ".shared"`, `align 4`, `!dbg !3`); `initializer` is None for a declaration.
    """

    spelling: str
    name: str
    prefix: tuple[str, ...]
    keyword: str
    type_text: str
    initializer: str | None
    clauses: tuple[str, ...]
    attributes: str

    @property
    def linkage(self) -> str:
        return next((word for word in self.prefix if word in LINKAGES), "")

    @property
    def is_local(self) -> bool:
        return self.linkage in LOCAL_LINKAGES

    @property
    def is_thread_local(self) -> bool:
        return any(word.startswith("thread_local") for word in self.prefix)

    @property
    def address_space(self) -> str:
        """The argument of `addrspace(...)`, empty when there is none."""
        found = (word for word in self.prefix if word.startswith("addrspace"))
        return next(found, "addrspace()").removeprefix("addrspace").strip("() ")

    @property
    def section(self) -> str | None:
        clause = self.clause("section")
        return None if clause is None else decode_string(clause.removeprefix("section").strip())

    @property
    def align_bytes(self) -> int | None:
        clause = self.clause("align")
        return None if clause is None else int(clause.split()[1])

    def clause(self, word: str) -> str | None:
        """The first clause that starts with `word`."""
        return next((c for c in self.clauses if c.split(maxsplit=1)[:1] == [word]), None)


def parse_variable(tokens: Sequence[Token]) -> GlobalVariable:
    """Read the tokens of a `variable` item."""
    spelling = significant(tokens[:1])[0]
    words = [i for i, t in enumerate(tokens) if t.kind == WORD and t.text in ("global", "constant")]
    keyword_at = words[0]
    before = significant(tokens[1:keyword_at])[1:]
    type_stop = _skip_type(tokens, keyword_at + 1)
    after = split_at_commas(tokens[type_stop:])
    initializer = _strip(after[0])
    clauses = [_strip(part) for part in after[1:]]
    attributes = _strip([t for part in after for t in part if t.kind == ATTRIBUTES])
    if attributes:
        stripped = [[t for t in part if t.kind != ATTRIBUTES] for part in after]
        initializer, *clauses = (_strip(part) for part in stripped)
    return GlobalVariable(
        spelling=spelling.text,
        name=spelling.name,
        prefix=_words_with_arguments(before),
        keyword=tokens[keyword_at].text,
        type_text=_strip(tokens[keyword_at + 1 : type_stop]),
        initializer=initializer or None,
        clauses=tuple(clauses),
        attributes=attributes,
    )


def _skip_type(tokens: Sequence[Token], at: int) -> int:
    """The index just behind the type that starts at or after `at`."""
    at = _skip_trivia(tokens, at)
    if at < len(tokens) and tokens[at].text in ("[", "{", "<"):
        return _skip_brackets(tokens, at)
    takes_argument = at < len(tokens) and tokens[at].text in ("ptr", "target")
    at += 1
    if takes_argument:
        behind = _skip_trivia(tokens, at)
        if behind < len(tokens) and tokens[behind].text == "addrspace":
            behind = _skip_trivia(tokens, behind + 1)
        if behind < len(tokens) and tokens[behind].text == "(":
            return _skip_brackets(tokens, behind)
    return at


def _skip_brackets(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].kind == PUNCT:
            depth += (tokens[index].text in "([{<") - (tokens[index].text in ")]}>")
            if depth == 0:
                return index + 1
    return len(tokens)


def _skip_trivia(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and is_trivia(tokens[at]):
        at += 1
    return at


def _words_with_arguments(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Group `addrspace ( 3 )` into `addrspace(3)`; a bare word stays as it is."""
    words: list[str] = []
    depth = 0
    for token in tokens:
        if depth or token.text == "(":
            words[-1] += token.text
            depth += (token.text == "(") - (token.text == ")")
        else:
            words.append(token.text)
    return tuple(words)


def _strip(tokens: Sequence[Token]) -> str:
    return join([token for token in tokens if token.kind != COMMENT]).strip()
