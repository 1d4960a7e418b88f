"""Files of one kind: read, written, and validated by the `msgspec.Struct` that alone describes their content.

`convert` says in one line what is wrong and what is allowed; `Meta(title=...)` is what a value is called there.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, explain_unknown_key, explain_unknown_name, join_path, shorten
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.files import (
    HugeInteger,
    iterate_values,
    load_json,
    read_bytes,
    sha256_of,
    text_of,
    write_atomically,
    write_text,
)

Written = TypeVar("Written")
Read = TypeVar("Read")
Document = TypeVar("Document")
NO_TEXT = "holds a lone surrogate, which is not text"


def about(text: str) -> msgspec.Meta:
    """What a field of a type is, for its schema: ``Annotated[Price, about("megabytes, at least 1")]``."""
    return msgspec.Meta(description=text)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object in a document, with exactly these fields."""


Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", title="a SHA-256 in 64 hexadecimal digits")]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Label = Annotated[Name, about("a label; not part of the identity (hash)")]
Origin = Annotated[dict[str, Any], about("where the instance comes from; not part of the identity (hash)")]
Number = Annotated[int, msgspec.Meta(ge=0, le=LIMIT)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=LIMIT)]
Signed = Annotated[int, msgspec.Meta(ge=-LIMIT, le=LIMIT)]


@dataclass(frozen=True, slots=True)
class Documents(Generic[Read, Written]):
    parse: Callable[[Any, str], Read]  # (decoded document, its name in messages) -> what the file holds
    document: Callable[[Written], dict[str, Any]]  # the JSON document that `parse` reads
    text: Callable[[dict[str, Any]], str] = text_of

    def read(self, path: str | os.PathLike[str]) -> Read:
        return self.loads(*read_bytes(path))

    def loads(self, data: bytes | str, source: str = "<string>") -> Read:
        return self.parse(load_json(data.encode() if isinstance(data, str) else data, source), source)

    def dumps(self, held: Written) -> str:
        """The file as text; the same on every run."""
        return self.text(self.document(held))

    def write(self, held: Written, path: str | os.PathLike[str]) -> None:
        """Whole or not at all; gzip if the name ends in .gz, packed if it ends in .cert."""
        if str(path).endswith(packing.SUFFIX):
            write_atomically(path, packing.pack(self.document(held)))
        else:
            write_text(path, self.dumps(held))


@dataclass(frozen=True, slots=True)
class InstanceFiles(Documents[Read, Any]):
    """How the files of a family's instances are read and written."""

    hashed: Callable[[Any], dict[str, Any]] | None = None  # what the hash is of, where that is not the document
    apart: tuple[str, ...] = ("name", "origin")  # fields that are not part of the identity

    def content_hash(self, instance: Any) -> str:
        """The identity of an instance: the SHA-256 of its content without name and origin."""
        cache: dict[str, str] = instance.cache
        if "hash" not in cache:
            document = (self.hashed or self.document)(instance)
            cache["hash"] = sha256_of({key: value for key, value in document.items() if key not in self.apart})
        return cache["hash"]


class SolutionFiles(Generic[Document]):
    """How solutions of a family are written and read: ``{"decisions": [...]}``, further keys are ignored."""

    def __init__(self, solution: Any) -> None:
        self._kind = msgspec.defstruct("SolutionDocument", [("decisions", solution)])

    def document(self, solution: Document) -> dict[str, Any]:
        return {"decisions": to_json_values(solution)}

    def parse(self, data: Any, source: str) -> Document:
        """Read a decoded document, of which only the form is checked."""
        decisions: Document = convert(data, self._kind, source).decisions  # type: ignore[attr-defined]
        return decisions


