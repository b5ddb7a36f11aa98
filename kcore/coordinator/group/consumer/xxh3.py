"""XXH3 with 64 bits and no seed, of bytes: the hash that Kafka 4.1 keeps of a group's topics (KIP-1101).

It is needed when topics change, for a few bytes a topic, so that plain Python is fast enough. The facts are those of
the XXH3 specification (github.com/Cyan4973/xxHash); the tests hold it against what Kafka's own library answers.
"""

from __future__ import annotations

MASK = 0xFFFF_FFFF_FFFF_FFFF
PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
STRIPE, LANES, SECRET_STEP = 64, 8, 8

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
    "51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8f"
    "f8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
STRIPES_PER_BLOCK = (len(SECRET) - STRIPE) // SECRET_STEP
SECRETS = [int.from_bytes(SECRET[i : i + 8], "little") for i in range(len(SECRET) - 7)]


def hash_bytes(data: bytes) -> int:
    """The hash as a signed number, as Java has it."""
    size = len(data)
    if size <= 16:
        value = _up_to_16(data)
    elif size <= 128:
        value = _up_to_128(data)
    elif size <= 240:
        value = _up_to_240(data)
    else:
        value = _long(data)
    return value - (1 << 64) if value >> 63 else value


def _read(data: bytes, position: int, size: int = 8) -> int:
    return int.from_bytes(data[position : position + size], "little")


def _avalanche(value: int) -> int:
    value = ((value ^ (value >> 37)) * PRIME_MX1) & MASK
    return value ^ (value >> 32)


def _avalanche_64(value: int) -> int:
    value = ((value ^ (value >> 33)) * PRIME64_2) & MASK
    value = ((value ^ (value >> 29)) * PRIME64_3) & MASK
    return value ^ (value >> 32)


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product & MASK) ^ (product >> 64)


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size == 0:
        return _avalanche_64(SECRETS[56] ^ SECRETS[64])
    if size <= 3:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_64(combined ^ (_read(SECRET, 0, 4) ^ _read(SECRET, 4, 4)))
    if size <= 8:
        value = (_read(data, size - 4, 4) + (_read(data, 0, 4) << 32)) ^ (SECRETS[8] ^ SECRETS[16])
        return _strong_mix(value, size)
    low = _read(data, 0) ^ (SECRETS[24] ^ SECRETS[32])
    high = _read(data, size - 8) ^ (SECRETS[40] ^ SECRETS[48])
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche((size + swapped + high + _folded(low, high)) & MASK)


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & MASK


def _strong_mix(value: int, size: int) -> int:
    value ^= _rotated(value, 49) ^ _rotated(value, 24)
    value = (value * PRIME_MX2) & MASK
    value ^= (value >> 35) + size
    value = (value * PRIME_MX2) & MASK
    return value ^ (value >> 28)


def _mix_16(data: bytes, position: int, secret: int) -> int:
    return _folded(_read(data, position) ^ SECRETS[secret], _read(data, position + 8) ^ SECRETS[secret + 8])


def _up_to_128(data: bytes) -> int:
    size = len(data)
    value = (size * PRIME64_1) & MASK
    for step in range((size - 1) // 32, -1, -1):
        value += _mix_16(data, 16 * step, 32 * step) + _mix_16(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(value & MASK)


def _up_to_240(data: bytes) -> int:
    size = len(data)
    value = size * PRIME64_1
    for step in range(8):
        value += _mix_16(data, 16 * step, 16 * step)
    value = _avalanche(value & MASK)
    for step in range(8, size // 16):
        value += _mix_16(data, 16 * step, 16 * (step - 8) + 3)
    value += _mix_16(data, size - 16, 136 - 17)
    return _avalanche(value & MASK)


def _long(data: bytes) -> int:
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    last = (len(data) - 1) // STRIPE
    for stripe in range(last):
        place = stripe % STRIPES_PER_BLOCK
        _accumulate(lanes, data, stripe * STRIPE, place * SECRET_STEP)
        if place == STRIPES_PER_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, len(data) - STRIPE, len(SECRET) - STRIPE - 7)
    value = len(data) * PRIME64_1
    for pair in range(4):
        value += _folded(lanes[2 * pair] ^ SECRETS[11 + 16 * pair], lanes[2 * pair + 1] ^ SECRETS[19 + 16 * pair])
    return _avalanche(value & MASK)


def _accumulate(lanes: list[int], data: bytes, position: int, secret: int) -> None:
    for lane in range(LANES):
        value = _read(data, position + 8 * lane)
        key = value ^ SECRETS[secret + 8 * lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + value) & MASK
        lanes[lane] = (lanes[lane] + (key & 0xFFFF_FFFF) * (key >> 32)) & MASK


def _scramble(lanes: list[int]) -> None:
    for lane in range(LANES):
        value = lanes[lane]
        value ^= (value >> 47) ^ SECRETS[len(SECRET) - STRIPE + 8 * lane]
        lanes[lane] = (value * PRIME32_1) & MASK
