"""SPDY/3.1 frames: what is written can be read however it is cut, and nonsense ends it cleanly."""

from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver_app.http.streaming import channels, processes
from apiserver_app.http.streaming.spdy import framing


def test_dictionary_is_the_drafts() -> None:
    assert (len(framing.DICTIONARY), zlib.adler32(framing.DICTIONARY)) == (1423, 0xE3C6A7C2)


NAMES = st.text("abcdefghij-", min_size=1, max_size=20)
VALUES = st.text(st.characters(max_codepoint=255), max_size=50)


@given(
    st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=5),
    st.binary(max_size=300),
    st.integers(1, 400),
)
def test_frames_survive_any_cut(blocks: list[dict[str, str]], body: bytes, size: int) -> None:
    writer, reader = framing.Codec(), framing.Codec()
    sent = b"".join(writer.syn_stream(2 * i + 1, block) for i, block in enumerate(blocks))
    sent += (
        framing.data(1, body, fin=True)
        + framing.ping(9)
        + framing.rst_stream(3, 5)
        + framing.goaway(1)
    )
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    frames = [frame for piece in pieces for frame in reader.feed(piece)]
    assert [frame.headers for frame in frames[: len(blocks)]] == blocks
    assert [frame.kind for frame in frames[len(blocks) :]] == [
        0,
        framing.PING,
        framing.RST_STREAM,
        framing.GOAWAY,
    ]
    assert frames[len(blocks)].data == body and frames[len(blocks)].fin


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_nonsense_is_an_error_or_waits_for_more(pieces: list[bytes]) -> None:
    codec = framing.Codec()
    try:
        for piece in pieces:
            list(codec.feed(piece))
    except framing.SpdyError:
        pass


@given(st.integers(0, 12), st.integers(0, 255), st.binary(max_size=64))
def test_control_frames_with_any_body_are_read_or_refused(
    kind: int, flags: int, body: bytes
) -> None:
    frame = struct.pack(">HHI", 0x8003, kind, flags << 24 | len(body)) + body
    with contextlib.suppress(framing.SpdyError):
        list(framing.Codec().feed(frame))


def test_bomb_of_headers_is_refused() -> None:
    writer = framing.Codec()
    with pytest.raises(framing.SpdyError, match="headers longer"):
        list(framing.Codec().feed(writer.syn_stream(1, {"a": "x" * 10_000_000})))


def test_frame_over_the_limit_is_refused_before_it_came() -> None:
    with pytest.raises(framing.SpdyError, match="longer than"):
        list(framing.Codec().feed(struct.pack(">II", 1, framing.FRAME_BYTES_MAX + 1)))


def test_other_versions_are_refused() -> None:
    with pytest.raises(framing.SpdyError, match="version 2"):
        list(framing.Codec().feed(struct.pack(">HHI", 0x8002, 6, 4) + b"\0\0\0\1"))


@given(st.binary(max_size=100), st.sampled_from(("v5.channel.k8s.io", "v4.base64.channel.k8s.io")))
def test_channels_carry_any_data(body: bytes, protocol: str) -> None:
    sent = channels.encode(protocol, 0, body)
    assert channels.decode(protocol, sent) == channels.Message(0, body)


def test_only_v5_can_close_a_channel() -> None:
    closed = channels.Message(0, b"", True)
    assert channels.decode("v5.channel.k8s.io", b"\xff\x00") == closed
    assert channels.decode("v4.channel.k8s.io", b"\xff\x00") == channels.Message(255, b"\x00")
    assert channels.decode("v5.channel.k8s.io", b"\xff") is None
    assert channels.decode("base64.channel.k8s.io", "0!") is None


@given(st.binary(max_size=200))
def test_what_is_no_terminal_size_is_passed_over(data: bytes) -> None:
    assert all(isinstance(width, int) for width, _ in processes.Sizes().feed(data))
