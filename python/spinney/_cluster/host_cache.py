"""Files that a host of a cluster keeps under the hash of their content.

All processes of a host share the directory, and so the files, of which the operating system holds
one copy in memory. A file appears under its name when it is complete and its hash is right.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spinney.storage._models import pad_chunks

VARIABLE = "SPINNEY_CACHE"
"""The environment variable that names the directory."""
# Seconds after which a file that nobody has asked for is removed.
_UNUSED = 24 * 3600
_HOST = "host"


def get_directory() -> Path:
    """Return the directory; make it if it does not exist.

    Raises
    ------
    PermissionError
        If the directory belongs to another user, who could replace its files.
    """
    named = os.environ.get(VARIABLE)
    user = os.getuid() if hasattr(os, "getuid") else 0
    directory = Path(named or Path(tempfile.gettempdir()) / f"spinney-cache-{user}")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if named is None and hasattr(os, "getuid") and directory.stat().st_uid != user:
        raise PermissionError(
            f"The directory {str(directory)!r} belongs to another user. Set the environment "
            f"variable {VARIABLE} to a directory of your own."
        )
    return directory


def get_host() -> str:
    """Return what tells the directory from those of other hosts: a random name in a file of it."""
    path = get_directory() / _HOST
    if not path.exists():
        name = path.with_name(f".{_HOST}-{secrets.token_hex(8)}")
        name.write_text(secrets.token_hex(16))
        # The first process that gets here gives the name.
        with suppress(FileExistsError):
            os.link(name, path)
        name.unlink()
    return path.read_text()


def get_free_space() -> int:
    """Return the bytes that can still be written to the directory."""
    return shutil.disk_usage(get_directory()).free


def find(key: str) -> Path | None:
    """Return the file with a content, if the host has it."""
    path = get_directory() / key
    try:
        os.utime(path)
    except FileNotFoundError:
        return None
    return path


def add(chunks: list[NDArray[np.uint8]]) -> str:
    """Write a file of chunks, padded as those of data sets, unless it is there; return its key."""
    remove_unused()
    digest = blake2b(digest_size=20)
    for chunk in pad_chunks(chunks):
        digest.update(chunk)
    key = digest.hexdigest()
    if find(key) is None:
        path = get_directory() / f".{key}-{secrets.token_hex(8)}"
        try:
            with path.open("xb") as file:
                for chunk in pad_chunks(chunks):
                    file.write(chunk)
            path.replace(path.with_name(key))
        finally:
            path.unlink(missing_ok=True)
    return key


def adopt(path: Path) -> str:
    """Take over a file of the directory; return its key."""
    with path.open("rb") as file:
        key = hash_file(file)
    path.replace(path.with_name(key))
    return key


def receive(key: str, sender: str, n_bytes: int, offset: int, chunk: Any) -> None:
    """Write a piece of a file that comes from another host; with the last one, check the file.

    Parameters
    ----------
    key : str
        The hash of the content.
    sender : str
        A random name, so that two senders of one content do not disturb each other.
    n_bytes : int
        The length of the file.
    offset : int
        Where the piece begins. Pieces come in order.
    chunk : ndarray of uint8, or bytes

    Raises
    ------
    OSError
        If the disk is full, or pieces are missing or damaged.
    """
    if offset == 0:
        remove_unused()
    path = get_directory() / f".{key}-{sender}"
    try:
        with path.open("xb" if offset == 0 else "r+b") as file:
            file.seek(offset)
            file.write(memoryview(chunk))
        if offset + len(chunk) < n_bytes:
            return
        with path.open("rb") as file:
            found = hash_file(file)
        if found != key:
            raise OSError(f"The file {key} came damaged to {str(path.parent)!r}.")
        path.replace(path.with_name(key))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def hash_file(file: BinaryIO) -> str:
    """Return the key of an open file."""
    digest = blake2b(digest_size=20)
    while piece := file.read(1 << 24):
        digest.update(piece)
    return digest.hexdigest()


def remove_unused() -> None:
    """Remove files that nobody has asked for in a day."""
    for path in get_directory().iterdir():
        # Another process may be quicker.
        with suppress(FileNotFoundError):
            if path.name != _HOST and time.time() - path.stat().st_mtime > _UNUSED:
                path.unlink()