def to_json_values(value: Any) -> Any:
    """Tuples, in each other too, as lists; a fraction as the text "p/q"."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return [to_json_values(item) for item in value] if isinstance(value, tuple) else value


def read_document(
    path: str | os.PathLike[str], kind: type[Document], load: Callable[[bytes, str], Any] = load_json
) -> Document:
    """Read and validate a file (`load_json` or `load_toml`); `-` for standard input."""
    data, source = read_bytes(path)
    return convert(load(data, source), kind, source)


def convert(
    data: Any, kind: type[Document], source: str, path: str = "", decode: Callable[[Any, Any], Any] | None = None
) -> Document:
    """Validate decoded JSON (or TOML) as this struct or dataclass; the error names the field behind `path`."""
    described: Any = kind
    form = _types_of(described).get("format")
    if isinstance(data, dict) and form is not None and data.get("format") not in get_args(form):
        raise InputError(source, join_path(path, "format"), _explain(form, data.get("format")))
    # msgspec would ignore fields of a dataclass that are unknown.
    field, problem = _explain_fields(kind, data) if isinstance(data, dict) and is_dataclass(kind) else ("", "")
    try:
        if not problem:
            return msgspec.convert(data, kind, dec_hook=decode)
    except msgspec.ValidationError as error:
        field, problem = _locate(error, data, kind)
    except UnicodeEncodeError:  # msgspec compares keys as UTF-8
        texts = ((place, text) for place, value in iterate_values(data) for text in (place.step, value))
        field = next((str(place) for place, text in texts if isinstance(text, str) and has_surrogate(text)), "")
        problem = NO_TEXT
    raise InputError(source, join_path(path, field) or "document", problem)


def to_document(content: msgspec.Struct) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(content)
    return document


def make_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a document with a format, by whose name it is published."""
    [reference], definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["description"] = " ".join(definition.get("description", "").split())
    top = definitions.pop(reference["$ref"].rpartition("/")[2])
    form = " and ".join(get_args(_types_of(kind)["format"]))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": form.partition(" ")[0], "title": form}
    return head | {key: value for key, value in top.items() if key != "title"} | {"$defs": definitions}


def require_different(field: str, names: Iterable[str]) -> None:
    """InputError for a name that stands twice, or is no text; `[]` in the field stands for its place."""
    seen = set[str]()
    for i, name in enumerate(names):
        require_text(field.replace("[]", f"[{i}]"), name)
        if name in seen:
            raise InputError("", field.replace("[]", f"[{i}]"), f"{shorten(name)} is given twice; names must differ")
        seen.add(name)


def require_text(field: str, text: str) -> None:
    if has_surrogate(text):
        raise InputError("", field, NO_TEXT)


def has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


# What msgspec says last, but of an error in the document as a whole
_PATH = re.compile(r" - at (?:`key` in )?`\$([^`]*)`$")
_UNKNOWN = "Object contains unknown field"
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


def _locate(error: msgspec.ValidationError, data: Any, kind: Any) -> tuple[str, str]:
    """Where a value is not as its type allows, and what is wrong with it."""
    told, cause = str(error), error.__cause__
    # The end of an error in the document as a whole may be a name or a value that looks like a path.
    whole = told == str(cause) or (told.startswith(_UNKNOWN) and _explain_fields(kind, data)[1].startswith("unknown"))
    steps = None if whole else _PATH.search(told)
    path, value, part = _walk(steps[1] if steps else "", data, kind)
    if isinstance(cause, InputError):  # of a type that checks more than the kinds of its fields
        return join_path(path, cause.field), cause.problem
    base, _ = _choose(part, value)
    if isinstance(value, dict) and (hasattr(base, "__struct_fields__") or is_dataclass(base)):
        field, problem = _explain_fields(base, value)
        return join_path(path, field), problem
    if isinstance(value, dict) and _kind_of(base) is dict:  # one of its keys
        key = _wrong_key(base, value)
        return join_path(path, str(key)), _explain(get_args(base)[0], key)
    return path, _explain(part, value)


def _walk(steps: str, value: Any, part: Any) -> tuple[str, Any, Any]:
    """The path that msgspec writes as these steps, the value there and its type."""
    path = ""
    for key, index in _STEP.findall(steps):
        base, _ = _choose(part, value)
        if key:
            path, value, part = join_path(path, key), value[key], _types_of(base)[key]
        elif index == "...":  # a value of a table, whose key msgspec does not name
            key = _wrong_key(base, value)
            path, value, part = join_path(path, str(key)), value[key], get_args(base)[1]
        else:
            path, value, part = f"{path}[{index}]", value[int(index)], _item_type(base, int(index))
    return path, value, part


def _wrong_key(kind: Any, table: dict[Any, Any]) -> Any:
    """The first key of a table that is not as its type allows, or has such a value."""
    for key, value in table.items():
        try:
            msgspec.convert({key: value}, kind)
        except msgspec.ValidationError:
            return key
    return next(iter(table), "")


def _explain_fields(kind: Any, value: dict[str, Any]) -> tuple[str, str]:
    """The first field that is unknown, or else missing, and what is said of it."""
    fields = _fields_of(kind)
    known = sorted(field.encode_name for field in fields)
    closed = is_dataclass(kind) or kind.__struct_config__.forbid_unknown_fields
    for key in value if closed else ():
        if key not in known:
            return str(key), explain_unknown_key(str(key), known)
    missing = [field.encode_name for field in fields if field.required and field.encode_name not in value]
    if not missing:
        return "", ""
    others = f", and so {'are' if len(missing) > 2 else 'is'} {', '.join(missing[1:])}" if missing[1:] else ""
    return missing[0], f"the field is missing{others}"


