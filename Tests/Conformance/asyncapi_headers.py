"""Judges headers by an AsyncAPI document. usage: asyncapi_headers.py DOCUMENT MESSAGE

Each line of the input is a JSON object of headers; each line of the output says `valid` or why it is not.
"""

import json
import sys

import jsonschema
import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    document = yaml.safe_load(file)
headers = {
    **document["components"]["messages"][sys.argv[2]]["headers"],
    "components": document["components"],
}
validator = jsonschema.Draft7Validator(headers)
for line in sys.stdin:
    problem = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(line)))
    print("valid" if problem is None else " ".join(problem.message.split()))
