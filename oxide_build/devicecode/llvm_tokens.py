"""Tokens of LLVM's textual IR, as llvm-dis writes it (LLVM 18 to 23).

A rewrite of IR text must not touch what merely looks like code: strings, comments, metadata. The
tokens are lossless, so a pass replaces the texts it means to and joins the rest back unchanged.
Source: llvm/lib/AsmParser/LLLexer.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oxide_build.errors import ActionFailed

SPACE = "space"
COMMENT = "comment"
SUMMARY = "summary"  # a ThinLTO summary line, `^0 = module: (...)`
STRING = "string"  # "..." and c"..."
GLOBAL = "global"  # @x, @"x y", @0
LOCAL = "local"  # %x, %"x y", %0
COMDAT = "comdat"  # $x
METADATA = "metadata"  # !0, !name, !"text"
ATTRIBUTES = "attributes"  # #0
RECORD = "record"  # #dbg_value
WORD = "word"  # keywords, types, numbers, label names
PUNCT = "punct"

_NAME = r'(?:"[^"]*"|[-a-zA-Z$._0-9]+)'

# Inside a string LLVM writes a quote as \22, so the next quote always ends it. A summary line is
# one token because llvm-dis writes the names in it unescaped: `name: "a "quoted" name"`.
_TOKEN = re.compile(
    rf"""
      (?P<space>    [ \t\r\n\0]+ )
    | (?P<word>     (?!c")(?!\$) [-+a-zA-Z$._0-9]+ )
    | (?P<global>   @{_NAME} )
    | (?P<local>    %{_NAME} )
    | (?P<metadata> !(?: "[^"]*" | [-a-zA-Z$._0-9\\]+ ) )
    | (?P<string>   c?"[^"]*" )
    | (?P<comment>  ;[^\n]* )
    | (?P<attributes> \#[0-9]+ )
    | (?P<record>   \#[a-z_]+ )
    | (?P<comdat>   \${_NAME} )
    | (?P<summary>  (?m:^)\^[0-9]+[ ]=[^\n]* )
    | (?P<unterminated> c?" )
    | (?P<punct>    . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(\\|[0-9a-fA-F]{2})")
_PLAIN_NAME = re.compile(r"[-a-zA-Z._][-a-zA-Z._0-9]*|[0-9]+")


class Token(NamedTuple):
    """A piece of the source; the texts of all tokens, joined, are the source."""

    kind: str
    text: str

    @property
    def name(self) -> str:
        """The decoded name of a global, local or comdat, without its sigil."""
        return decode_name(self.text[1:])


def tokenize(source: str) -> list[Token]:
    """Split IR text into tokens, O(len(source)). Raises `ActionFailed` when a string never ends."""
    tokens = [Token(match.lastgroup or PUNCT, match.group()) for match in _TOKEN.finditer(source)]
    for index, token in enumerate(tokens):
        if token.kind == "unterminated":
            line = join(tokens[:index]).count("\n") + 1
            raise ActionFailed(f"LLVM IR, line {line}: a string starts here and never ends")
    return tokens


def join(tokens: Sequence[Token]) -> str:
    """The source text of `tokens`."""
    return "".join(token.text for token in tokens)


def is_trivia(token: Token) -> bool:
    """True for white space and comments."""
    return token.kind in (SPACE, COMMENT)


def significant(tokens: Sequence[Token]) -> list[Token]:
    """`tokens` without white space and comments."""
    return [token for token in tokens if not is_trivia(token)]


def decode_string(text: str) -> str:
    """The value of a string token: `"a\\22b"` is `a"b`; bytes that are no UTF-8 are surrogates."""
    inner = text[text.index('"') + 1 : -1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescaped, inner).decode("utf-8", "surrogateescape")


def decode_name(text: str) -> str:
    """The name behind a sigil, quoted or not."""
    return decode_string(text) if text.startswith('"') else text


def encode_name(name: str) -> str:
    """`name` as llvm-dis writes it behind a sigil, quoted and escaped where LLVM does so."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return '"' + "".join(_escaped(name.encode("utf-8", "surrogateescape"))) + '"'


def split_at_commas(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split at the commas outside all brackets; `<` and `>` are brackets in IR, never operators."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == PUNCT:
            depth += (token.text in "([{<") - (token.text in ")]}>")
            if token.text == "," and depth == 0:
                parts.append([])
                continue
        parts[-1].append(token)
    return parts


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return code if code == b"\\" else bytes([int(code, 16)])


def _escaped(name: bytes) -> Iterator[str]:
    for byte in name:
        plain = 0x20 <= byte < 0x7F and byte not in b'"\\'
        yield chr(byte) if plain else "\\\\" if byte == 0x5C else f"\\{byte:02X}"
