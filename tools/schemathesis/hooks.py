"""What Schemathesis sends otherwise than JSON Schema has it."""

import schemathesis


@schemathesis.hook
def map_query(context, query):
    """JSON Schema calls -294.0 an integer. A query has text: -294."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (query or {}).items()
    }
