"""Checks an AsyncAPI document against a JSON Schema. usage: asyncapi_document.py SCHEMA DOCUMENT"""

import json
import sys

import jsonschema
import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    document = yaml.safe_load(file)
jsonschema.Draft7Validator(schema).validate(document)
print("valid")
