"""Model files that were changed, with checksums that are right."""

import struct
import zlib


def sections_of(data):
    """Return name, place in the table, offset and length of each section."""
    (n,) = struct.unpack_from("<I", data, 12)
    found = []
    for place in range(64, 64 + 64 * n, 64):
        name = data[place : place + 40].rstrip(b"\0").decode()
        found.append((name, place, *struct.unpack_from("<QQ", data, place + 40)))
    return found


def seal(data):
    """Recompute all checksums that can be recomputed."""
    data = bytearray(data)
    for _, place, offset, length in sections_of(data):
        struct.pack_into("<I", data, place + 56, zlib.crc32(data[offset : offset + length]))
    (n,) = struct.unpack_from("<I", data, 12)
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60] + data[64 : 64 + 64 * n]))
    return bytes(data)


def reseal_table(data):
    """Recompute the checksum of the head and the table alone."""
    (n,) = struct.unpack_from("<I", data, 12)
    struct.pack_into("<I", data, 60, zlib.crc32(bytes(data[:60] + data[64 : 64 + 64 * n])))
    return bytes(data)
