"""Create, update and patch: what each does at the gates of a write.

A write is built on a fresh copy and stored by compare-and-swap; when somebody was faster the
whole is done again on the newer object, as long as the client did not name a resourceVersion.
An update notes who set which field, then asks mutating admission, then compares the
resourceVersion: what a plugin changes belongs to nobody, as upstream.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go,
pkg/registry/rest/{create,update}.go and pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec
import orjson

from apiserver_app.admission.plugin import CREATE, UPDATE, Attributes
from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import bodies, options, patching
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import (
    allocations,
    attributes,
    conversions,
    deletes,
    fieldowners,
    initialization,
    rest,
)
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import jsonpatch
from apiserver_app.registry import generic, storagecalls, updates
from apiserver_app.registry.validation import objectmeta

REVISED = "resourceVersion should not be set on objects to be created"


class Write(Operation):
    """An object comes with the request, and is stored as the gates leave it."""

    passes = ("decode", "current", "mutating", "prepare", "validation", "validating", "etcd")
    stores_object = True

    def begin(self, request: Request) -> None:
        request.strategy = request.cluster.strategy(request.info)
        if request.call.outside:
            options.check(request.call, request.cluster.version)

    def read(self, request: Request) -> Object:
        """The object as its sender wants it, of no checked type yet."""
        raise NotImplementedError

    def decode(self, request: Request) -> Decision:
        """A fresh, pruned, defaulted object of the served type, with its fields' manager noted."""
        info, raw = request.info, self.read(request)
        bodies.check_items(request, info, raw)
        obj, unknown = self._typed(request, raw)
        request.obj = obj
        if not request.spec_kept:
            request.strategy.default(obj)
        if request.verb != "patch":
            rest.without_twins(request, obj, admitted=False)
            self.log(request, raw)
        set_: list[Object] = []
        if self._is_new(request):
            if info.storage != "events":  # many, and nobody asks what was filled in
                set_ = jsonpatch.diff(raw, obj)
            if request.verb == "create":
                rest.wipe(obj)
            fieldowners.track(request, obj, None)
        word = f"{len(set_)} default{'s' if len(set_) != 1 else ''} set" if set_ else "well formed"
        # encoded now: the values are parts of the object, which keeps changing
        ops = msgspec.Raw(orjson.dumps(set_)) if set_ else []
        detail: Object = {"word": word, "ops": ops}
        if unknown:
            detail["unknown"] = unknown
            if info.custom is not None:
                detail["word"] = f"{len(unknown)} pruned, {word}"
        return Decision("change" if set_ else "allow", detail)

    def _typed(self, request: Request, raw: Object) -> tuple[Object, list[str]]:
        try:
            obj, unknown = bodies.typed(request, request.info, raw)
            if unknown:
                unknown = bodies.check_strict(request, request.info, unknown, raw, request.old)
            rest.check_namespace(request, obj)
        except ApiError as error:
            raise patching.refusal(request, request.info, error, request.old, raw) from None
        return obj, unknown

    def _is_new(self, request: Request) -> bool:
        """Whether nothing is there yet that the object would replace."""
        return request.old is None

    def log(self, request: Request, raw: Object) -> None:
        """Give the audit log what was sent, as it was understood, but for a namespace that only
        the URL has."""
        if request.audit is None:
            return
        obj, sent = request.obj, raw.get("metadata")
        if request.namespace and not (isinstance(sent, dict) and sent.get("namespace")):
            metadata = {key: obj["metadata"][key] for key in obj["metadata"] if key != "namespace"}
            obj = {**obj, "metadata": metadata}
        request.audit.requested(obj)

    def attributes(self, request: Request) -> Attributes:
        return attributes.of(request, request.obj)

    def warnings(self, request: Request) -> list[str]:
        if request.subresource == "status":
            return []
        return request.strategy.warnings(request.context, request.obj, request.old)

    def store(self, request: Request) -> Decision | Awaitable[Decision]:
        info = request.info
        if info.custom is not None:
            return self._put_converted(request)
        if info.key == allocations.SERVICES:
            return self._put_allocated(request)
        return self._put(request)

    def _put(self, request: Request) -> Decision:
        """Carry out the write."""
        raise NotImplementedError

    async def _put_converted(self, request: Request) -> Decision:
        await conversions.before_write(request.cluster, request.info, request.obj)
        return self._put(request)

    async def _put_allocated(self, request: Request) -> Decision:
        """The same of a kind that needs something of others."""
        raise NotImplementedError

    def answer(self, request: Request) -> Outcome | Awaitable[Outcome]:
        return deletes.answered(request)


