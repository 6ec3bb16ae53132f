"""The process that holds a local model: serves one GGUF file on loopback until its standard input ends.

It is run as a script, by `assay.ask.local`, and imports nothing of this package, so that it is up in a fraction of a
second. Its only argument is a JSON object with `path`, `alias`, `port`, `slots`, `context` (tokens per slot) and
`threads`; its only line of output is a JSON object with the `address`. The pipe that is its standard input is the life
line: whatever ends the process at the other end ends this one as well.
"""

import json
import os
import sys

import xllamacpp


def main() -> None:
    """Serve until standard input ends."""
    given = json.loads(sys.argv[1])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = given["path"]
    parameters.model_alias = {given["alias"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = given["port"]
    parameters.n_parallel = given["slots"]
    # The server divides its context among the slots.
    parameters.n_ctx = given["context"] * given["slots"]
    parameters.cpuparams.n_threads = given["threads"]
    parameters.cpuparams_batch.n_threads = given["threads"]
    # No page in a browser on this machine is to read from it, and nothing is to be fetched from anywhere.
    parameters.cors_origins = "null"
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.offline = True
    parameters.verbosity = 1
    server = xllamacpp.Server(parameters)
    print(json.dumps({"address": server.listening_address}), flush=True)
    while sys.stdin.buffer.read(1):
        pass
    # Nothing is kept that an orderly end would save, and one would wait for a completion that nobody reads.
    os._exit(0)


if __name__ == "__main__":
    main()
