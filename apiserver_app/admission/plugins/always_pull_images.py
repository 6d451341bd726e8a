"""AlwaysPullImages: an image is pulled for every pod anew, so that its registry is asked.

Models kubernetes plugin/pkg/admission/alwayspullimages/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import (
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
    Ops,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object

ALWAYS = "Always"


class AlwaysPullImages(Plugin):
    name = "AlwaysPullImages"
    concern = SECURITY
    resources = ("pods",)
    mutates = True
    validates = True
    source = "plugin/pkg/admission/alwayspullimages/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        if _has_no_new_image(attributes):
            return Verdict("allow", "no new image")
        ops: Ops = []
        spec = attributes.obj["spec"]
        for path, container in every_container(spec):
            if container.get("imagePullPolicy") != ALWAYS:
                ops.append({"op": "add", "path": f"/spec/{path}/imagePullPolicy", "value": ALWAYS})
        for index, source in _image_volumes(spec):
            if source.get("pullPolicy") != ALWAYS:
                at = f"/spec/volumes/{index}/image/pullPolicy"
                ops.append({"op": "add", "path": at, "value": ALWAYS})
        if not ops:
            return Verdict("allow", "every image is pulled always")
        return Verdict("change", "every image is pulled always", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        if _has_no_new_image(attributes):
            return Verdict("allow", "no new image")
        spec = attributes.obj["spec"]
        found = []
        for path, container in every_container(spec):
            field, index = path.split("/")
            policy = container.get("imagePullPolicy", "")
            if policy != ALWAYS:
                at = f"spec.{field}[{index}].imagePullPolicy"
                found.append(errors.not_supported(at, policy, (ALWAYS,)))
        for number, source in _image_volumes(spec):
            policy = source.get("pullPolicy", "")
            if policy != ALWAYS:
                at = f"spec.volumes[{number}].image.pullPolicy"
                found.append(errors.not_supported(at, policy, (ALWAYS,)))
        if found:
            raise _refusal(attributes, [str(one) for one in found])
        return Verdict("allow", "every image is pulled always")


def _refusal(attributes: Attributes, found: list[str]) -> errors.ApiError:
    """One refusal as it is, several as a list of them."""
    if len(found) == 1:
        return forbidden(attributes, found[0])
    texts = [forbidden(attributes, one).message for one in found]
    return errors.ApiError(500, "", f"[{', '.join(texts)}]")


def _has_no_new_image(attributes: Attributes) -> bool:
    if attributes.operation != UPDATE:
        return False
    old = (attributes.old or {}).get("spec") or {}
    spec = (attributes.obj or {})["spec"]
    images = {container.get("image") for _, container in every_container(old)}
    if any(container.get("image") not in images for _, container in every_container(spec)):
        return False
    references = {source.get("reference") for _, source in _image_volumes(old)}
    return all(source.get("reference") in references for _, source in _image_volumes(spec))


def _image_volumes(spec: Object) -> list[tuple[int, Object]]:
    volumes = enumerate(spec.get("volumes") or ())
    return [(index, one["image"]) for index, one in volumes if one.get("image")]
