"""API errors: one is suppressed by its reason, and a bad value is told as its release tells it."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import errors


def test_an_error_with_a_named_reason_is_suppressed() -> None:
    with errors.ignoring("Conflict", "NotFound"):
        raise errors.not_found("", "pods", "web")


def test_other_reasons_and_other_exceptions_propagate() -> None:
    with pytest.raises(errors.ApiError), errors.ignoring("NotFound"):
        raise errors.already_exists("", "pods", "web")
    with pytest.raises(KeyError), errors.ignoring("NotFound"):
        raise KeyError("NotFound")


def test_values_are_told_as_json_since_1_34_unless_a_pointer_hides_them() -> None:
    port = (
        'core.ServicePort{Name:"a<b", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, '
        'TargetPort:intstr.IntOrString{Type:1, IntVal:0, StrVal:"web"}, NodePort:-1}'
    )
    told = {
        port: r'{"Name":"a\u003cb","Protocol":"TCP","AppProtocol":null,"Port":80,'
        '"TargetPort":"web","NodePort":-1}',
        'intstr.IntOrString{Type:0, IntVal:7, StrVal:""}': "7",
        "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:"
        '[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"k", Operator:"In", '
        'Values:[]string{"x", "y"}}}}': '{"matchExpressions":[{"key":"k","operator":"In",'
        '"values":["x","y"]}]}',
        'map[string]string{"b":"1", "a":"2"}': '{"a":"2","b":"1"}',
        "[]byte{0x6e, 0x6f}": '"bm8="',
        "0x0": "0",
        "runtime.RawExtension{Raw:[]uint8{0x7b, 0x7d}, Object:runtime.Object(nil)}": "{}",
        "unknown0": '"unknown0"',
        "resource.Quantity{i:resource.int64Amount{value:15, scale:-3}, d:resource.infDecAmount{Dec:"
        '(*inf.Dec)(nil)}, s:"", Format:"DecimalSI"}': '"15m"',
        'core.Taint{Key:"k", Value:"v", Effect:"NoSchedule", TimeAdded:<nil>}': (
            '{"Key":"k","Value":"v","Effect":"NoSchedule","TimeAdded":null}'
        ),
        "[]core.ResourceQuotaScope(nil)": "null",
        "policy.Spec{MinAvailable:(*intstr.IntOrString)(ADDRESS)}": (
            "policy.Spec{MinAvailable:(*intstr.IntOrString)(ADDRESS)}"
        ),
    }
    for text, wanted in told.items():
        error = errors.invalid_value("spec", errors.GoText(text), "wrong")
        assert error.body(as_json=True) == f"Invalid value: {wanted}: wrong"
        assert error.body() == f"Invalid value: {text}: wrong"
    plain = errors.invalid_value("spec", {"b": "1", "a": "2"}, "")
    assert plain.body() == 'Invalid value: map[string]string{"a":"2", "b":"1"}'
