"""What the package never does with what it reads: nothing that is read is ever run, unpickled or handed to a shell.

The rules are held on the syntax of every module of the package and of every notebook.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

LIB = Path(__file__).parents[1]
PACKAGE = LIB / "assay"
MODULES = sorted(PACKAGE.rglob("*.py"))
NOTEBOOKS = sorted((LIB.parent / "notebooks").glob("*.ipynb"))

FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "marshal",
    "shelve",
    "joblib",
    "code",
    "codeop",
}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__", "breakpoint"}
FORBIDDEN_CALLS = {
    "read_pickle", "to_pickle", "read_hdf", "unsafe_load", "full_load", "load_all", "unsafe_load_all", "mktemp", "query",
    "eval", "os.system", "os.popen",
}  # fmt: skip
"""Methods and functions, whatever they are called on: pandas' `query` and `eval` run what they are given."""
FORBIDDEN_ARGUMENTS = {"allow_pickle": True, "shell": True, "trust_remote_code": True, "weights_only": False}


def faults(tree: ast.AST) -> list[str]:
    """List what a module does that none may."""
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module.partition(".")[0]]
        found += [f"line {node.lineno}: imports {name}" for name in names if name in FORBIDDEN_MODULES]
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name) and called in FORBIDDEN_NAMES:
            found.append(f"line {node.lineno}: calls {called}")
        if isinstance(node.func, ast.Attribute) and {called, f"{owner}.{called}"} & FORBIDDEN_CALLS:
            found.append(f"line {node.lineno}: calls {owner}.{called}")
        for keyword in node.keywords:
            if keyword.arg in FORBIDDEN_ARGUMENTS:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else ...
                if value is ... or value == FORBIDDEN_ARGUMENTS[keyword.arg]:
                    found.append(f"line {node.lineno}: gives {keyword.arg}")
        if owner in ("yaml", "np", "numpy", "torch") and called == "load":
            loaders = [keyword.value for keyword in node.keywords if keyword.arg == "Loader"]
            if owner != "yaml" or not loaders or not _is_safe_loader(tree, loaders[0]):
                found.append(f"line {node.lineno}: calls {owner}.load without a safe loader")
    return found


def _is_safe_loader(tree: ast.AST, loader: ast.expr) -> bool:
    """Tell whether a loader of YAML is the safe one or a class of this module on top of it."""
    name = ast.unparse(loader)
    if name in ("yaml.SafeLoader", "yaml.CSafeLoader"):
        return True
    bases = [
        ast.unparse(base)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == name
        for base in node.bases
    ]
    return bases in (["yaml.SafeLoader"], ["yaml.CSafeLoader"])


def test_no_module_runs_or_unpickles_what_it_reads() -> None:
    assert len(MODULES) > 100
    found = {path.relative_to(LIB).as_posix(): faults(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_notebook_does_either() -> None:
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            if cell["cell_type"] == "code":
                # A notebook may await at the top of a cell, which a module may not.
                source = compile(
                    "".join(cell["source"]), path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                )
                assert faults(source) == [], path.name


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "eval('1')",
        "__import__('os')",
        "frame.query(text)",
        "pd.read_pickle(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path)",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "class _L(yaml.Loader): ...\nyaml.load(text, Loader=_L)",
        "yaml.unsafe_load(text)",
        "subprocess.run(text, shell=True)",
        "subprocess.run(text, shell=flag)",
        "os.system(text)",
        "tempfile.mktemp()",
    ],
)
def test_each_rule_finds_what_it_is_for(source: str) -> None:
    assert faults(ast.parse(source))


def test_what_is_safe_is_let_through() -> None:
    source = (
        "class _L(yaml.SafeLoader): ...\nyaml.load(text, Loader=_L)\nyaml.safe_load(text)\nast.literal_eval(text)\n"
        "re.compile(text)\nnp.savez(path, allow_pickle=False)\nsubprocess.run([text])\njson.load(file)"
    )
    assert faults(ast.parse(source)) == []


STUB = """
class CommonParams:
    def __init__(self):
        object.__setattr__(self, "given", {})
        self.model = self.cpuparams = self.cpuparams_batch = type("Part", (), {})()
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if isinstance(value, (str, int, list, set)):
            print(name, value)
class Server:
    def __init__(self, parameters):
        self.listening_address = "http://stub"
"""


def test_the_server_of_a_local_model_is_told_to_listen_on_loopback_alone(tmp_path: Path) -> None:
    """A stub stands for the server, which is an extra; where it is installed, a test of its own looks at the socket."""
    (tmp_path / "xllamacpp.py").write_text(STUB)
    given = {"path": "m.gguf", "alias": "m", "port": 0, "slots": 1, "context": 8, "threads": 1}
    done = subprocess.run(
        [sys.executable, str(PACKAGE / "ask" / "llama_server.py"), json.dumps(given)],
        env={"PYTHONPATH": str(tmp_path)},
        input="",
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "hostnames ['127.0.0.1']" in lines
    assert "cors_origins null" in lines
    assert "ui False" in lines
    assert "offline True" in lines


def test_nothing_else_in_the_package_listens() -> None:
    """Kernels are reached over sockets of the file system; what listens is named here."""
    listening = {"start_server", "create_server", "HTTPServer", "ThreadingHTTPServer", "bind", "listen", "Server"}
    found = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if called in listening:
                    found.add(path.relative_to(PACKAGE).as_posix())
    assert found == {"ask/llama_server.py"}
