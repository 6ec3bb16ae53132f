"""The way to a provider: an `openai` client built from the environment, and what is known of its models.

A key is read from an environment variable, handed to the client and kept nowhere else: not in a parameter, a repr, a
log or a message. What an error of configuration says is which variable to set.
"""

import ipaddress
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit

import openai

from assay.ask.bounded import http_client
from assay.ask.request import Dialects
from assay.keys import without_keys
from assay.rules.classifier import NotConfigured

Provider = Literal["openai", "azure", "compatible"]

OPENAI_KEY: Final = "OPENAI_API_KEY"
OPENAI_URL: Final = "OPENAI_BASE_URL"
AZURE_KEY: Final = "AZURE_OPENAI_API_KEY"
AZURE_ENDPOINT: Final = "AZURE_OPENAI_ENDPOINT"
AZURE_VERSION: Final = "OPENAI_API_VERSION"

_HOSTED: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "none"


class Connection:
    """An open client and the dialects of the models behind it; an async context manager, which closes it.

    Parameters
    ----------
    client : openai.AsyncOpenAI
        Or its Azure kind. It should retry nothing by itself.
    provider : {"openai", "azure", "compatible"}
    where : str
        The address without credentials, for messages.

    Attributes
    ----------
    dialects : Dialects
        What is known of the models behind it.
    """

    def __init__(self, client: openai.AsyncOpenAI, provider: Provider, where: str) -> None:
        self.client = client
        self.provider = provider
        self.where = where
        self.dialects = Dialects()

    async def close(self) -> None:
        """Close the client; it cannot be used afterwards."""
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Connection({self.provider!r}, {self.where!r})"


def connect(
    provider: Provider | None = None,
    *,
    base_url: str | None = None,
    key_variable: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Connection:
    """Build a client from the environment.

    Parameters
    ----------
    provider : {"openai", "azure", "compatible"}, optional
        By default that of `provider_of`: ``compatible`` where a base URL is given or set, ``azure`` where only an
        Azure endpoint is set, and ``openai`` otherwise.
    base_url : str, optional
        Where a compatible server listens, such as ``http://127.0.0.1:8080/v1``; else `OPENAI_BASE_URL`.
    key_variable : str, optional
        Name of the environment variable that holds the key, where it is not `OPENAI_API_KEY` (on Azure
        `AZURE_OPENAI_API_KEY`). A server on this machine needs none, and is sent none unless it is named here.
    environment : mapping of str to str, optional
        The environment of the process by default.

    Returns
    -------
    Connection

    Raises
    ------
    NotConfigured
        If a variable that is needed is not set, or the address cannot be one. One line, which names the variable.
    """
    environment = os.environ if environment is None else environment
    address = base_url or _value(environment, OPENAI_URL)
    provider = provider or provider_of(base_url, environment)
    if provider == "azure":
        return _azure(environment, key_variable or AZURE_KEY)
    if provider not in ("openai", "compatible"):
        raise NotConfigured(f"provider must be one of openai, azure, compatible, got {provider!r}")
    if provider == "compatible" and not address:
        raise NotConfigured(f"no address of a compatible server: set {OPENAI_URL} or give base_url")
    where = _checked_address(address if provider == "compatible" and address else _HOSTED)
    local = _is_this_machine(where)
    if local and key_variable is None:
        key = _NO_KEY
    else:
        key = _needed(environment, key_variable or OPENAI_KEY, f"to ask models at {where}")
    # A proxy stands between this machine and others, never between it and itself.
    client = openai.AsyncOpenAI(
        api_key=key, base_url=where, max_retries=0, http_client=http_client(trust_env=not local)
    )
    return Connection(client, provider, where)


def provider_of(base_url: str | None = None, environment: Mapping[str, str] | None = None) -> Provider:
    """Tell which provider the environment leads to; no key is needed to know.

    Parameters
    ----------
    base_url, environment
        As for `connect`.
    """
    environment = os.environ if environment is None else environment
    if base_url or _value(environment, OPENAI_URL):
        return "compatible"
    azure = _value(environment, AZURE_ENDPOINT) and not _value(environment, OPENAI_KEY)
    return "azure" if azure else "openai"


def _azure(environment: Mapping[str, str], key_variable: str) -> Connection:
    where = _checked_address(_needed(environment, AZURE_ENDPOINT, "to the address of the Azure resource"))
    version = _needed(environment, AZURE_VERSION, "to the API version of the Azure resource, such as 2024-10-21")
    key = _needed(environment, key_variable, f"to ask models at {where}")
    client = openai.AsyncAzureOpenAI(
        azure_endpoint=where, api_version=version, api_key=key, max_retries=0, http_client=http_client()
    )
    return Connection(client, "azure", where)


def _needed(environment: Mapping[str, str], name: str, purpose: str) -> str:
    value = _value(environment, name)
    if not value:
        raise NotConfigured(f"{name} is not set: set it {purpose}")
    if not value.isascii() or not value.isprintable():
        raise NotConfigured(f"{name} holds characters that no key or address has")
    return value


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()


def _checked_address(address: str) -> str:
    """Return an address that is one; it is not shown where it is none, since it may hold a password."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise NotConfigured("the address of the server must begin with http:// or https:// and a host")
    if parts.username or parts.password or parts.query or parts.fragment or without_keys(address) != address:
        raise NotConfigured(
            "the address of the server must hold no user, password, key or query: keys go by the environment"
        )
    return address.rstrip("/")


def _is_this_machine(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
