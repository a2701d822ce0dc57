"""Finds environments and policies by name without importing them; it imports one when it is asked.

A plug-in is described by a manifest, static JSON data. The built-in ones lie beside their code;
those of other packages are found through the entry-point group `clew.plugins`, whose value names
the package that holds a `manifest.json`. A name with a colon is the user's own `module:attribute`.
Nothing here installs anything: see `clew.environment_install`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from clew.core.errors import Refused, nearest

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from clew.core.protocols import Environment, Policy

Kind = Literal["environment", "policy"]
KINDS: tuple[Kind, ...] = ("environment", "policy")
STATUSES = ("works", "protocol-tested")
GROUP = "clew.plugins"
#: The folders of clew that hold manifests, themselves or in the folders right under them.
_FOLDERS = ("environments", "policies", "testing")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*3\.(\d+)")


@dataclass(frozen=True)
class Manifest:
    """What is known of a plug-in before it is imported.

    `object` is `module:attribute`, called with `arguments`. `imports` are the modules that must
    be there; `extra` of `distribution` installs them, unless `own_environment` names a pinned,
    hashed requirements file beside the manifest: then its units run in an interpreter of their
    own. `python` bounds that interpreter (`>=3.10,<3.13`). `apt` are system packages. A policy
    with an `environment` runs where that environment's units run, and needs no more than it.
    `prepare` is `module:function`, called with a way to say lines by `clew env install`: it fetches
    what an environment needs beside Python packages. `look` is `module:function`, called without
    arguments by `clew doctor`: what must be done before it can run (empty if nothing), and what is
    worth knowing of this machine; both texts of one line.
    """

    kind: Kind
    name: str
    object: str
    summary: str = ""
    status: str = "works"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    extra: str = ""
    apt: tuple[str, ...] = ()
    own_environment: str = ""
    python: str = ""
    environment: str = ""
    prepare: str = ""
    look: str = ""
    distribution: str = "clew"
    folder: Traversable | None = field(default=None, repr=False, compare=False)

    def missing(self) -> tuple[str, ...]:
        """Those of `imports` that this interpreter does not have; nothing is imported."""
        tops = dict.fromkeys(name.partition(".")[0] for name in self.imports)
        return tuple(top for top in tops if importlib.util.find_spec(top) is None)

    def install_command(self) -> str:
        """What a user types to make this plug-in run."""
        if self.own_environment or self.environment:
            return f"clew env install {self.environment or self.name}"
        extra = f"[{self.extra}]" if self.extra else ""
        return f"pip install '{self.distribution}{extra}'"

    def requirements(self) -> bytes:
        """The pinned list of its own environment."""
        if self.folder is None or not self.own_environment:
            raise Refused(f"{self.kind} {self.name!r} has no environment of its own")
        try:
            return self.folder.joinpath(self.own_environment).read_bytes()
        except FileNotFoundError:
            raise Refused(
                f"{self.kind} {self.name!r} names the list {self.own_environment!r}, which is not "
                f"beside its manifest; reinstall {self.distribution}"
            ) from None

    def accepts_python(self, minor: int) -> bool:
        """Whether Python 3.`minor` is within `python`."""
        return all(_within(minor, sign, int(bound)) for sign, bound in _BOUND.findall(self.python))


def manifests(kind: Kind) -> dict[str, Manifest]:
    """Every usable manifest of a kind by name, sorted; what is not usable is in `problems`."""
    found, _ = _census()
    return {name: each for (of, name), each in sorted(found.items()) if of == kind}


def problems() -> tuple[str, ...]:
    """What is wrong with other packages' plug-ins, a sentence each. Theirs alone are left out."""
    return tuple(_census()[1])


