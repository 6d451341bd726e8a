"""The editor has room to write in, knows the server's schema, and sends nothing that a dry run on
the server refuses."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

PHONE = (390, 844)
LINES_SEEN = 20
WEB = "sel=object/deployments.apps/default/web"
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\nspec:\n"


@pytest.fixture(scope="module", autouse=True)
def web(demo: Demo) -> None:
    asking.run(demo, "web", 1)


def test_a_pod_is_written_with_the_fields_of_the_schema(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    dialog = opened(sight)
    text = dialog.get_by_role("textbox")
    expect(text).to_be_focused()
    text.fill(POD.format(name="written"))
    fields = dialog.get_by_role("listbox", name="What can stand here")
    sight.press("Control+End")
    sight.page.keyboard.type("  cont")
    expect(fields.get_by_role("option")).to_have_text("containers []object, needed")
    sight.says(dialog, "What can stand in spec")

    sight.press("Enter")
    sight.page.keyboard.type("name: a")
    sight.press("Enter")
    sight.page.keyboard.type("ima")
    expect(fields.get_by_role("option", selected=True)).to_contain_text("image")
    sight.press("Enter")
    sight.page.keyboard.type("nginx")
    sight.press("Enter")
    sight.page.keyboard.type("imageP")
    sight.press("Enter", "Control+Space", "ArrowDown", "Enter")

    written = "  containers:\n  - name: a\n    image: nginx\n    imagePullPolicy: IfNotPresent"
    expect(text).to_have_value(re.compile(f"{re.escape(written)}$"))
    sight.says(dialog.get_by_role("status"), "Nothing is wrong by the schema.")
    assert_room(sight, text)
    sight.press("Control+Enter")
    expect(dialog).to_have_count(0)
    pod = asking.until(lambda: asking.objects(demo, "pods").get("written"))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"


def test_what_is_wrong_stands_at_its_line_before_anything_is_sent(look: Look, demo: Demo) -> None:
    sight = look(ROOMY, query="theme=dark&lang=en")
    dialog = opened(sight)
    text = dialog.get_by_role("textbox")
    wrong = "  containers:\n  - name: Not_right\n    imag: nginx\n    tty: perhaps\n"
    text.fill(POD.format(name="wrong") + wrong)
    sight.says(dialog.get_by_role("status"), "2 problems by the schema")
    sight.says(dialog, "Line 8 spec.containers[0].imag: there is no such field")
    sight.says(dialog, "Line 9 spec.containers[0].tty: boolean is wanted, not perhaps")
    expect(dialog.locator(".numbers .is-deny")).to_have_text(["8", "9"])
    assert_laid_out(sight)
    text.fill(POD.format(name="wrong") + "  containers:\n  - name: Not_right\n    image: nginx\n")
    sight.says(dialog.get_by_role("status"), "Nothing is wrong by the schema.")

    dialog.get_by_role("button", name="Dry run, then send").click()

    sight.says(dialog.get_by_role("status"), "The server refuses it:")
    refusal = dialog.get_by_role("button", name=re.compile("^Line 7"))
    sight.says(refusal, 'spec.containers[0].name: Invalid value: "Not_right": a lowercase RFC 1123')
    assert_laid_out(sight)
    refusal.focus()
    sight.press("Enter")
    expect(text).to_be_focused()
    selected = "document.activeElement.value.slice(document.activeElement.selectionStart).trim()"
    assert str(sight.page.evaluate(selected)).startswith("- name: Not_right")
    assert "wrong" not in asking.objects(demo, "pods")


def test_a_dry_run_stores_nothing(look: Look, demo: Demo) -> None:
    sight = look(PHONE, query="theme=projector&lang=zh")
    dialog = opened(sight, "编辑器")
    body = POD.format(name="dry") + "  containers:\n  - name: a\n    image: nginx\n"
    dialog.get_by_role("textbox").fill(body)

    dialog.get_by_role("button", name="试运行", exact=True).click()

    sight.says(dialog.get_by_role("status"), "服务器会接受：试运行，什么都没有存储。")
    assert "dry" not in asking.objects(demo, "pods")
    assert sight.page.evaluate(measures.CONTRAST) == []


def test_an_object_is_edited_and_an_older_one_replaces_nothing(look: Look, demo: Demo) -> None:
    sight = look(COMPACT, query=f"theme=light&lang=en&{WEB}")
    dialog = edits(sight)
    text = dialog.get_by_role("textbox")
    first = text.input_value()
    assert "managedFields" not in first
    text.fill(first.replace("replicas: 1", "replicas: 2", 1))
    dialog.get_by_role("button", name="Dry run, then replace").click()
    expect(dialog).to_have_count(0)
    sight.says(sight.page.locator(".answers"), "kubectl -n default replace -f -  # admin")
    sight.says(sight.page.locator(".answers"), "deployment.apps/web replaced")
    asking.until(lambda: asking.objects(demo, "deployments")["web"]["spec"]["replicas"] == 2)

    again = look(COMPACT, query=f"theme=light&lang=en&{WEB}")
    dialog = edits(again)
    dialog.get_by_role("textbox").fill(first)
    dialog.get_by_role("button", name="Dry run", exact=True).click()

    again.says(
        dialog,
        'Operation cannot be fulfilled on deployments.apps "web": the object has been'
        " modified; please apply your changes to the latest version and try again",
    )
    assert asking.objects(demo, "deployments")["web"]["spec"]["replicas"] == 2
    again.press("Escape")
    expect(dialog).to_have_count(0)


def opened(sight: Sight, name: str = "Editor") -> Locator:
    sight.button(name).click()
    dialog = sight.page.get_by_role("dialog")
    expect(dialog.get_by_role("option").first).to_be_visible()  # the schema is read
    return dialog


def edits(sight: Sight) -> Locator:
    sight.button("Change it").click()
    menu = sight.page.get_by_role("dialog", name="Change it")
    sight.says(menu, "kubectl -n default edit deployment/web")
    menu.get_by_role("button", name="Edit", exact=True).click()
    return sight.page.get_by_role("dialog", name="Edit Deployment web")


def assert_room(sight: Sight, text: Locator) -> None:
    box = text.bounding_box()
    assert box is not None
    line = sight.page.evaluate("parseFloat(getComputedStyle(document.activeElement).lineHeight)")
    assert box["height"] > LINES_SEEN * line


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
