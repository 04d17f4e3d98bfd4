"""Holds a running console against docs/openapi.yaml.

usage: console_api.py CONSOLE OPENAPI ID...
CONSOLE is the console's address; each ID is a serve id or request id to be explained.

The document must be valid OpenAPI. Every documented path is asked, in ways that must succeed and in ways that must fail;
every answer must keep its schema, and may have no field that the schema does not name. (The document itself forbids no
further fields, for within a version more may come.) Prints one line of JSON: for each operation how many answers there
were by status, and how many elements each part of an explanation had.
"""

import copy
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import jsonschema
import openapi_spec_validator
import referencing
import yaml

PARTS = ("allOf", "anyOf", "oneOf")


def strict(schema, is_part=False):
    """The same schema, which refuses fields that it does not name. Parts of a composition are held to the whole."""
    if isinstance(schema, list):
        return [strict(element, is_part) for element in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: strict(field) for name, field in value.items()}
        else:
            result[key] = strict(value, is_part=key in PARTS) if key in PARTS + ("items", "additionalProperties") else value
    names_fields = "$ref" in schema or "properties" in schema or any(part in schema for part in PARTS)
    if names_fields and not is_part:
        result["unevaluatedProperties"] = False
    return result


def components(schemas):
    """Each schema by itself names parts only: who refers to it holds the whole."""
    result = {}
    for name, schema in schemas.items():
        result[name] = strict(schema, is_part=True)
    return result


class Console:
    def __init__(self, address, path):
        self.address = address.rstrip("/")
        text = path.read_text(encoding="utf-8")
        self.document = yaml.safe_load(text)
        openapi_spec_validator.validate(self.document, base_uri=path.resolve().as_uri())
        held = copy.deepcopy(self.document)
        held["components"]["schemas"] = components(held["components"]["schemas"])
        catalog = json.loads((path.parent / "catalog.schema.json").read_text(encoding="utf-8"))
        specification = referencing.jsonschema.DRAFT202012
        self.registry = referencing.Registry().with_resources([
            ("docs/openapi.yaml", specification.create_resource(held)),
            ("docs/catalog.schema.json", specification.create_resource(catalog)),
        ])
        self.counts = {operation["get"]["operationId"]: {} for operation in self.document["paths"].values()}

    def wait(self, path):
        """Until there is an answer: what is told again and again has to be made once."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return urllib.request.urlopen(self.address + path, timeout=30).close()
            except urllib.error.HTTPError as error:
                assert error.code == 503, error
                time.sleep(0.2)

    def ask(self, template, status, query="", method="GET", **parameters):
        """Asks and checks one answer; returns its body."""
        operation = self.document["paths"][template]["get"]
        path = template
        for name, value in parameters.items():
            path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
        request = urllib.request.Request(self.address + path + ("?" + query if query else ""), method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        body = json.loads(answer.read())
        place = f"{method} {path}?{query}: {answer.status}"
        assert answer.status == status, f"{place}, expected {status}: {body}"
        responses = operation["responses"]
        response = responses.get(str(status), responses["default"])
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        kind = answer.headers["content-type"].split(";")[0]
        assert kind in response["content"], f"{place}: {kind}"
        schema = response["content"][kind]["schema"]["$ref"]
        validator = jsonschema.Draft202012Validator(
            {"$ref": "docs/openapi.yaml" + schema, "unevaluatedProperties": False}, registry=self.registry,
            format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        for problem in validator.iter_errors(body):
            where = "/".join(str(part) for part in problem.absolute_path)
            raise AssertionError(f"{place} does not keep {schema} at {where}: {problem.message[:1000]}")
        counts = self.counts[operation["operationId"]]
        counts[str(status)] = counts.get(str(status), 0) + 1
        return body


def reports(console):
    dimensions = console.document["components"]["schemas"]["Dimension"]["enum"]
    for traffic in ("live", "test"):
        for group in dimensions + ["app,day", "hour,country,app", ",".join(dimensions)]:
            report = console.ask("/api/v1/reports", 200, f"group={group}&traffic={traffic}&limit=20")
            assert len(report["rows"]) == min(20, report["rowsTotal"]) and report["rows"], report
            assert report["isCut"] == (report["rowsTotal"] > 20) == (report["rest"] is not None), report
            assert all(name in row for row in report["rows"] for name in group.split(",")), report
    for dimension in dimensions:
        report = console.ask("/api/v1/reports/{dimension}", 200, "limit=3", dimension=dimension)
        # A report of what one row is about has that row's figures.
        value = report["rows"][0][dimension]
        one = console.ask("/api/v1/reports", 200, urllib.parse.urlencode({dimension: value}))
        assert one["filter"] == {dimension: value} and one["total"]["requests"] >= 1, one
    console.ask("/api/v1/reports", 200, "from=2026-01-01&until=2100-01-01T12:00:00Z")
    for query in ("group=colour", "group=app,app", "limit=0", "limit=10001", "from=yesterday", "traffic=all", "colour=red"):
        console.ask("/api/v1/reports", 400, query)
    console.ask("/api/v1/reports/{dimension}", 400, "limit=0", dimension="app")
    console.ask("/api/v1/reports/{dimension}", 404, dimension="colour")
    console.ask("/api/v1/reports", 405, method="POST")


def explanations(console, ids):
    sizes = {}
    for id in ids:
        explanation = console.ask("/api/v1/explain/{id}", 200, id=id)
        for name, part in explanation.items():
            if isinstance(part, (list, dict)):
                sizes[name] = sizes.get(name, 0) + len(part)
    console.ask("/api/v1/explain/{id}", 400, id="not an id")
    console.ask("/api/v1/explain/{id}", 400, "day=yesterday", id=ids[0])
    console.ask("/api/v1/explain/{id}", 404, id="01900000-0000-7000-8000-000000000000")
    return sizes


def main():
    console = Console(sys.argv[1], pathlib.Path(sys.argv[2]))
    reports(console)
    anomalies = console.ask("/api/v1/anomalies", 200, "limit=5")
    assert anomalies["rows"], anomalies
    for wrong in ["limit=many", "country=DE", "group=app", "traffic=test"]:
        console.ask("/api/v1/anomalies", 400, wrong)
    conversions = console.ask("/api/v1/conversions", 200, "limit=5")
    assert conversions["rows"], conversions
    for wrong in ["limit=many", "country=DE", "group=app", "traffic=test"]:
        console.ask("/api/v1/conversions", 400, wrong)
    console.wait("/api/v1/reconciliation")
    console.ask("/api/v1/reconciliation", 200)
    kinds = console.document["components"]["schemas"]["RecordKind"]["enum"]
    whole = console.ask("/api/v1/catalog", 200)
    assert {row["kind"] for row in whole["rows"]} == set(kinds), whole
    for kind in kinds:
        assert console.ask("/api/v1/catalog", 200, f"kind={kind}")["rows"]
    first = console.ask("/api/v1/catalog", 200, "limit=2")
    rest = console.ask("/api/v1/catalog", 200, "limit=10000&after=" + first["rows"][-1]["key"])
    assert first["isCut"] and first["rowsTotal"] == len(whole["rows"]) and not rest["isCut"], (first, rest)
    assert first["rows"] + rest["rows"] == whole["rows"]
    for wrong in ["kind=apps", "limit=0", "limit=many"]:
        console.ask("/api/v1/catalog", 400, wrong)
    parts = explanations(console, sys.argv[3:])
    print(json.dumps({"answers": console.counts, "parts": parts}))


if __name__ == "__main__":
    main()
