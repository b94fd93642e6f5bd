"""Who may talk to a server: certificates that both sides show (TLS), a token that callers tell, or both.

Credentials are given to a server, or lie in a folder that the environment variable WEFT_CREDENTIALS names:

    ca.pem      the authority whose certificates are accepted
    cert.pem    this task's certificate, and
    key.pem     its private key; these three go together
    name        the name that certificates are made out to, where it is not the name of a task's host
    token       a secret that servers and clients share
"""

from __future__ import annotations

import dataclasses
import hmac
import os
import pathlib
import secrets
import subprocess
import tempfile
from typing import Any

FOLDER = "WEFT_CREDENTIALS"
_FILES = {
    "authority": "ca.pem",
    "certificate": "cert.pem",
    "key": "key.pem",
    "name": "name",
    "token": "token",
}
_DAYS = 365  # that a certificate of ours is valid


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a task shows and what it asks of others.

    Args:
      authority, certificate, key: PEM texts, for TLS with certificates on both sides. A certificate may be its own
        authority: then who has its key belongs to the cluster.
      name: the name that certificates are made out to, where it is not the name of a task's host.
      token: a secret that callers tell. Without TLS it can be read on the way.
    """

    authority: bytes = dataclasses.field(default=b"", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)
    name: str = ""
    token: str = dataclasses.field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = [self.authority, self.certificate, self.key]
        if any(parts) and not all(parts):
            raise ValueError(
                "TLS needs an authority, a certificate and its key: one of them is missing."
            )
        if not self.tls and not self.token:
            raise ValueError("Credentials need certificates or a token.")
        if not self.token.isascii() or not self.token.isprintable():
            raise ValueError("A token consists of printable ASCII characters.")

    def __repr__(self) -> str:
        parts = ["certificates"] * self.tls + ["a token"] * bool(self.token)
        return f"Credentials({', '.join(parts)})"

    @property
    def tls(self) -> bool:
        """Whether both sides show certificates, and what they say is encrypted."""
        return bool(self.key)

    @classmethod
    def read(cls, folder: Any) -> Credentials:
        """The credentials in a folder."""
        found: dict[str, Any] = {}
        for part, file in _FILES.items():
            path = pathlib.Path(folder, file)
            if path.exists():
                content = path.read_bytes()
                found[part] = content.decode().strip() if part in ("name", "token") else content
        try:
            return cls(**found)
        except ValueError as e:
            raise ValueError(
                f"The credentials in {os.fspath(folder)!r} cannot be used: {e}"
            ) from None

    def write(self, folder: Any) -> None:
        """Puts the credentials into a folder that nobody else can read."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for part, file in _FILES.items():
            content = getattr(self, part)
            if content:
                data = content.encode() if isinstance(content, str) else content
                path = os.path.join(folder, file)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
                    f.write(data)

    @classmethod
    def make(cls) -> Credentials:
        """New credentials for a cluster: a certificate that all its tasks share, and a token."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "request").write_text(_REQUEST)
            command = (
                f"openssl req -x509 -config request -days {_DAYS} -nodes -newkey ec "
                "-pkeyopt ec_paramgen_curve:P-256 -keyout key.pem -out cert.pem"
            )
            try:
                subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
            except FileNotFoundError:
                raise RuntimeError("Making certificates needs the program openssl.") from None
            except subprocess.CalledProcessError as e:
                raise RuntimeError(f"openssl has failed: {e.stderr.decode().strip()}") from None
            certificate = pathlib.Path(folder, "cert.pem").read_bytes()
            key = pathlib.Path(folder, "key.pem").read_bytes()
        return cls(certificate, certificate, key, _NAME, secrets.token_urlsafe(32))

    # -- in gRPC ---------------------------------------------------------------------------------------

    @property
    def metadata(self) -> tuple[tuple[str, str], ...] | None:
        """What a caller tells with each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else None

    def accepts(self, metadata: Any) -> bool:
        """Whether what a caller has told will do."""
        if not self.token:
            return True
        told = dict(metadata).get("authorization", "")
        if isinstance(told, str):
            told = told.encode(errors="replace")
        return hmac.compare_digest(told, f"Bearer {self.token}".encode())

    def channel(self, address: str, options: list[tuple[str, Any]]) -> Any:
        """A channel to an address."""
        import grpc

        if not self.tls:
            return grpc.insecure_channel(address, options)
        shown = grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)
        if self.name:
            options = [*options, ("grpc.ssl_target_name_override", self.name)]
        return grpc.secure_channel(address, shown, options)

    def add_port(self, server: Any, at: str) -> int:
        """Makes a server listen at an address, and returns its port; 0 or an error where it cannot."""
        import grpc

        if not self.tls:
            return server.add_insecure_port(at)
        pair = [(self.key, self.certificate)]
        return server.add_secure_port(
            at, grpc.ssl_server_credentials(pair, self.authority, require_client_auth=True)
        )


_NAME = "weft"
_REQUEST = f"""
[req]
distinguished_name = subject
x509_extensions = extensions
prompt = no
[subject]
CN = {_NAME}
[extensions]
subjectAltName = DNS:{_NAME}
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
"""


def credentials_of(given: Any) -> Credentials | None:
    """The credentials given: as such, as a folder, or by the environment. None where there are none."""
    if given is None:
        given = os.environ.get(FOLDER)
    if not given:
        return None
    if isinstance(given, Credentials):
        return given
    if isinstance(given, (str, os.PathLike)):
        if not os.path.isdir(given):
            raise ValueError(f"There is no folder {os.fspath(given)!r} with credentials.")
        return Credentials.read(given)
    raise TypeError(
        f"credentials must be a weft.distributed.Credentials or a folder, not {type(given).__name__}."
    )
