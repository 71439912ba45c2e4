"""A certificate authority of one's own, and a certificate for each role that it vouches for.

dask trusts whoever shows a certificate of the same authority. Whoever holds a key of it can run code on the cluster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import UsageError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ROLES = ("scheduler", "worker", "client")
HOSTS = ("localhost", "127.0.0.1")
CLOCKS_DIFFER = timedelta(minutes=5)
LONGEST = 36500  # days


def make_certificates(folder: Path, *, hosts: Sequence[str] = (), days: int = 365) -> list[Path]:
    """`ca.pem`, `ca-key.pem`, and both for each role, in a folder that is not there yet; keys only its owner reads."""
    from cryptography.hazmat.primitives.asymmetric import ec

    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(
            f"{folder} is no empty folder; certificates that are in use are not overwritten",
            hint="framescribe cluster certs --out ANOTHER_FOLDER",
        )
    if not 1 <= days <= LONGEST:
        raise UsageError(f"--days is {days}, it must be from 1 to {LONGEST}")
    names = [_alternative(host) for host in dict.fromkeys([*HOSTS, *hosts])]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("framescribe", authority_key.public_key(), days=days, signer=authority_key)
    written = _write(folder, "ca", authority, authority_key)
    for role in ROLES:
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(role, key.public_key(), days=days, signer=authority_key, issuer=authority, names=names)
        written += _write(folder, role, signed, key)
    return written


def _certificate(
    name: str,
    public_key: object,
    *,
    days: int,
    signer: EllipticCurvePrivateKey,
    issuer: x509.Certificate | None = None,
    names: Sequence[x509.GeneralName] = (),
) -> x509.Certificate:
    """Signed by `issuer`; without one, an authority that signs itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(public_key)  # type: ignore[arg-type]
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(_usage(signs=issuer is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)  # type: ignore[arg-type]
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _usage(*, signs: bool) -> x509.KeyUsage:
    """Python 3.13 trusts no authority that does not say that it signs."""
    from cryptography import x509

    other = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(other, False),
    )


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError as error:
        raise UsageError(f"--host '{host}' is neither an address nor a name in ASCII") from error


def _write(folder: Path, name: str, certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> list[Path]:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = certificate.public_bytes(Encoding.PEM)
    files = [(folder / f"{name}.pem", public, 0o644), (folder / f"{name}-key.pem", private, 0o600)]
    for path, content, mode in files:  # made with their rights, not given them afterwards
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(content)
    return [path for path, _, _ in files]