@cache
def _fields_of(kind: Any) -> tuple[Any, ...]:
    fields: tuple[Any, ...] = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]
    return fields


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    """The types of the fields of a struct, a dataclass or a named tuple, by their names in documents."""
    hints = get_type_hints(kind, include_extras=True)
    if hasattr(kind, "__struct_fields__"):
        return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(kind)}
    return hints


def _parts(kind: Any, metas: tuple[msgspec.Meta, ...] = ()) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The types of a union, or the one type, each with what `Meta` says of it."""
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        yield from _parts(inner, (*metas, *(meta for meta in more if isinstance(meta, msgspec.Meta))))
    elif get_origin(kind) in (Union, types.UnionType):
        for part in get_args(kind):
            if part is not msgspec.UnsetType:
                yield from _parts(part, metas)
    else:
        names = ("ge", "le", "min_length", "max_length", "pattern", "title")
        yield kind, {name: getattr(meta, name) for meta in metas for name in names if getattr(meta, name) is not None}


def _kind_of(base: Any) -> type:
    """The type of decoded values that a type takes."""
    origin = get_origin(base) or base
    if options := _options(base):
        return type(options[0])
    if not isinstance(origin, type):
        return object
    if hasattr(origin, "__struct_fields__") or is_dataclass(origin) or issubclass(origin, Mapping):
        return dict
    return list if issubclass(origin, Sequence) and origin is not str else origin


def _options(base: Any) -> tuple[Any, ...]:
    if isinstance(base, type) and issubclass(base, Enum):
        return tuple(member.value for member in base)
    return get_args(base) if get_origin(base) is Literal else ()


def _choose(kind: Any, value: Any) -> tuple[Any, dict[str, Any]]:
    """Of a union the part that is meant by a value."""
    parts = list(_parts(kind))
    held = int if isinstance(value, HugeInteger) else type(value)
    return next((part for part in parts if _kind_of(part[0]) is held), parts[0])


def _item_type(base: Any, index: int) -> Any:
    if hasattr(base, "_fields"):
        return list(_types_of(base).values())[index]
    arguments = get_args(base)
    return arguments[0] if get_origin(base) is not tuple or arguments[-1] is Ellipsis else arguments[index]


def _explain(kind: Any, value: Any) -> str:
    base, meta = _choose(kind, value)
    allowed = _kind_of(base)
    if (options := _options(base)) and "title" not in meta:
        if len(options) == 1:
            return f"{shorten(value)} is not {options[0]!r}"
        return explain_unknown_name(value, options)
    if allowed is list and isinstance(value, list | tuple):
        return _explain_length(base, meta, len(value))
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if (base is float and number) or (base is int and (type(value) is int or isinstance(value, HugeInteger))):
        return f"{shorten(value)} is not in {_range(meta)}"
    words = [_words(*part) for part in _parts(kind)]
    return f"{shorten(value)} is {'neither' if len(words) > 1 else 'not'} {' nor '.join(words)}"


def _explain_length(base: Any, meta: dict[str, Any], length: int) -> str:
    low, high = meta.get("min_length", 0), meta.get("max_length")
    if hasattr(base, "_fields") or (get_origin(base) is tuple and get_args(base)[-1] is not Ellipsis):
        low = high = len(getattr(base, "_fields", ())) or len(get_args(base))
    if not length and low == 1:
        return "empty; at least one entry is needed"
    wanted = f"at most {high} are allowed" if not low else f"{low} to {high} are allowed" if high else f"{low} or more"
    wanted = f"{low} needed" if low == high else wanted
    return f"{length} entries; {wanted}" + (f", {meta['title']}" if "title" in meta else "")


def _range(meta: dict[str, Any]) -> str:
    low, high = (f"{meta[end]:g}" if isinstance(meta.get(end), float) else meta.get(end, "") for end in ("ge", "le"))
    return f"{low}..{high}"


def _words(base: Any, meta: dict[str, Any]) -> str:
    kind = _kind_of(base)
    if "title" in meta and kind is not list:
        return str(meta["title"])
    if kind is str:
        long = f" of at most {meta['max_length']} characters" if "max_length" in meta else ""
        return ("a non-empty string" if meta.get("min_length") else "text") + long
    if kind in (int, float):
        return ("an integer" if kind is int else "a number") + (f" in {_range(meta)}" if meta else "")
    if options := _options(base):
        return f"one of {', '.join(map(str, options))}"
    return {bool: "true or false", list: "a list", dict: "an object", type(None): "null"}.get(kind, "a value")
