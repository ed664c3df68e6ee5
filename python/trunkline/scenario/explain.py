"""Validation errors as diagnostics: our words, codes and nearest names."""

import re
import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from trunkline.scenario.diagnostic import CODES, Path, nearest
from trunkline.scenario.fields import kind
from trunkline.scenario.model import Sections
from trunkline.scenario.problems import Problems

_TAGS = ("agent", "kind")


def explain(
    error: ValidationError,
    document: Any,
    problems: Problems,
    reported: set[Path],
    *,
    root: type[BaseModel] = Sections,
) -> None:
    """Adds each validation error to the problems."""
    for item in error.errors(include_url=False):
        path = place_of(item["loc"], document)
        if any(path[: len(other)] == other for other in reported if other):
            continue
        _explain(item, path, problems, root)


def _explain(item: Any, path: Path, problems: Problems, root: type[BaseModel]) -> None:
    what, context = item["type"], item.get("ctx", {})
    if what in CODES:
        problems.add(
            what,
            (*path, *context.get("at", ())),
            context["message"],
            given=context.get("given", ""),
            allowed=context.get("allowed", ""),
            hint=context.get("hint", ""),
            at_key="[key]" in item["loc"][-1:],
        )
    elif what == "extra_forbidden":
        keys = _keys(root, item["loc"][:-1])
        problems.add(
            "unknown-key",
            path,
            f"there is no key {path[-1]} here",
            allowed=", ".join(keys),
            hint=_likely(str(path[-1]), keys),
            at_key=True,
        )
    elif what == "missing":
        problems.add("missing-key", path, f"{path[-1]} is missing", at_key=True)
    elif what == "union_tag_not_found":
        tag = str(context["discriminator"]).strip("'")
        allowed = _tags(root, item["loc"])
        problems.add("missing-key", (*path, tag), f"{tag} is missing", allowed=allowed, at_key=True)
    elif what in ("literal_error", "union_tag_invalid"):
        _choice(item, path, problems)
    else:
        _kind(item, path, problems)


def _choice(item: Any, path: Path, problems: Problems) -> None:
    context = item["ctx"]
    words = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
    given = item["input"]
    if item["type"] == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        path, given = (*path, tag), context["tag"]
    problems.add(
        "choice",
        path,
        f"{_last_key(path)} cannot be {kind(given)}",
        allowed=", ".join(words),
        hint=nearest(str(given), words),
    )


def _last_key(path: Path) -> str:
    return next((each for each in reversed(path) if isinstance(each, str)), "this")


_SYNONYMS = {
    "bandwidth": "rate",
    "buffer": "limit",
    "capacity": "rate",
    "class": "dscp",
    "cos": "tc",
    "cost": "metric",
    "destination": "to",
    "dst": "to",
    "exp": "tc",
    "hops": "route",
    "interval": "every",
    "latency": "delay",
    "length": "duration",
    "plr": "loss",
    "protocol": "agent",
    "queue_length": "limit",
    "seeds": "runs",
    "source": "from",
    "speed": "rate",
    "src": "from",
    "warmup": "warm_up",
    "weighting": "weight",
}
"""Words for our keys that people use elsewhere."""


def _likely(key: str, keys: list[str]) -> str:
    """A hint for a key that does not exist: the nearest key, or the one another word means."""
    words = [each for each, meant in _SYNONYMS.items() if meant in keys]
    own = "" if key in words else nearest(key, keys)
    if own:
        return own
    close = nearest(key, words).removeprefix("did you mean ").removesuffix("?")
    return f"did you mean {_SYNONYMS[close]}?" if close else ""


_EXPECTED = {
    "dict_type": "a mapping (key: value) is expected here",
    "model_type": "a mapping (key: value) is expected here",
    "model_attributes_type": "a mapping (key: value) is expected here",
    "list_type": "a list is expected here",
    "tuple_type": "a list is expected here",
    "string_type": "text is expected here",
    "float_type": "a number is expected here",
    "float_parsing": "a number is expected here",
    "finite_number": "a finite number is expected here",
}


def _kind(item: Any, path: Path, problems: Problems) -> None:
    what, context = item["type"], item.get("ctx", {})
    message = _EXPECTED.get(what)
    if what == "too_short":
        message = f"at least {context['min_length']} items are expected here"
    elif what == "too_long":
        message = f"at most {context['max_length']} items are expected here"
    problems.add("type", path, message or item["msg"], given=kind(item["input"]))


def place_of(loc: tuple[int | str, ...], document: Any) -> Path:
    """The path in the document: without the tags of unions and the marks that pydantic adds."""
    path: list[str | int] = []
    value = document
    for index, part in enumerate(loc):
        if part == "[key]":
            break
        is_tag = isinstance(value, dict) and any(value.get(tag) == part for tag in _TAGS)
        if is_tag and (index + 1 < len(loc) or part not in value):
            continue
        if isinstance(value, dict):
            path.append(part)
            value = value.get(part)
        elif isinstance(value, list | tuple):
            path.append(part)
            value = value[part] if isinstance(part, int) and part < len(value) else None
        else:
            break  # a scalar that stands for a longer form
    return tuple(path)


def _keys(root: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Keys known at a place of the model."""
    found = _follow(root, loc)
    if not isinstance(found, type) or not issubclass(found, BaseModel):
        return []
    return [field.alias or name for name, field in found.model_fields.items()]


def _tags(root: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    found = _follow(root, loc[:-1] if loc[-1] in _TAGS else loc, stop_at_union=True)
    names = {
        name
        for each in _members(found)
        for tag in _TAGS
        if tag in each.model_fields
        for name in get_args(each.model_fields[tag].annotation)
    }
    return ", ".join(sorted(names))


def _follow(annotation: Any, loc: tuple[int | str, ...], *, stop_at_union: bool = False) -> Any:
    """The annotation at a place, through mappings, lists, unions and annotations."""
    annotation = _plain(annotation)
    members = _members(annotation)
    if members:
        if stop_at_union and not loc and types.NoneType not in members:
            return annotation
        if loc and isinstance(loc[0], str):
            tagged = [each for each in members if _tagged(each, loc[0])]
            if tagged:
                return _follow(tagged[0], loc[1:], stop_at_union=stop_at_union)
        models = [each for each in members if each is not types.NoneType]
        return _follow(models[0], loc, stop_at_union=stop_at_union) if models else None
    if not loc:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if loc[0] in (name, field.alias):
                return _follow(field.annotation, loc[1:], stop_at_union=stop_at_union)
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return _follow(arguments[1], loc[1:], stop_at_union=stop_at_union)
    if get_origin(annotation) in (tuple, list):
        return _follow(arguments[0], loc[1:], stop_at_union=stop_at_union)
    return None


def _plain(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return []
    return [_plain(each) for each in get_args(annotation)]


def _tagged(member: Any, tag: str) -> bool:
    if not isinstance(member, type) or not issubclass(member, BaseModel):
        return False
    return any(
        tag in get_args(member.model_fields[name].annotation)
        for name in _TAGS
        if name in member.model_fields
    )
