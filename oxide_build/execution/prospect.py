"""What a build would do, and why, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oxide_build.analysis.actions import ActionGraph
from oxide_build.execution.schedule import Schedule
from oxide_build.execution.tools import BuildTools
from oxide_build.model.action import Action
from oxide_build.model.digest import Digest
from oxide_build.store.ingredients import Ingredients, differences, ingredients
from oxide_build.store.keys import cache_key

_LONGEST_CHAIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What would become of one action.

    state    "hit", "run", or "open": it depends on outputs that are not known before others run
    key      "" where it is open
    made_of  what the key is made of, as far as that is known
    waits    indices of the actions whose outputs are not known
    """

    index: int
    action: Action
    state: str
    key: str
    made_of: Ingredients
    waits: tuple[int, ...]


def prospects(graph: ActionGraph, tools: BuildTools) -> dict[int, Prospect]:
    """One for each needed action, those whose outputs it reads before it.

    Hashes sources that changed, starts nothing. Raises `DefinitionError` for a missing source.
    """
    wanted = [path for files in graph.files.values() for path in files]
    wanted += [output.path for outputs in graph.outputs.values() for output in outputs]
    known: dict[str, Digest] = {}
    found: dict[int, Prospect] = {}
    for index in Schedule(graph, wanted).needed:
        action = graph.actions[index]
        inputs: dict[str, Digest | None] = {
            path: known.get(path) if path in graph.producer else tools.states.require(path)
            for path in action.inputs
        }
        waits = tuple(
            dict.fromkeys(graph.producer[path] for path in action.inputs if inputs[path] is None)
        )
        key, state = "", "open"
        if not waits:
            digests = {path: digest for path, digest in inputs.items() if digest is not None}
            key = cache_key(action, digests, tools.context)
            result = tools.results.get(key)
            state = "run"
            if result is not None and all(
                tools.blobs.has(output.sha256, output.size_bytes) for output in result.outputs
            ):
                state = "hit"
                known.update((output.path, output.blob.digest) for output in result.outputs)
        found[index] = Prospect(
            index=index,
            action=action,
            state=state,
            key=key,
            made_of=ingredients(action, inputs, tools.context, tools.names),
            waits=waits,
        )
    return found


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an action runs: what differs, in words, and the reasons of the action that made the
    input, if it is one that another action makes."""

    action: Action
    sentences: tuple[str, ...]
    because: tuple[Reason, ...] = ()


def why_now(
    index: int, found: Mapping[int, Prospect], graph: ActionGraph, tools: BuildTools
) -> Reason:
    """Why the action would run: its key against that of the last build."""
    prospect = found[index]
    past = tools.history.past(prospect.action.outputs[0])
    if past is None:
        return Reason(prospect.action, ("it was never built here",))
    if past.key == prospect.key:
        return Reason(prospect.action, ("its result is not in the cache any more",))
    old = tools.results.ingredients(past.key)
    if old is None:
        return Reason(prospect.action, ("nobody remembers what it was made of",))
    sentences = list(differences(old, prospect.made_of))
    causes = [graph.producer[each.path] for each in sentences if each.path in graph.producer]
    because = [
        why_now(other, found, graph, tools)
        for other in dict.fromkeys([*causes, *prospect.waits])
        if found[other].state != "hit" or other in causes
    ]
    texts = [each.sentence for each in sentences]
    if not texts and prospect.waits:
        texts = ["an input may change"]
    return Reason(prospect.action, tuple(texts), tuple(because))


def why_then(
    index: int, found: Mapping[int, Prospect], graph: ActionGraph, tools: BuildTools
) -> Reason:
    """Why the action was built anew when it last was: the last two keys that are remembered."""
    action = found[index].action
    past = tools.history.past(action.outputs[0])
    if past is None or not past.previous:
        return Reason(action, ("it was built for the first time",))
    old, new = tools.results.ingredients(past.previous), tools.results.ingredients(past.key)
    if old is None or new is None:
        return Reason(action, ("nobody remembers what it was made of",))
    sentences = list(differences(old, new))
    causes = [graph.producer[each.path] for each in sentences if each.path in graph.producer]
    return Reason(
        action,
        tuple(each.sentence for each in sentences),
        tuple(why_then(other, found, graph, tools) for other in dict.fromkeys(causes)),
    )


def lines(reason: Reason, *, indent: int = 0) -> Iterator[str]:
    """A reason as a tree, causes below what they cause; each action once.

    A chain of actions that each have but one cause is one line: its end is what matters.
    """
    yield from _lines(reason, indent, set())


def _lines(reason: Reason, indent: int, seen: set[str]) -> Iterator[str]:
    space = " " * indent
    for sentence in reason.sentences:
        yield f"{space}{sentence}"
    for cause in reason.because:
        chain = [cause]
        while len(chain[-1].because) == 1 and len(chain[-1].sentences) == 1:
            chain.append(chain[-1].because[0])
        end = chain[-1]
        name = end.action.outputs[0]
        if name in seen:
            continue
        seen.add(name)
        yield f"{space}  because of {_chain(chain)}:"
        yield from _lines(end, indent + 4, seen)


def _chain(chain: Sequence[Reason]) -> str:
    names = [_name(each.action) for each in chain]
    if len(names) > _LONGEST_CHAIN:
        left_out = len(names) - 2
        return f"{names[0]}, which is because of {left_out} others, the first {names[-1]}"
    return ", which is because of ".join(names)


def _name(action: Action) -> str:
    return f"{action.label.short} {action.stage}" + (f" {action.arch}" if action.arch else "")
