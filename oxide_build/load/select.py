"""Which branch of a `select` an arch and the configs of a build take.

A condition holds for
    sm_90          archs that its code runs on: number 90 and above, whatever the suffix
    >=sm_90        the same
    <sm_90         archs with a lower number
    sm_90a         that arch only; `sm_90` itself is not meant
    sm_100f        archs of the family with number 100 and above
    family:sm_100  archs of the family, whichever member names it
    NAME           builds with `--config NAME`
    default        always

Of those that hold, the most specific wins:
    1. a config: somebody asked for it by name on the command line
    2. a single arch (`sm_90a`)
    3. a family; of two, the one that begins later (`sm_103f` before `sm_100f`)
    4. a bound: of two lower ones the higher, of two upper ones the lower
    5. `default`

Two configs at once, and a lower bound together with an upper one, are ambiguous: neither is more
specific, and guessing would silently drop what the other one says. Without an arch (a target that
no arch was asked for) only configs and `default` hold.
"""

from __future__ import annotations

from oxide_build.errors import DefinitionError
from oxide_build.load.conditions import Condition
from oxide_build.load.wording import listed
from oxide_build.model.arch import Arch
from oxide_build.model.label import shown
from oxide_build.model.target import AttrValue, Select


def resolve(value: AttrValue | Select, arch: Arch | None, configs: frozenset[str]) -> AttrValue:
    """The plain value for `arch` and the active `configs`.

    Raises `DefinitionError` without a place, where no branch or more than one is right.
    """
    if not isinstance(value, Select):
        return value
    holding: list[tuple[Condition, AttrValue]] = []
    for text, branch in value.branches:
        condition = Condition.parse(text)
        if condition.holds(arch, configs):
            holding.append((condition, branch))
    if not holding:
        raise _no_branch(value, arch)
    holding.sort(key=lambda pair: pair[0].rank)
    best, result = holding[0]
    for other, _ in holding[1:]:
        # Of two with the same direction the narrower is ahead; different ones are not comparable.
        if other.rank[0] == best.rank[0] and other.rank[1] != best.rank[1]:
            what = f"building for `{arch}`" if best.arch else "these configs"
            raise DefinitionError(
                f"{shown(best.text)} and {shown(other.text)} both hold for {what}, and neither is "
                "more specific",
                hint="let the bounds not overlap, or use bounds of one direction and `default`"
                if best.arch
                else "turn one of the configs off",
            )
    return result


def _no_branch(value: Select, arch: Arch | None) -> DefinitionError:
    where = "without an architecture" if arch is None else f"for `{arch}`"
    return DefinitionError(
        f"no branch holds {where}; the conditions are {listed([c for c, _ in value.branches])}",
        hint="add a `default` branch",
    )