class Create(Write):
    """A decoded, defaulted object becomes a stored one."""

    admits = CREATE
    call = storagecalls.CREATE

    def read(self, request: Request) -> Object:
        return bodies.read(request, request.info)

    def current(self, request: Request) -> None:
        request.dry_run = options.dry_run(request.call)
        request.context = request.cluster.context(
            request.user, request.namespace, dry_run=request.dry_run
        )

    def prepare(self, request: Request) -> Decision:
        obj, metadata = request.obj, request.obj["metadata"]
        generated = not metadata.get("name")
        version = str(metadata.get("resourceVersion") or "")
        is_number = version.isascii() and version.isdigit()
        revised = is_number and 0 < int(version[:21]) <= rest.MAX_UINT64
        request.revision_named = revised and not request.dry_run
        rest.before_create(request)
        initialization.drop(request, obj)
        request.strategy.prepare_for_create(request.context, obj)
        request.warnings += request.context.warnings
        name = metadata.get("name", "")  # validation refuses an object without any
        detail = {"word": name, "uid": metadata["uid"], "name": name}
        if generated and metadata.get("generateName"):
            detail["generateName"] = metadata["generateName"]
        if request.granted:
            detail["grants"] = request.granted
        request.attributes.name = name  # it may just have got one
        return Decision("change", detail)

    def findings(self, request: Request) -> list[FieldError]:
        strategy, obj, namespaced = request.strategy, request.obj, request.info.namespaced
        if not strategy.validates_metadata:
            errs = strategy.validate(request.context, obj)
            return errs or objectmeta.validate_object_meta(obj, namespaced, objectmeta.path_segment)
        rule = strategy.names(request.context.version)
        errs = objectmeta.validate_object_meta(obj, namespaced, rule)
        if updates.limits_finalizers(request.info):
            objectmeta.finalizer_words(obj["metadata"], errs)
        return errs + strategy.validate(request.context, obj)

    def _put(self, request: Request) -> Decision:
        info, obj, dry_run = request.info, request.obj, request.dry_run
        key = _key(info, obj)
        try:
            if request.revision_named:
                raise _revised()
            stored = request.cluster.storage.create(info, obj, dry_run=dry_run)
        except ApiError as error:
            return decision.not_stored("create", key, error)
        request.outcome = Outcome(201, obj=stored)
        revision = 0 if dry_run else meta.revision_of(stored)  # of a dry run's, what was sent
        decided = decision.stored("create", key, revision, dry_run=dry_run)
        initialization.note(request, decided, stored, None)
        return decided

    def answer(self, request: Request) -> Outcome | Awaitable[Outcome]:
        stored = request.outcome.obj
        if stored is not None and initialization.is_hidden(request, stored):
            return initialization.answered(request, stored)
        return super().answer(request)

    async def _put_allocated(self, request: Request) -> Decision:
        cluster, info, obj = request.cluster, request.info, request.obj
        if request.dry_run or request.revision_named:
            return self._put(request)
        try:
            cluster.storage.check_new(info, obj)
            with allocations.reserved(cluster, obj):
                await allocations.take(cluster, obj)
                decided = self._put(request)
        except ApiError as error:
            return decision.not_stored("create", _key(info, obj), error)
        if decided.refusal is not None:
            await allocations.give_back(cluster, obj)
        return decided

    def tries_again(self, request: Request, error: ApiError) -> bool:
        """Another service took the address or port that was free before."""
        return request.info.key == allocations.SERVICES and rest.is_stale(error)


def is_gone(request: Request) -> bool:
    """Whether the object was deleted meanwhile: the next try finds that out, and is refused so."""
    storage = request.cluster.storage
    return storage.find(request.info, request.namespace, request.name) is None


class CreateInstead(Create):
    """An update or an apply of what is not there."""

    needs_create = True


