"""The garbage collector: objects whose owners are all gone go too.

Background: the owner is deleted at once and its dependents afterwards. Foreground: an owner with
the finalizer `foregroundDeletion` waits until the dependents that block it are gone. Orphan: with
the finalizer `orphan` the dependents lose the reference and stay. Owners that never existed, or
exist with another uid or elsewhere, count as gone. What is decided about is read from the API
server first; its owners are, too, unless their end was seen: what a wrong reference says about
an owner counts for that reference, not for those that are right.

There is no graph of its own: each shared cache files its objects under their owners' uids.

Models kubernetes pkg/controller/garbagecollector/garbagecollector.go and graph_builder.go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import MERGE_PATCH, STRATEGIC_PATCH
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import Every

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
OWNER = "owner/"  # prefix of the key of an owner that no cache has
ABSENT_MAX = 500
CONFLICTS_MAX = 4
IGNORED = ("events", "events.events.k8s.io")
# where an owner is said to be: apiVersion, kind, namespace, name, uid
Coordinates = tuple[str, str, str, str, str]


class GarbageCollectorController(Controller):
    """Reconciles objects of every kind; a key is `resource/namespace/name`, or that of an owner
    that no cache has, with its uid."""

    source = "pkg/controller/garbagecollector/garbagecollector.go"
    watches = (
        Every(
            lambda resources: _collectable(resources),
            index=("owners", lambda obj: _owner_uids(obj)),
            add_keys=lambda self, resource, obj: self._added(resource, obj),
            update_keys=lambda self, resource, old, obj: self._updated(resource, old, obj),
            delete_keys=lambda self, resource, obj: self._deleted(resource, obj),
        ),
    )
    workers = 20

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._absent: OrderedDict[Coordinates, None] = OrderedDict()

    async def reconcile(self, key: str) -> Result | None:
        if key.startswith(OWNER):
            return await self._look_for_owner(key.removeprefix(OWNER))
        resource, namespace, name = key.split("/")
        cache = self.every.get(resource)
        obj = cache.get(f"{namespace}/{name}" if namespace else name) if cache else None
        if obj is None:
            return Result("is gone")
        finalizers = obj["metadata"].get("finalizers") or ()
        if meta.is_deleting(obj):
            if ORPHAN in finalizers:
                return await self._orphan_dependents(resource, obj)
            if FOREGROUND not in finalizers:
                return Result("is being deleted already: does nothing")
        latest = await self.live(resource, namespace, name)
        if latest is None or meta.uid_of(latest) != meta.uid_of(obj):
            return Result("is gone")
        if meta.is_deleting(obj):
            return await self._wait_for_dependents(resource, obj)
        owners = latest["metadata"].get("ownerReferences") or ()
        if not owners:
            return Result("has no owner: does nothing")
        return await self._judge(resource, latest, owners)

    # -- a dependent ----------------------------------------------------------------------------

    async def _judge(self, resource: str, obj: Object, owners: list[Object]) -> Result:
        """Keep it while any owner is there; else delete it the way its owner is deleted."""
        solid: list[Object] = []
        dangling: list[Object] = []
        waiting: list[Object] = []
        by_state = {"solid": solid, "gone": dangling, "waiting": waiting}
        for owner in owners:
            state = await self._owner_state(obj, owner)
            if state == "impossible":
                return Result("is in no namespace, but an owner of it would be: does nothing")
            by_state[state].append(owner)
        if solid:
            if not dangling and not waiting:
                return Result("its owner is there: nothing to do")
            await self._drop_references(resource, obj, [*dangling, *waiting])
            return Result(f"one of its owners is gone: drops {_named([*dangling, *waiting])}")
        if waiting and any(True for _ in self._dependents(meta.uid_of(obj))):
            await self._delete(resource, obj, "Foreground")
            return Result(f"{_named(waiting)} waits for it: deletes it after its own dependents")
        policy = "Background"
        finalizers = obj["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        await self._delete(resource, obj, policy)
        why = f"{_named(waiting)} waits for it" if waiting else f"{_named(dangling)} is gone"
        return Result(f"{why}: deletes it")

    async def _owner_state(self, obj: Object, owner: Object) -> str:
        """solid: there and staying; waiting: there until its dependents are gone; gone; or
        impossible: what is in no namespace cannot be owned by what is in one."""
        namespace = meta.namespace_of(obj)
        if (
            _coordinates(owner, "") in self._absent
            or _coordinates(owner, namespace) in self._absent
        ):
            return "gone"
        info = self._info(owner)
        if info is None:
            raise errors.internal(
                f'no matches for kind "{owner["kind"]}" in version "{owner["apiVersion"]}"'
            )
        if info.namespaced and not namespace:
            return "impossible"
        where = namespace if info.namespaced else ""
        owner_found = await self.live(info.key, where, owner["name"])
        if owner_found is None or meta.uid_of(owner_found) != owner["uid"]:
            self._remember_absent(_coordinates(owner, where))
            return "gone"
        return "waiting" if _waits_for_dependents(owner_found) else "solid"

    async def _look_for_owner(self, key: str) -> Result | None:
        """An owner that no cache has: its dependents are looked at when it is not there."""
        version, kind, namespace, name, uid = key.rsplit("/", 4)
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
        info = self._info(owner)
        if info is None:
            return Result("is of a kind that is gone")
        cache = self.every.get(info.key)
        known = cache.get(f"{namespace}/{name}" if namespace else name) if cache else None
        if known is not None and meta.uid_of(known) == uid:
            return Result("is there")
        live = await self.live(info.key, namespace, name)
        if live is not None and meta.uid_of(live) == uid:
            return Result("is there, a cache will show it")
        gone = _coordinates(owner, namespace)
        self._remember_absent(gone)
        dependents = [
            (resource, item)
            for resource, item in self._dependents(uid)
            if any(
                _coordinates(reference, meta.namespace_of(item) if namespace else "") == gone
                for reference in item["metadata"]["ownerReferences"]
            )
        ]
        for resource, item in dependents:
            self.queue.add(_key(resource, item))
        return Result(f"is not there: {len(dependents)} dependents may go")

    def _is_elsewhere(self, info: ResourceInfo, obj: Object, owner: Object) -> bool:
        """Whether the owner is known by another name, from another object's reference, or to be in
        another namespace."""
        others = (item for _, item in self._dependents(owner["uid"]) if item is not obj)
        other = next(others, None)
        for reference in other["metadata"]["ownerReferences"] if other is not None else ():
            if reference["uid"] == owner["uid"] and reference["name"] != owner["name"]:
                return True
        cache, spaces = self.every.get(info.key), self.every.get("namespaces")
        if cache is None or spaces is None or not info.namespaced:
            return False
        for space in spaces.list():
            known = cache.get(f"{meta.name_of(space)}/{owner['name']}")
            if known is not None and meta.uid_of(known) == owner["uid"]:
                self._tell_of_wrong_namespace(obj, owner)
                return True
        return False

    def _tell_of_wrong_namespace(self, obj: Object, owner: Object) -> None:
        namespace = meta.namespace_of(obj)
        words = (
            f"[{owner['apiVersion']}/{owner['kind']}, namespace: {namespace}, "
            f"name: {owner['name']}, uid: {owner['uid']}]"
        )
        message = f"ownerRef {words} does not exist in namespace {errors.quoted(namespace)}"
        metadata = {name: obj["metadata"].get(name, "") for name in ("namespace", "name", "uid")}
        about = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
        self.recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message)

    def _known_owner(self, obj: Object, owner: Object) -> Object | None:
        """The owner as the cache has it; None when it has none, or another with that name."""
        info = self._info(owner)
        cache = self.every.get(info.key) if info is not None else None
        if cache is None or info is None:
            return None
        name = owner["name"]
        known = cache.get(f"{meta.namespace_of(obj)}/{name}" if info.namespaced else name)
        if known is None or meta.uid_of(known) != owner["uid"]:
            return None
        return known

    def _info(self, owner: Object) -> ResourceInfo | None:
        group, _, version = owner["apiVersion"].rpartition("/")
        return self.resources.by_gvk(group, version, owner["kind"])

    def _remember_absent(self, gone: Coordinates) -> None:
        self._absent[gone] = None
        while len(self._absent) > ABSENT_MAX:
            self._absent.popitem(last=False)

    # -- an owner that waits --------------------------------------------------------------------

    async def _wait_for_dependents(self, resource: str, obj: Object) -> Result:
        uid = meta.uid_of(obj)
        blocking = [(kind, item) for kind, item in self._dependents(uid) if _blocks(item, uid)]
        if not blocking:
            await self._remove_finalizer(resource, obj, FOREGROUND)
            return Result("no dependent blocks it: lets it go")
        for kind, item in blocking:
            if not meta.is_deleting(item):
                self.queue.add(_key(kind, item))
        return Result(f"waits for {len(blocking)} dependents")

    async def _orphan_dependents(self, resource: str, obj: Object) -> Result:
        uid = meta.uid_of(obj)
        dependents = list(self._dependents(uid))
        for kind, item in dependents:
            await self._drop_references(kind, item, [{"uid": uid}])
        await self._remove_finalizer(resource, obj, ORPHAN)
        return Result(f"leaves {len(dependents)} dependents as orphans")

    def _dependents(self, uid: str) -> Iterator[tuple[str, Object]]:
        """(resource, object) of everything that names uid as an owner."""
        for resource, cache in list(self.every.items()):
            yield from ((resource, item) for item in list(cache.by("owners", uid).values()))

    # -- writes ---------------------------------------------------------------------------------

    async def _delete(self, resource: str, obj: Object, policy: str) -> None:
        metadata = obj["metadata"]
        preconditions = {"uid": metadata["uid"]}
        options = {"preconditions": preconditions, "propagationPolicy": policy}
        if self.ctx.version.has("CollectsAtResourceVersion"):
            preconditions["resourceVersion"] = metadata["resourceVersion"]
        namespace, name = meta.namespace_of(obj), meta.name_of(obj)
        try:
            await self.client.delete(resource, namespace, name, options=options)
        except errors.ApiError as error:
            if error.reason != "NotFound":
                raise
            await self.live(resource, namespace, name)  # it tries again, and learns that it is gone
        await self.kernel.pause()  # the cache shows it before the object's key comes again

    async def _drop_references(self, resource: str, obj: Object, owners: list[Object]) -> None:
        gone = [owner["uid"] for owner in owners]
        references = [{"$patch": "delete", "uid": uid} for uid in gone]
        patch = {"metadata": {"uid": meta.uid_of(obj), "ownerReferences": references}}
        kind = STRATEGIC_PATCH
        if "." in resource and self.resources.by_key[resource].stored_version:
            # a custom resource takes no strategic patch: its list is replaced, if it is the same
            kind = MERGE_PATCH
            metadata = obj["metadata"]
            kept = [
                reference
                for reference in metadata.get("ownerReferences") or ()
                if reference["uid"] not in gone
            ]
            patch["metadata"]["ownerReferences"] = kept
            patch["metadata"]["resourceVersion"] = metadata["resourceVersion"]
        with errors.ignoring("NotFound", "Invalid"):
            await self.client.patch(
                resource, meta.namespace_of(obj), meta.name_of(obj), patch, kind=kind
            )
        await self.kernel.pause()

    async def _remove_finalizer(self, resource: str, obj: Object, finalizer: str) -> None:
        """Reads the object first; again when somebody else was faster."""
        namespace, name = meta.namespace_of(obj), meta.name_of(obj)
        for left in reversed(range(CONFLICTS_MAX)):
            latest = await self.live(resource, namespace, name)
            finalizers = latest["metadata"].get("finalizers") or () if latest else ()
            if latest is None or finalizer not in finalizers:
                return
            metadata = {
                "resourceVersion": latest["metadata"]["resourceVersion"],
                "finalizers": [item for item in finalizers if item != finalizer],
            }
            try:
                await self.client.patch(
                    resource, namespace, name, {"metadata": metadata}, kind=MERGE_PATCH
                )
                return
            except errors.ApiError as error:
                if error.reason != "Conflict" or not left:
                    raise

    # -- keys -----------------------------------------------------------------------------------

    def _added(self, resource: str, obj: Object) -> Iterator[str]:
        """Its owners that no cache has, and the object itself if it waits for dependents."""
        yield from self._unknown_owners(resource, obj)
        if _starts_waiting(None, obj):
            yield from self._waits(resource, obj)

    def _unknown_owners(self, resource: str, obj: Object) -> Iterator[str]:
        namespace = meta.namespace_of(obj)
        for owner in obj["metadata"].get("ownerReferences") or ():
            if self._known_owner(obj, owner) is not None:
                continue
            info = self._info(owner)
            if info is None or self._is_elsewhere(info, obj, owner):
                yield _key(resource, obj)
            elif namespace or not info.namespaced:
                where = namespace if info.namespaced else ""
                yield f"{OWNER}{'/'.join(_coordinates(owner, where))}"

    def _waits(self, resource: str, obj: Object) -> Iterator[str]:
        """The dependents go first, unless they are to stay."""
        if ORPHAN not in (obj["metadata"].get("finalizers") or ()):
            for kind, item in self._dependents(meta.uid_of(obj)):
                yield _key(kind, item)
        yield _key(resource, obj)

    def _updated(self, resource: str, old: Object, obj: Object) -> Iterator[str]:
        if old["metadata"].get("ownerReferences") != obj["metadata"].get("ownerReferences"):
            yield from self._waiting_owners(old)
            yield from self._unknown_owners(resource, obj)
        if _starts_waiting(old, obj):
            yield from self._waits(resource, obj)

    def _deleted(self, resource: str, obj: Object) -> Iterator[str]:
        """Its dependents may have to go, and an owner may have waited for this."""
        uid = meta.uid_of(obj)  # what etcdctl has put may have none
        for kind, item in self._dependents(uid):
            itself = {
                "apiVersion": obj["apiVersion"],
                "kind": obj["kind"],
                "name": meta.name_of(obj),
                "uid": uid,
            }
            self._remember_absent(_coordinates(itself, meta.namespace_of(obj)))
            yield _key(kind, item)
        yield from self._waiting_owners(obj)

    def _waiting_owners(self, obj: Object) -> Iterator[str]:
        for owner in obj["metadata"].get("ownerReferences") or ():
            known = self._known_owner(obj, owner)
            info = self._info(owner)
            if info is not None and known is not None and _waits_for_dependents(known):
                yield _key(info.key, known)


def _key(resource: str, obj: Object) -> str:
    return f"{resource}/{meta.namespace_of(obj)}/{meta.name_of(obj)}"


def _coordinates(owner: Object, namespace: str) -> Coordinates:
    return owner["apiVersion"], owner["kind"], namespace, owner["name"], owner["uid"]


def _owner_uids(obj: Object) -> tuple[str, ...]:
    owners = obj["metadata"].get("ownerReferences")
    return tuple(owner["uid"] for owner in owners) if owners else ()


def _waits_for_dependents(obj: Object) -> bool:
    return _is_held_by(obj, FOREGROUND)


def _starts_waiting(old: Object | None, obj: Object) -> bool:
    """Whether it is from now on that it is deleted only after something is done about its
    dependents."""
    return any(
        _is_held_by(obj, finalizer) and (old is None or not _is_held_by(old, finalizer))
        for finalizer in (ORPHAN, FOREGROUND)
    )


def _is_held_by(obj: Object, finalizer: str) -> bool:
    return meta.is_deleting(obj) and finalizer in (obj["metadata"].get("finalizers") or ())


def _blocks(obj: Object, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion")
        for owner in obj["metadata"].get("ownerReferences") or ()
    )


def _named(owners: list[Object]) -> str:
    return ", ".join(f"{owner['kind']} {owner['name']}" for owner in owners)


def _collectable(resources: Sequence[ResourceInfo]) -> Sequence[ResourceInfo]:
    """What can be listed, watched and deleted, each stored thing once."""
    by_storage: dict[str, ResourceInfo] = {}
    for info in resources:
        if info.key in IGNORED or not {"list", "watch", "delete"} <= set(info.verbs):
            continue
        by_storage.setdefault(info.storage, info)
    return tuple(by_storage.values())