def _census() -> tuple[dict[tuple[Kind, str], Manifest], list[str]]:
    """Every manifest by kind and name, and what is wrong with those that cannot be used."""
    found = {(each.kind, each.name): each for each in _built_in()}
    wrong: list[str] = []
    doubled: set[tuple[Kind, str]] = set()
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            offered = list(_of_entry_point(point))
        except Refused as error:
            wrong.append(str(error))
            continue
        for each in offered:
            other = found.setdefault((each.kind, each.name), each)
            if other is not each:
                doubled.add((each.kind, each.name))
                wrong.append(
                    f"{each.kind} {each.name!r} is offered by {other.distribution} ({other.object})"
                    f" and by {each.distribution} ({each.object}); uninstall one of them"
                )
    for key in doubled:
        if found[key].distribution != "clew":
            del found[key]
    return found, wrong


def manifest(kind: Kind, name: str) -> Manifest:
    """The manifest of one plug-in. Raises `Refused` with the nearest name if there is none."""
    if ":" in name:
        if not _OBJECT.fullmatch(name):
            raise Refused(f"{kind} {name!r} is not of the form module:attribute")
        return Manifest(kind, name, object=name, status="yours", distribution="")
    for each in _built_in():
        if (each.kind, each.name) == (kind, name):
            return each
    known = manifests(kind)
    if name not in known:
        others = "".join(f"; {sentence}" for sentence in problems())
        raise Refused(f"there is no {kind} {name!r}; {nearest(name, known)}{others}")
    return known[name]


def environment(name: str) -> Environment:
    """The named environment, made in this interpreter. Raises `Refused` if it cannot be here."""
    return cast("Environment", _make(manifest("environment", name), {}))


def policy(name: str, **arguments: Any) -> Policy:
    """The named policy; `arguments` go over those of its manifest. Raises `Refused`."""
    return cast("Policy", _make(manifest("policy", name), arguments))


def prepare(found: Manifest, say: Callable[[str], None]) -> None:
    """Fetch what an environment needs beside Python packages. Raises `Refused` if it cannot be."""
    if found.prepare:
        _loaded(replace(found, object=found.prepare))(say)


def _make(found: Manifest, arguments: Mapping[str, Any]) -> object:
    missing = found.missing()
    if missing and found.environment:
        raise Refused(
            f"{found.kind} {found.name!r} needs {' and '.join(missing)}, which only the units of the "
            f"environment {found.environment!r} find, and these run in {sys.executable}: use it in a "
            f"plan of that environment; if that is not installed, run: {found.install_command()}"
        )
    if missing:
        raise Refused(
            f"{found.kind} {found.name!r} needs {' and '.join(missing)}, not found by "
            f"{sys.executable}; run: {found.install_command()}"
        )
    factory = _loaded(found)
    given = {**found.arguments, **arguments}
    _check_arguments(found, factory, given)
    return factory(**given)


def _loaded(found: Manifest) -> Any:
    """The factory that a manifest names; a user's module is also looked for in the work folder."""
    module_name, _, attribute = found.object.partition(":")
    if not found.distribution and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not (module_name + ".").startswith(f"{error.name}."):
            raise
        raise Refused(
            f"{found.kind} {found.name!r} is in the module {module_name!r}, which is neither "
            f"installed nor in {os.getcwd()}"
        ) from None
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise Refused(
            f"module {module_name!r} has no {attribute!r}; {nearest(attribute, vars(module))}"
        ) from None


def _check_arguments(found: Manifest, factory: Any, given: Mapping[str, Any]) -> None:
    """Refuse arguments that the factory does not take, before any of its code runs."""
    what = f"{found.kind} {found.name!r}"
    if not callable(factory):
        raise Refused(f"{what}: {found.object} is a {type(factory).__name__}; it must be callable")
    signature = inspect.signature(factory)
    parameters = signature.parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for name in given:
            if name not in parameters:
                valid = nearest(name, parameters) if parameters else "it takes none"
                raise Refused(f"{what} has no argument {name!r}; {valid}")
    try:
        signature.bind(**given)
    except TypeError as error:
        raise Refused(f"{what}: {error}") from None


@functools.lru_cache(maxsize=1)
def _built_in() -> tuple[Manifest, ...]:
    root = importlib.resources.files("clew")
    tops = [root.joinpath(name) for name in _FOLDERS]
    return tuple(each for top in tops if top.is_dir() for each in _under(top))


