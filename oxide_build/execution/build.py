"""Building: from an action graph to files in `oxide-out`."""

from __future__ import annotations

import contextlib
import queue
import time
from dataclasses import dataclass

from oxide_build.analysis.actions import ActionGraph
from oxide_build.errors import ActionFailed, DefinitionError, InfrastructureError
from oxide_build.execution.report import ActionOutcome, BuildReport, BuildReporter
from oxide_build.execution.schedule import Schedule
from oxide_build.execution.tools import BuildTools
from oxide_build.execution.work import Work, perform
from oxide_build.execution.workers import Workers
from oxide_build.model.action import Action
from oxide_build.model.label import Label
from oxide_build.store.blobs import DamagedBlob
from oxide_build.store.keys import cache_key
from oxide_build.store.results import FLUSH_S, ActionResult, StoredOutput

# How often a build starts over because a blob that it relied on turned out damaged. Each time all
# damaged blobs that it met are removed, so that their actions run again.
_ATTEMPTS = 4

# From so many actions on it is worth reading the results of the last build ahead.
_MANY = 200


@dataclass(frozen=True, slots=True)
class _Done:
    """A worker's message: action `index` ended so, or an exception came out of it."""

    index: int
    outcome: ActionOutcome | None = None
    result: ActionResult | None = None
    error: BaseException | None = None


def build(graph: ActionGraph, tools: BuildTools, reporter: BuildReporter) -> BuildReport:
    """Make all outputs of `graph` be in `oxide-out`.

    Failed actions are in the report; nothing of a failed target is written. Raises
    `InfrastructureError` and, on Ctrl-C, `KeyboardInterrupt` after stopping all children.
    """
    tools.sandbox.remove_leftovers()
    tools.uses.begin()
    for _ in range(_ATTEMPTS):
        attempt = _Build(graph, tools, reporter)
        try:
            return attempt.run()
        except DamagedBlob:
            attempt.remove_damaged()
    raise InfrastructureError(
        "blobs of the cache are damaged again and again while the build runs",
        hint="check the disk, or name another cache folder in `OXIDE_CACHE`",
    )


