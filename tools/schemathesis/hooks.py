"""What Schemathesis sends otherwise than JSON Schema has it."""

import os

import schemathesis


@schemathesis.hook
def map_query(context, query):
    """JSON Schema calls -294.0 an integer. A query has text: -294."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (query or {}).items()
    }


@schemathesis.hook
def map_headers(context, headers):
    """The document's example of Prefer has unknown members refused, which its schemas allow."""
    return {name: "handling=lenient" if value == "handling=strict" else value for name, value in (headers or {}).items()}


@schemathesis.hook
def before_call(context, case, kwargs):
    """The key that all requests have stays as it is: limited, narrowed or revoked, it would get the same response to the rest."""
    parameters = case.path_parameters or {}
    if case.method != "GET" and parameters.get("keyId") in ("self", os.environ["PETSTORE_KEY_ID"]):
        parameters["keyId"] = "key_0000000000000000"


@schemathesis.deserializer("text/yaml", "application/yaml")  # It takes the first of all names of YAML.
def yaml_is_text(context, response):
    """The document says that YAML is text. To parse it took a third of the time of all cases."""
    return response.text
