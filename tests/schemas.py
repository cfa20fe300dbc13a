"""The JSON outputs of muster, checked against docs/reference/schemas. Here a field that the schema does not have fails a test, so
that every field gets documented. Users' programs should accept such fields, because new ones may be added."""
import functools
import json
from pathlib import Path

import jsonschema
import referencing

FOLDER = Path(__file__).parents[1] / "docs/reference/schemas"


def closed(schema):
    """Returns the schema, in which objects may have no properties besides those that it names."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: closed(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and isinstance(schema.get("required"), list):
        result.setdefault("additionalProperties", False)
    return result


@functools.cache
def _schemas():
    return {path.name: closed(json.loads(path.read_text())) for path in FOLDER.glob("*.json")}


@functools.cache
def _validator(name):
    resources = [(other, referencing.Resource.from_contents(schema)) for other, schema in _schemas().items()]
    return jsonschema.Draft202012Validator(_schemas()[f"{name}.schema.json"], registry=referencing.Registry().with_resources(resources))


def described(name, value):
    """Returns the value. Fails if it does not conform to the schema of that name."""
    wrong = [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(value)]
    assert not wrong, f"docs/reference/schemas/{name}.schema.json does not describe this: " + "; ".join(wrong)
    return value