class _Build:
    def __init__(self, graph: ActionGraph, tools: BuildTools, reporter: BuildReporter) -> None:
        self._graph = graph
        self._tools = tools
        self._reporter = reporter
        self._start = time.monotonic()
        self._made: dict[str, StoredOutput] = {}
        self._outcomes: list[ActionOutcome] = []
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._running = 0
        self._stopping = False

    def run(self) -> BuildReport:
        wanted = [path for files in self._graph.files.values() for path in files]
        wanted += [output.path for outputs in self._graph.outputs.values() for output in outputs]
        schedule = Schedule(self._graph, wanted)
        if schedule.total >= _MANY:
            first = [self._graph.actions[index].outputs[0] for index in schedule.needed]
            past = [self._tools.history.past(output) for output in first]
            self._tools.results.expect([each.key for each in past if each is not None])
        self._reporter.begin(schedule.total)
        try:
            with Workers(self._tools.jobs) as pool:
                try:
                    self._drive(schedule, pool)
                except DamagedBlob:
                    # Not the end: what runs may finish, then the build starts over.
                    raise
                except BaseException:
                    self._tools.runner.processes.stop()
                    raise
            complete = self._complete_targets()
            written, unchanged = self._materialise(complete)
            removed = self._tools.record.remove_stale()
        finally:
            self._tools.results.flush()
            self._tools.states.save()
            self._tools.uses.end(self._tools.history.keys)
            self._tools.history.save()
        return BuildReport(
            outcomes=tuple(self._outcomes),
            outputs={
                label: tuple(output.path for output in outputs)
                for label, outputs in self._graph.outputs.items()
            },
            complete=complete,
            notes=self._graph.notes,
            written=written,
            unchanged=unchanged,
            removed=tuple(removed),
            wall_s=time.monotonic() - self._start,
        )

    def remove_damaged(self) -> None:
        """Read every blob that this attempt relied on, and remove those that are wrong."""
        for output in self._made.values():
            with contextlib.suppress(DamagedBlob):
                self._tools.blobs.checked(output.blob)

    def _drive(self, schedule: Schedule, pool: Workers) -> None:
        while not schedule.finished:
            index = None
            if self._running < self._tools.jobs and not self._stopping:
                index = schedule.next()
            if index is not None:
                self._begin(index, schedule, pool)
            elif self._running:
                self._end(self._wait(), schedule)
            elif self._stopping:
                return
            else:
                raise DefinitionError(
                    "some actions wait for each other's outputs",
                    hint="a rule made actions that read what they make",
                )

    def _wait(self) -> _Done:
        """The next message of a worker; results that waited long enough are written meanwhile."""
        while True:
            if self._tools.results.due:
                self._tools.results.flush()
            try:
                return self._done.get(timeout=FLUSH_S)
            except queue.Empty:
                continue

    def _begin(self, index: int, schedule: Schedule, pool: Workers) -> None:
        """Take the action from the cache, or hand it to a worker."""
        action = self._graph.actions[index]
        sources = {
            path: self._tools.states.require(path)
            for path in action.inputs
            if path not in self._graph.producer
        }
        derived = {path: self._made[path].blob for path in action.inputs if path not in sources}
        inputs = {**sources, **{path: blob.digest for path, blob in derived.items()}}
        key = cache_key(action, inputs, self._tools.context)
        result = self._tools.results.get(key)
        if self._tools.shared is not None and not self._usable(action, result):
            result = self._tools.shared.fetch(key, self._tools.blobs, self._tools.results)
        if result is not None and self._usable(action, result):
            outcome = ActionOutcome(
                action=action,
                source="hit",
                message=result.message,
                start_s=time.monotonic() - self._start,
            )
            self._tools.history.note(action.outputs[0], key)
            self._complete(index, outcome, result, schedule)
            return
        self._reporter.started(action)
        self._running += 1
        pool.submit(self._work, index, Work(action, key, sources, derived))

    def _usable(self, action: Action, result: ActionResult | None) -> bool:
        if result is None:
            return False
        names = {output.path for output in result.outputs}
        return names == set(action.outputs) and all(
            self._tools.blobs.has(output.sha256, output.size_bytes) for output in result.outputs
        )

    def _work(self, index: int, work: Work) -> None:
        """In a worker: do the work and send home how it ended."""
        start_s = time.monotonic() - self._start
        try:
            execution, result = perform(work, self._tools)
        except BaseException as error:
            self._done.put(_Done(index, error=error))
            return
        if result is not None:
            self._tools.history.note(work.action.outputs[0], work.key)
        outcome = ActionOutcome(
            action=work.action,
            source="failed" if result is None else "ran",
            message=execution.message,
            failure=execution.failure,
            hint=execution.hint,
            start_s=start_s,
            wall_s=time.monotonic() - self._start - start_s,
        )
        self._done.put(_Done(index, outcome, result))

    def _end(self, done: _Done, schedule: Schedule) -> None:
        self._running -= 1
        if done.error is not None:
            raise done.error
        if done.outcome is None:
            raise AssertionError("a worker said nothing")
        if done.result is not None:
            self._complete(done.index, done.outcome, done.result, schedule)
            return
        self._report(done.outcome)
        for other in schedule.failed(done.index):
            self._report(ActionOutcome(action=self._graph.actions[other], source="skipped"))
        self._stopping = not self._tools.keep_going

    def _complete(
        self, index: int, outcome: ActionOutcome, result: ActionResult, schedule: Schedule
    ) -> None:
        self._made.update((output.path, output) for output in result.outputs)
        schedule.done(index)
        self._report(outcome)

    def _report(self, outcome: ActionOutcome) -> None:
        self._outcomes.append(outcome)
        self._reporter.finished(outcome)

    def _complete_targets(self) -> frozenset[Label]:
        """Requested targets all of whose outputs and files are there."""
        made, wanted = self._made, self._graph.producer
        return frozenset(
            label
            for label, outputs in self._graph.outputs.items()
            if all(output.path in made for output in outputs)
            and all(path in made for path in self._graph.files[label] if path in wanted)
        )

    def _materialise(self, complete: frozenset[Label]) -> tuple[int, int]:
        """Put the outputs of the `complete` targets into `oxide-out`."""
        written = unchanged = 0
        self._tools.record.begin(
            {
                str(label): [output.path for output in outputs]
                for label, outputs in self._graph.outputs.items()
                if outputs and label in complete
            }
        )
        try:
            for label, outputs in self._graph.outputs.items():
                for output in outputs if label in complete else ():
                    made = self._made[output.path]
                    mode = 0o755 if made.executable else 0o644
                    if self._tools.tree.put(output.path, made.blob, mode=mode):
                        written += 1
                    else:
                        unchanged += 1
        finally:
            self._tools.tree.finish()
        return written, unchanged


def check(report: BuildReport) -> None:
    """Raise `ActionFailed` where an action of the build failed."""
    failures = report.failures
    if failures:
        labels = sorted({str(outcome.action.label) for outcome in failures})
        skipped = report.count("skipped")
        more = f"; {skipped} actions that need them did not run" if skipped else ""
        raise ActionFailed(f"{', '.join(f'`{label}`' for label in labels)} failed to build{more}")
