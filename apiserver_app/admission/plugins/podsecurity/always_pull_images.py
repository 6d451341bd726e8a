"""AlwaysPullImages: every pod pulls its images anew, so that the registry checks access.

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
                location = f"/spec/volumes/{index}/image/pullPolicy"
                ops.append({"op": "add", "path": location, "value": ALWAYS})
        if not ops:
            return Verdict("allow", "every image is pulled always")
        return Verdict("change", "every image is pulled always", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        if _has_no_new_image(attributes):
            return Verdict("allow", "no new image")
        spec = attributes.obj["spec"]
        problems = []
        for path, container in every_container(spec):
            field, index = path.split("/")
            policy = container.get("imagePullPolicy", "")
            if policy != ALWAYS:
                location = f"spec.{field}[{index}].imagePullPolicy"
                problems.append(errors.not_supported(location, policy, (ALWAYS,)))
        for number, source in _image_volumes(spec):
            policy = source.get("pullPolicy", "")
            if policy != ALWAYS:
                location = f"spec.volumes[{number}].image.pullPolicy"
                problems.append(errors.not_supported(location, policy, (ALWAYS,)))
        if problems:
            raise _refusal(attributes, [str(problem) for problem in problems])
        return Verdict("allow", "every image is pulled always")


def _refusal(attributes: Attributes, reasons: list[str]) -> errors.ApiError:
    """Returns a single refusal, or several as one list."""
    if len(reasons) == 1:
        return forbidden(attributes, reasons[0])
    messages = [forbidden(attributes, reason).message for reason in reasons]
    return errors.ApiError(500, "", f"[{', '.join(messages)}]")


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
    return [(index, volume["image"]) for index, volume in volumes if volume.get("image")]