def _under(top: Traversable) -> Iterator[Manifest]:
    for folder in (top, *(entry for entry in top.iterdir() if entry.is_dir())):
        for file in folder.iterdir():
            if _is_manifest(file.name):
                yield from _read(file, folder, "clew")


def _is_manifest(name: str) -> bool:
    return name == "manifest.json" or name.endswith(".manifest.json")


def _of_entry_point(point: importlib.metadata.EntryPoint) -> Iterator[Manifest]:
    """The manifests of another package.

    `find_spec` of a top-level name imports nothing, and unlike the distribution's list of files
    it also finds a package that was installed editable.
    """
    top, *inner = point.value.split(".")
    distribution = point.dist.name if point.dist else top
    spec = importlib.util.find_spec(top)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place, *inner)
        if (folder / "manifest.json").is_file():
            yield from _read(folder / "manifest.json", folder, distribution)
            return
    raise Refused(
        f"package {distribution!r} announces clew plug-ins in {point.value!r}, where there is no "
        "manifest.json; update or uninstall it"
    )


def _read(file: Traversable, folder: Traversable, distribution: str) -> Iterator[Manifest]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Refused(f"{file} is not JSON: {error}") from None
    for number, item in enumerate(data if isinstance(data, list) else [data]):
        yield _parsed(item, f"{file}, entry {number}", folder, distribution)


def _parsed(item: Any, where: str, folder: Traversable, distribution: str) -> Manifest:
    """A manifest from its JSON object, every field checked."""
    if not isinstance(item, dict):
        raise Refused(f"{where} is not an object")
    known = {each.name for each in fields(Manifest)} - {"distribution", "folder"}
    for name in item:
        if name not in known:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, known)}")
    for name in ("kind", "name", "object", "summary", "status"):
        if not isinstance(item.get(name), str) or not item[name]:
            raise Refused(f"{where}: field {name!r} must be text")
    for name in ("extra", "own_environment", "python", "environment", "prepare", "look"):
        if not isinstance(item.get(name, ""), str):
            raise Refused(f"{where}: field {name!r} must be text")
    for name in ("imports", "apt"):
        words = item.get(name, [])
        if not isinstance(words, list) or not all(isinstance(w, str) and w for w in words):
            raise Refused(f"{where}: field {name!r} must be a list of names")
    if not isinstance(item.get("arguments", {}), dict):
        raise Refused(f"{where}: field 'arguments' must be an object")
    _one_of(item["kind"], KINDS, f"{where}: kind")
    _one_of(item["status"], STATUSES, f"{where}: status")
    # An environment's name is also the name of a folder; policies may be grouped by a slash.
    words = item["name"].split("/") if item["kind"] == "policy" else [item["name"]]
    if not all(_NAME.fullmatch(word) for word in words):
        raise Refused(f"{where}: name {item['name']!r} must be lower-case letters, digits, _ . -")
    for name in ("object", "prepare", "look"):
        if item.get(name) and not _OBJECT.fullmatch(item[name]):
            raise Refused(f"{where}: {name} {item[name]!r} must be module:attribute")
    for bound in item.get("python", "").split(",") if item.get("python") else ():
        if not _BOUND.fullmatch(bound.strip()):
            raise Refused(f"{where}: python {item['python']!r} must be bounds like >=3.10,<3.13")
    lists = {name: tuple(item.get(name, ())) for name in ("imports", "apt")}
    return Manifest(**{**item, **lists, "distribution": distribution, "folder": folder})


def _one_of(word: str, valid: tuple[str, ...], what: str) -> None:
    if word not in valid:
        raise Refused(f"{what} {word!r} is unknown; {nearest(word, valid)}")


def _within(minor: int, sign: str, bound: int) -> bool:
    return {
        ">=": minor >= bound, "<=": minor <= bound, "==": minor == bound,
        "<": minor < bound, ">": minor > bound,
    }[sign]  # fmt: skip
