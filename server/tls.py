"""TLS at the node itself, where no proxy before it does that: a certificate and its key from files."""

import ssl
from pathlib import Path


class BadCertificate(ValueError):
    """The pair can't be used; `which` is cert or key."""

    def __init__(self, which: str, problem: str) -> None:
        super().__init__(problem)
        self.which = which


def server_context(cert: Path, key: Path) -> ssl.SSLContext:
    """Make what a listening socket needs: TLS 1.2 or newer, nobody asked for a password. Raises `BadCertificate`."""
    for which, path in (("cert", cert), ("key", key)):
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise BadCertificate(which, f"{path}: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        what = "does not fit the key" if "MISMATCH" in str(error) else "no pair of a certificate and a plain key in PEM"
        raise BadCertificate("cert", f"{cert} and {key}: {what}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted")
