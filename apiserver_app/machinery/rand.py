"""The cluster's only source of randomness: seeded, and persisted with the clock.

SplitMix64 (Steele, Lea, Flood 2014): its state is a single 64-bit number, which a commit carries.
Never use it for secrets: keys and signatures come from the operating system.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
# upstream leaves out vowels and look-alikes: staging/src/k8s.io/apimachinery/pkg/util/rand/rand.go
ALPHANUMERICS = "bcdfghjklmnpqrstvwxz2456789"


class Rand:
    """Deterministic numbers. `state` may be read and set to continue a run."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def bits(self) -> int:
        """The next 64 bits."""
        mixed = self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        return (self.bits() * limit) >> 64

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * (self.bits() / 2.0**64)

    def suffix(self, length: int = 5) -> str:
        """The random suffix of a generated name."""
        return "".join(ALPHANUMERICS[self.below(27)] for _ in range(length))

    def uuid(self) -> str:
        """A version 4 UUID."""
        bits = self.bits
        high, low = bits(), bits()
        text = f"{high:016x}{(low & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000:016x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{text[16:20]}-{text[20:]}"

    def hex(self, digits: int) -> str:
        out = ""
        while len(out) < digits:
            out += f"{self.bits():016x}"
        return out[:digits]
