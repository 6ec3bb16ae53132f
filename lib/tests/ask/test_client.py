"""The way to a provider: from the environment alone, and never a key in sight."""

import asyncio
import logging
import traceback

import pytest
from assay_test_server import ScriptedServer, completed, refused

from assay.ask import Ask, Settings, ask_once, connect
from assay.rules.classifier import NotConfigured

KEY = "sk-proj-abcdefghijklmnop1234567890"
AZURE = {
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "OPENAI_API_VERSION": "2024-10-21",
    "AZURE_OPENAI_API_KEY": KEY,
}


@pytest.fixture(autouse=True)
def _no_ambient_keys(monkeypatch):
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
        "OPENAI_API_VERSION",
    ):
        monkeypatch.delenv(name, raising=False)


def closed(connection):
    asyncio.run(connection.close())
    return connection


@pytest.mark.parametrize(
    ("arguments", "environment", "names"),
    [
        ({}, {}, "OPENAI_API_KEY"),
        ({}, {"OPENAI_API_KEY": "  "}, "OPENAI_API_KEY"),
        ({}, {"OPENAI_BASE_URL": "https://models.example/v1"}, "OPENAI_API_KEY"),
        ({"base_url": "https://models.example/v1", "key_variable": "OTHER_KEY"}, {"OPENAI_API_KEY": KEY}, "OTHER_KEY"),
        ({"provider": "azure"}, {}, "AZURE_OPENAI_ENDPOINT"),
        ({}, {name: AZURE[name] for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY")}, "OPENAI_API_VERSION"),
        ({}, {**AZURE, "AZURE_OPENAI_API_KEY": ""}, "AZURE_OPENAI_API_KEY"),
        ({"provider": "compatible"}, {"OPENAI_API_KEY": KEY}, "OPENAI_BASE_URL"),
    ],
)
def test_what_is_missing_is_named_in_one_line_that_says_what_to_set(arguments, environment, names):
    with pytest.raises(NotConfigured) as caught:
        connect(**arguments, environment=environment)
    message = str(caught.value)
    assert names in message
    assert "set" in message
    assert "\n" not in message
    assert KEY not in message


@pytest.mark.parametrize(
    ("arguments", "environment", "shown"),
    [
        ({}, {"OPENAI_API_KEY": KEY}, "Connection('openai', 'https://api.openai.com/v1')"),
        (
            {},
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://models.example/v1/"},
            "Connection('compatible', 'https://models.example/v1')",
        ),
        ({}, AZURE, "Connection('azure', 'https://example.openai.azure.com')"),
        (
            {"provider": "azure"},
            {**AZURE, "OPENAI_API_KEY": KEY},
            "Connection('azure', 'https://example.openai.azure.com')",
        ),
        ({}, {**AZURE, "OPENAI_API_KEY": KEY}, "Connection('openai', 'https://api.openai.com/v1')"),
        ({"base_url": "http://127.0.0.1:8080/v1"}, {}, "Connection('compatible', 'http://127.0.0.1:8080/v1')"),
        ({"base_url": "http://[::1]:8080/v1"}, {}, "Connection('compatible', 'http://[::1]:8080/v1')"),
        ({"base_url": "http://localhost:8080/v1"}, {}, "Connection('compatible', 'http://localhost:8080/v1')"),
    ],
)
def test_the_environment_says_which_provider_it_is(arguments, environment, shown):
    assert repr(closed(connect(**arguments, environment=environment))) == shown


@pytest.mark.parametrize(
    "address",
    [
        "ftp://models.example",
        "models.example",
        "http://",
        "http://me:pass-word@models.example",
        "http://x/v1?key=secret-1",
        "http://x:99999",
    ],
)
def test_an_address_that_cannot_be_one_or_holds_a_password_is_refused_unseen(address):
    with pytest.raises(NotConfigured) as caught:
        connect(base_url=address, environment={"OPENAI_API_KEY": KEY})
    assert "pass-word" not in str(caught.value)
    assert "secret-1" not in str(caught.value)


def test_a_key_with_a_line_break_in_it_is_refused_before_the_http_library_shows_it():
    with pytest.raises(NotConfigured, match="OPENAI_API_KEY holds characters") as caught:
        connect(environment={"OPENAI_API_KEY": f"{KEY}\nmore"})
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_server_on_this_machine_is_sent_no_key_of_the_environment(prompt, taxonomy, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    async def run():
        async with ScriptedServer([completed("{}")]) as server:
            for named, sent in ((None, "Bearer none"), ("OPENAI_API_KEY", f"Bearer {KEY}")):
                async with connect(base_url=server.url, key_variable=named) as connection:
                    got = await ask_once(connection, Ask("i", "t", prompt, "m"), taxonomy)
                assert got.error is None, "a proxy is not for this machine"
                assert server.requests[-1].headers["authorization"] == sent

    asyncio.run(run())


def test_azure_is_asked_by_deployment_with_its_own_header(prompt, taxonomy):
    async def run():
        async with ScriptedServer([completed('{"label": "advisory", "confidence": 0.5}')]) as server:
            environment = {**AZURE, "AZURE_OPENAI_ENDPOINT": server.url.removesuffix("/v1")}
            async with connect(environment=environment) as connection:
                got = await ask_once(connection, Ask("i", "t", prompt, "my-deployment"), taxonomy)
        return got, server.requests[-1]

    got, request = asyncio.run(run())
    assert got.error is None
    assert request.path == "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == KEY


def test_a_key_stands_in_no_repr_log_or_completion(prompt, taxonomy, caplog):
    caplog.set_level(logging.DEBUG)
    steps = [
        refused(401, "invalid_api_key", message=f"Incorrect API key provided: {KEY}"),
        refused(429),
        completed("{}"),
    ]

    async def run():
        async with ScriptedServer(steps) as server:
            environment = {"MY_KEY": KEY}
            async with connect(base_url=server.url, key_variable="MY_KEY", environment=environment) as connection:
                shown = [repr(connection), repr(vars(connection)), repr(connection.client)]
                for _ in steps:
                    got = await ask_once(connection, Ask("i", "t", prompt, "m", settings=Settings()), taxonomy)
                    shown += [repr(got), repr(got.to_dict())]
                assert KEY in server.requests[0].headers["authorization"]
                return "".join(shown)

    assert KEY not in asyncio.run(run()) + caplog.text
