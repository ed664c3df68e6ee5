"""JSON Schema of study files, for editors."""

from typing import Any

from trunkline.scenario.json_schema import convert_to_draft7
from trunkline.study.language.model import StudyFile


def build_study_schema() -> dict[str, Any]:
    """JSON Schema of a study file, in keywords that draft 7 has.

    Returns: Ready for ``json.dumps``.
    """
    document: dict[str, Any] = _remove_parameter_references(
        convert_to_draft7(StudyFile.model_json_schema())
    )
    document["required"].remove("cases")
    document["oneOf"] = [{"required": ["scenario"]}, {"required": ["cases"]}]
    document["$schema"] = "http://json-schema.org/draft-07/schema#"
    document["title"] = "Trunkline study"
    return document


def _remove_parameter_references(value: Any) -> Any:
    """Remove ``$name``, which only a scenario allows in place of a number or quantity."""
    if isinstance(value, list):
        return [_remove_parameter_references(each) for each in value if each != _PARAMETER_SCHEMA]
    if not isinstance(value, dict):
        return value.removesuffix(r"|^\$") if isinstance(value, str) else value
    return {key: _remove_parameter_references(each) for key, each in value.items()}


_PARAMETER_SCHEMA = {"type": "string", "pattern": r"^\$"}
