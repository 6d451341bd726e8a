"""Accept headers and what is answered to them."""

import pytest

from apiserver_app.http import negotiation
from apiserver_app.http.negotiation import PROTOBUF, Accepted
from apiserver_app.machinery import errors

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Accepted()),
        ("*/*", Accepted()),
        ("*", Accepted()),
        ("application/*", Accepted()),
        ("application/json, */*", Accepted()),
        ("application/vnd.kubernetes.protobuf,application/json", Accepted(PROTOBUF)),
        ("application/vnd.kubernetes.protobuf, */*", Accepted(PROTOBUF)),
        ("application/vnd.kubernetes.protobuf;stream=watch", Accepted(PROTOBUF)),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
         Accepted(PROTOBUF, "PartialObjectMetadata", "v1")),
        (f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io,application/json", Accepted()),
        ("application/json;stream=watch", Accepted()),
        ("application/json;sv=v1", Accepted()),
        ("application/json;sv=v2,application/yaml", Accepted("application/yaml")),
        ("*/*;q=1,application/yaml;q=0.1", Accepted("application/yaml")),
        ("application/*;q=0.9,application/yaml;q=0.1", Accepted("application/yaml")),
        ("application/json;q=0,application/yaml;q=x", Accepted()),
        ("application/json;as=,application/yaml", Accepted()),
        ("json,application/json/x,application/yaml", Accepted("application/yaml")),
        ("application/yaml", Accepted("application/yaml")),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Accepted()),
        ("application/json;q=0.2,application/yaml", Accepted("application/yaml")),
        ("application/json;pretty=1", Accepted(pretty=True)),
        (TABLE, Accepted("application/json", "Table", "v1")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io",
         Accepted("application/json", "Table", "v1beta1")),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", Accepted()),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
         Accepted("application/json", "PartialObjectMetadataList", "v1")),
        ("application/json; as=Table; v=v1; g=meta.k8s.io",
         Accepted("application/json", "Table", "v1")),
    ],
)  # fmt: skip
def test_accept_header_yields_the_first_form_that_can_be_sent(
    accept: str, expected: Accepted
) -> None:
    assert negotiation.negotiate(accept) == expected


@pytest.mark.parametrize(
    "accept",
    ["text/plain", "application/json;stream=other", "application/yaml;stream=watch",
     "application/json;as=Widget;g=meta.k8s.io;v=v1", f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1",
     'application/json;as="Table";v=v1;g=meta.k8s.io', "application/json;as=Table;g=x;v=v1"],
)  # fmt: skip
def test_accept_header_that_cannot_be_met_is_refused_with_406(accept: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        negotiation.negotiate(accept)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        "reason": "NotAcceptable",
        "code": 406,
    }


def test_custom_resources_are_protobuf_by_their_metadata_only() -> None:
    partial = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert negotiation.negotiate(f"{PROTOBUF},application/json", False, True) == Accepted()
    assert negotiation.negotiate(partial, False, True).is_protobuf
    with pytest.raises(errors.ApiError) as caught:
        negotiation.negotiate(PROTOBUF, False, True)
    assert caught.value.code == 406


def test_watch_is_streamed_as_json_or_protobuf() -> None:
    assert negotiation.negotiate("application/json;stream=watch", True) == Accepted()
    assert negotiation.negotiate(TABLE, True).is_table
    accepted = negotiation.negotiate(f"{PROTOBUF};stream=watch,application/json", True)
    assert accepted.stream_type == "application/vnd.kubernetes.protobuf;stream=watch"
    with pytest.raises(errors.ApiError) as caught:
        negotiation.negotiate("application/yaml,application/json", True)
    assert caught.value.message == (
        "only the following media types are accepted: application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch"
    )


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        (AGGREGATED, "v2"),
        (AGGREGATED.partition(",")[2], "v2beta1"),
        (
            "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
            "",
        ),
        (f"application/json,{AGGREGATED.partition(',')[0]};q=0.1", "v2"),
        ("application/json, */*", ""),
        ("", ""),
    ],
)
def test_aggregated_discovery_is_answered_in_exactly_the_version_asked_for(
    accept: str, version: str
) -> None:
    found = negotiation.discovery(accept, ("v2", "v2beta1"))
    assert (found.convert_version if found else "") == version


def test_answers_are_indented_for_people_and_on_request() -> None:
    assert negotiation.wants_pretty({}, "curl/8.0")
    assert not negotiation.wants_pretty({"pretty": ["false"]}, "curl/8.0")
    assert negotiation.wants_pretty({"pretty": ["true"]}, "kubectl/v1.33.1")
    assert not negotiation.wants_pretty({}, "kubectl/v1.33.1")
