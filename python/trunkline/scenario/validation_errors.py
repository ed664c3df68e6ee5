"""Validation errors as diagnostics: our words, codes and nearest names."""

import re
import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from trunkline.scenario.diagnostic import CODES, DocumentPath, suggest_nearest
from trunkline.scenario.fields import describe_value
from trunkline.scenario.model import ScenarioSections
from trunkline.scenario.problems import Problems

_TAG_KEYS = ("agent", "kind")


def report_validation_errors(
    error: ValidationError,
    document: Any,
    problems: Problems,
    reported: set[DocumentPath],
    *,
    root: type[BaseModel] = ScenarioSections,
) -> None:
    """Add each validation error to the problems."""
    for item in error.errors(include_url=False):
        path = find_document_path(item["loc"], document)
        if any(path[: len(other)] == other for other in reported if other):
            continue
        _report_error(item, path, problems, root)


def _report_error(item: Any, path: DocumentPath, problems: Problems, root: type[BaseModel]) -> None:
    error_type, context = item["type"], item.get("ctx", {})
    if error_type in CODES:
        problems.add(
            error_type,
            (*path, *context.get("at", ())),
            context["message"],
            given=context.get("given", ""),
            allowed=context.get("allowed", ""),
            hint=context.get("hint", ""),
            at_key="[key]" in item["loc"][-1:],
        )
    elif error_type == "extra_forbidden":
        keys = _list_keys(root, item["loc"][:-1])
        problems.add(
            "unknown-key",
            path,
            f"there is no key {path[-1]} here",
            allowed=", ".join(keys),
            hint=_suggest_key(str(path[-1]), keys),
            at_key=True,
        )
    elif error_type == "missing":
        problems.add("missing-key", path, f"{path[-1]} is missing", at_key=True)
    elif error_type == "union_tag_not_found":
        tag = str(context["discriminator"]).strip("'")
        allowed = _list_tags(root, item["loc"])
        problems.add("missing-key", (*path, tag), f"{tag} is missing", allowed=allowed, at_key=True)
    elif error_type in ("literal_error", "union_tag_invalid"):
        _report_choice(item, path, problems)
    else:
        _report_type(item, path, problems)


def _report_choice(item: Any, path: DocumentPath, problems: Problems) -> None:
    context = item["ctx"]
    words = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
    given = item["input"]
    if item["type"] == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        path, given = (*path, tag), context["tag"]
    message = f"{_get_last_key(path)} cannot be {describe_value(given)}"
    problems.add(
        "choice", path, message, allowed=", ".join(words), hint=suggest_nearest(str(given), words)
    )


def _get_last_key(path: DocumentPath) -> str:
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


_KEYS_INSIDE = {
    "risks": "te: {risks: [...]}",
    "srlg": "te: {risks: [...]}",
    "colours": "te: {colours: [...]}",
    "reservable": "te: {reservable: ...}",
}
"""Keys that people write one level too high."""


def _suggest_key(key: str, keys: list[str]) -> str:
    """A hint for a key that does not exist: the nearest key, or the one another word means."""
    if key in _KEYS_INSIDE and _KEYS_INSIDE[key].partition(":")[0] in keys:
        return f"write {_KEYS_INSIDE[key]}"
    synonyms = [each for each, our_key in _SYNONYMS.items() if our_key in keys]
    suggestion = "" if key in synonyms else suggest_nearest(key, keys)
    if suggestion:
        return suggestion
    close = suggest_nearest(key, synonyms).removeprefix("did you mean ").removesuffix("?")
    return f"did you mean {_SYNONYMS[close]}?" if close else ""


_TYPE_MESSAGES = {
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


def _report_type(item: Any, path: DocumentPath, problems: Problems) -> None:
    error_type, context = item["type"], item.get("ctx", {})
    message = _TYPE_MESSAGES.get(error_type)
    if error_type == "too_short":
        message = f"at least {context['min_length']} items are expected here"
    elif error_type == "too_long":
        message = f"at most {context['max_length']} items are expected here"
    problems.add("type", path, message or item["msg"], given=describe_value(item["input"]))


def find_document_path(loc: tuple[int | str, ...], document: Any) -> DocumentPath:
    """The path in the document: without the tags of unions and the marks that pydantic adds."""
    path: list[str | int] = []
    value = document
    for index, part in enumerate(loc):
        if part == "[key]":
            break
        is_tag = isinstance(value, dict) and any(value.get(tag) == part for tag in _TAG_KEYS)
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


def _list_keys(root: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """List keys known at a place of the model."""
    found = _follow_annotation(root, loc)
    if not isinstance(found, type) or not issubclass(found, BaseModel):
        return []
    return [field.alias or name for name, field in found.model_fields.items()]


def _list_tags(root: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    found = _follow_annotation(root, loc[:-1] if loc[-1] in _TAG_KEYS else loc, stop_at_union=True)
    names = {
        name
        for each in _list_union_members(found)
        for tag in _TAG_KEYS
        if tag in each.model_fields
        for name in get_args(each.model_fields[tag].annotation)
    }
    return ", ".join(sorted(names))


def _follow_annotation(
    annotation: Any, loc: tuple[int | str, ...], *, stop_at_union: bool = False
) -> Any:
    """The annotation at a place, through mappings, lists, unions and annotations."""
    annotation = _strip_annotated(annotation)
    members = _list_union_members(annotation)
    if members:
        if stop_at_union and not loc and types.NoneType not in members:
            return annotation
        if loc and isinstance(loc[0], str):
            tagged = [each for each in members if _has_tag(each, loc[0])]
            if tagged:
                return _follow_annotation(tagged[0], loc[1:], stop_at_union=stop_at_union)
        models = [each for each in members if each is not types.NoneType]
        return _follow_annotation(models[0], loc, stop_at_union=stop_at_union) if models else None
    if not loc:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if loc[0] in (name, field.alias):
                return _follow_annotation(field.annotation, loc[1:], stop_at_union=stop_at_union)
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return _follow_annotation(arguments[1], loc[1:], stop_at_union=stop_at_union)
    if get_origin(annotation) in (tuple, list):
        return _follow_annotation(arguments[0], loc[1:], stop_at_union=stop_at_union)
    return None


def _strip_annotated(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _list_union_members(annotation: Any) -> list[Any]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return []
    return [_strip_annotated(each) for each in get_args(annotation)]


def _has_tag(member: Any, tag: str) -> bool:
    if not isinstance(member, type) or not issubclass(member, BaseModel):
        return False
    return any(
        tag in get_args(member.model_fields[name].annotation)
        for name in _TAG_KEYS
        if name in member.model_fields
    )
