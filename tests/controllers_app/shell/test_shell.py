"""Commands in simulated containers: the language, the commands, files, and that nothing hangs."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver_app.machinery.net.nodeapi import NodeError
from controllers_app.shell import globbing, syntax
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute, run
from tests.controllers_app.podlab import cluster, create, get, pod
from tests.fuzz.samples import examples


@pytest.fixture(scope="module")
def box() -> Session:
    session = cluster(nodes=1)
    sleeper = {"command": ["sleep", "infinity"]}
    create(session, pod(image="busybox", container=sleeper))
    create(session, pod("site"))
    return session


SCRIPTS = {
    "echo $((3 * (4 + 1) % 7)) ${none:-x} ${#HOSTNAME}": "1 x 3\n",
    "for i in $(seq 3); do echo -n $i; done; echo": "123\n",
    "i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i = 2 ] && continue; echo $i; done": "1\n3\n",
    "case abc in a*) echo yes;; *) echo no;; esac": "yes\n",
    'f() { echo "<$1>" "$#"; return 3; }; f \'a b\' c; echo $?': "<a b> 2\n3\n",
    "echo one > /tmp/a; echo two >> /tmp/a; cat < /tmp/a | wc -l": "2\n",
    "cat <<EOF\n$HOSTNAME\nEOF": "web\n",
    "if ! false && true; then echo a; else echo b; fi": "a\n",
    "x=a.tar.gz; echo ${x%.gz} ${x%%.*} ${x##*.}": "a.tar a gz\n",
    "printf '%s-%03d\\n' a 5 b 6": "a-005\nb-006\n",
    "echo hello | sed 's/l\\+/L/g' | tr a-z A-Z | cut -c1-3": "HEL\n",
    "printf 'b\\na\\nb\\n' | sort | uniq -c": "      1 a\n      2 b\n",
    "(cd /etc; pwd); pwd": "/etc\n/\n",
    "echo a 2>&1 >/dev/null; nope 2>/dev/null || echo $?": "127\n",
    "mkdir -p /d/e; touch /d/e/f; ls /d; find /d -type f; rm -r /d; ls /d": (
        "e\n/d/e/f\nls: /d: No such file or directory\n"
    ),
    "echo -n text | gzip | gunzip": "text",
    "echo a > /tmp/z; gzip /tmp/z; ls /tmp; zcat /tmp/z.gz; gunzip /tmp/z.gz; cat /tmp/z": (
        "a\nz.gz\na\na\n"
    ),
    "echo text | gunzip": "gunzip: invalid magic\n",
    "dd if=/dev/zero of=/tmp/y bs=1k count=3; wc -c < /tmp/y": (
        "3+0 records in\n3+0 records out\n3072 bytes (3.0KB) copied, 0.000107 seconds, 27.3MB/s\n"
        "3072\n"
    ),
    "echo abcdef | dd bs=2 count=2 status=none": "abcd",
    "dd if=/dev/zero of=/tmp/big bs=4M count=10": (
        "dd: error writing '/tmp/big': No space left on device\n"
    ),
    "date foo": "date: invalid date 'foo'\n",
    "date -d @0 +%F": "1970-01-01\n",
    "set -e; false; echo never": "",
    "nope": "sh: nope: not found\n",
    "if then": 'sh: syntax error: unexpected "then"\n',
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_shell_does_what_a_shell_does(box: Session, script: str) -> None:
    assert execute(box, "sh", "-c", script)[0] == SCRIPTS[script]


def test_the_exit_code_of_a_command_is_that_of_its_shell(box: Session) -> None:
    assert execute(box, "sh", "-c", "exit 3") == ("", 3)
    assert execute(box, "false") == ("", 1)


def test_a_program_that_is_not_there_is_refused_in_the_runtimes_words(box: Session) -> None:
    with pytest.raises(NodeError) as caught:
        execute(box, "bash")
    assert str(caught.value).endswith(
        "OCI runtime exec failed: exec failed: unable to start container process: "
        'exec: "bash": executable file not found in $PATH: unknown'
    )


def test_a_terminal_echoes_edits_and_interrupts(box: Session) -> None:
    typed = b"ecko\x7f\x7fho hi\rsleep 1\r"
    said, code = execute(box, "sh", stdin=typed + b"\x04", tty=True)
    assert said.startswith("ecko\b \b\b \bho hi\r\n") and "/ # hi\r\n/ # " in said and code == 0
    said, code = execute(box, "sh", stdin=b"exit 4\r", tty=True)
    assert code == 4


def test_a_sleep_is_interrupted_by_ctrl_c(box: Session) -> None:
    async def go() -> tuple[str, int | None]:
        process = await box.cluster.nodes.exec(body, "c", ["sh"], stdin=True, tty=True)
        process.write(b"sleep 1000\r")
        await box.cluster.kernel.sleep(2)
        process.write(b"\x03")
        await box.cluster.kernel.sleep(0.1)
        process.write(b"echo $?\rexit\r")
        out = b""
        while (part := await process.read()) is not None:
            out += part[1]
        return out.decode(), process.exit_code

    body = get(box)
    before = box.cluster.kernel.now
    said, _code = run(box, go())
    assert "130\r\n" in said and box.cluster.kernel.now - before < 60_000_000


def test_tar_packs_and_unpacks_what_kubectl_cp_sends(box: Session) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("note.txt")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"hello"))
    assert execute(box, "tar", "xmf", "-", "-C", "/tmp", stdin=out.getvalue()) == ("", 0)
    packed = execute(box, "tar", "cf", "-", "/tmp/note.txt")[0].encode("utf-8", "surrogateescape")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        taken = archive.extractfile("tmp/note.txt")
        assert taken is not None and taken.read() == b"hello"


def test_files_are_the_containers_and_what_nginx_serves(box: Session) -> None:
    execute(box, "sh", "-c", "echo mine > /usr/share/nginx/html/index.html", name="site")
    assert execute(box, "curl", "-s", "localhost", name="site")[0] == "mine\n"
    address = get(box, "site")["status"]["podIP"]
    assert execute(box, "wget", "-qO-", f"http://{address}/")[0] == "mine\n"
    said, code = execute(box, "wget", "-qO-", f"http://{address}:81")
    assert said == f"wget: can't connect to remote host ({address}): Connection refused\n"
    assert code == 1


def test_the_account_token_and_the_clusters_files_are_there(box: Session) -> None:
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert execute(box, "cat", f"{folder}/namespace")[0] == "default"
    assert execute(box, "cat", f"{folder}/token")[0].count(".") == 2
    assert execute(box, "touch", f"{folder}/x") == ("touch: Read-only file system\n", 1)
    assert "nameserver 10.96.0.10\n" in execute(box, "cat", "/etc/resolv.conf")[0]
    assert "KUBERNETES_SERVICE_HOST=10.96.0.1\n" in execute(box, "env")[0]


def test_a_token_is_renewed_when_four_fifths_of_its_life_are_over() -> None:
    box = cluster(nodes=1)
    asked = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    mount = {"volumeMounts": [{"name": "mine", "mountPath": "/mine"}]}
    create(
        box,
        pod(
            container={"command": ["sleep", "infinity"], **mount},
            image="busybox",
            volumes=[{"name": "mine", "projected": {"sources": [asked]}}],
        ),
    )
    first = execute(box, "cat", "/mine/token")[0]
    box.wait(470)
    assert execute(box, "cat", "/mine/token")[0] == first
    box.wait(20)
    second = execute(box, "cat", "/mine/token")[0]
    assert second.count(".") == 2 and second != first


def test_names_of_services_are_found(box: Session) -> None:
    said, code = execute(box, "nslookup", "kubernetes")
    assert "Name:\tkubernetes.default.svc.cluster.local\nAddress: 10.96.0.1\n" in said
    assert code == 0
    assert "NXDOMAIN" in execute(box, "nslookup", "no-such-name")[0]


def test_a_process_whose_client_has_left_gets_the_end_of_its_input_and_goes_on(
    box: Session,
) -> None:
    async def go(*command: str, tty: bool = False) -> None:
        process = await box.cluster.nodes.exec(body, "c", [*command], stdin=True, tty=tty)
        await box.cluster.kernel.sleep(0.1)
        process.write(b"all of it\n")
        process.hang_up()

    body = get(box)
    run(box, go("tee", "/tmp/kept"))
    assert execute(box, "cat", "/tmp/kept") == ("all of it\n", 0)
    run(box, go("sleep", "1234"))
    run(box, go("sleep", "4321", tty=True))
    said = execute(box, "ps")[0]
    assert "sleep 1234" in said and "sleep 4321" not in said


def test_a_process_that_writes_to_a_client_that_has_left_ends(box: Session) -> None:
    async def go() -> None:
        process = await box.cluster.nodes.exec(
            body, "c", ["sh", "-c", "while sleep 1; do echo on; done"], stdin=False, tty=False
        )
        process.hang_up()
        await box.cluster.kernel.sleep(3)

    body = get(box)
    run(box, go())
    assert "while sleep" not in execute(box, "ps")[0]


WORDS = st.sampled_from(
    [
        "echo", "cat", "$(", ")", "`", "'", '"', "$x", "${x", "${x:-", "}", "|", "||", "&&", ";",
        "while", "true", "do", "done", "if", "then", "fi", "for", "in", "case", "esac", ";;", "{",
        "(", "((", "$((", "))", ">", ">>", "<", "<<", "2>&1", "&", "!", "f()", "f", "\n", "x=$x$x",
        "sed", "s/a/b/", "grep", "[", "]", "-e", "*", "?", "~", "/etc", "printf", "%d", "tar",
        "sh", "-c", "seq", "9", "sleep", "1", "yes", "read", "set", "-u", "cd", "..", "\\", "tr",
        "cut", "-f1", "find", "sort", "-k", "test", "-f", "=", "head", "-n", "kill", "nc", "wget",
    ]
)  # fmt: skip


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=14), st.text(max_size=8))
def test_no_input_makes_the_shell_raise_or_hang(box: Session, words: list[str], text: str) -> None:
    crashes: list[BaseException] = []
    kernel = box.cluster.kernel
    before, kernel.on_crash = kernel.on_crash, lambda task, error: crashes.append(error)

    async def go() -> None:
        process = await box.cluster.nodes.exec(
            body, "c", ["sh", "-c", " ".join(words) + text], stdin=False, tty=False
        )
        await kernel.sleep(5)
        process.hang_up()
        while await process.read() is not None:
            pass

    body = get(box)
    try:
        run(box, go())
    finally:
        kernel.on_crash = before
    assert crashes == []


@given(st.text(alphabet="*?[]a-b!\\", max_size=12), st.text(alphabet="ab-]", max_size=12))
def test_patterns_always_say_yes_or_no(pattern: str, text: str) -> None:
    assert globbing.matches(pattern, text) in (True, False)
    assert globbing.matches(globbing.quoted(text), text)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(source: str) -> None:
    try:
        syntax.parse(source)
    except syntax.ShellSyntaxError as error:
        assert str(error).startswith("syntax error")
