"""JSON Schema of study files, for editors."""

from typing import Any

from trunkline.scenario.json_schema import draft7
from trunkline.study.language.model import StudyFile


def schema() -> dict[str, Any]:
    """JSON Schema of a study file, in keywords that draft 7 has.

    Returns
    -------
    dict
        Ready for ``json.dumps``.
    """
    document: dict[str, Any] = _without_parameters(draft7(StudyFile.model_json_schema()))
    document["required"].remove("cases")
    document["oneOf"] = [{"required": ["scenario"]}, {"required": ["cases"]}]
    document["$schema"] = "http://json-schema.org/draft-07/schema#"
    document["title"] = "Trunkline study"
    return document


def _without_parameters(value: Any) -> Any:
    """What only a scenario may say in place of a number or quantity, ``$name``, left out."""
    if isinstance(value, list):
        return [_without_parameters(each) for each in value if each != _PARAMETER]
    if not isinstance(value, dict):
        return value.removesuffix(r"|^\$") if isinstance(value, str) else value
    return {key: _without_parameters(each) for key, each in value.items()}


_PARAMETER = {"type": "string", "pattern": r"^\$"}
