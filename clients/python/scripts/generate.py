"""Writes src/petstore/_types.py from the OpenAPI document: generate.py DOCUMENT > FILE. Needs PyYAML."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import yaml

ROOTS = ["Pet", "Order", "Usage", "Plan", "Key", "FailedRequest", "ExplainedRequest", "Webhook", "WebhookDelivery", "WebhookReplayed"]
HEAD = '''"""What the API returns. Made by scripts/generate.py from the OpenAPI document: do not change it by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._values import Item, Secret
'''


def main() -> None:
    schemas = yaml.safe_load(Path(sys.argv[1]).read_text())["components"]["schemas"]
    classes: dict[str, str] = {}

    def kind_of(schema: dict[str, Any], name: str) -> str:
        """Returns the type of a schema. name is that of an object that has none."""
        if "$ref" in schema:
            target = schema["$ref"].rpartition("/")[2]
            if "properties" not in schemas[target]:
                return kind_of(schemas[target], target)
            make(target, schemas[target])
            return str(target)
        if "oneOf" in schema:
            kinds = [kind_of(s, name) for s in schema["oneOf"] if s.get("type") != "null"]
            return f"{kinds[0]} | None"
        if schema["type"] == "array":
            return f"tuple[{kind_of(schema['items'], name)}, ...]"
        if "properties" in schema:
            make(name, schema)
            return name
        if schema.get("format") == "date-time":
            return "datetime"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]

    def make(name: str, schema: dict[str, Any]) -> None:
        if name in classes:
            return
        classes[name] = ""  # it may contain itself
        lines = ["@dataclass(frozen=True, kw_only=True)", f"class {name}(Item):", *doc(schema["description"])]
        for member, of in schema["properties"].items():
            kind = "Secret" if (name, member) in (("Key", "key"), ("Webhook", "secret")) else kind_of(of, name + member.capitalize())
            default = ""
            if kind.endswith("| None"):
                default = " = None"
            elif member not in schema.get("required", []):
                kind, default = (kind, " = ()") if kind.startswith("tuple") else (f"{kind} | None", " = None")
            python = re.sub("[A-Z]", lambda m: "_" + m[0].lower(), member) + ("_" if member == "from" else "")
            lines += ["", f"    {python}: {kind}{default}", *doc(of.get("description", ""))]
        classes[name] = "\n".join(lines) + "\n"

    def doc(text: str) -> list[str]:
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split())).replace("\\", "\\\\")
        if not text:
            return []
        return textwrap.indent(textwrap.fill(f'"""{text}"""', 110), "    ").splitlines()

    for root in ROOTS:
        if root in schemas:
            make(root, schemas[root])
    print(HEAD)
    print()
    print("\n\n".join(["", *sorted(classes.values())]).lstrip("\n"), end="")


main()
