"""The page's files as HTTP answers, and laws that every file of it keeps."""

import gzip
import re
from pathlib import Path

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from client_sdk.game.odds import count_rounds
from client_sdk.game.variants import VARIANTS
from server.page import WEB, Page

SCRIPTS = sorted(WEB.rglob("*.js"))
PAGE = Page()


def ask(path: str, method: str = "GET", **headers: str) -> Response | None:
    named = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return PAGE.answer(Request(path, named, method))


def answer(path: str, method: str = "GET", **headers: str) -> Response:
    found = ask(path, method, **headers)
    assert found is not None, path
    return found


def test_the_first_page_names_every_module_and_style_at_this_version() -> None:
    text = answer("/").body.decode()
    named = set(re.findall(r'(?:href|src)="([^"]+)"', text))
    files = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.suffix in (".css", ".js", ".svg")}
    assert named == {f"/page/{PAGE.version}/{name}" for name in files}
    assert "@" not in text
    assert "<!-- modules -->" not in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("js/main.js", "text/javascript; charset=utf-8"),
        ("css/base.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_a_file_is_kept_for_good_under_its_version_only(name: str, kind: str) -> None:
    found = answer(f"/page/{PAGE.version}/{name}")
    assert (found.status_code, found.headers["Content-Type"]) == (200, kind)
    assert found.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert found.body == (WEB / name).read_bytes()
    assert int(found.headers["Content-Length"]) == len(found.body)
    old = answer(f"/page/0000000000000000/{name}")
    assert (old.body, old.headers["Cache-Control"]) == (found.body, "no-cache")
    assert answer("/").headers["Cache-Control"] == "no-cache"


def test_what_is_known_is_not_sent_again() -> None:
    path = f"/page/{PAGE.version}/js/main.js"
    tag = answer(path).headers["ETag"]
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        again = answer(path, If_None_Match=known)
        assert (again.status_code, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert "Content-Length" not in again.headers
    assert answer(path, If_None_Match='"other"').status_code == 200


def test_packed_for_those_who_take_it() -> None:
    path = f"/page/{PAGE.version}/js/app.js"
    plain = answer(path)
    for accepted in ("gzip", "deflate, gzip;q=0.5, br", "GZIP"):
        packed = answer(path, Accept_Encoding=accepted)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert packed.headers["ETag"] != plain.headers["ETag"]
    for accepted in ("", "br", "gzip;q=0", "identity"):
        assert "Content-Encoding" not in answer(path, Accept_Encoding=accepted).headers
    assert plain.headers["Vary"] == "Accept-Encoding"


def test_head_tells_all_but_the_body() -> None:
    full, head = answer("/"), answer("/", "HEAD")
    assert head.body == b""
    assert dict(head.headers.raw_items()) == dict(full.headers.raw_items())


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/page",
        "/page/",
        "/page/{version}",
        "/page/{version}/",
        "/page/{version}/index.html",
        "/page/{version}/../page.py",
        "/page/{version}/../../etc/passwd",
        "/page/{version}/js/../js/main.js",
        "/page/{version}/js//main.js",
        "/page/{version}/js/main%2ejs",
        "/page/{version}/js\\main.js",
        "/page/{version}//etc/passwd",
        "//etc/passwd",
        "/healthz",
    ],
)
def test_nothing_else_is_found(path: str) -> None:
    assert ask(path.replace("{version}", PAGE.version)) is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "get"])
def test_only_get_and_head(method: str) -> None:
    assert ask("/", method) is None


def test_a_handshake_is_left_alone() -> None:
    assert ask("/", Upgrade="websocket") is None


def test_every_answer_keeps_strangers_out() -> None:
    """BL-164: whatever a text would try, the browser runs nothing but our files, and makes nothing of strings."""
    for path in ("/", f"/page/{PAGE.version}/js/main.js"):
        headers = answer(path).headers
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert all("unsafe" not in value and "*" not in value for value in policy.values())
        assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
        assert (policy["frame-ancestors"], policy["base-uri"], policy["form-action"]) == ("'none'",) * 3
        assert policy["require-trusted-types-for"] == "'script'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_nothing_of_a_script_or_a_style_stands_in_the_first_page() -> None:
    text = answer("/").body.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"<style|\bstyle=|\bon\w+=|javascript:", text) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(WEB).as_posix())
def test_no_module_makes_markup_of_text_or_reads_the_wall_clock(script: Path) -> None:
    """BL-163, BL-164: text is only ever text. And no instant is taken from the computer's clock."""
    source = script.read_text()
    banned = (
        r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
        r"|\beval\(|new Function|setAttribute\(\"(?:on|style)|import\(|Date\.now\(|new Date\(\)"
    )
    assert re.findall(banned, source) == []
    assert source.startswith("/**"), "a module says what it is for"
    lines = [line for line in source.splitlines() if '"M0' not in line]  # but for the outlines of a drawing
    assert max(map(len, lines)) <= 140


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(WEB).as_posix())
def test_modules_import_ours_by_a_path_that_is_there(script: Path) -> None:
    for target in re.findall(r'from "([^"]+)"', script.read_text()):
        assert target.startswith("."), target
        assert (script.parent / target).resolve().is_file(), target


TABLE_PURE = ("clock", "follower", "hope", "mirror", "rounds", "told", "view")
PURE = ("game", "text", *(f"table/{name}.js" for name in TABLE_PURE), "wire/backoff.js")


@pytest.mark.parametrize("place", PURE)
def test_pure_modules_touch_no_page(place: str) -> None:
    """What is decided is decided without a browser: no document, no storage, no time, no chance."""
    root = WEB / "js" / place
    for script in [root] if root.is_file() else sorted(root.rglob("*.js")):
        code = re.sub(r"/\*.*?\*/|//.*", "", script.read_text(), flags=re.DOTALL)
        assert re.findall(r"\b(?:document|localStorage|performance|setTimeout)\b", code) == [], script


@pytest.mark.parametrize("sheet", sorted(WEB.rglob("*.css")), ids=lambda path: path.name)
def test_styles_fetch_nothing(sheet: Path) -> None:
    assert re.findall(r"@import|url\(|expression\(|https?:", sheet.read_text()) == []


def test_the_page_counts_rounds_as_the_library_does() -> None:
    """The exact counts of `client_sdk/game/odds.py`; what differs is to be written into round_counts.js."""
    told = {
        int(decks): {"player": int(player), "banker": int(banker), "tie": int(tie)}
        for decks, player, banker, tie in re.findall(
            r"(\d): \{ player: (\d+), banker: (\d+), tie: (\d+) \}", (WEB / "js/game/round_counts.js").read_text()
        )
    }
    assert sorted(told) == list(range(1, 9))
    for decks in {variant.decks for variant in VARIANTS.values()}:
        assert told[decks] == {str(outcome): ways for outcome, ways in count_rounds(decks).by_outcome().items()}
        total = count_rounds(decks).total
        assert sum(told[decks].values()) == total