class Update(Write):
    """The object that is sent takes the place of the stored one."""

    admits = UPDATE

    def read(self, request: Request) -> Object:
        if request.raw is None:
            request.raw = bodies.read(request, request.info)
        return request.raw

    def _is_new(self, request: Request) -> bool:
        return False  # it is not known yet

    def current(self, request: Request) -> None:
        info = request.info
        request.gate = "decode"
        check_name(request, request.obj)
        request.gate = "etcd"
        request.old = request.cluster.storage.find(info, request.namespace, request.name)
        rest.check_uid(request)
        if request.old is None:
            if not request.strategy.create_on_update or request.subresource:
                raise generic.not_found(info, request.name)
            fieldowners.track(request, request.obj, None)
            return _create_instead(request)
        named = request.obj["metadata"].get("resourceVersion")
        request.revision_named = named not in (None, "", "0")
        self._begin_update(request, request.old)

    def _begin_update(self, request: Request, old: Object) -> None:
        request.dry_run = options.dry_run(request.call)
        request.context = request.cluster.context(
            request.user, request.namespace, request.subresource, dry_run=request.dry_run
        )
        fieldowners.track(request, request.obj, old)

    def prepare(self, request: Request) -> Decision:
        old = request.old
        assert old is not None, "behind `current`"
        request.gate = "etcd"
        rest.check_revision(request, old)
        request.gate = "prepare"
        rest.before_update(request.obj, old)
        initialization.drop(request, request.obj)
        if request.subresource == "status":
            request.strategy.prepare_for_status_update(request.context, request.obj, old)
        else:
            request.strategy.prepare_for_update(request.context, request.obj, old)
        if request.granted:
            return Decision("allow", {**_PREPARED.detail, "grants": request.granted})
        return _PREPARED

    def findings(self, request: Request) -> list[FieldError]:
        ctx, obj, old = request.context, request.obj, request.old
        assert old is not None, "behind `current`"
        if request.subresource == "status":
            errs = objectmeta.validate_object_meta_update(obj, old)
            return errs + request.strategy.validate_status_update(ctx, obj, old)
        return updates.errors_of(request.strategy, ctx, obj, old)

    def store(self, request: Request) -> Decision | Awaitable[Decision]:
        old = request.old
        assert old is not None, "behind `current`"
        if rest.is_finished(request.info, request.obj, old):
            return self._remove(request, old)
        if initialization.is_refused(request):
            return self._put_and_remove(request)
        return super().store(request)

    async def _put_and_remove(self, request: Request) -> Decision:
        """An initializer refused the object: it is stored once more, so that watches hear why."""
        decided = super().store(request)
        if not isinstance(decided, Decision):
            decided = await decided
        stored = request.outcome.obj if decided.verdict == "allow" else None
        if stored is not None:
            request.cluster.storage.remove(request.info, stored)
            request.gone = stored
        return decided

    def _remove(self, request: Request, old: Object) -> Decision:
        """The update took off the last finalizer."""
        cluster, info, dry_run = request.cluster, request.info, request.dry_run
        gone = cluster.storage.remove(info, old) if not dry_run else old
        request.gone = None if dry_run else old
        request.outcome = Outcome(200, obj=gone)
        return decision.stored("delete", _key(info, old), meta.revision_of(gone), dry_run=dry_run)

    def _put(self, request: Request) -> Decision:
        info, old, dry_run = request.info, request.old, request.dry_run
        assert old is not None, "behind `current`"
        key = _key(info, request.obj)
        try:
            stored = request.cluster.storage.update(
                info, request.obj, old, subresource=request.subresource, dry_run=dry_run
            )
        except ApiError as error:
            return decision.not_stored("update", key, error)
        request.outcome = Outcome(200, obj=stored)
        decided = decision.stored(
            "update", key, meta.revision_of(stored), dry_run=dry_run, unchanged=stored is old
        )
        initialization.note(request, decided, stored, old)
        return decided

    async def _put_allocated(self, request: Request) -> Decision:
        cluster, old = request.cluster, request.old
        if request.dry_run:
            return self._put(request)
        try:
            with allocations.reserved(cluster, request.obj, old):
                await allocations.take(cluster, request.obj, old)
                decided = self._put(request)
        except ApiError as error:
            return decision.not_stored("update", _key(request.info, request.obj), error)
        if decided.refusal is None and old is not None:
            await allocations.give_back(cluster, old, request.outcome.obj)
        return decided

    def tries_again(self, request: Request, error: ApiError) -> bool:
        return rest.is_stale(error) and (not request.revision_named or is_gone(request))


class Patch(Update):
    """The patch is applied to what is stored; from there on it is an update."""

    def begin(self, request: Request) -> None:
        super().begin(request)
        patching.check_type(request)

    def read(self, request: Request) -> Object:
        info, applies = request.info, request.content_type == client.APPLY_PATCH
        old = request.cluster.storage.find(info, request.namespace, request.name)
        request.old = old
        if old is None and not (applies and not request.subresource):
            request.gate = "etcd"
            raise generic.not_found(info, request.name)
        if not request.attempt:
            patching.read(request)
            if request.audit is not None:
                request.audit.patched(request.patch)
        if old is None or applies:
            bodies.check_items(request, info, request.patch)
            return fieldowners.applied(request, info, old)
        return patching.patched(request, info, old)

    def _is_new(self, request: Request) -> bool:
        return request.old is None

    def current(self, request: Request) -> None:
        old, obj, info = request.old, request.obj, request.info
        request.gate = "decode"
        check_name(request, request.obj)
        request.gate = "etcd"
        if old is None:
            uid = obj["metadata"].get("uid")
            if uid:
                raise errors.conflict(
                    info.group,
                    info.plural,
                    request.name,
                    f"uid mismatch: the provided object specified uid {uid}, and no existing "
                    "object was found",
                )
            return _create_instead(request)
        named = obj["metadata"].get("resourceVersion")
        request.revision_named = named not in (None, "", "0", old["metadata"]["resourceVersion"])
        self._begin_update(request, old)


CREATE_OBJECT, UPDATE_OBJECT, PATCH_OBJECT = Create(), Update(), Patch()
_CREATE_INSTEAD = CreateInstead()
_PREPARED = Decision("allow", {"word": "unchanged name"})


def _revised() -> ApiError:
    error = errors.unclassified(REVISED)
    error.about = {"end": "versioned"}
    return error


def _create_instead(request: Request) -> None:
    """Go on as a create."""
    request.operation = _CREATE_INSTEAD
    _CREATE_INSTEAD.current(request)


def check_name(request: Request, obj: Object) -> None:
    """400 for an object that is not the one in the URL."""
    name = (obj.get("metadata") or {}).get("name", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({request.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != request.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({request.name})"
        )


def _key(info: ResourceInfo, obj: Object) -> str:
    metadata = obj["metadata"]
    return info.etcd_key(metadata.get("namespace", ""), metadata["name"])
