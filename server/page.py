"""The page's files, as plain HTTP answers: read once at the start, served from memory and from nowhere else.

What is asked for is looked up by name in what was read, so no path leads anywhere else. Files are named under a version
made of all their bytes (`/page/VERSION/js/main.js`): a browser keeps them for good, and never mixes two versions. It
must never answer a WebSocket handshake. The page itself is in `web/`.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

WEB: Final = Path(__file__).parent / "web"
METHODS: Final = ("GET", "HEAD")
GZIP_BYTES_MIN: Final = 512

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_PREFIX: Final = "/page/"
_VERSION_MARK: Final = b"@VERSION@"
_MODULES_MARK: Final = b"<!-- modules -->"

# `connect-src 'self'` covers the WebSocket of the same host and port. Nothing is ever made of text: no inline script or
# style, and with trusted types no way to turn a string into HTML at all.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFETY: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its bytes as they are, and packed where that is worth it."""

    kind: str
    plain: bytes
    packed: bytes | None

    @classmethod
    def of(cls, name: str, content: bytes) -> "Asset":
        """Make one. The packed bytes are the same in every process: no time is in them."""
        packed = gzip.compress(content, 9, mtime=0) if len(content) >= GZIP_BYTES_MIN else None
        return cls(_TYPES[Path(name).suffix], content, packed)


class Page:
    """All files of the page. Raises OSError where they can't be read, KeyError for one of a kind that is not served."""

    def __init__(self, root: Path = WEB) -> None:
        files = {
            path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
        }
        self.version = _version(files)
        front = _front(files.pop("index.html"), files, self.version)
        self._front = Asset.of("index.html", front)
        self._files = {name: Asset.of(name, content) for name, content in files.items()}

    def __repr__(self) -> str:
        return f"<Page {self.version} files={len(self._files)}>"

    def answer(self, request: Request) -> Response | None:
        """Answer a request for the page or one of its files; None where it is for something else."""
        path = request.path.partition("?")[0]
        if request.method not in METHODS or "Upgrade" in request.headers:
            return None
        if path == "/":
            return _respond(request, self._front, _ASK_AGAIN)
        if not path.startswith(_PREFIX):
            return None
        version, _, name = path.removeprefix(_PREFIX).partition("/")
        asset = self._files.get(name)
        if asset is None:
            return None
        # Another version is a page that was opened before this node came: it gets what there is, and keeps nothing.
        return _respond(request, asset, _FOR_GOOD if version == self.version else _ASK_AGAIN)


def _version(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, content in files.items():
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:16]


def _front(template: bytes, files: Mapping[str, bytes], version: str) -> bytes:
    """Put the version into the first page, and every module, so that a browser fetches them all at once."""
    hints = "\n    ".join(
        f'<link rel="modulepreload" href="{_PREFIX}{version}/{name}">' for name in files if name.endswith(".js")
    )
    return template.replace(_MODULES_MARK, hints.encode()).replace(_VERSION_MARK, version.encode())


def _respond(request: Request, asset: Asset, keep: str) -> Response:
    is_packed = asset.packed is not None and _takes_gzip(request.headers.get("Accept-Encoding", ""))
    body = asset.packed if is_packed and asset.packed is not None else asset.plain
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = Headers(Connection="close", ETag=tag, Vary="Accept-Encoding", **_SAFETY)
    headers["Cache-Control"] = keep
    if tag in [known.strip().removeprefix("W/") for known in request.headers.get("If-None-Match", "").split(",")]:
        return Response(HTTPStatus.NOT_MODIFIED, HTTPStatus.NOT_MODIFIED.phrase, headers)
    headers["Content-Type"] = asset.kind
    headers["Content-Length"] = str(len(body))
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    return Response(HTTPStatus.OK, HTTPStatus.OK.phrase, headers, b"" if request.method == "HEAD" else body)


def _takes_gzip(accepted: str) -> bool:
    named = [coding.partition(";") for coding in accepted.lower().split(",")]
    return any(name.strip() == "gzip" and weight.replace(" ", "") not in ("q=0", "q=0.0") for name, _, weight in named)
